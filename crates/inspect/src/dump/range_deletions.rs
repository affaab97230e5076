//! The range deletions of a table, cut where any of them starts or ends.
//!
//! ```text
//! as stored     a ======== e @3          fragments   [a, c) @3
//!                   c ======== g @7                  [c, e) @7, [c, e) @3
//!                                                    [e, g) @7
//! ```
//!
//! Unlike [`Table::range_tombstones_at`](sstkit_table::Table::range_tombstones_at), which
//! keeps the newest of each fragment, this lists all of them, newest first, and cuts also at
//! deletions that delete nothing: so RocksDB's reader has them, and its tool prints them.

use std::cmp::Ordering;

use sstkit_table::Comparator;
use sstkit_table::raw::{BlockKind, InternalKey};

use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// One as stored, user keys with their timestamps.
struct Deletion {
    start: Vec<u8>,
    end: Vec<u8>,
    sequence: u64,
}

/// The range deletions of a table, to be listed in fragments.
pub(super) struct Fragments {
    /// In the order of their starts, then newest first.
    stored: Vec<Deletion>,
    order: KeyOrder,
}

/// How user keys with timestamps are ordered.
struct KeyOrder {
    comparator: Comparator,
    timestamp_size: usize,
}

impl KeyOrder {
    /// In an order that is not known, keys are taken by their bytes.
    fn of(file: &InspectedTable) -> Self {
        let comparator = file.table().comparator().cloned().unwrap_or_default();
        let timestamp_size = comparator.timestamp_size();
        Self { comparator, timestamp_size }
    }

    fn bare<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        &key[..key.len().saturating_sub(self.timestamp_size)]
    }

    fn compare_bare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.comparator.compare_without_timestamp(self.bare(a), self.bare(b))
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self.timestamp_size {
            0 => self.comparator.compare_without_timestamp(a, b),
            _ => self.comparator.compare(a, b),
        }
    }

    /// The key of a fragment: without its timestamp, and with the largest in its place.
    fn put_bound(&self, key: &[u8], bound: &mut Vec<u8>) {
        bound.clear();
        bound.extend_from_slice(self.bare(key));
        bound.resize(bound.len() + self.timestamp_size, 0xff);
    }
}

impl Fragments {
    /// Reads the block of range deletions. Its size has been checked when the table was opened.
    pub(super) fn read(file: &InspectedTable) -> Result<Self> {
        let order = KeyOrder::of(file);
        let mut stored = Vec::new();
        if let Some(handle) = file.table().metaindex().range_deletions() {
            let global = file.table().global_sequence_number();
            // Timestamps that were cut off come back as zeros.
            let cut_off = match file.table().properties().has_persisted_timestamps() {
                true => 0,
                false => order.timestamp_size,
            };
            let stamped = |key: &[u8]| [key, &vec![0; cut_off]].concat();
            let mut entries = file.block(BlockKind::RangeDeletion, handle)?.into_entries();
            while entries.advance()? {
                let start = InternalKey::decode_from(entries.key())?;
                stored.push(Deletion {
                    start: stamped(start.user_key),
                    end: stamped(entries.value()),
                    sequence: global.unwrap_or(start.sequence),
                });
            }
        }
        stored.sort_by(|a, b| {
            order.compare(&a.start, &b.start).then_with(|| b.sequence.cmp(&a.sequence))
        });
        Ok(Self { stored, order })
    }

    /// Calls `each` with start and end of every fragment, once for each deletion over it.
    pub(super) fn for_each(&self, each: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let order = &self.order;
        let mut sweep =
            Sweep { order, open: Vec::new(), start: &[], bounds: Default::default(), each };
        for deletion in &self.stored {
            if !sweep.open.is_empty() && order.compare_bare(sweep.start, &deletion.start).is_ne() {
                sweep.up_to(&deletion.start)?;
            }
            sweep.start = &deletion.start;
            sweep.open(deletion);
        }
        match sweep.open.last().copied() {
            Some(last) => sweep.up_to(&last.end),
            None => Ok(()),
        }
    }
}

