//! The state to read: a sequence number and a timestamp.

use sstkit_coding::{debug_struct, with_defaults};

use crate::raw::MAX_SEQUENCE_NUMBER;
use crate::visibility::UserKeys;

with_defaults! {
    /// A view of the data: everything written up to a sequence number and, if keys have timestamps, up
    /// to a timestamp. By default everything is visible.
    #[derive(Clone, PartialEq, Eq)]
    pub struct ReadView {
        /// The largest visible sequence number.
        pub sequence: u64 = MAX_SEQUENCE_NUMBER,
        /// The latest visible timestamp; `None` for all.
        pub timestamp: Option<Vec<u8>>,
    }
}

debug_struct!(ReadView { sequence, timestamp: bytes });

impl ReadView {
    /// Whether an entry or a range tombstone is visible. `timestamp` is empty in tables that do not
    /// persist timestamps: their entries are older than all others.
    #[inline]
    pub fn sees(&self, sequence: u64, timestamp: &[u8], keys: &UserKeys) -> bool {
        sequence <= self.sequence && self.sees_timestamp(timestamp, keys)
    }

    #[inline]
    fn sees_timestamp(&self, timestamp: &[u8], keys: &UserKeys) -> bool {
        let is_in_time = |limit: &[u8]| timestamp.is_empty() || !keys.is_later(timestamp, limit);
        self.timestamp.as_deref().is_none_or(is_in_time)
    }
}
