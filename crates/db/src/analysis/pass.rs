//! One part of the key range, from its first entry to its last.

use std::cmp::Reverse;
use std::ops::Bound;

use sstkit_table::KeyExcerpt;
use sstkit_table::raw::{BlobIndex, ColumnValue, EntryKind, decode_wide_columns};
use sstkit_table::visibility::InternalIterator;

use super::counts::{CountedEntry, EntryUse};
use super::density::{DenseRange, Density};
use super::entry_source::EntrySource;
use super::key_range_parts::Shared;
use super::last_key::{LastKey, NextKey};
use super::prefixes::{PrefixCounter, PrefixPart, PrefixTotals};
use super::skips::Skips;
use super::totals::{LargeValue, Totals, VersionedKey};
use crate::error::{Error, Result};

/// Sequence number and kind, which are a part of the raw keys that properties count.
const TAIL: u64 = 8;

/// What depends on the order of the parts.
pub(super) struct PartResult {
    pub(super) skips: Skips,
    pub(super) windows: Vec<DenseRange>,
    pub(super) prefixes: Option<PrefixPart>,
    pub(super) problem: Option<Error>,
}

/// Goes over one part of the key range.
pub(super) struct Pass<'a> {
    shared: &'a Shared<'a>,
    totals: &'a mut Totals,
    skips: Skips,
    density: Density,
    prefixes: Option<PrefixCounter<'a>>,
    last: LastKey<'a>,
    state: KeyState,
    /// Smaller values are not among the largest.
    least_size: u64,
}

/// What is known of the current key.
#[derive(Default)]
struct KeyState {
    versions: u64,
    is_visible: bool,
    /// No older entry matters.
    is_decided: bool,
    last_operand: Option<u64>,
}

impl<'a> Pass<'a> {
    /// Of the keys up to `end`.
    pub(super) fn new(
        shared: &'a Shared<'a>,
        totals: &'a mut Totals,
        end: Bound<&'a [u8]>,
    ) -> Self {
        let group_by = shared.options.group_by.as_ref();
        Self {
            shared,
            totals,
            skips: Skips::new(shared.options.top),
            density: Density::new(),
            prefixes: group_by.map(|it| PrefixCounter::new(it, shared.is_prefix_sorted())),
            last: LastKey::new(&shared.keys, shared.is_ordered, end),
            state: KeyState::default(),
            least_size: 0,
        }
    }

    /// Analyzes the keys from `start` on.
    pub(super) fn run(mut self, source: &mut impl EntrySource, start: Bound<&[u8]>) -> PartResult {
        let problem = self.analyze(source, start).err();
        self.end_key();
        PartResult {
            skips: self.skips,
            windows: self.density.finish(),
            prefixes: self.prefixes.map(PrefixCounter::finish),
            problem,
        }
    }

    fn analyze(&mut self, source: &mut impl EntrySource, start: Bound<&[u8]>) -> Result<()> {
        let keys = &self.shared.keys;
        let prefix = self.shared.options.checked_prefix(self.shared.order());
        let mut more = seek(source, start)?;
        if let (Bound::Included(start) | Bound::Excluded(start), true) = (start, more)
            && keys.compare(keys.bare(source.entries().user_key()), start).is_lt()
        {
            return Err(self.disorder(source, start));
        }
        if let Bound::Excluded(start) = start {
            while more && keys.compare(keys.bare(source.entries().user_key()), start).is_eq() {
                more = source.entries_mut().next()?;
            }
        }
        while more {
            let user_key = source.entries().user_key();
            let key = keys.bare(user_key);
            match self.last.compare(key) {
                NextKey::Same => {}
                NextKey::New(common) => {
                    self.end_key();
                    self.last.replace(key, common);
                }
                NextKey::Behind => break,
                NextKey::OutOfOrder => return Err(self.disorder(source, self.last.key())),
            }
            let key_length = user_key.len() as u64;
            if prefix.is_none_or(|prefix| key.starts_with(prefix)) {
                self.take(source, key_length)?;
            }
            #[expect(clippy::question_mark, reason = "with map_err, the result is copied: 10 %")]
            let moved = match source.entries_mut().next() {
                Ok(moved) => moved,
                Err(error) => return Err(error),
            };
            more = moved;
        }
        Ok(())
    }

    #[cold]
    fn disorder(&self, source: &impl EntrySource, last: &[u8]) -> Error {
        let error = Error::corrupt(format!(
            "entries are out of order: {} comes after {}",
            KeyExcerpt(self.shared.keys.bare(source.entries().user_key())),
            KeyExcerpt(last)
        ));
        match self.shared.path(source.file()) {
            Some(path) => error.in_file(path),
            None => error,
        }
    }

    /// Counts the current entry.
    // Everything in one function: what is counted then stays in registers.
    #[inline(always)]
    fn take(&mut self, source: &mut impl EntrySource, key_length: u64) -> Result<()> {
        let entries = source.entries();
        let (kind, sequence) = (entries.kind(), entries.sequence());
        let entry_use = self.entry_use(source, kind, sequence)?;
        let (value, file) = (source.entries().value(), source.file());
        let value_length = value.len() as u64;
        let blob_size = if has_blob(kind) { blob_size(kind, value) } else { 0 };
        let entry = CountedEntry { kind, entry_use, sequence, key_length, value_length, blob_size };
        self.count(&entry, file);
        if let Some(prefixes) = &mut self.prefixes {
            let raw = key_length + TAIL + value_length;
            let totals = PrefixTotals {
                entries: 1,
                tombstones: u64::from(entry_use == EntryUse::Tombstone),
                key_bytes: key_length,
                value_bytes: value_length,
                stored_bytes: raw.saturating_mul(self.shared.stored_per_byte[file]),
                ..PrefixTotals::default()
            };
            prefixes.add(self.last.key(), totals);
        }
        Ok(())
    }

