//! Which entries a table accepts, and in which order.
//!
//! Everything is checked before anything changes, so that a refused entry has no effect.

use std::cmp::Ordering;

use crate::comparator::Comparator;
use crate::compatibility::{RocksDbVersion, TableFeature};
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::raw::{
    BlobIndex, Engine, EntryKind, InternalKey, MAX_SEQUENCE_NUMBER, decode_wide_columns,
    split_preferred_seqno,
};

/// Lengths and offsets in blocks have 32 bits, and an entry is in one block.
const MAX_LENGTH: usize = u32::MAX as usize;

/// Keys and values shorter than this always fit into a block together.
const USUAL_LENGTH: usize = 1 << 30;

/// Upper bound of the bytes of an entry besides key and value: three lengths and, with separated
/// values, an offset, of five bytes each.
const ENTRY_OVERHEAD: usize = 4 * 5;

/// Upper bound of the growth of a column when its value becomes an embedded blob: its kind (1), and a
/// blob index of kind (1), file 0 (1), offset (10), size (5), codec (1).
const BLOB_COLUMN_GROWTH: usize = 1 + 1 + 1 + 10 + 5 + 1;

/// Growth of the header of its entity: three more lengths.
const BLOB_ENTITY_GROWTH: usize = 3 * 5;

/// The state that decides about the next entry.
#[derive(Debug)]
pub(crate) struct EntryCheck {
    comparator: Comparator,
    /// Of the comparator.
    timestamp_size: usize,
    engine: Engine,
    bare_keys: bool,
    external_file: bool,
    embeds_blobs: bool,
    /// The version of RocksDB that must read the table.
    readable_by: Option<RocksDbVersion>,
    /// Of the last point entry.
    last_tail: (u64, EntryKind),
    pub(crate) points: u64,
    ranges: u64,
    /// Bytes of range tombstones: they share one block.
    range_bytes: usize,
    pub(crate) first_key: Vec<u8>,
}

impl EntryCheck {
    pub(crate) fn new(options: &TableOptions) -> Self {
        Self {
            comparator: options.comparator.clone(),
            timestamp_size: options.comparator.timestamp_size(),
            engine: options.engine,
            bare_keys: options.blocks.bare_keys,
            external_file: options.properties.external_file && options.engine == Engine::RocksDb,
            embeds_blobs: options.blocks.embedded_blobs.is_some(),
            readable_by: options.readable_by,
            last_tail: (0, EntryKind::Deletion),
            points: 0,
            ranges: 0,
            range_bytes: 0,
            first_key: Vec::new(),
        }
    }

    /// Checks the length of a timestamp.
    #[inline]
    pub(crate) fn timestamp(&self, timestamp: &[u8]) -> Result<()> {
        let size = self.timestamp_size;
        if timestamp.len() == size {
            return Ok(());
        }
        Err(Error::invalid_input(format!(
            "the timestamp has {} bytes, but {} expects {size}",
            timestamp.len(),
            self.comparator
        )))
    }

    /// Whether an entry may follow, in the order of internal keys. In a table without sequence
    /// numbers, or one whose entries all get the same number when it is ingested, each user key
    /// occurs once. If values become blobs, and so change their kind, each sequence number of a key
    /// occurs once, as the order by kinds would change. `last` is the user key of the last point.
    pub(crate) fn entry(&self, last: &[u8], key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        self.shape(key, value)?;
        if self.points == 0 || !key.kind.is_point() {
            return Ok(());
        }
        // Of one key, the newest first: larger sequence numbers before smaller ones.
        let by_tail = || match self.bare_keys || self.external_file {
            true => Ordering::Equal,
            false if self.embeds_blobs => key.sequence.cmp(&self.last_tail.0),
            false => (key.sequence, key.kind).cmp(&self.last_tail),
        };
        let order = self.comparator.compare(last, key.user_key).then_with(by_tail);
        ascending(order, last, key)
    }

    /// Whether an entry may follow in a table where each user key occurs once. `last` is that of the
    /// last point.
    #[inline]
    pub(crate) fn external(&self, last: &[u8], key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        self.shape(key, value)?;
        if self.points == 0 {
            return Ok(());
        }
        ascending(self.comparator.compare(last, key.user_key), last, key)
    }

    /// Checks lengths, kind, sequence number, and whether the value fits its kind.
    #[inline]
    fn shape(&self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        // Nearly all entries: a value of usual size, which every table accepts.
        if key.kind == EntryKind::Value
            && key.sequence == 0
            && key.user_key.len() < USUAL_LENGTH
            && value.len() < USUAL_LENGTH
            && key.user_key.len() >= self.timestamp_size
        {
            return Ok(());
        }
        self.unusual_shape(key, value)
    }

