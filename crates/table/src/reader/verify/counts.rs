//! What the properties of a table count, counted.

use sstkit_coding::with_defaults;

use crate::raw::BlockKind;

/// Totals over the entries of a table or of a part of it.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) entries: u64,
    pub(super) range_deletions: u64,
    pub(super) deletions: u64,
    pub(super) merges: u64,
    pub(super) raw_key_size: u64,
    pub(super) raw_value_size: u64,
    pub(super) data_blocks: u64,
    /// Where the last data block ends, with its trailer.
    pub(super) data_end: u64,
    pub(super) blobs: u64,
    pub(super) blob_bytes: u64,
    /// User keys without timestamps, consecutive equal ones counted once.
    pub(super) keys: u64,
    /// Prefixes, counted in the same way.
    pub(super) prefixes: RunCount,
    /// As stored, of points and of range tombstones.
    pub(super) point_sequences: SequenceBounds,
    pub(super) range_sequences: SequenceBounds,
}

impl Counts {
    /// Adds the counts of the next part of the table. `shares_key` says whether it starts with the
    /// user key that this part ends with.
    pub(super) fn add(&mut self, next: Self, shares_key: bool) {
        self.entries += next.entries;
        self.range_deletions += next.range_deletions;
        self.deletions += next.deletions;
        self.merges += next.merges;
        self.raw_key_size += next.raw_key_size;
        self.raw_value_size += next.raw_value_size;
        self.data_blocks += next.data_blocks;
        self.data_end = self.data_end.max(next.data_end);
        self.blobs += next.blobs;
        self.blob_bytes = self.blob_bytes.saturating_add(next.blob_bytes);
        self.keys += next.keys - u64::from(shares_key);
        self.prefixes.append(next.prefixes);
        self.point_sequences.add_all(&next.point_sequences);
        self.range_sequences.add_all(&next.range_sequences);
    }
}

/// Counts the runs of equal values in a sequence.
#[derive(Debug, Default)]
pub(super) struct RunCount {
    pub(super) count: u64,
    first: Option<Vec<u8>>,
    last: Vec<u8>,
}

impl RunCount {
    pub(super) fn add(&mut self, value: &[u8]) {
        if self.first.is_none() {
            self.first = Some(value.to_vec());
        } else if self.last == value {
            return;
        }
        self.count += 1;
        self.last.clear();
        self.last.extend_from_slice(value);
    }

    /// Adds the runs of the values that follow.
    fn append(&mut self, next: Self) {
        let Some(first) = next.first else { return };
        let is_one_run = self.first.is_some() && self.last == first;
        self.count += next.count - u64::from(is_one_run);
        self.first.get_or_insert(first);
        self.last = next.last;
    }
}

/// The smallest and largest sequence number seen.
#[derive(Debug)]
pub(super) struct SequenceBounds {
    smallest: u64,
    largest: u64,
}

/// No number yet.
impl Default for SequenceBounds {
    fn default() -> Self {
        Self { smallest: u64::MAX, largest: 0 }
    }
}

impl SequenceBounds {
    #[inline]
    pub(super) fn add(&mut self, sequence: u64) {
        self.smallest = self.smallest.min(sequence);
        self.largest = self.largest.max(sequence);
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
    }

    /// Smallest and largest; `None` if there was no number.
    pub(super) fn ends(&self) -> Option<(u64, u64)> {
        (self.smallest <= self.largest).then_some((self.smallest, self.largest))
    }
}

with_defaults! {
    /// Decompressed sizes of the blocks behind the data blocks.
    #[derive(Debug)]
    pub(super) struct Tail {
        /// Where the first of them starts.
        pub(super) start: u64 = u64::MAX,
        pub(super) index: u64,
        pub(super) index_partitions: u64,
        pub(super) index_partition_count: u64,
        pub(super) hash_index: u64,
        pub(super) filter: u64,
        pub(super) filter_partitions: u64,
        pub(super) filter_partition_count: u64,
        /// Whether all of them could be read.
        pub(super) complete: bool = true,
        /// Whether the index can be followed.
        pub(super) index_sound: bool = true,
    }
}

impl Tail {
    pub(super) fn add(&mut self, kind: BlockKind, offset: u64, size: u64) {
        self.start = self.start.min(offset);
        match kind {
            BlockKind::Index => self.index += size,
            BlockKind::IndexPartition => {
                self.index_partitions += size;
                self.index_partition_count += 1;
            }
            BlockKind::HashIndex => self.hash_index += size,
            BlockKind::Filter => self.filter += size,
            BlockKind::FilterPartition => {
                self.filter_partitions += size;
                self.filter_partition_count += 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_across_parts_counts_once() {
        let of = |values: &[&str]| {
            let mut runs = RunCount::default();
            values.iter().for_each(|value| runs.add(value.as_bytes()));
            runs
        };
        let all = ["", "", "a", "a", "b", "a", "a"];
        assert_eq!(of(&all).count, 4);
        for cut in 0..=all.len() {
            let mut joined = of(&all[..cut]);
            joined.append(of(&all[cut..]));
            assert_eq!(joined.count, 4, "{cut}");
        }
    }
}
