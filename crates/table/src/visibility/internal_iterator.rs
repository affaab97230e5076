//! The common interface of sorted internal entries.

use crate::error::Result;
use crate::raw::EntryKind;
use crate::reader::Value;
use crate::visibility::Direction;

/// Sorted internal entries: those of a table, a run of tables, a memtable, or a
/// [merge](super::MergingIterator) of several.
///
/// Entries are in internal key order: user keys ascend, and the entries of a user key are sorted
/// from newest to oldest. Every move returns whether the iterator is at an entry afterwards. After
/// an error it is unpositioned. Seek keys have no timestamp.
pub trait InternalIterator {
    /// Whether the iterator is at an entry. If not, the accessors return arbitrary values.
    fn is_valid(&self) -> bool;

    /// Whether the next move may be a step in this direction. Otherwise a seek is required.
    #[inline]
    fn can_step(&self, _direction: Direction) -> bool {
        true
    }

    /// The user key as stored, with its timestamp if it has one.
    fn user_key(&self) -> &[u8];

    /// The sequence number.
    fn sequence(&self) -> u64;

    /// The kind.
    fn kind(&self) -> EntryKind;

    /// The value as stored.
    fn value(&self) -> &[u8];

    /// A handle of the value as stored.
    fn value_handle(&self) -> Value;

    /// Moves to the next entry.
    fn next(&mut self) -> Result<bool>;

    /// Moves to the previous entry.
    fn prev(&mut self) -> Result<bool>;

    /// Moves to the first entry.
    fn seek_to_first(&mut self) -> Result<bool>;

    /// Moves to the last entry.
    fn seek_to_last(&mut self) -> Result<bool>;

    /// Moves to the newest entry of `key`, or to the first entry after it.
    fn seek(&mut self, key: &[u8]) -> Result<bool>;

    /// Moves to the oldest entry of `key`, or to the last entry before it.
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool>;

    /// Moves to the next entry with another user key. User keys are the same if their bytes before
    /// a timestamp of `timestamp_size` bytes are.
    #[inline]
    fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        let key = without_timestamp(self.user_key(), timestamp_size).to_vec();
        let mut more = self.next()?;
        while more && without_timestamp(self.user_key(), timestamp_size) == key {
            more = self.next()?;
        }
        Ok(more)
    }

    /// Moving backward: whether the previous entry is known to have another user key, without a move.
    /// User keys are the same if their bytes before a timestamp of `timestamp_size` bytes are.
    #[inline]
    fn is_first_of_user_key(&mut self, _timestamp_size: usize) -> bool {
        false
    }

    /// Moves to the newest entry of `key`, after moving backward past all of its entries.
    fn turn_forward(&mut self, key: &[u8]) -> Result<bool> {
        self.seek(key)
    }

    /// Moves to an entry of `key`, or to the last entry before it, after moving forward to or past
    /// its entries.
    fn turn_backward(&mut self, key: &[u8]) -> Result<bool> {
        self.seek_for_prev(key)
    }
}

/// A stored user key without its timestamp.
#[inline]
pub(crate) fn without_timestamp(user_key: &[u8], size: usize) -> &[u8] {
    &user_key[..user_key.len().saturating_sub(size)]
}
