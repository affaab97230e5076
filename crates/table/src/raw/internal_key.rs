//! Internal keys: what database tables are sorted by.
//!
//! ```text
//! +--------------------------+----------------------------------+
//! | user key                 | fixed64 (sequence << 8 | kind)   |
//! +--------------------------+----------------------------------+
//!   … with a timestamp in its
//!     last bytes, if the comparator has them
//!
//! 6B 65 79 30 30 30 | 01 00 00 00 00 00 00 00      key000, sequence 0, a value
//! ```
//!
//! Ascending by user key, then descending by the last eight bytes: newest first.

use std::fmt;

use sstkit_coding::fixed::{decode_fixed64, put_fixed64};
use sstkit_coding::named_enum;

use crate::error::{Error, Result};
use crate::key_excerpt::KeyExcerpt;

/// The largest sequence number: 56 bits.
pub const MAX_SEQUENCE_NUMBER: u64 = (1 << 56) - 1;

named_enum! {
    /// What an entry of a table does to its key.
    ///
    /// The numbers are stored in every internal key and never change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    #[non_exhaustive]
    pub enum EntryKind {
        /// The key is deleted.
        Deletion = 0x00 => "delete",
        /// The key has this value.
        Value = 0x01 => "put",
        /// The value is an operand, to be merged with what is older.
        Merge = 0x02 => "merge",
        /// The key, written once at most since the last deletion, is deleted.
        SingleDeletion = 0x07 => "single_delete",
        /// Keys from this one up to the value (exclusive) are deleted; in range deletion blocks only.
        RangeDeletion = 0x0f => "range_delete",
        /// The value is kept elsewhere: see [`BlobIndex`](super::BlobIndex).
        BlobIndex = 0x11 => "blob_index",
        /// The key is deleted from this timestamp on.
        DeletionWithTimestamp = 0x14 => "delete_with_timestamp",
        /// The value holds named columns: see [`decode_wide_columns`](super::decode_wide_columns).
        WideColumnEntity = 0x16 => "put_entity",
        /// The value ends in a sequence number of its own: see
        /// [`split_preferred_seqno`](super::split_preferred_seqno).
        ValuePreferredSeqno = 0x18 => "put_preferred_seqno",
    }

    /// What it does, in a word: `put`, `delete` and so on.
    fn name;
}

impl EntryKind {
    /// The kind stored as `byte`, if tables hold such entries. Other kinds exist in logs.
    #[inline]
    pub fn from_byte(byte: u8) -> Option<Self> {
        // Once for every entry of a scan: a table, not a search.
        Some(match byte {
            0x00 => Self::Deletion,
            0x01 => Self::Value,
            0x02 => Self::Merge,
            0x07 => Self::SingleDeletion,
            0x0f => Self::RangeDeletion,
            0x11 => Self::BlobIndex,
            0x14 => Self::DeletionWithTimestamp,
            0x16 => Self::WideColumnEntity,
            0x18 => Self::ValuePreferredSeqno,
            _ => return None,
        })
    }

    /// Whether entries of this kind belong in data blocks and apply to a single key.
    pub fn is_point(self) -> bool {
        self != Self::RangeDeletion
    }

    /// Whether entries of this kind delete their key.
    #[inline]
    pub fn is_point_deletion(self) -> bool {
        matches!(self, Self::Deletion | Self::SingleDeletion | Self::DeletionWithTimestamp)
    }
}

/// A decoded internal key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InternalKey<'a> {
    /// The user's key, with its timestamp if there is one.
    pub user_key: &'a [u8],
    /// When it was written; 56 bits.
    pub sequence: u64,
    /// What the entry does.
    pub kind: EntryKind,
}

impl<'a> InternalKey<'a> {
    /// Bytes after the user key.
    pub const TAIL_LENGTH: usize = 8;

    /// Decodes an internal key.
    pub fn decode_from(bytes: &'a [u8]) -> Result<Self> {
        let Some((user_key, tail)) = bytes.split_last_chunk() else {
            return Err(Error::mismatch(
                format!("{} is not an internal key", KeyExcerpt(bytes)),
                "8 bytes or more",
                bytes.len(),
            ));
        };
        let tail = decode_fixed64(*tail);
        let kind = EntryKind::from_byte(tail as u8).ok_or_else(|| {
            Error::mismatch(
                format!("the key {} has an unknown kind", KeyExcerpt(user_key)),
                "a kind that tables contain",
                format_args!("{:#04x}", tail as u8),
            )
        })?;
        Ok(Self { user_key, sequence: tail >> 8, kind })
    }

    /// Appends the encoded key.
    #[inline]
    pub fn encode_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.user_key);
        put_fixed64(out, self.sequence << 8 | self.kind as u64);
    }

    /// The user key and its timestamp of `timestamp_size` bytes; `None` if it is shorter.
    pub fn split_timestamp(&self, timestamp_size: usize) -> Option<(&'a [u8], &'a [u8])> {
        self.user_key.split_at_checked(self.user_key.len().checked_sub(timestamp_size)?)
    }
}

impl fmt::Debug for InternalKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}:{:?}", KeyExcerpt(self.user_key), self.sequence, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_example() {
        let bytes = b"key000\x01\0\0\0\0\0\0\0";
        let key = InternalKey::decode_from(bytes).unwrap();
        assert_eq!(key, InternalKey { user_key: b"key000", sequence: 0, kind: EntryKind::Value });
        let mut out = Vec::new();
        key.encode_to(&mut out);
        assert_eq!(out, bytes);
    }

    #[test]
    fn the_largest_sequence_number() {
        let bytes = [0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        let key = InternalKey::decode_from(&bytes).unwrap();
        assert_eq!((key.user_key, key.sequence), (&[][..], MAX_SEQUENCE_NUMBER));
        assert_eq!(key.kind, EntryKind::ValuePreferredSeqno);
    }

    #[test]
    fn short_keys_and_kinds_of_logs_are_refused() {
        assert!(InternalKey::decode_from(b"1234567").is_err());
        for kind in 0..=u8::MAX {
            let known = [0, 1, 2, 7, 0x0f, 0x11, 0x14, 0x16, 0x18].contains(&kind);
            let bytes = [b'k', kind, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!(InternalKey::decode_from(&bytes).is_ok(), known, "{kind:#04x}");
        }
    }

    #[test]
    fn kinds_are_found_by_their_numbers() {
        assert!(EntryKind::ALL.iter().all(|&kind| EntryKind::from_byte(kind as u8) == Some(kind)));
    }

    #[test]
    fn a_timestamp_is_the_end_of_the_user_key() {
        let key = InternalKey { user_key: b"key12345678", sequence: 0, kind: EntryKind::Value };
        assert_eq!(key.split_timestamp(8), Some((&b"key"[..], &b"12345678"[..])));
        assert_eq!(key.split_timestamp(12), None);
    }
}
