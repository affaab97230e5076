//! The memtable: the writes of the write-ahead logs, sorted.
//!
//! Nothing is added after the logs were read, so a sorted list replaces the skip list of the
//! engines. An entry takes 16 bytes: a sequence number with kind, and a position in the log
//! records.

use std::cmp::Ordering;
use std::sync::Arc;

use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::{InternalIterator, UserKeys};
use sstkit_table::{RangeTombstone, Value};

use crate::error::Result;
use crate::log_records::{LogRecords, WritePosition};

/// The writes of one column family, sorted.
#[derive(Debug)]
pub(crate) struct Memtable {
    keys: UserKeys,
    records: Arc<LogRecords>,
    entries: Vec<MemEntry>,
    range_deletions: Vec<RangeTombstone>,
}

#[derive(Clone, Copy, Debug)]
struct MemEntry {
    /// Sequence number and kind, as at the end of an internal key.
    tail: u64,
    position: WritePosition,
}

/// The size of an entry in bytes.
pub(crate) const ENTRY_SIZE: u64 = size_of::<MemEntry>() as u64;

impl MemEntry {
    fn sequence(self) -> u64 {
        self.tail >> 8
    }

    fn kind(self) -> EntryKind {
        EntryKind::from_byte(self.tail as u8).unwrap_or(EntryKind::Value)
    }
}

/// The writes of one column family, in the order of the log.
#[derive(Debug, Default)]
pub(crate) struct MemtableBuilder {
    entries: Vec<MemEntry>,
    range_deletions: Vec<RangeTombstone>,
}

impl MemtableBuilder {
    /// Adds a write to one key.
    pub(crate) fn add(&mut self, position: WritePosition, sequence: u64, kind: EntryKind) {
        self.entries.push(MemEntry { tail: sequence << 8 | kind as u64, position });
    }

    /// Adds a deletion of the keys from `start` to `end`; both with timestamps.
    pub(crate) fn delete_range(
        &mut self,
        start: &[u8],
        end: &[u8],
        sequence: u64,
        keys: &UserKeys,
    ) {
        let (timestamp, start, end) = (keys.timestamp(start), keys.bare(start), keys.bare(end));
        self.range_deletions.push(RangeTombstone::new(start, end, sequence, timestamp));
    }

    /// Sorts everything. The entries are positions in `records`.
    pub(crate) fn finish(mut self, keys: &UserKeys, records: &Arc<LogRecords>) -> Memtable {
        // Of equal sequence numbers the later record is the newer one; the sort is stable.
        self.entries.reverse();
        self.entries.sort_by(|a, b| {
            let key = |entry: &MemEntry| records.key_and_value(entry.position).0;
            keys.compare_stored(key(a), key(b)).then_with(|| b.sequence().cmp(&a.sequence()))
        });
        self.range_deletions.sort_by(|a, b| keys.compare(&a.start, &b.start));
        let Self { entries, range_deletions } = self;
        Memtable { keys: keys.clone(), records: Arc::clone(records), entries, range_deletions }
    }
}

impl Memtable {
    /// The number of point writes.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The smallest and the largest key with merge operands, as stored.
    pub(crate) fn merged_keys(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let is_merge = |entry: &&MemEntry| entry.kind() == EntryKind::Merge;
        let first = self.entries.iter().find(is_merge)?;
        let last = self.entries.iter().rfind(is_merge)?;
        Some((self.user_key(first).to_vec(), self.user_key(last).to_vec()))
    }

    /// The point writes in log order; cannot be searched.
    pub(crate) fn in_order_of_writes(&self) -> Self {
        let mut entries = self.entries.clone();
        entries.sort_by_key(|entry| entry.sequence());
        let (keys, records) = (self.keys.clone(), Arc::clone(&self.records));
        Self { keys, records, entries, range_deletions: Vec::new() }
    }

    /// The range tombstones, by start key.
    pub(crate) fn range_deletions(&self) -> &[RangeTombstone] {
        &self.range_deletions
    }