    /// What the current entry is good for.
    #[inline(always)] // see `take`
    fn entry_use(
        &mut self,
        source: &mut impl EntrySource,
        kind: EntryKind,
        sequence: u64,
    ) -> Result<EntryUse> {
        let is_deletion = kind.is_point_deletion();
        let hidden = if is_deletion { EntryUse::Tombstone } else { EntryUse::OlderVersion };
        let state = &mut self.state;
        if state.is_decided || !self.shared.sees(source.entries().user_key(), sequence) {
            return Ok(hidden);
        }
        if source.is_covered()? {
            state.is_decided = true;
            return Ok(if is_deletion { EntryUse::Tombstone } else { EntryUse::Covered });
        }
        if kind == EntryKind::Merge {
            // Without a MANIFEST, a write may be found in several tables.
            if state.last_operand.replace(sequence) == Some(sequence) {
                return Ok(EntryUse::OlderVersion);
            }
        } else {
            state.is_decided = true;
        }
        Ok(if is_deletion { EntryUse::Tombstone } else { EntryUse::Visible })
    }

    #[inline(always)] // see `take`
    fn count(&mut self, entry: &CountedEntry, file: usize) {
        self.totals.files[file].add(entry);
        self.totals.key_sizes.add(entry.key_length);
        self.state.versions += 1;
        let is_tombstone = entry.entry_use == EntryUse::Tombstone;
        if !is_tombstone {
            let size = match entry.kind {
                EntryKind::BlobIndex => entry.blob_size,
                _ => entry.value_length.saturating_add(entry.blob_size),
            };
            self.totals.value_sizes.add(size);
            if size >= self.least_size {
                self.offer_value(size, entry, file);
            }
        }
        let key = self.last.key();
        self.density.add(key, is_tombstone);
        match entry.entry_use {
            EntryUse::Visible if !self.state.is_visible => {
                self.state.is_visible = true;
                self.skips.end(key);
            }
            EntryUse::Visible => {}
            EntryUse::Tombstone => self.skips.add_tombstone(key),
            EntryUse::OlderVersion | EntryUse::Covered => self.skips.add_hidden(key),
        }
    }

    /// Keeps a value if it is one of the largest.
    #[cold]
    fn offer_value(&mut self, size: u64, entry: &CountedEntry, file: usize) {
        let (largest, key) = (&mut self.totals.largest_values, self.last.key());
        // Many values may have the same size.
        let is_less =
            |least: &LargeValue| (size, Reverse(key)) < (least.size, Reverse(&least.key[..]));
        if !largest.least().is_some_and(is_less) {
            let (sequence, entry_use) = (entry.sequence, entry.entry_use);
            largest.offer(LargeValue { size, key: key.to_vec(), sequence, entry_use, file });
        }
        // Of values with the same size that with the smallest key counts, which came first.
        let more = u64::from(self.last.is_forward());
        self.least_size = largest.least().map_or(0, |least| least.size.saturating_add(more));
    }

    /// All entries of the current key were counted, if there is one.
    #[inline]
    fn end_key(&mut self) {
        let KeyState { versions, is_visible, .. } = self.state;
        if versions == 0 {
            return;
        }
        self.totals.keys += 1;
        self.totals.visible_keys += u64::from(is_visible);
        if versions > 1 {
            self.offer_versions(versions);
        }
        self.state = KeyState::default();
    }

    fn offer_versions(&mut self, versions: u64) {
        let least = self.totals.most_versions.least().map_or(0, |least| least.versions);
        if versions >= least {
            let key = self.last.key().to_vec();
            self.totals.most_versions.offer(VersionedKey { versions, key });
        }
    }
}

fn seek(source: &mut impl EntrySource, start: Bound<&[u8]>) -> Result<bool> {
    match start {
        Bound::Included(key) | Bound::Excluded(key) => source.entries_mut().seek(key),
        Bound::Unbounded => source.entries_mut().seek_to_first(),
    }
}

/// Whether a value may be in a blob file.
#[inline]
fn has_blob(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::BlobIndex | EntryKind::WideColumnEntity)
}

/// Bytes in blob files that an entry refers to, as stored there.
fn blob_size(kind: EntryKind, value: &[u8]) -> u64 {
    match kind {
        EntryKind::BlobIndex => BlobIndex::decode_from(value).map_or(0, |it| stored_size(&it)),
        EntryKind::WideColumnEntity => decode_wide_columns(value).map_or(0, |columns| {
            let size = |value: &ColumnValue<'_>| match value {
                ColumnValue::Blob(index) => stored_size(index),
                _ => 0,
            };
            columns.iter().fold(0, |sum: u64, column| sum.saturating_add(size(&column.value)))
        }),
        _ => 0,
    }
}

fn stored_size(index: &BlobIndex<'_>) -> u64 {
    match index {
        BlobIndex::Stored { size, .. } => *size,
        BlobIndex::Inlined { value, .. } => value.len() as u64,
        _ => 0,
    }
}
