//! Keys that a table does not have, made like those it has.
//!
//! ```text
//! a key of the table   user0042/post0017
//! made of it           user0042/post0017\x9f\x02…    whole keys: eight random bytes more
//!                      user\x9f\x02…/post0017        only prefixes in the filter: the end of one
//! ```
//!
//! A key that begins like one of the table's is asked of the same block or partition, so that all
//! of them get their share of the questions. Eight bytes are more than any of the hashes has: the
//! older filters' one of 32 bits tells keys badly apart that differ in a byte or two, which would
//! measure the hash and not the filter. Each key is looked up in the data blocks before it counts
//! as absent. The same table gives the same keys.

use sstkit_filter::FilterLayout;
use sstkit_table::{Result, TableFilter};

use crate::table_file::TableFile;

/// How many random bytes go behind a key.
const RANDOM_ENDING: usize = 8;
/// How many bytes at the end of a prefix are drawn at random: fewer and fewer, until it is in range.
const RANDOM_BYTES: [usize; 5] = [8, 4, 3, 2, 1];
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
    let mut key = pattern.to_vec();
    let extractor = filter.prefix_extractor().filter(|_| !filter.whole_key_filtering());
    let Some(prefix) = extractor.and_then(|extractor| extractor.prefix(pattern)) else {
        key.resize(pattern.len() + RANDOM_ENDING, 0);
        random.fill(&mut key[pattern.len()..]);
        return Ok(is_absent(file, &key)?.then_some(key));
    };
    let end = prefix.len();
    for random_bytes in RANDOM_BYTES {
        key[..end].copy_from_slice(prefix);
        random.fill(&mut key[end.saturating_sub(random_bytes)..end]);
        if is_absent_prefix(file, filter, &key[..end])? {
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
/// last before it. In a filter with partitions there must be such keys: beyond the last partition
/// nobody is asked, and before the first one always the same.
fn is_absent_prefix(file: &TableFile, filter: &TableFilter<'_>, prefix: &[u8]) -> Result<bool> {
    let mut entries = file.table().entry_cursor();
    let is_partitioned = filter.layout() == FilterLayout::Partitioned;
    let has_neighbour = entries.seek(prefix)?;
    if (is_partitioned && !has_neighbour)
        || (has_neighbour && entries.user_key().starts_with(prefix))
    {
        return Ok(false);
    }
    let has_neighbour = entries.seek_for_prev(prefix)?;
    let is_there = has_neighbour && entries.user_key().starts_with(prefix);
    Ok(!is_there && (has_neighbour || !is_partitioned))
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
