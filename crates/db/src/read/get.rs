//! Point lookups: source by source, newest first, until the key is resolved.
//!
//! ```text
//! memtable ---> level 0, newest file first ---> level 1 ---> level 2 …
//!
//! in each file   key range ---> range tombstones ---> filter ---> index ---> block ---> entries
//! ```
//!
//! The key is hashed once for all filters. A range tombstone deletes everything older, so the
//! tombstones of a source are checked before its entries, and one over the key ends the lookup
//! after its source. A value or a deletion ends it, too: newer sources take precedence (see
//! [`Recency`]). If the order of the sources is unknown, all of them are searched, and their
//! entries are sorted at the end.

use std::cmp::Reverse;
use std::sync::Arc;

use sstkit_filter::HashedKey;
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::visibility::{ReadView, Recency, SeenEntry};
use sstkit_table::{RangeTombstone, ReadOptions, Table, Value};

use super::LookupVersions;
use super::recorder::{InBatch, NoRecorder, Recorder, WithOptions};
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::version::{Run, TableFile};

/// The key, and where it is looked up.
pub(super) struct LookupKey<'a> {
    key: HashedKey<'a>,
    family: &'a ColumnFamilyData,
    view: &'a ReadView,
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

/// Looks up one key. Returns its entries if it has a value.
pub(crate) fn get(
    family: &ColumnFamilyData,
    view: &ReadView,
    key: &[u8],
) -> Result<Option<LookupVersions>> {
    get_by(family, view, key, &mut NoRecorder)
}

/// Like [`get`], reading as the options say.
pub(crate) fn get_with(
    family: &ColumnFamilyData,
    options: &ReadOptions,
    key: &[u8],
) -> Result<Option<LookupVersions>> {
    options.check_timestamp(family.keys.comparator())?;
    get_by(family, options.view(), key, &mut WithOptions(options))
}

#[inline(always)] // the same code as before there were options
fn get_by<R: Recorder>(
    family: &ColumnFamilyData,
    view: &ReadView,
    key: &[u8],
    recorder: &mut R,
) -> Result<Option<LookupVersions>> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    let mut context = GetContext::default();
    LookupKey::new(key, family, view).get(&mut context, recorder)?;
    Ok(context.finish(family)?.filter(LookupVersions::is_visible))
}

/// Looks up several keys, in the order of `keys`: source by source, and in key order within each,
/// so that adjacent keys share blocks.
pub(crate) fn get_many<K: AsRef<[u8]>>(
    family: &ColumnFamilyData,
    view: &ReadView,
    keys: &[K],
) -> Result<Vec<Option<LookupVersions>>> {
    get_many_by(family, view, keys, &mut InBatch)
}

/// Like [`get_many`], reading as the options say.
pub(crate) fn get_many_with<K: AsRef<[u8]>>(
    family: &ColumnFamilyData,
    options: &ReadOptions,
    keys: &[K],
) -> Result<Vec<Option<LookupVersions>>> {
    options.check_timestamp(family.keys.comparator())?;
    get_many_by(family, options.view(), keys, &mut WithOptions(options))
}

fn get_many_by<'a, K: AsRef<[u8]>, R: Recorder>(
    family: &'a ColumnFamilyData,
    view: &'a ReadView,
    keys: &'a [K],
    recorder: &mut R,
) -> Result<Vec<Option<LookupVersions>>> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    family.lookups.add(0, keys.len() as u64);
    let lookup = |key: &'a K| LookupKey::new(key.as_ref(), family, view);
    let mut lookups: Vec<_> = keys.iter().map(|key| (lookup(key), GetContext::default())).collect();
    let mut pending: Vec<usize> = (0..keys.len()).collect();
    pending.sort_by(|&a, &b| family.keys.compare(keys[a].as_ref(), keys[b].as_ref()));
    for &i in &pending {
        let (key, context) = &mut lookups[i];
        context.get_from_memtable(key, recorder);
    }
    for (run, source) in family.version.runs.iter().zip(1..) {
        pending.retain(|&i| !lookups[i].1.is_done(family));
        for &i in &pending {
            let (key, context) = &mut lookups[i];
            context.get_from_run(key, run, source, recorder)?;
        }
    }
    lookups
        .into_iter()
        .map(|(_, context)| Ok(context.finish(family)?.filter(LookupVersions::is_visible)))
        .collect()
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
        for (run, source) in self.family.version.runs.iter().zip(1..) {
            match context.is_done(self.family) {
                false => context.get_from_run(self, run, source, recorder)?,
                true if R::RECORDS => recorder.skip_run(run, self.key.key(), &self.family.keys),
                true => break,
            }
        }
        Ok(())
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

impl GetContext {
    /// Whether no older source can change the result.
    #[inline]
    fn is_done(&self, family: &ColumnFamilyData) -> bool {
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

    fn get_from_memtable<R: Recorder>(&mut self, lookup: &LookupKey<'_>, recorder: &mut R) {
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
    fn get_from_run<R: Recorder>(
        &mut self,
        lookup: &LookupKey<'_>,
        run: &Run,
        source: usize,
        recorder: &mut R,
    ) -> Result<()> {
        let family = lookup.family;
        let candidates = run.files_with(lookup.key.key(), &family.keys);
        run.count_lookup(candidates.len());
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
        let LookupKey { key, family, view } = lookup;
        let keys = &family.keys;
        file.lookups.add(0, 1);
        family.with_table(file, |table| {
            let tombstone = lookup.tombstone_in(table)?;
            self.add_tombstone(tombstone, source);
            let has_timestamps =
                keys.timestamp_size() == 0 || table.properties().has_persisted_timestamps();
            let visit = |entry: &InternalKey<'_>, value| {
                let stamped;
                let user_key = match has_timestamps {
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
                self.add(seen, value, Some(file), source, family)
            };
            recorder.lookup((table, file), key, tombstone, visit)
        })
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

    /// The entries found, if any. Finding no value is an error if a table was left out that may
    /// have the key.
    pub(super) fn finish(mut self, family: &ColumnFamilyData) -> Result<Option<LookupVersions>> {
        if self.versions.is_none() && self.unordered.is_empty() {
            return family.require_all_tables().map(|()| None);
        }
        let (keys, recency) = (&family.keys, family.version.recency);
        // Stable: of equal numbers, the entry of the newest source stays first.
        self.unordered.sort_by(|a, b| {
            let order = keys.compare_stored(&a.user_key, &b.user_key);
            order.then_with(|| b.sequence.cmp(&a.sequence))
        });
        for Found { user_key, sequence, kind, value, file, source } in self.unordered {
            let is_covered =
                self.tombstone.is_some_and(|it| recency.covers(it, (sequence, source)));
            let seen = SeenEntry { user_key: &user_key, sequence, kind, is_covered };
            self.versions.get_or_insert_default().add(seen, || value, || file, keys);
        }
        if !self.versions.as_ref().is_some_and(LookupVersions::is_visible) {
            family.require_all_tables()?;
        }
        Ok(self.versions)
    }
}

/// What RocksDB reads from a table that does not persist timestamps.
fn with_smallest_timestamp(key: &[u8], size: usize) -> Vec<u8> {
    let mut stamped = key.to_vec();
    stamped.resize(key.len() + size, 0);
    stamped
}
