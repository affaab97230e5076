//! Sorted internal entries: what everything that reads is made of.

use crate::error::Error;
use crate::raw::EntryKind;
use crate::reader::Value;

/// A sorted sequence of internal entries: those of a table, a run of tables, a memtable, or a
/// [merge](super::MergingIterator) of several.
///
/// Entries are in the order of internal keys: user keys ascend, and the entries of a user key are
/// sorted from the newest to the oldest. Every move returns whether there is an entry where it
/// leads. After an error the iterator is unpositioned. Keys to search for are given without
/// timestamps.
pub trait InternalIterator {
    /// The error of a move.
    type Error: From<Error>;

    /// Whether an iterator can move in either direction at any time. If not, a change of direction
    /// starts with a seek.
    const CAN_TURN: bool = false;

    /// Whether there is a current entry. If not, what the accessors return means nothing.
    fn is_valid(&self) -> bool;

    /// The user key as stored, with its timestamp if it has one.
    fn user_key(&self) -> &[u8];

    /// The sequence number.
    fn sequence(&self) -> u64;

    /// What the entry does to its key.
    fn kind(&self) -> EntryKind;

    /// The value as stored.
    fn value(&self) -> &[u8];

    /// A handle to the value as stored.
    fn value_handle(&self) -> Value;

    /// Moves to the next entry.
    fn next(&mut self) -> Result<bool, Self::Error>;

    /// Moves to the previous entry.
    fn prev(&mut self) -> Result<bool, Self::Error>;

    /// Moves to the first entry.
    fn seek_to_first(&mut self) -> Result<bool, Self::Error>;

    /// Moves to the last entry.
    fn seek_to_last(&mut self) -> Result<bool, Self::Error>;

    /// Moves to the newest entry of `key`, or to the first one after it.
    fn seek(&mut self, key: &[u8]) -> Result<bool, Self::Error>;

    /// Moves to the oldest entry of `key`, or to the last one before it.
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool, Self::Error>;

    /// Moves from an entry to the next one of another user key, where user keys are the same if
    /// their bytes before a timestamp of `timestamp_size` bytes are. A run of tables may stop at the
    /// same user key in the next table; a merge skips that, too.
    #[inline]
    fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool, Self::Error> {
        let key = without_timestamp(self.user_key(), timestamp_size).to_vec();
        let mut more = self.next()?;
        while more && without_timestamp(self.user_key(), timestamp_size) == key {
            more = self.next()?;
        }
        Ok(more)
    }

    /// The user key of the previous entry as stored, if it is at hand.
    #[inline]
    fn previous_user_key(&self) -> Option<&[u8]> {
        None
    }

    /// Moves to the newest entry of `key`, after having moved backward past all of its entries.
    fn turn_forward(&mut self, key: &[u8]) -> Result<bool, Self::Error> {
        self.seek(key)
    }

    /// Moves to an entry of `key`, or to the last one before it, after having moved forward to or past
    /// its entries.
    fn turn_backward(&mut self, key: &[u8]) -> Result<bool, Self::Error> {
        self.seek_for_prev(key)
    }
}

/// A stored user key without its timestamp.
#[inline]
pub(crate) fn without_timestamp(user_key: &[u8], size: usize) -> &[u8] {
    &user_key[..user_key.len().saturating_sub(size)]
}
