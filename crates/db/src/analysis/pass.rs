//! One part of the key range, from its first entry to its last.

use std::cmp::{Ordering, Reverse};
use std::ops::{AddAssign, Bound};

use sstkit_table::raw::{BlobIndex, ColumnValue, EntryKind, decode_wide_columns};
use sstkit_table::visibility::InternalIterator;

use super::counts::{CountedEntry, EntryCounts, EntryUse};
use super::density::{DenseRange, Density};
use super::entry_source::EntrySource;
use super::histogram::SizeHistogram;
use super::key_range_parts::Shared;
use super::largest::Largest;
use super::prefixes::{PrefixCounter, PrefixPart, PrefixTotals};
use super::skips::Skips;
use crate::error::{Error, Result};
use crate::output::shown;

/// A large value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LargeValue {
    /// Bytes of the value; of one in a blob file, as stored there.
    pub size: u64,
    /// The key, without timestamp.
    pub key: Vec<u8>,
    /// The sequence number of the entry.
    pub sequence: u64,
    /// What the entry is good for.
    pub entry_use: EntryUse,
    /// The number of the file in [`Analysis::files`](super::Analysis::files).
    pub file: usize,
}

impl Ord for LargeValue {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |it: &Self| (it.sequence, it.file);
        let order = self.size.cmp(&other.size);
        let order = order.then_with(|| Reverse(&self.key).cmp(&Reverse(&other.key)));
        order.then_with(|| rank(self).cmp(&rank(other)))
    }
}

impl PartialOrd for LargeValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A key with several entries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionedKey {
    /// Entries of the key, in all files.
    pub versions: u64,
    /// The key, without timestamp.
    pub key: Vec<u8>,
}

impl Ord for VersionedKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.versions.cmp(&other.versions);
        order.then_with(|| Reverse(&self.key).cmp(&Reverse(&other.key)))
    }
}

impl PartialOrd for VersionedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What does not depend on the order of the parts.
pub(super) struct Totals {
    pub(super) files: Vec<EntryCounts>,
    pub(super) keys: u64,
    pub(super) visible_keys: u64,
    pub(super) key_sizes: SizeHistogram,
    pub(super) value_sizes: SizeHistogram,
    pub(super) largest_values: Largest<LargeValue>,
    pub(super) most_versions: Largest<VersionedKey>,
}

