//! Collects the entries of a key during a lookup, and resolves its value.

use crate::error::Result;
use crate::raw::{EntryKind, InternalKey};
use crate::reader::open::core::Core;
use crate::reader::value::Value;
use crate::visibility::{Column, ReadView, Record, Resolver, SeenEntry, Versions};

/// Collects the visible entries of one key, newest first, until they determine its value.
pub(crate) struct FoundEntries<'a> {
    core: &'a Core,
    key: &'a [u8],
    view: &'a ReadView,
    /// The newest visible range tombstone over the key.
    tombstone: Option<u64>,
    /// The newest entry, if it is a plain value: the most frequent case.
    value: Option<Value>,
    /// Otherwise, all entries.
    versions: Option<Versions<()>>,
}

impl<'a> FoundEntries<'a> {
    #[inline]
    pub(crate) fn new(core: &'a Core, key: &'a [u8], view: &'a ReadView) -> Self {
        let tombstone = match core.range_deletions.is_empty() {
            true => None,
            false => core.range_deletions.newest_seen_over(key, view, &core.keys),
        };
        Self { core, key, view, tombstone, value: None, versions: None }
    }

    /// Adds the next older entry. Returns whether older ones are needed.
    #[inline(always)] // there are several lookups, and each is short
    pub(crate) fn add(&mut self, entry: &InternalKey<'_>, value: Value) -> bool {
        if self.versions.is_none()
            && entry.kind == EntryKind::Value
            && self.tombstone.is_none()
            && self.sees(entry)
        {
            self.value = Some(value);
            return false;
        }
        self.add_version(entry, value)
    }

    /// Like [`add`](Self::add), for a complete record.
    pub(crate) fn add_version(&mut self, entry: &InternalKey<'_>, value: Value) -> bool {
        if !self.sees(entry) {
            return true;
        }
        let &InternalKey { user_key, sequence, kind } = entry;
        let is_covered = self.tombstone > Some(sequence);
        let seen = SeenEntry { user_key, sequence, kind, is_covered };
        let keys = self.core.keys.user_keys();
        self.versions.get_or_insert_default().add(seen, || value, || (), keys)
    }

    #[inline]
    fn sees(&self, entry: &InternalKey<'_>) -> bool {
        let keys = self.core.keys.user_keys();
        self.view.sees(entry.sequence, keys.timestamp(entry.user_key), keys)
    }

    /// The value of the key, if it has one.
    #[inline(always)]
    pub(crate) fn value(self) -> Result<Option<Value>> {
        match (self.value, self.versions) {
            (None, Some(versions)) if versions.is_visible() => {
                let value = self.core.value(self.key, &versions).map(Some);
                value.map_err(|error| self.core.blocks.in_file(error))
            }
            (value, _) => Ok(value),
        }
    }

    /// The record of the key, if it has a value.
    pub(crate) fn record(self) -> Result<Option<Record>> {
        let Some(versions) = self.versions.filter(Versions::is_visible) else { return Ok(None) };
        let record = self.core.record(self.key, &versions).map(Some);
        record.map_err(|error| self.core.blocks.in_file(error))
    }

    /// The columns of the key, if it has a value.
    pub(crate) fn columns(self) -> Result<Option<Vec<Column>>> {
        let Some(versions) = self.versions.filter(Versions::is_visible) else { return Ok(None) };
        let columns = self.core.entity(self.key, &versions).map(Some);
        columns.map_err(|error| self.core.blocks.in_file(error))
    }
}
