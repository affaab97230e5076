//! The point in time at which a column family is read.

use crate::keys::Keys;

/// What is visible: everything written up to a sequence number and, where keys have timestamps, up
/// to a timestamp.
#[derive(Clone, Debug)]
pub(crate) struct ReadView {
    pub(crate) sequence: u64,
    /// `None`: the largest.
    pub(crate) timestamp: Option<Vec<u8>>,
}

impl ReadView {
    /// Whether an entry, or a range deletion, is visible. Without a timestamp, in a table that does
    /// not keep them, it is older than all.
    #[inline]
    pub(crate) fn sees(&self, sequence: u64, timestamp: &[u8], keys: &Keys) -> bool {
        let is_in_time = |limit: &[u8]| timestamp.is_empty() || !keys.is_later(timestamp, limit);
        sequence <= self.sequence && self.timestamp.as_deref().is_none_or(is_in_time)
    }
}