/// A walk over all starts and ends in order.
struct Sweep<'d, F> {
    order: &'d KeyOrder,
    /// The deletions over `start`, in the order of their ends, then newest first.
    open: Vec<&'d Deletion>,
    /// Where the next fragment starts.
    start: &'d [u8],
    /// Start and end of a fragment as they are shown.
    bounds: (Vec<u8>, Vec<u8>),
    each: F,
}

impl<'d, F: FnMut(&[u8], &[u8]) -> Result<()>> Sweep<'d, F> {
    /// Adds a deletion; one with the same end and number counts once.
    fn open(&mut self, deletion: &'d Deletion) {
        let place = self.open.binary_search_by(|other| {
            self.order
                .compare(&other.end, &deletion.end)
                .then_with(|| deletion.sequence.cmp(&other.sequence))
        });
        if let Err(place) = place {
            self.open.insert(place, deletion);
        }
    }

    /// All fragments up to `next`, where another deletion starts or the last one ends.
    fn up_to(&mut self, next: &'d [u8]) -> Result<()> {
        let mut ended = 0;
        let mut has_reached_next = false;
        while ended < self.open.len() && !has_reached_next {
            let mut end: &'d [u8] = &self.open[ended].end;
            if self.order.compare_bare(self.start, end).is_eq() {
                ended += 1;
                continue;
            }
            if self.order.compare_bare(next, end).is_le() {
                has_reached_next = true;
                end = next;
            }
            self.order.put_bound(self.start, &mut self.bounds.0);
            self.order.put_bound(end, &mut self.bounds.1);
            for _ in ended..self.open.len() {
                (self.each)(&self.bounds.0, &self.bounds.1)?;
            }
            self.start = end;
            if !has_reached_next {
                ended += 1;
            }
        }
        // Those that have ended are done with; without a next one over there, all of them.
        match has_reached_next {
            true => drop(self.open.drain(..ended)),
            false => self.open.clear(),
        }
        self.start = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragments(stored: &[(&str, &str, u64)]) -> Vec<String> {
        let stored = stored
            .iter()
            .map(|&(start, end, sequence)| Deletion {
                start: start.into(),
                end: end.into(),
                sequence,
            })
            .collect();
        let order = KeyOrder { comparator: Comparator::Bytewise, timestamp_size: 0 };
        let mut listed = Vec::new();
        Fragments { stored, order }
            .for_each(|start, end| {
                listed.push(format!("{}-{}", start.escape_ascii(), end.escape_ascii()));
                Ok(())
            })
            .unwrap();
        listed
    }

    #[test]
    fn the_drawn_example() {
        let listed = fragments(&[("a", "e", 3), ("c", "g", 7)]);
        assert_eq!(listed, ["a-c", "c-e", "c-e", "e-g"]);
    }

    #[test]
    fn gaps_and_touching_ranges() {
        let listed = fragments(&[("a", "b", 3), ("b", "c", 3), ("e", "f", 1)]);
        assert_eq!(listed, ["a-b", "b-c", "e-f"]);
    }

    #[test]
    fn a_deletion_of_nothing_cuts() {
        assert_eq!(fragments(&[("a", "e", 3), ("c", "c", 7)]), ["a-c", "c-e"]);
        assert_eq!(fragments(&[("c", "c", 7)]), [""; 0]);
    }

    #[test]
    fn the_same_one_counts_once() {
        assert_eq!(fragments(&[("a", "e", 3), ("a", "e", 3)]), ["a-e"]);
        assert_eq!(fragments(&[("a", "e", 3), ("a", "e", 2)]), ["a-e", "a-e"]);
        let nested = fragments(&[("a", "z", 1), ("b", "c", 2), ("d", "e", 2)]);
        assert_eq!(nested, ["a-b", "b-c", "b-c", "c-d", "d-e", "d-e", "e-z"]);
    }
}
