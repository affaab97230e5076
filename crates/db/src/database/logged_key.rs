//! Keys of logs whose timestamps are not those of the comparator.

use std::borrow::Cow;

use sstkit_table::visibility::UserKeys;

use crate::error::{Error, Result};

/// A key that was logged with another timestamp size: the timestamp is removed, or the smallest one
/// added.
pub(super) fn with_timestamp_size(
    key: &[u8],
    stored: usize,
    wanted: usize,
) -> Result<Cow<'_, [u8]>> {
    match (stored, wanted) {
        (0, _) => {
            let mut key = key.to_vec();
            key.resize(key.len() + wanted, 0);
            Ok(key.into())
        }
        (_, 0) => match key.len().checked_sub(stored) {
            Some(length) => Ok(Cow::Borrowed(&key[..length])),
            None => Err(Error::corrupt("a key is shorter than its timestamp")),
        },
        _ => Err(Error::mismatch(
            "the timestamp size in the log does not match the comparator",
            wanted,
            stored,
        )),
    }
}

/// The key with another timestamp.
pub(super) fn stamped(key: &[u8], keys: &UserKeys, timestamp: &[u8]) -> Vec<u8> {
    [keys.bare(key), timestamp].concat()
}
