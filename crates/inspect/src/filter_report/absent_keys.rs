//! Keys that a table does not have, made like those it has.
//!
//! ```text
//! a key of the table   user0042/post0017        user0042/post0017
//! made of it           user0042/post0\x9f\x02…  user0\x9f\x02…/post0017
//!                      the last three bytes of  … or of its prefix, if only prefixes are in the filter
//! ```
//!
//! The first bytes stay, so that all blocks and partitions get their share of the questions; only
//! where the table has most of such keys, more bytes change. Each key is looked up in the data
//! blocks before it counts as absent. The same table gives the same keys.

use sstkit_table::{Result, TableFilter};

use crate::table_file::TableFile;

/// How many bytes at the end are drawn at random: at first, and if that key is there.
const RANDOM_BYTES: [usize; 2] = [3, 8];
/// How many keys are tried at most for each one wanted: of very short keys all may be there.
const TRIES: u64 = 4;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// What came of asking for absent keys.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) asked: u64,
    let_through: u64,
}

impl Measured {
    pub(super) fn rate(&self) -> Option<f64> {
        (self.asked > 0).then(|| self.let_through as f64 / self.asked as f64)
    }
}

/// Asks the filter for `wanted` absent keys (or prefixes, if whole keys are not in it).
pub(super) fn measure(
    file: &TableFile,
    filter: &TableFilter<'_>,
    samples: &[Vec<u8>],
    wanted: u64,
) -> Result<Measured> {
    let mut measured = Measured::default();
    let mut random = Random(SEED);
    let tries = usize::try_from(wanted.saturating_mul(TRIES)).unwrap_or(usize::MAX);
    for pattern in samples.iter().cycle().take(tries) {
        if measured.asked == wanted {
            break;
        }
        if let Some(key) = absent_key(file, filter, pattern, &mut random)? {
            measured.asked += 1;
            measured.let_through += u64::from(filter.may_contain(&key)?);
        }
    }
    Ok(measured)
}

/// A key like `pattern` that is not there, or (if the filter is asked for prefixes) whose prefix is
/// not.
fn absent_key(
    file: &TableFile,
    filter: &TableFilter<'_>,
    pattern: &[u8],
    random: &mut Random,
) -> Result<Option<Vec<u8>>> {
    let prefix = match filter.whole_key_filtering() {
        true => None,
        false => filter.prefix_extractor().and_then(|extractor| extractor.prefix(pattern)),
    };
    let length = prefix.map_or(pattern.len(), <[u8]>::len);
    for random_bytes in RANDOM_BYTES {
        let mut key = pattern.to_vec();
        random.fill(&mut key[length.saturating_sub(random_bytes)..length]);
        let is_absent = match prefix {
            None => is_absent(file, &key)?,
            Some(_) => is_prefix_absent(file, &key[..length])?,
        };
        if is_absent {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// Whether no entry has this key. No filter is asked.
fn is_absent(file: &TableFile, key: &[u8]) -> Result<bool> {
    let mut entries = file.table().entry_cursor();
    Ok(!entries.seek(key)? || file.bare(entries.user_key()) != key)
}

/// Whether no key starts with `prefix`: the first after it does not, nor, in a reversed order, the
/// last before it.
fn is_prefix_absent(file: &TableFile, prefix: &[u8]) -> Result<bool> {
    let mut entries = file.table().entry_cursor();
    let after = entries.seek(prefix)? && entries.user_key().starts_with(prefix);
    let before = entries.seek_for_prev(prefix)? && entries.user_key().starts_with(prefix);
    Ok(!after && !before)
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for (byte, random) in bytes.iter_mut().zip(self.next().to_le_bytes()) {
            *byte = random;
        }
    }
}
