//! Point lookups: source by source, newest first, until the key is resolved.
//!
//! ```text
//! memtable ---> level 0, newest file first ---> level 1 ---> level 2 …
//!
//! in each file   key range ---> range tombstones ---> filter ---> index ---> block ---> entries
//! ```
//!
//! The key is hashed once for all filters, and their cache misses overlap. A range tombstone deletes
//! everything older, so the tombstones of a source are checked before its entries, and one over the
//! key ends the lookup after its source. A value or a deletion ends it, too: newer sources take
//! precedence (see [`Recency`]). If the order of the sources is unknown, all of them are searched,
//! and their entries are sorted at the end.

use std::cmp::Reverse;
use std::sync::Arc;

use sstkit_filter::HashedKey;
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::visibility::{ReadView, Recency, SeenEntry};
use sstkit_table::{RangeTombstone, ReadOptions, Table, Value};

use super::LookupVersions;
use super::recorder::{NoRecorder, Recorder, WithOptions};
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::version::{Run, TableFile};

/// The runs whose filters are prefetched together: in most databases all levels.
const TOGETHER: usize = 8;

/// The key, and where it is looked up.
pub(super) struct LookupKey<'a> {
    pub(super) key: HashedKey<'a>,
    family: &'a ColumnFamilyData,
    view: &'a ReadView,
}

/// A table where a key is looked up.
pub(super) struct SearchedFile<'f> {
    pub(super) file: &'f Arc<TableFile>,
    /// The index of its source: 0 is the memtable, followed by the runs, newest first.
    pub(super) source: usize,
    /// Whether its keys have the timestamps that those of the column family have.
    has_timestamps: bool,
}

/// The state of a lookup.
#[derive(Default)]
pub(super) struct GetContext {
    /// `None` before the first entry.
    versions: Option<LookupVersions>,
    /// Sequence number and source of the newest visible range tombstone over the key.
    tombstone: Option<(u64, usize)>,
    /// All entries, in case of [`Recency::BySequence`].
    unordered: Vec<Found>,
}

/// An entry, ordered only by its sequence number.
struct Found {
    user_key: Vec<u8>,
    sequence: u64,
    kind: EntryKind,
    value: Value,
    file: Option<Arc<TableFile>>,
    /// The index of its source: 0 is the memtable, followed by the runs, newest first.
    source: usize,
}

/// Looks up one key. Returns what `value` makes of its entries, if it has a value.
pub(crate) fn get<T>(
    family: &ColumnFamilyData,
    view: &ReadView,
    key: &[u8],
    value: impl FnOnce(LookupVersions) -> Result<T>,
) -> Result<Option<T>> {
    get_by(family, view, key, &mut NoRecorder, value)
}

/// Like [`get`], reading as the options say.
pub(crate) fn get_with<T>(
    family: &ColumnFamilyData,
    options: &ReadOptions,
    key: &[u8],
    value: impl FnOnce(LookupVersions) -> Result<T>,
) -> Result<Option<T>> {
    options.check_timestamp(family.keys.comparator())?;
    get_by(family, options.view(), key, &mut WithOptions(options), value)
}

#[inline(always)] // the same code as before there were options
fn get_by<T, R: Recorder>(
    family: &ColumnFamilyData,
    view: &ReadView,
    key: &[u8],
    recorder: &mut R,
    value: impl FnOnce(LookupVersions) -> Result<T>,
) -> Result<Option<T>> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    let mut context = GetContext::default();
    LookupKey::new(key, family, view).get(&mut context, recorder)?;
    context.finish(family)?;
    context.visible().map(value).transpose()
}

impl<'a> LookupKey<'a> {
    #[inline]
    pub(super) fn new(key: &'a [u8], family: &'a ColumnFamilyData, view: &'a ReadView) -> Self {
        Self { key: HashedKey::new(key), family, view }
    }

