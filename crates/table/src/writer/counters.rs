//! Counts of the entries and blocks of a table.

use std::collections::BTreeSet;

use crate::comparator::Comparator;
use crate::raw::{Attempt, Codec, EntryKind, InternalKey};

/// Counts of the table being written; most become properties.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) entries: u64,
    pub(crate) raw_key_size: u64,
    pub(crate) raw_value_size: u64,
    pub(crate) deletions: u64,
    pub(crate) merges: u64,
    pub(crate) range_deletions: u64,
    pub(crate) largest_sequence: u64,
    pub(crate) smallest_sequence: Option<u64>,
    /// Oldest and newest.
    pub(crate) timestamps: Option<(Vec<u8>, Vec<u8>)>,
    /// As RocksDB counts them: without those buffered for a dictionary.
    pub(crate) data_blocks: u64,
    pub(crate) rejected_blocks: u64,
    pub(crate) bypassed_blocks: u64,
    /// The codec bytes in use.
    codecs: BTreeSet<u8>,
    /// Number and bytes of embedded blobs.
    pub(crate) embedded_blobs: Option<(u64, u64)>,
}

impl Counters {
    /// Counts an entry: a point, or a range tombstone with its end as the value.
    #[inline]
    pub(crate) fn entry(&mut self, key: &InternalKey<'_>, value_length: usize) {
        self.entries += 1;
        self.raw_key_size += (key.user_key.len() + InternalKey::TAIL_LENGTH) as u64;
        self.raw_value_size += value_length as u64;
        match key.kind {
            EntryKind::Deletion | EntryKind::SingleDeletion | EntryKind::DeletionWithTimestamp => {
                self.deletions += 1;
            }
            EntryKind::RangeDeletion => {
                self.deletions += 1;
                self.range_deletions += 1;
            }
            EntryKind::Merge => self.merges += 1,
            _ => {}
        }
        self.largest_sequence = self.largest_sequence.max(key.sequence);
        self.smallest_sequence = match self.smallest_sequence {
            Some(smallest) => Some(smallest.min(key.sequence)),
            None => Some(key.sequence),
        };
    }

    /// Counts the timestamp of an entry.
    pub(crate) fn timestamp(&mut self, timestamp: &[u8], comparator: &Comparator) {
        let Some((oldest, newest)) = &mut self.timestamps else {
            self.timestamps = Some((timestamp.to_vec(), timestamp.to_vec()));
            return;
        };
        // A key of nothing but a timestamp: the newer one sorts first.
        if comparator.compare(timestamp, oldest).is_gt() {
            *oldest = timestamp.to_vec();
        }
        if comparator.compare(timestamp, newest).is_lt() {
            *newest = timestamp.to_vec();
        }
    }

    /// Counts a data block by the result of its compression.
    pub(crate) fn data_block(&mut self, attempt: Attempt) {
        match attempt {
            Attempt::Compressed(_) => {}
            Attempt::Rejected => self.rejected_blocks += 1,
            Attempt::Bypassed => self.bypassed_blocks += 1,
        }
        self.codec(attempt.codec_byte());
    }

    /// Records the codec of a block.
    pub(crate) fn codec(&mut self, byte: u8) {
        self.codecs.insert(byte);
    }

    /// The codecs in use, ascending, without "none".
    pub(crate) fn codecs(&self) -> impl Iterator<Item = u8> {
        self.codecs.iter().copied().filter(|&byte| byte != Codec::None as u8)
    }
}