    /// The key of an entry, with its timestamp.
    fn user_key(&self, entry: &MemEntry) -> &[u8] {
        self.records.key_and_value(entry.position).0
    }

    /// Compares the key of an entry with `key`, which has no timestamp.
    fn compare(&self, entry: &MemEntry, key: &[u8]) -> Ordering {
        self.keys.compare(self.keys.bare(self.user_key(entry)), key)
    }

    /// The index of the first entry of `key`, or of the entry after it.
    fn position(&self, key: &[u8]) -> usize {
        self.entries.partition_point(|it| self.compare(it, key).is_lt())
    }

    /// The index of the first entry after those of `key`.
    fn position_after(&self, key: &[u8]) -> usize {
        self.entries.partition_point(|it| self.compare(it, key).is_le())
    }

    /// Passes the entries of `key` (user key, sequence number, kind, value), newest first, to
    /// `visit` until it returns `false`.
    pub(crate) fn lookup(
        &self,
        key: &[u8],
        mut visit: impl FnMut(&[u8], u64, EntryKind, Value) -> bool,
    ) {
        let entries = &self.entries[self.position(key)..];
        for it in entries.iter().take_while(|it| self.compare(it, key).is_eq()) {
            let value = Value::from(self.records.value(it.position));
            if !visit(self.user_key(it), it.sequence(), it.kind(), value) {
                break;
            }
        }
    }
}

/// Iterates over a memtable.
pub struct MemtableCursor {
    memtable: Arc<Memtable>,
    at: Option<usize>,
}

sstkit_coding::debug_opaque!(MemtableCursor);

impl MemtableCursor {
    pub(crate) fn new(memtable: &Arc<Memtable>) -> Self {
        Self { memtable: Arc::clone(memtable), at: None }
    }

    fn entry(&self) -> Option<MemEntry> {
        self.memtable.entries.get(self.at?).copied()
    }

    fn key_and_value(&self) -> (&[u8], &[u8]) {
        self.entry().map_or((&[], &[]), |entry| self.memtable.records.key_and_value(entry.position))
    }

    fn go_to(&mut self, at: Option<usize>) -> Result<bool> {
        self.at = at.filter(|&at| at < self.memtable.entries.len());
        Ok(self.at.is_some())
    }
}

impl InternalIterator for MemtableCursor {
    fn is_valid(&self) -> bool {
        self.at.is_some()
    }

    fn user_key(&self) -> &[u8] {
        self.key_and_value().0
    }

    fn sequence(&self) -> u64 {
        self.entry().map_or(0, MemEntry::sequence)
    }

    fn kind(&self) -> EntryKind {
        self.entry().map_or(EntryKind::Value, MemEntry::kind)
    }

    fn value(&self) -> &[u8] {
        self.key_and_value().1
    }

    fn value_handle(&self) -> Value {
        let value = |entry: MemEntry| Value::from(self.memtable.records.value(entry.position));
        self.entry().map_or_else(Value::default, value)
    }

    fn next(&mut self) -> Result<bool> {
        self.go_to(self.at.map(|at| at + 1))
    }

    fn next_user_key(&mut self, _: usize) -> Result<bool> {
        let Some(at) = self.at else { return Ok(false) };
        let memtable = &self.memtable;
        let key = |entry: &MemEntry| memtable.keys.bare(memtable.user_key(entry));
        let (current, rest) = (key(&memtable.entries[at]), &memtable.entries[at..]);
        let count = rest.iter().take_while(|entry| key(entry) == current).count();
        self.go_to(Some(at + count))
    }

    fn seek_to_first(&mut self) -> Result<bool> {
        self.go_to(Some(0))
    }

    fn seek_to_last(&mut self) -> Result<bool> {
        self.go_to(self.memtable.entries.len().checked_sub(1))
    }

    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.go_to(Some(self.memtable.position(key)))
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        self.go_to(self.memtable.position_after(key).checked_sub(1))
    }

    fn prev(&mut self) -> Result<bool> {
        self.go_to(self.at.and_then(|at| at.checked_sub(1)))
    }
}
