//! Counters of entries: of which kind they are, and what they are good for.

use std::ops::AddAssign;

use sstkit_table::raw::EntryKind;

/// What an entry contributes to the visible state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryUse {
    /// It is the value of its key, or a part of it: an operand to merge, the value below operands.
    Visible,
    /// A newer entry of the key replaces it.
    OlderVersion,
    /// A range tombstone covers it.
    Covered,
    /// It is a deletion of its key, needed or not.
    Tombstone,
}

impl EntryUse {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::Visible, Self::OlderVersion, Self::Covered, Self::Tombstone];
}

/// Entries, and the bytes of their keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpaceCounts {
    /// Entries.
    pub entries: u64,
    /// Bytes of their user keys and values, as stored in the table before compression.
    pub bytes: u64,
    /// Bytes of the values that they refer to in blob files, as stored there.
    pub blob_bytes: u64,
}

impl AddAssign for SpaceCounts {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.bytes += other.bytes;
        self.blob_bytes = self.blob_bytes.saturating_add(other.blob_bytes);
    }
}

/// One more than the largest number of an [`EntryKind`].
const KINDS: usize = 32;

/// Counters of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryCounts {
    by_kind: [u64; KINDS],
    /// Of what is visible, only the bytes in blob files: the rest is what the others leave.
    by_use: [SpaceCounts; EntryUse::ALL.len()],
    /// Bytes of the user keys, with their timestamps.
    pub key_bytes: u64,
    /// Bytes of the values as stored in the table, before compression. Of a value in a blob file, the
    /// reference to it.
    pub value_bytes: u64,
    /// The smallest sequence number of a tombstone.
    pub oldest_tombstone: Option<u64>,
}

impl EntryCounts {
    /// All entries.
    pub fn entries(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    /// Entries of a kind.
    pub fn of_kind(&self, kind: EntryKind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// Entries with this use.
    pub fn used_for(&self, entry_use: EntryUse) -> SpaceCounts {
        let mut space = self.by_use[entry_use as usize];
        if entry_use == EntryUse::Visible {
            let others: (u64, u64) =
                self.by_use.iter().fold((0, 0), |sum, it| (sum.0 + it.entries, sum.1 + it.bytes));
            (space.entries, space.bytes) = (self.entries() - others.0, self.bytes() - others.1);
        }
        space
    }

    /// Bytes of user keys and values.
    pub fn bytes(&self) -> u64 {
        self.key_bytes + self.value_bytes
    }

    #[inline(always)] // see `Pass::take`
    pub(super) fn add(&mut self, entry: &CountedEntry) {
        self.by_kind[entry.kind as usize] += 1;
        self.key_bytes += entry.key_length;
        self.value_bytes += entry.value_length;
        if entry.entry_use != EntryUse::Visible || entry.blob_size > 0 {
            self.add_use(entry);
        }
    }

    fn add_use(&mut self, entry: &CountedEntry) {
        let space = &mut self.by_use[entry.entry_use as usize];
        space.blob_bytes = space.blob_bytes.saturating_add(entry.blob_size);
        if entry.entry_use == EntryUse::Visible {
            return;
        }
        space.entries += 1;
        space.bytes += entry.key_length + entry.value_length;
        if entry.entry_use == EntryUse::Tombstone {
            let oldest = self.oldest_tombstone.unwrap_or(u64::MAX);
            self.oldest_tombstone = Some(oldest.min(entry.sequence));
        }
    }
}

impl AddAssign<&Self> for EntryCounts {
    fn add_assign(&mut self, other: &Self) {
        self.by_kind.iter_mut().zip(other.by_kind).for_each(|(sum, more)| *sum += more);
        self.by_use.iter_mut().zip(other.by_use).for_each(|(sum, more)| *sum += more);
        self.key_bytes += other.key_bytes;
        self.value_bytes += other.value_bytes;
        let oldest = [self.oldest_tombstone, other.oldest_tombstone];
        self.oldest_tombstone = oldest.into_iter().flatten().min();
    }
}

/// What is counted of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedEntry {
    pub(super) kind: EntryKind,
    pub(super) entry_use: EntryUse,
    pub(super) sequence: u64,
    pub(super) key_length: u64,
    pub(super) value_length: u64,
    /// Stored bytes in blob files.
    pub(super) blob_size: u64,
}
