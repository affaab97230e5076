//! Which entries a table takes, and in which order.
//!
//! Everything is checked before anything changes, so that a refused entry leaves no trace.

use std::cmp::Ordering;

use crate::comparator::Comparator;
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::raw::{Engine, EntryKind, InternalKey, MAX_SEQUENCE_NUMBER};

/// Lengths of keys, with their tail, and of values are stored in 32 bits.
const MAX_LENGTH: usize = u32::MAX as usize;

/// What decides about the next entry.
#[derive(Debug)]
pub(super) struct EntryCheck {
    comparator: Comparator,
    engine: Engine,
    bare_keys: bool,
    external_file: bool,
    /// Of the last point.
    last_tail: (u64, EntryKind),
    pub(super) points: u64,
    ranges: u64,
    /// Bytes of range deletions: they share one block.
    range_bytes: usize,
    pub(super) first_key: Vec<u8>,
    pub(super) last_key: Vec<u8>,
}

impl EntryCheck {
    pub(super) fn new(options: &TableOptions) -> Self {
        Self {
            comparator: options.comparator.clone(),
            engine: options.engine,
            bare_keys: options.bare_keys,
            external_file: options.external_file && options.engine == Engine::RocksDb,
            last_tail: (0, EntryKind::Deletion),
            points: 0,
            ranges: 0,
            range_bytes: 0,
            first_key: Vec::new(),
            last_key: Vec::new(),
        }
    }

    /// Whether a timestamp has the length that the comparator wants.
    pub(super) fn timestamp(&self, timestamp: &[u8]) -> Result<()> {
        let size = self.comparator.timestamp_size();
        if timestamp.len() == size {
            return Ok(());
        }
        Err(Error::invalid_input(format!(
            "a timestamp of {} bytes, where {} has {size}",
            timestamp.len(),
            self.comparator
        )))
    }

    /// Whether an entry may follow, in the order of internal keys.
    pub(super) fn entry(&self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        self.shape(key, value)?;
        if self.points == 0 || !key.kind.is_point() {
            return Ok(());
        }
        // Of one key, the newest first: larger sequence numbers before smaller ones.
        let order = self.comparator.compare(&self.last_key, key.user_key).then_with(|| match self
            .bare_keys
        {
            true => Ordering::Equal,
            false => (key.sequence, key.kind).cmp(&self.last_tail),
        });
        self.ascending(order, key)
    }

    /// Whether an entry may follow in a table where each user key comes once.
    pub(super) fn external(&self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        self.shape(key, value)?;
        if self.points == 0 {
            return Ok(());
        }
        self.ascending(self.comparator.compare(&self.last_key, key.user_key), key)
    }

    fn ascending(&self, order: Ordering, key: &InternalKey<'_>) -> Result<()> {
        match order {
            Ordering::Less => Ok(()),
            _ => Err(Error::invalid_input(format!(
                "the keys are not in order: {} does not come after {}",
                shown(key.user_key),
                shown(&self.last_key)
            ))),
        }
    }

    /// Lengths, kind and sequence number.
    fn shape(&self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        let refused = |what: String| Err(Error::invalid_input(what));
        let InternalKey { user_key, sequence, kind } = *key;
        if user_key.len() > MAX_LENGTH - InternalKey::TAIL_LENGTH {
            return refused(format!("a key of {} bytes is too large", user_key.len()));
        }
        if value.len() > MAX_LENGTH {
            return refused(format!("a value of {} bytes is too large", value.len()));
        }
        if user_key.len() < self.comparator.timestamp_size() {
            return refused(format!("the key {} has no room for a timestamp", shown(user_key)));
        }
        if sequence > MAX_SEQUENCE_NUMBER {
            return refused(format!("the sequence number {sequence} is too large"));
        }
        if self.external_file && sequence != 0 {
            return refused(format!(
                "the sequence number {sequence} contradicts external_file: such tables have 0"
            ));
        }
        match (self.engine, kind) {
            (Engine::LevelDb, EntryKind::Value) => {}
            (Engine::LevelDb, EntryKind::Deletion) if !self.bare_keys => {}
            (Engine::LevelDb, _) => {
                return refused(format!("LevelDB's tables have no place for {kind:?}"));
            }
            (Engine::RocksDb, EntryKind::RangeDeletion) => return self.range(user_key, value),
            (Engine::RocksDb, _) => {}
        }
        Ok(())
    }

    fn range(&self, begin: &[u8], end: &[u8]) -> Result<()> {
        if end.len() < self.comparator.timestamp_size() {
            let what = format!("the end {} has no room for a timestamp", shown(end));
            return Err(Error::invalid_input(what));
        }
        if self.compare_bounds(begin, end) == Ordering::Greater {
            return Err(Error::invalid_input(format!(
                "the range ends at {}, before it begins at {}",
                shown(end),
                shown(begin)
            )));
        }
        if self.range_bytes + range_size(begin, end) > MAX_LENGTH {
            let what = "range deletions of more than 4 GiB cannot be stored";
            return Err(Error::invalid_input(what));
        }
        Ok(())
    }

    /// Whether a range that was checked has nothing in it.
    pub(super) fn is_empty_range(&self, begin: &[u8], end: &[u8]) -> bool {
        self.compare_bounds(begin, end) == Ordering::Equal
    }

    fn compare_bounds(&self, begin: &[u8], end: &[u8]) -> Ordering {
        let size = self.comparator.timestamp_size();
        let bare = |key: &'_ [u8]| key.len() - size;
        self.comparator.compare_without_timestamp(&begin[..bare(begin)], &end[..bare(end)])
    }

    /// Takes note of an entry that was written.
    pub(super) fn accept(&mut self, key: &InternalKey<'_>, value: &[u8]) {
        if key.kind == EntryKind::RangeDeletion {
            self.ranges += 1;
            self.range_bytes += range_size(key.user_key, value);
            return;
        }
        if self.points == 0 {
            self.first_key = key.user_key.to_vec();
        }
        self.points += 1;
        self.last_key.clear();
        self.last_key.extend_from_slice(key.user_key);
        self.last_tail = (key.sequence, key.kind);
    }

    /// Whether the table may end here.
    pub(super) fn finish(&self) -> Result<()> {
        if self.external_file && self.points + self.ranges == 0 {
            let what = "a table without entries contradicts external_file: no database takes it";
            return Err(Error::invalid_input(what));
        }
        Ok(())
    }

    /// What is stored of a key in LevelDB's table.
    pub(super) fn stored_key(&self, key: &InternalKey<'_>) -> Vec<u8> {
        let mut stored = Vec::with_capacity(key.user_key.len() + InternalKey::TAIL_LENGTH);
        if self.bare_keys {
            stored.extend_from_slice(key.user_key);
        } else {
            key.encode_to(&mut stored);
        }
        stored
    }
}

/// Bytes of an entry in the block of range deletions, its restart point included, at most.
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
