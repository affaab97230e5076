//! Keeps one entry per key and sequence number, from a sequence where the one to keep comes first.

use std::cmp::Ordering;

use sstkit_table::{Comparator, KeyExcerpt};

use super::Duplicates;
use super::arena::RawEntry;
use crate::error::{Error, Result};

/// Finds duplicates in a sorted sequence.
#[derive(Debug)]
pub(super) struct Uniqueness<'o> {
    comparator: &'o Comparator,
    duplicates: Duplicates,
    last: Option<(Vec<u8>, u64)>,
}

impl<'o> Uniqueness<'o> {
    pub(super) fn new(comparator: &'o Comparator, duplicates: Duplicates) -> Self {
        Self { comparator, duplicates, last: None }
    }

    #[inline]
    pub(super) fn admits(&mut self, entry: &RawEntry<'_>) -> Result<bool> {
        let RawEntry { key, sequence, .. } = *entry;
        match &mut self.last {
            Some((last, age))
                if *age == sequence && self.comparator.compare(last, key) == Ordering::Equal =>
            {
                if self.duplicates == Duplicates::Error {
                    return Err(duplicate(key));
                }
                Ok(false)
            }
            Some((last, age)) => {
                last.clear();
                last.extend_from_slice(key);
                *age = sequence;
                Ok(true)
            }
            none => {
                *none = Some((key.to_vec(), sequence));
                Ok(true)
            }
        }
    }
}

pub(super) fn duplicate(key: &[u8]) -> Error {
    Error::invalid_input(format!("duplicate key {}", KeyExcerpt(key)))
}
