//! Keys and prefixes that a column family does not have, like those that it has.
//!
//! ```text
//! a sampled key   user0042/post0017
//! a new key       user0042/post0017\x9f\x02…   eight random bytes appended: in the range of the same
//!                                              files
//! a new prefix    user\x9f\x02…                a prefix with a random end
//! ```
//!
//! In a user-made order such keys may be anywhere. There, a new key is one between the same sampled
//! keys, and prefixes are not searched for.

use std::ops::Bound;

use sstkit_db::{ColumnFamily, DatabaseIter};

use super::family_runs::FamilyRuns;
use super::found_keys::contains;
use super::key_sample::SampledKey;
use crate::error::Result;
use crate::filter_report::NewKeys;

/// The random bytes at the end of a prefix, as many of them as possible.
const RANDOM_PREFIX_BYTES: [usize; 5] = [8, 4, 3, 2, 1];

/// What lookups and seeks look for, derived from a sample of the keys.
pub(crate) struct SeekTargets<'f> {
    family: &'f ColumnFamily,
    keys: &'f [SampledKey],
    range: TableRange,
    new_keys: NewKeys,
    /// In a user-made order: the keys in this order, and the files.
    ordered: Option<(Vec<&'f [u8]>, FamilyRuns<'f>)>,
}

impl<'f> SeekTargets<'f> {
    /// There must be a key.
    pub(crate) fn new(family: &'f ColumnFamily, keys: &'f [SampledKey]) -> Self {
        let order = family.comparator().ok();
        let new_keys = NewKeys::new(order);
        let runs = FamilyRuns::of(family).filter(|_| new_keys.is_user_made());
        let ordered = order.zip(runs).map(|(order, runs)| {
            let mut ordered: Vec<&[u8]> = keys.iter().map(|it| it.key.as_slice()).collect();
            ordered.sort_by(|a, b| order.compare_without_timestamp(a, b));
            ordered.dedup();
            (ordered, runs)
        });
        Self { family, keys, range: TableRange::of(family), new_keys, ordered }
    }

    /// A sampled key.
    pub(crate) fn sampled(&self, number: u64) -> &'f SampledKey {
        &self.keys[(number % self.keys.len() as u64) as usize]
    }

    /// A key that is not found. There may be none, in an order that not all keys are valid in.
    pub(crate) fn new_key(&mut self, number: u64) -> Result<Option<Vec<u8>>> {
        let key = self.sampled(number).key.as_slice();
        let (Some((ordered, runs)), Ok(order)) = (&mut self.ordered, self.family.comparator())
        else {
            return Ok(self.new_keys.like(key, (key, key)));
        };
        let place = ordered.partition_point(|it| order.compare_without_timestamp(it, key).is_lt());
        let before = place.checked_sub(1).map_or(key, |it| ordered[it]);
        let after = ordered.get(place + 1).copied().unwrap_or(key);
        let Some(key) = self.new_keys.like(key, (before, after)) else { return Ok(None) };
        for run in 0..runs.runs.len() {
            if let Some((_, file)) = runs.file_with(run, &key)
                && contains(runs.table(&file)?, &key)?
            {
                return Ok(None);
            }
        }
        Ok(Some(key))
    }

    /// A key whose prefix no key has.
    pub(crate) fn key_with_new_prefix(&mut self, number: u64) -> Result<Option<Vec<u8>>> {
        let mut key = self.sampled(number).key.clone();
        match self.prefix(number)? {
            Some(prefix) if prefix.len() <= key.len() => {
                key[..prefix.len()].copy_from_slice(&prefix);
                Ok(Some(key))
            }
            _ => self.new_key(number),
        }
    }

    /// A prefix that no key has, in the range of the keys: as different from that of a sampled key as
    /// possible. There may be none, if prefixes are short. Without a prefix extractor, a new key.
    pub(crate) fn prefix(&mut self, number: u64) -> Result<Option<Vec<u8>>> {
        let Some(extractor) = self.family.prefix_extractor() else {
            return self.new_key(number);
        };
        if self.ordered.is_some() {
            return Ok(None);
        }
        let key = &self.sampled(number).key;
        let Some(prefix) = extractor.prefix(key) else { return Ok(None) };
        for random_bytes in RANDOM_PREFIX_BYTES {
            let mut prefix = prefix.to_vec();
            let start = prefix.len().saturating_sub(random_bytes).max(prefix.len() / 2);
            self.new_keys.fill(&mut prefix[start..]);
            if self.range.includes(&prefix, self.family)
                && self.family.prefix(&prefix).next().transpose()?.is_none()
            {
                return Ok(Some(prefix));
            }
        }
        Ok(None)
    }

    /// The keys with a [prefix](Self::prefix): there are none.
    pub(crate) fn seek(&self, prefix: &[u8]) -> DatabaseIter {
        match self.ordered {
            None => self.family.prefix(prefix),
            // Keys that start alike may be anywhere: all would be read.
            Some(_) => self.family.range((Bound::Included(prefix), Bound::Included(prefix))),
        }
    }
}

/// The key range of all tables of a column family.
struct TableRange {
    smallest: Vec<u8>,
    largest: Vec<u8>,
}

impl TableRange {
    fn of(family: &ColumnFamily) -> Self {
        let mut range = Self { smallest: Vec::new(), largest: Vec::new() };
        let Ok(order) = family.comparator() else { return range };
        let files = family.levels().into_iter().flat_map(|level| level.files);
        for (number, file) in files.enumerate() {
            let is_before = |a: &[u8], b: &[u8]| order.compare_without_timestamp(a, b).is_lt();
            if number == 0 || is_before(file.smallest(), &range.smallest) {
                range.smallest = file.smallest().to_vec();
            }
            if number == 0 || is_before(&range.largest, file.largest()) {
                range.largest = file.largest().to_vec();
            }
        }
        range
    }

    fn includes(&self, key: &[u8], family: &ColumnFamily) -> bool {
        family.comparator().is_ok_and(|order| {
            order.compare_without_timestamp(&self.smallest, key).is_le()
                && order.compare_without_timestamp(key, &self.largest).is_le()
        })
    }
}
