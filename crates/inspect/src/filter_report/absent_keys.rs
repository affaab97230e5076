//! Generates keys that are not in a table, similar to those that are.
//!
//! ```text
//! a key of the table   user0042/post0017
//! derived keys         user0042/post0017\x9f\x02…    whole keys: eight random bytes appended
//!                      user\x9f\x02…/post0017        only prefixes in the filter: the end of one
//! ```
//!
//! A key with the same beginning goes to the same block or partition, so that each of them gets its
//! share of the probes. Eight bytes are more than any of the hashes has: the 32-bit hash of the
//! older filters distinguishes keys badly that differ in one or two bytes, which would measure the
//! hash instead of the filter. Each key is looked up in the data blocks before it counts as absent.
//! The keys are deterministic.

use sstkit_filter::FilterLayout;
use sstkit_table::{Result, TableFilter};

use crate::inspected_table::InspectedTable;

/// The number of random bytes to append to a key.
const RANDOM_ENDING: usize = 8;
/// The number of random bytes at the end of a prefix: decreasing, until it is in range.
const RANDOM_BYTES: [usize; 5] = [8, 4, 3, 2, 1];
/// The maximum number of attempts per key: all very short keys may exist.
const TRIES: u64 = 4;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The result of probing with absent keys.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) probed: u64,
    let_through: u64,
}

impl Measured {
    pub(super) fn rate(&self) -> Option<f64> {
        (self.probed > 0).then(|| self.let_through as f64 / self.probed as f64)
    }
}

/// Probes the filter with `wanted` absent keys (or prefixes, if it does not contain whole keys), or
/// fewer when `keep_going` returns false.
pub(super) fn measure(
    file: &InspectedTable,
    filter: &TableFilter<'_>,
    samples: &[Vec<u8>],
    wanted: u64,
    keep_going: &dyn Fn() -> bool,
) -> Result<Measured> {
    let mut measured = Measured::default();
    let mut random = Random::new();
    let tries = usize::try_from(wanted.saturating_mul(TRIES)).unwrap_or(usize::MAX);
    for pattern in samples.iter().cycle().take(tries) {
        if measured.probed == wanted || !keep_going() {
            break;
        }
        if let Some(key) = absent_key(file, filter, pattern, &mut random)? {
            measured.probed += 1;
            measured.let_through += u64::from(filter.may_contain(&key)?);
        }
    }
    Ok(measured)
}

/// A key like `pattern` that is absent or, if the filter is probed with prefixes, whose prefix is
/// absent.
fn absent_key(
    file: &InspectedTable,
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

/// Whether no entry has this key. Does not use the filter.
fn is_absent(file: &InspectedTable, key: &[u8]) -> Result<bool> {
    let mut entries = file.table().entry_cursor();
    Ok(!entries.seek(key)? || file.bare(entries.user_key()) != key)
}

/// Whether no key starts with `prefix`: neither the first key after it nor, in reverse order, the
/// last key before it. With a partitioned filter there must be keys on both sides: beyond the last
/// partition nothing is probed, and before the first one always the same partition.
fn is_absent_prefix(
    file: &InspectedTable,
    filter: &TableFilter<'_>,
    prefix: &[u8],
) -> Result<bool> {
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

/// splitmix64, always the same numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(SEED)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Fills up to eight bytes.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for (byte, random) in bytes.iter_mut().zip(self.next().to_le_bytes()) {
            *byte = random;
        }
    }
}
