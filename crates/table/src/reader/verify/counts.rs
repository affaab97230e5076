//! What properties count, counted.

use crate::raw::BlockKind;

/// What the entries come to.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) entries: u64,
    pub(crate) range_deletions: u64,
    pub(crate) deletions: u64,
    pub(crate) merges: u64,
    pub(crate) raw_key_size: u64,
    pub(crate) raw_value_size: u64,
    pub(crate) data_blocks: u64,
    /// Where the last data block ends, with its trailer.
    pub(crate) data_end: u64,
    pub(crate) blobs: u64,
    pub(crate) blob_bytes: u64,
    /// User keys, without timestamps, and their prefixes: each once where it is repeated.
    pub(crate) keys: Distinct,
    pub(crate) prefixes: Distinct,
    /// As stored, in points and in range deletions.
    pub(crate) point_sequences: Bounds,
    pub(crate) range_sequences: Bounds,
}

impl Counts {
    /// Adds what was counted in the part of the table that follows.
    pub(crate) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.range_deletions += other.range_deletions;
        self.deletions += other.deletions;
        self.merges += other.merges;
        self.raw_key_size += other.raw_key_size;
        self.raw_value_size += other.raw_value_size;
        self.data_blocks += other.data_blocks;
        self.data_end = self.data_end.max(other.data_end);
        self.blobs += other.blobs;
        self.blob_bytes = self.blob_bytes.saturating_add(other.blob_bytes);
        self.keys.append(other.keys);
        self.prefixes.append(other.prefixes);
        self.point_sequences.add_all(&other.point_sequences);
        self.range_sequences.add_all(&other.range_sequences);
    }
}

/// A number of different values in a row where equal ones follow one another.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    pub(crate) count: u64,
    first: Option<Vec<u8>>,
    last: Vec<u8>,
}

impl Distinct {
    pub(crate) fn add(&mut self, value: &[u8]) {
        if self.first.is_none() {
            self.first = Some(value.to_vec());
        } else if self.last == value {
            return;
        }
        self.count += 1;
        self.last.clear();
        self.last.extend_from_slice(value);
    }

    fn append(&mut self, other: Self) {
        let Some(first) = other.first else { return };
        let goes_on = self.first.is_some() && self.last == first;
        self.count += other.count - u64::from(goes_on);
        self.first.get_or_insert(first);
        self.last = other.last;
    }
}

/// The smallest and the largest of some numbers.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) ends: Option<(u64, u64)>,
}

impl Bounds {
    pub(crate) fn add(&mut self, number: u64) {
        let (smallest, largest) = self.ends.unwrap_or((number, number));
        self.ends = Some((smallest.min(number), largest.max(number)));
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        if let Some((smallest, largest)) = other.ends {
            self.add(smallest);
            self.add(largest);
        }
    }
}

/// The blocks of the tail: sizes when decompressed.
#[derive(Debug)]
pub(crate) struct Tail {
    /// Where the first of them begins.
    pub(crate) start: u64,
    pub(crate) index: u64,
    pub(crate) index_partitions: u64,
    pub(crate) index_partition_count: u64,
    pub(crate) hash_index: u64,
    pub(crate) filter: u64,
    pub(crate) filter_partitions: u64,
    pub(crate) filter_partition_count: u64,
    /// Whether all of them could be read.
    pub(crate) complete: bool,
    /// Whether the index may be followed.
    pub(crate) index_sound: bool,
}

impl Default for Tail {
    fn default() -> Self {
        Self {
            start: u64::MAX,
            index: 0,
            index_partitions: 0,
            index_partition_count: 0,
            hash_index: 0,
            filter: 0,
            filter_partitions: 0,
            filter_partition_count: 0,
            complete: true,
            index_sound: true,
        }
    }
}

impl Tail {
    /// Adds a block of this size.
    pub(crate) fn add(&mut self, kind: BlockKind, offset: u64, size: u64) {
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
    fn what_is_repeated_counts_once_across_parts() {
        let of = |values: &[&str]| {
            let mut distinct = Distinct::default();
            values.iter().for_each(|value| distinct.add(value.as_bytes()));
            distinct
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