impl Totals {
    pub(super) fn new(files: usize, top: usize) -> Self {
        Self {
            files: vec![EntryCounts::default(); files],
            keys: 0,
            visible_keys: 0,
            key_sizes: SizeHistogram::default(),
            value_sizes: SizeHistogram::default(),
            largest_values: Largest::new(top),
            most_versions: Largest::new(top),
        }
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.files.iter_mut().zip(&other.files).for_each(|(sum, more)| *sum += more);
        self.keys += other.keys;
        self.visible_keys += other.visible_keys;
        self.key_sizes += &other.key_sizes;
        self.value_sizes += &other.value_sizes;
        self.largest_values.merge(other.largest_values);
        self.most_versions.merge(other.most_versions);
    }
}

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
    /// The current key, without timestamp.
    key: Vec<u8>,
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
    pub(super) fn new(shared: &'a Shared<'a>, totals: &'a mut Totals) -> Self {
        let group_by = shared.options.group_by.as_ref();
        Self {
            shared,
            totals,
            skips: Skips::new(shared.options.top),
            density: Density::new(),
            prefixes: group_by.map(|it| PrefixCounter::new(it, shared.is_prefix_sorted())),
            key: Vec::new(),
        }
    }

    /// Analyzes the keys between two bounds.
    pub(super) fn run(
        mut self,
        source: &mut impl EntrySource,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> PartResult {
        let problem = self.analyze(source, start, end).err();
        PartResult {
            skips: self.skips,
            windows: self.density.finish(),
            prefixes: self.prefixes.map(PrefixCounter::finish),
            problem,
        }
    }

    fn analyze(
        &mut self,
        source: &mut impl EntrySource,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> Result<()> {
        let keys = &self.shared.keys;
        let mut more = match start {
            Bound::Included(key) | Bound::Excluded(key) => source.entries_mut().seek(key),
            Bound::Unbounded => source.entries_mut().seek_to_first(),
        }
        .map_err(Into::into)?;
        while more {
            let key = keys.bare(source.entries().user_key());
            let is_before = match start {
                Bound::Included(start) => keys.compare(key, start).is_lt(),
                Bound::Excluded(start) => keys.compare(key, start).is_le(),
                Bound::Unbounded => false,
            };
            if !is_before {
                break;
            }
            more = source.entries_mut().next().map_err(Into::into)?;
        }
        let prefix = self.shared.options.checked_prefix(self.shared.order());
        while more {
            let key = keys.bare(source.entries().user_key());
            let is_behind = match end {
                Bound::Included(end) => keys.compare(key, end).is_gt(),
                Bound::Excluded(end) => keys.compare(key, end).is_ge(),
                Bound::Unbounded => false,
            };
            if is_behind {
                break;
            }
            self.key.clear();
            self.key.extend_from_slice(key);
            more = match prefix.is_none_or(|prefix| key.starts_with(prefix)) {
                true => self.take_key(source)?,
                false => self.next(source)?.is_some(),
            };
        }
        Ok(())
    }

    /// Counts all entries of the current key. Returns whether there are more after them.
    #[inline]
    fn take_key(&mut self, source: &mut impl EntrySource) -> Result<bool> {
        let mut state = KeyState::default();
        loop {
            let entry_use = self.entry_use(source, &mut state)?;
            self.count(source, entry_use, &mut state);
            match self.next(source)? {
                Some(true) => {}
                next => {
                    self.end_key(&state);
                    return Ok(next.is_some());
                }
            }
        }
    }

    /// Moves to the next entry. Returns whether it is one of the same key; `None` at the end.
    #[inline]
    fn next(&mut self, source: &mut impl EntrySource) -> Result<Option<bool>> {
        if !source.entries_mut().next().map_err(Into::into)? {
            return Ok(None);
        }
        let keys = &self.shared.keys;
        let key = keys.bare(source.entries().user_key());
        if !self.shared.is_ordered {
            return Ok(Some(key == self.key));
        }
        match keys.compare(&self.key, key) {
            Ordering::Less => Ok(Some(false)),
            Ordering::Equal => Ok(Some(true)),
            Ordering::Greater => Err(self.disorder(source)),
        }
    }

    #[cold]
    fn disorder(&self, source: &impl EntrySource) -> Error {
        let error = Error::corrupt(format!(
            "entries are out of order: {} comes after {}",
            shown(self.shared.keys.bare(source.entries().user_key())),
            shown(&self.key)
        ));
        match self.shared.path(source.file()) {
            Some(path) => error.in_file(path),
            None => error,
        }
    }

    /// What the current entry is good for.
    #[inline]
    fn entry_use(&self, source: &mut impl EntrySource, state: &mut KeyState) -> Result<EntryUse> {
        let (kind, sequence) = (source.entries().kind(), source.entries().sequence());
        let is_deletion = kind.is_point_deletion();
        let hidden = if is_deletion { EntryUse::Tombstone } else { EntryUse::OlderVersion };
        if state.is_decided || !self.sees(source) {
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

    #[inline]
    fn sees(&self, source: &impl EntrySource) -> bool {
        let (keys, entries) = (&self.shared.keys, source.entries());
        let timestamp = keys.timestamp(entries.user_key());
        self.shared.view.sees(entries.sequence(), timestamp, keys)
    }

    #[inline]
    fn count(&mut self, source: &impl EntrySource, entry_use: EntryUse, state: &mut KeyState) {
        let (entries, file) = (source.entries(), source.file());
        let (kind, value) = (entries.kind(), entries.value());
        let entry = CountedEntry {
            kind,
            entry_use,
            sequence: entries.sequence(),
            key_length: entries.user_key().len() as u64,
            value_length: value.len() as u64,
            blob_size: blob_size(kind, value),
        };
        self.totals.files[file].add(&entry);
        self.totals.key_sizes.add(entry.key_length);
        state.versions += 1;
        let is_tombstone = entry_use == EntryUse::Tombstone;
        if !is_tombstone {
            let size = match kind {
                EntryKind::BlobIndex => entry.blob_size,
                _ => entry.value_length.saturating_add(entry.blob_size),
            };
            self.totals.value_sizes.add(size);
            if self.totals.largest_values.least().is_none_or(|least| least.size <= size) {
                let (key, sequence) = (self.key.clone(), entry.sequence);
                let value = LargeValue { size, key, sequence, entry_use, file };
                self.totals.largest_values.offer(value);
            }
        }
        self.density.add(&self.key, is_tombstone);
        match entry_use {
            EntryUse::Visible if !state.is_visible => {
                state.is_visible = true;
                self.skips.end(&self.key);
            }
            EntryUse::Visible => {}
            EntryUse::Tombstone => self.skips.add_tombstone(&self.key),
            EntryUse::OlderVersion | EntryUse::Covered => self.skips.add_hidden(&self.key),
        }
        if let Some(prefixes) = &mut self.prefixes {
            let raw = entry.key_length + TAIL + entry.value_length;
            let totals = PrefixTotals {
                entries: 1,
                tombstones: u64::from(is_tombstone),
                key_bytes: entry.key_length,
                value_bytes: entry.value_length,
                stored_bytes: raw.saturating_mul(self.shared.stored_per_byte[file]),
                ..PrefixTotals::default()
            };
            prefixes.add(&self.key, totals);
        }
    }

    #[inline]
    fn end_key(&mut self, state: &KeyState) {
        self.totals.keys += 1;
        self.totals.visible_keys += u64::from(state.is_visible);
        let versions = state.versions;
        let least = |it: &VersionedKey| it.versions;
        if versions > 1 && self.totals.most_versions.least().map_or(0, least) <= versions {
            self.totals.most_versions.offer(VersionedKey { versions, key: self.key.clone() });
        }
    }
}

/// Sequence number and kind, which are a part of the raw keys that properties count.
const TAIL: u64 = 8;

/// Bytes in blob files that an entry refers to, as stored there.
#[inline]
fn blob_size(kind: EntryKind, value: &[u8]) -> u64 {
    match kind {
        EntryKind::BlobIndex => BlobIndex::decode_from(value).map_or(0, |it| stored_size(&it)),
        EntryKind::WideColumnEntity => decode_wide_columns(value).map_or(0, |columns| {
            let size = |value: &ColumnValue<'_>| match value {
                ColumnValue::Blob(index) => stored_size(index),
                ColumnValue::Inline(_) => 0,
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
    }
}