    /// Searches the sources until the key is resolved.
    pub(super) fn get<R: Recorder>(
        &self,
        context: &mut GetContext,
        recorder: &mut R,
    ) -> Result<()> {
        self.family.lookups.add(0, 1);
        context.get_from_memtable(self, recorder);
        let runs = &self.family.version.runs;
        for (runs, first) in runs.chunks(TOGETHER).zip((1..).step_by(TOGETHER)) {
            let mut candidates = [&[][..]; TOGETHER];
            for (candidates, run) in candidates.iter_mut().zip(runs) {
                *candidates = run.files_with(self.key.key(), &self.family.keys);
                candidates.iter().for_each(|file| self.prefetch_filter(file));
            }
            for ((run, candidates), source) in runs.iter().zip(candidates).zip(first..) {
                match context.is_done(self.family) {
                    false => context.get_from_files(self, (run, candidates), source, recorder)?,
                    true if R::RECORDS => recorder.skip_run(run, candidates),
                    true => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// Prefetches what the probe of a filter reads, if the table is open.
    #[inline]
    fn prefetch_filter(&self, file: &TableFile) {
        if let Some(table) = file.slot.pinned() {
            table.prefetch_filter(&self.key);
        }
    }

    /// The newest visible range tombstone of a file over the key, which is within the file's range.
    #[inline]
    fn tombstone_in(&self, table: &Table) -> Result<Option<u64>> {
        match table.range_deletions().is_empty() {
            true => Ok(None),
            false => Ok(table.newest_range_deletion_at(self.key.key(), self.view)?),
        }
    }
}

impl<'f> SearchedFile<'f> {
    #[inline]
    pub(super) fn new(
        family: &ColumnFamilyData,
        file: &'f Arc<TableFile>,
        table: &Table,
        source: usize,
    ) -> Self {
        Self { file, source, has_timestamps: family.missing_timestamp(table) == 0 }
    }
}

impl GetContext {
    /// Whether no older source can change the result.
    #[inline]
    pub(super) fn is_done(&self, family: &ColumnFamilyData) -> bool {
        family.version.recency == Recency::BySource
            && (self.is_decided() || self.tombstone.is_some())
    }

    #[inline]
    fn is_decided(&self) -> bool {
        self.versions.as_ref().is_some_and(LookupVersions::is_decided)
    }

    /// Whether a range tombstone covers the key.
    pub(super) fn has_tombstone(&self) -> bool {
        self.tombstone.is_some()
    }

    pub(super) fn get_from_memtable<R: Recorder>(
        &mut self,
        lookup: &LookupKey<'_>,
        recorder: &mut R,
    ) {
        let LookupKey { key, family, view, .. } = lookup;
        let (key, keys) = (key.key(), &family.keys);
        let tombstones = family.memtable.range_deletions();
        let tombstone = RangeTombstone::newest_over(tombstones, key, view, keys);
        self.add_tombstone(tombstone, 0);
        recorder.memtable(tombstone);
        family.memtable.lookup(key, |user_key, sequence, kind, value| {
            if !view.sees(sequence, keys.timestamp(user_key), keys) {
                return true;
            }
            let is_covered = self.is_covered(sequence);
            let seen = SeenEntry { user_key, sequence, kind, is_covered };
            recorder.memtable_entry(seen, &value, keys);
            self.add(seen, value, None, 0, family)
        });
    }

    /// Searches the files of a run whose ranges contain the key.
    #[inline]
    pub(super) fn get_from_files<R: Recorder>(
        &mut self,
        lookup: &LookupKey<'_>,
        (run, candidates): (&Run, &[Arc<TableFile>]),
        source: usize,
        recorder: &mut R,
    ) -> Result<()> {
        let family = lookup.family;
        match R::IS_QUIET {
            true => {
                candidates.iter().try_for_each(|file| recorder.require_open(family, file))?;
            }
            false => run.count_lookup(candidates.len()),
        }
        recorder.out_of_range(run, candidates);
        if candidates.len() > 1 {
            for file in candidates {
                let tombstone = family.with_table(file, |table| lookup.tombstone_in(table))?;
                self.add_tombstone(tombstone, source);
            }
        }
        for (at, file) in candidates.iter().enumerate() {
            // A range tombstone does not end the search: if two files share a key, the second one
            // may have a version that is newer than the tombstone of the first.
            if self.is_decided() {
                recorder.skip(run, &candidates[at..]);
                break;
            }
            self.get_from_file(lookup, file, source, recorder)?;
        }
        Ok(())
    }

    #[inline]
    fn get_from_file<R: Recorder>(
        &mut self,
        lookup: &LookupKey<'_>,
        file: &Arc<TableFile>,
        source: usize,
        recorder: &mut R,
    ) -> Result<()> {
        lookup.family.with_table(file, |table| {
            let searched = SearchedFile::new(lookup.family, file, table, source);
            if !R::IS_QUIET {
                file.lookups.add(0, 1);
            }
            let tombstone = self.enter(lookup, &searched, table)?;
            let visit =
                |entry: &InternalKey<'_>, value| self.visit(lookup, &searched, entry, value);
            recorder.lookup((table, file), &lookup.key, tombstone, visit)
        })
    }

    /// Before the search in a file: looks for a range tombstone over the key.
    #[inline]
    pub(super) fn enter(
        &mut self,
        lookup: &LookupKey<'_>,
        searched: &SearchedFile<'_>,
        table: &Table,
    ) -> Result<Option<u64>> {
        let tombstone = lookup.tombstone_in(table)?;
        self.add_tombstone(tombstone, searched.source);
        Ok(tombstone)
    }

    /// Adds the next older entry of a file. Returns whether older ones of this file are needed.
    #[inline]
    pub(super) fn visit(
        &mut self,
        lookup: &LookupKey<'_>,
        searched: &SearchedFile<'_>,
        entry: &InternalKey<'_>,
        value: Value,
    ) -> bool {
        let LookupKey { family, view, .. } = lookup;
        let keys = &family.keys;
        let stamped;
        let user_key = match searched.has_timestamps {
            true => entry.user_key,
            false => {
                stamped = with_smallest_timestamp(entry.user_key, keys.timestamp_size());
                &stamped
            }
        };
        let (sequence, kind) = (entry.sequence, entry.kind);
        if !view.sees(sequence, keys.timestamp(user_key), keys) {
            return true;
        }
        let is_covered = self.is_covered(sequence);
        let seen = SeenEntry { user_key, sequence, kind, is_covered };
        self.add(seen, value, Some(searched.file), searched.source, family)
    }

    #[inline]
    fn add_tombstone(&mut self, number: Option<u64>, source: usize) {
        let Some(number) = number else { return };
        // Of equal sequence numbers, the entry of the newest source counts.
        let age = |(number, source): (u64, usize)| (number, Reverse(source));
        if self.tombstone.is_none_or(|newest| age(newest) < age((number, source))) {
            self.tombstone = Some((number, source));
        }
    }

    #[inline]
    fn is_covered(&self, sequence: u64) -> bool {
        self.tombstone.is_some_and(|(number, _)| number > sequence)
    }

    /// Adds the next older entry of a source. Returns whether older ones of this source are needed.
    fn add(
        &mut self,
        seen: SeenEntry<'_>,
        value: Value,
        file: Option<&Arc<TableFile>>,
        source: usize,
        family: &ColumnFamilyData,
    ) -> bool {
        if family.version.recency == Recency::BySource {
            let versions = self.versions.get_or_insert_default();
            return versions.add(seen, || value, || file.cloned(), &family.keys);
        }
        let SeenEntry { user_key, sequence, kind, is_covered } = seen;
        // An entry with the same number as one in a newer source may be ignored; then the next one
        // counts.
        let may_be_repeated = self.unordered.iter().any(|it| it.sequence == sequence);
        let (user_key, file) = (user_key.to_vec(), file.cloned());
        self.unordered.push(Found { user_key, sequence, kind, value, file, source });
        may_be_repeated || kind == EntryKind::Merge && !is_covered
    }

    /// After the search. Finding no value is an error if a table was left out that may have the key.
    #[inline]
    pub(super) fn finish(&mut self, family: &ColumnFamilyData) -> Result<()> {
        if !self.unordered.is_empty() {
            self.add_unordered(family);
        }
        match self.versions.as_ref().is_some_and(LookupVersions::is_visible) {
            true => Ok(()),
            false => family.require_all_tables(),
        }
    }

    fn add_unordered(&mut self, family: &ColumnFamilyData) {
        let (keys, recency) = (&family.keys, family.version.recency);
        // Stable: of equal numbers, the entry of the newest source stays first.
        self.unordered.sort_by(|a, b| {
            let order = keys.compare_stored(&a.user_key, &b.user_key);
            order.then_with(|| b.sequence.cmp(&a.sequence))
        });
        for Found { user_key, sequence, kind, value, file, source } in self.unordered.drain(..) {
            let is_covered =
                self.tombstone.is_some_and(|it| recency.covers(it, (sequence, source)));
            let seen = SeenEntry { user_key: &user_key, sequence, kind, is_covered };
            self.versions.get_or_insert_default().add(seen, || value, || file, keys);
        }
    }

    /// The entries found, if any.
    pub(super) fn versions(self) -> Option<LookupVersions> {
        self.versions
    }

    /// The entries found, if the key has a value.
    #[inline]
    pub(super) fn visible(self) -> Option<LookupVersions> {
        self.versions.filter(LookupVersions::is_visible)
    }
}

/// What RocksDB reads from a table that does not persist timestamps.
fn with_smallest_timestamp(key: &[u8], size: usize) -> Vec<u8> {
    let mut stamped = key.to_vec();
    stamped.resize(key.len() + size, 0);
    stamped
}
