//! Generates keys that are not in a table, similar to those that are.
//!
//! ```text
//! a key of the table   user0042/post0017
//! derived keys         user0042/post0017\x9f\x02…    whole keys: eight random bytes appended
//!                      user\x9f\x02…/post0017        only prefixes in the filter: the end of one
//! ```
//!
//! A key with the same beginning goes to the same block or partition, so that each of them gets its
//! share of the probes; in a user-made order, a key between the same others (see `new_keys`). Each key
//! is looked up in the data blocks before it counts as absent. The keys are deterministic.

use sstkit_filter::FilterLayout;
use sstkit_table::{Result, TableFilter};

use super::new_keys::NewKeys;
use crate::inspected_table::InspectedTable;

/// The number of random bytes at the end of a prefix: decreasing, until it is in range.
const RANDOM_BYTES: [usize; 5] = [8, 4, 3, 2, 1];
/// The maximum number of attempts per key: all very short keys may exist.
const TRIES: u64 = 4;

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
    let mut new_keys = NewKeys::new(file.table().comparator().ok());
    let tries = usize::try_from(wanted.saturating_mul(TRIES)).unwrap_or(usize::MAX);
    for number in (0..samples.len()).cycle().take(tries) {
        if measured.probed == wanted || !keep_going() {
            break;
        }
        if let Some(key) = absent_key(file, filter, (samples, number), &mut new_keys)? {
            measured.probed += 1;
            measured.let_through += u64::from(filter.may_contain(&key)?);
        }
    }
    Ok(measured)
}

/// A key like that with a number that is absent or, if the filter is probed with prefixes, whose prefix
/// is absent.
fn absent_key(
    file: &InspectedTable,
    filter: &TableFilter<'_>,
    (samples, number): (&[Vec<u8>], usize),
    new_keys: &mut NewKeys,
) -> Result<Option<Vec<u8>>> {
    let pattern = &samples[number];
    let extractor = filter.prefix_extractor().filter(|_| !filter.whole_key_filtering());
    let Some(prefix) = extractor.and_then(|extractor| extractor.prefix(pattern)) else {
        // A key may have several versions.
        let is_other = |key: &&Vec<u8>| *key != pattern;
        let before = samples[..number].iter().rev().find(is_other).unwrap_or(pattern);
        let after = samples[number..].iter().find(is_other).unwrap_or(pattern);
        let Some(key) = new_keys.like(pattern, (before, after)) else { return Ok(None) };
        return Ok(is_absent(file, &key)?.then_some(key));
    };
    let mut key = pattern.clone();
    let end = prefix.len();
    for random_bytes in RANDOM_BYTES {
        key[..end].copy_from_slice(prefix);
        new_keys.fill(&mut key[end.saturating_sub(random_bytes)..end]);
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
