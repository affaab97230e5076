//! Values that a compaction drops or changes.

use std::fmt;

/// Decides about each value that a compaction would write: RocksDB's `CompactionFilter`.
///
/// ```
/// use sstkit_db::{CompactionDecision, CompactionFilter};
///
/// /// Drops what is marked as expired, and removes the mark from the rest.
/// struct Expiry;
///
/// impl CompactionFilter for Expiry {
///     fn filter(&self, _key: &[u8], value: &[u8]) -> CompactionDecision {
///         match value {
///             [b'x', ..] => CompactionDecision::Remove,
///             [b'-', rest @ ..] => CompactionDecision::Change(rest.to_vec()),
///             _ => CompactionDecision::Keep,
///         }
///     }
/// }
/// ```
///
/// It sees the newest version of a key, if that is a plain value, also one that was merged from
/// operands or read from a blob file, in key order. Other kinds of entries are kept. A key that is
/// removed becomes a deletion, unless the output is [the bottommost
/// level](crate::CompactionOptions::bottommost).
pub trait CompactionFilter: Send + Sync {
    /// What to do with the value of a key, which is without its timestamp.
    fn filter(&self, key: &[u8], value: &[u8]) -> CompactionDecision;
}

impl fmt::Debug for dyn CompactionFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CompactionFilter")
    }
}

/// What a [`CompactionFilter`] does with a value.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompactionDecision {
    /// Writes it as it is.
    Keep,
    /// Deletes the key.
    Remove,
    /// Writes this instead.
    Change(Vec<u8>),
}

sstkit_coding::debug_enum!(CompactionDecision {
    Keep, Remove, Change(value: bytes),
});
