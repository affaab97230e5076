//! One live table: its location, key range and counters.
//!
//! ```text
//! smallest  | user key | timestamp | sequence, kind |
//! largest   | user key | timestamp | sequence, kind |      (2^56-1, 0F): the user key is not in it,
//!                                                          a range tombstone ends there
//! ```

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sstkit_coding::fixed::decode_fixed64;
use sstkit_coding::striped::StripedCounters;
use sstkit_table::Tickers;
use sstkit_table::raw::{EntryKind, InternalKey, MAX_SEQUENCE_NUMBER};
use sstkit_table::visibility::UserKeys;

use super::key_bounds::TableKeyBounds;
use crate::error::{Error, Result};
use crate::file_system;
use crate::open_tables::TableSlot;
use crate::raw::FileMetaData;

#[derive(Clone, Debug)]
pub struct TableFile {
    pub(crate) meta: FileMetaData,
    pub(crate) level: u32,
    /// The possible paths, most likely first.
    pub(crate) paths: Vec<PathBuf>,
    /// The table, while it is open.
    pub(crate) slot: Arc<TableSlot>,
    pub(crate) tickers: Arc<Tickers>,
    /// The number of lookups that reached this file.
    pub(crate) lookups: Arc<StripedCounters<1>>,
    /// Whether the table has range tombstones; set when it is opened for the first time.
    pub(crate) has_tombstones: OnceLock<bool>,
    smallest: Bound,
    largest: Bound,
    /// Whether `largest` is the end of a range tombstone.
    is_exclusive: bool,
}

/// A bound of the key range of a file, without timestamp.
#[derive(Clone, Debug)]
struct Bound {
    key: Vec<u8>,
    sequence: u64,
}

impl TableFile {
    pub(crate) fn new(
        meta: FileMetaData,
        level: u32,
        paths: Vec<PathBuf>,
        keys: &UserKeys,
    ) -> Result<Self> {
        // Not decoded as internal keys: a bound may have a kind that no entry has.
        let bound = |key: &[u8]| -> Result<(Bound, u64)> {
            let Some((user_key, tail)) = key.split_last_chunk() else {
                let what =
                    format!("the smallest or largest key of table {} is too short", meta.number);
                return Err(Error::mismatch(what, "8 bytes or more", key.len()));
            };
            let key = if meta.timestamps_persisted { keys.bare(user_key) } else { user_key };
            let tail = decode_fixed64(*tail);
            Ok((Bound { key: key.to_vec(), sequence: tail >> 8 }, tail))
        };
        let (smallest, _) = bound(&meta.smallest)?;
        let (largest, tail) = bound(&meta.largest)?;
        let is_exclusive = tail == MAX_SEQUENCE_NUMBER << 8 | EntryKind::RangeDeletion as u64;
        Ok(Self {
            level,
            paths,
            slot: Arc::default(),
            tickers: Arc::default(),
            lookups: Arc::default(),
            has_tombstones: OnceLock::new(),
            smallest,
            largest,
            is_exclusive,
            meta,
        })
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        let found = self.paths.iter().find(|path| file_system::exists(path));
        found.or(self.paths.first()).map_or(Path::new(""), PathBuf::as_path)
    }

    /// The same table, to be opened with different options.
    pub(crate) fn reopened(&self) -> Self {
        Self { slot: Arc::default(), ..self.clone() }
    }

    /// The first key of the range.
    pub(crate) fn smallest(&self) -> &[u8] {
        &self.smallest.key
    }

    /// The last key of the range, or the key before which it ends.
    pub(crate) fn largest(&self) -> &[u8] {
        &self.largest.key
    }

    /// The bounds within which its range tombstones apply.
    pub(crate) fn key_bounds(&self) -> TableKeyBounds<'_> {
        let (smallest, largest) = (self.smallest(), self.largest());
        TableKeyBounds { smallest, largest, is_exclusive: self.is_exclusive }
    }

    /// Whether the range excludes `largest`.
    pub(crate) fn largest_is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    /// Compares the first keys of two files; of equal keys, the newest entry comes first.
    pub(crate) fn compare_smallest(&self, other: &Self, keys: &UserKeys) -> Ordering {
        let stored = |file: &Self| {
            let key = &file.meta.smallest;
            key[..key.len().saturating_sub(InternalKey::TAIL_LENGTH)].to_vec()
        };
        let bare = keys.compare(&self.smallest.key, &other.smallest.key);
        match self.meta.timestamps_persisted && other.meta.timestamps_persisted {
            true => bare.then_with(|| keys.compare_stored(&stored(self), &stored(other))),
            false => bare,
        }
        .then_with(|| other.smallest.sequence.cmp(&self.smallest.sequence))
    }

    pub(crate) fn is_before(&self, key: &[u8], keys: &UserKeys) -> bool {
        let order = keys.compare(&self.largest.key, key);
        order.is_lt() || order.is_eq() && self.is_exclusive
    }

    /// Whether the whole file is after `key`.
    pub(crate) fn is_after(&self, key: &[u8], keys: &UserKeys) -> bool {
        keys.compare(&self.smallest.key, key).is_gt()
    }
}