    fn unusual_shape(&self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        let refused = |what: String| Err(Error::invalid_input(what));
        let InternalKey { user_key, sequence, kind } = *key;
        if user_key.len() > MAX_LENGTH - InternalKey::TAIL_LENGTH {
            return refused(format!("the key is too large ({} bytes)", user_key.len()));
        }
        if value.len() > MAX_LENGTH {
            return refused(format!("the value is too large ({} bytes)", value.len()));
        }
        self.size(key, value, 0)?;
        if user_key.len() < self.timestamp_size {
            return refused(format!("the key {} is shorter than its timestamp", shown(user_key)));
        }
        if sequence > MAX_SEQUENCE_NUMBER {
            return refused(format!("the sequence number {sequence} is too large"));
        }
        if self.external_file && sequence != 0 {
            return refused(format!(
                "the sequence number {sequence} contradicts external_file, which requires 0"
            ));
        }
        let feature = TableFeature::Entry(kind);
        if let Some(version) = self.readable_by.filter(|&version| !feature.is_read_by(version)) {
            return refused(format!(
                "{feature} contradict readable_by = RocksDB {version}, which does not support them"
            ));
        }
        match (self.engine, kind) {
            (Engine::LevelDb, EntryKind::Value) => {}
            (Engine::LevelDb, EntryKind::Deletion) if !self.bare_keys => {}
            (Engine::LevelDb, _) => {
                let key = shown(user_key);
                return refused(format!("LevelDB tables cannot contain {feature} (key {key})"));
            }
            (Engine::RocksDb, EntryKind::RangeDeletion) => return self.range(user_key, value),
            (Engine::RocksDb, _) => return self.value(key, value),
        }
        Ok(())
    }

    /// Whether an entry, with `growth` more bytes when it is stored, fits into a block.
    fn size(&self, key: &InternalKey<'_>, value: &[u8], growth: usize) -> Result<()> {
        let parts = [InternalKey::TAIL_LENGTH, value.len(), growth, ENTRY_OVERHEAD];
        let size = parts.into_iter().fold(key.user_key.len(), usize::saturating_add);
        if size <= MAX_LENGTH {
            return Ok(());
        }
        Err(Error::invalid_input(format!(
            "the entry is too large ({size} bytes): key and value must fit in a block of 4 GiB"
        )))
    }

    /// Whether a value fits its kind. Readers could not decode another one.
    fn value(&self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        let unlike = |error: &Error| {
            let (kind, user_key) = (key.kind, shown(key.user_key));
            Error::invalid_input(format!("the value ({kind:?}) of {user_key} is {error}"))
        };
        match key.kind {
            EntryKind::WideColumnEntity => {
                let columns = decode_wide_columns(value).map_err(|error| unlike(&error))?.len();
                match self.embeds_blobs {
                    true => {
                        self.size(key, value, columns * BLOB_COLUMN_GROWTH + BLOB_ENTITY_GROWTH)
                    }
                    false => Ok(()),
                }
            }
            EntryKind::BlobIndex => {
                BlobIndex::decode_from(value).map(drop).map_err(|error| unlike(&error))
            }
            EntryKind::ValuePreferredSeqno if split_preferred_seqno(value).is_none() => {
                Err(unlike(&Error::mismatch(
                    "it does not end in a sequence number",
                    "8 bytes or more",
                    value.len(),
                )))
            }
            _ => Ok(()),
        }
    }

    fn range(&self, begin: &[u8], end: &[u8]) -> Result<()> {
        if end.len() < self.timestamp_size {
            let what = format!("the end key {} is shorter than its timestamp", shown(end));
            return Err(Error::invalid_input(what));
        }
        if self.compare_bounds(begin, end) == Ordering::Greater {
            return Err(Error::invalid_input(format!(
                "the range ends at {}, before its begin {}",
                shown(end),
                shown(begin)
            )));
        }
        if self.range_bytes + range_size(begin, end) > MAX_LENGTH {
            let what = "more than 4 GiB of range tombstones cannot be stored";
            return Err(Error::invalid_input(what));
        }
        Ok(())
    }

    pub(crate) fn is_empty_range(&self, begin: &[u8], end: &[u8]) -> bool {
        self.compare_bounds(begin, end) == Ordering::Equal
    }

    fn compare_bounds(&self, begin: &[u8], end: &[u8]) -> Ordering {
        let size = self.timestamp_size;
        let bare = |key: &'_ [u8]| key.len() - size;
        self.comparator.compare_without_timestamp(&begin[..bare(begin)], &end[..bare(end)])
    }

    /// Records an entry that was written.
    #[inline]
    pub(crate) fn accept(&mut self, key: &InternalKey<'_>, value: &[u8]) {
        if key.kind == EntryKind::RangeDeletion {
            self.ranges += 1;
            self.range_bytes += range_size(key.user_key, value);
            return;
        }
        if self.points == 0 {
            self.first_key = key.user_key.to_vec();
        }
        self.points += 1;
        self.last_tail = (key.sequence, key.kind);
    }

    /// Whether the table may end here.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.external_file && self.points + self.ranges == 0 {
            let what = "an empty table contradicts external_file: no database ingests it";
            return Err(Error::invalid_input(what));
        }
        Ok(())
    }
}

#[inline]
fn ascending(order: Ordering, last: &[u8], key: &InternalKey<'_>) -> Result<()> {
    match order {
        Ordering::Less => Ok(()),
        _ => Err(disorder(last, key)),
    }
}

#[cold]
fn disorder(last: &[u8], key: &InternalKey<'_>) -> Error {
    Error::invalid_input(format!(
        "the keys are out of order: {} does not sort after {}",
        shown(key.user_key),
        shown(last)
    ))
}

/// Upper bound of the bytes of an entry in the range deletion block, with its restart point.
fn range_size(begin: &[u8], end: &[u8]) -> usize {
    const OVERHEAD: usize = 3 * 5 + 4;
    begin.len() + InternalKey::TAIL_LENGTH + end.len() + OVERHEAD
}

/// The beginning of a key, for a message.
fn shown(key: &[u8]) -> String {
    const SHOWN: usize = 64;
    match key.get(..SHOWN) {
        Some(start) => format!("\"{}…\"", start.escape_ascii()),
        None => format!("\"{}\"", key.escape_ascii()),
    }
}
