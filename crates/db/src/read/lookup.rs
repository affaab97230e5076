//! One key: source by source, the newest first, until the answer is known.
//!
//! ```text
//! memtable ---> level 0, newest file first ---> level 1 ---> level 2 …
//!
//! in each file   key range ---> range deletions ---> filter ---> index ---> block ---> entries
//! ```
//!
//! The key is hashed once for all filters. Range deletions of a source count for all that is older,
//! so that they are looked at before its entries, and once there is one over the key no older
//! source need be asked. A value or a deletion ends the lookup as well: the newer source is right, as
//! everywhere (see [`Recency`]).

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sstkit_filter::HashedKey;
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::visibility::{ReadView, Recency, SeenEntry};
use sstkit_table::{RangeTombstone, Table, Value};

use super::Versions;
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::version::{Run, TableFile};

/// A lookup in progress.
pub(super) struct Lookup<'k> {
    key: HashedKey<'k>,
    versions: Versions,
    /// Number of the newest range deletion over the key so far.
    deletion: Option<u64>,
    /// Whether the key is one of many, which RocksDB counts in another way.
    in_batch: bool,
}

/// An entry that was found where only its number says how old it is.
struct Found {
    user_key: Vec<u8>,
    sequence: u64,
    kind: EntryKind,
    value: Value,
    file: Option<Arc<TableFile>>,
    /// The number of its source: the memtable has 0, runs follow, the newest first.
    source: usize,
}

impl<'k> Lookup<'k> {
    pub(super) fn new(key: &'k [u8], in_batch: bool) -> Self {
        let key = HashedKey::new(key);
        Self { key, versions: Versions::default(), deletion: None, in_batch }
    }

    /// Whether nothing in older sources can matter.
    fn is_done(&self) -> bool {
        self.versions.is_decided() || self.deletion.is_some()
    }

    pub(super) fn look_into_memtable(&mut self, family: &ColumnFamilyData, view: &ReadView) {
        let (key, keys) = (self.key.key(), &family.keys);
        self.deletion =
            RangeTombstone::newest_over(family.memtable.range_deletions(), key, view, keys);
        let Self { versions, deletion, .. } = self;
        family.memtable.lookup(key, |user_key, sequence, kind, value| {
            if !view.sees(sequence, keys.timestamp(user_key), keys) {
                return true;
            }
            let is_covered = *deletion > Some(sequence);
            let seen = SeenEntry { user_key, sequence, kind, is_covered };
            versions.add(seen, || value, || None, keys)
        });
    }

    /// Looks into the files of a run that may have the key.
    pub(super) fn look_into_run(
        &mut self,
        run: &Run,
        family: &ColumnFamilyData,
        view: &ReadView,
    ) -> Result<()> {
        let candidates = run.files_with(self.key.key(), &family.keys);
        run.count_lookup(candidates.len());
        if candidates.len() > 1 {
            self.deletion = newest_deletion_of(candidates, self.key.key(), family, view)?;
        }
        for file in candidates {
            // Not because of a range deletion: the versions of a key that two files share may be
            // newer than what it deletes.
            if self.versions.is_decided() {
                break;
            }
            self.look_into_file(file, family, view)?;
        }
        Ok(())
    }

    fn look_into_file(
        &mut self,
        file: &Arc<TableFile>,
        family: &ColumnFamilyData,
        view: &ReadView,
    ) -> Result<()> {
        file.lookups.fetch_add(1, Ordering::Relaxed);
        let table = family.table(file)?;
        let Self { key, versions, deletion, in_batch } = self;
        *deletion = (*deletion).max(table.newest_range_deletion_at(key.key(), view)?);
        each_seen(&table, key, *in_batch, family, view, |user_key, sequence, kind, value| {
            let is_covered = *deletion > Some(sequence);
            let seen = SeenEntry { user_key, sequence, kind, is_covered };
            versions.add(seen, || value, || Some(Arc::clone(file)), &family.keys)
        })
    }
}

/// Where sources do not tell which entry is newer: finds all, then puts them in order.
fn look_everywhere(
    key: &HashedKey<'_>,
    in_batch: bool,
    family: &ColumnFamilyData,
    view: &ReadView,
) -> Result<Versions> {
    let keys = &family.keys;
    // Number and source.
    let mut deletions: Vec<(u64, usize)> = Vec::new();
    let in_memory =
        RangeTombstone::newest_over(family.memtable.range_deletions(), key.key(), view, keys);
    deletions.extend(in_memory.map(|number| (number, 0)));
    let mut all = Vec::new();
    family.memtable.lookup(key.key(), |user_key, sequence, kind, value| {
        if view.sees(sequence, keys.timestamp(user_key), keys) {
            let user_key = user_key.to_vec();
            all.push(Found { user_key, sequence, kind, value, file: None, source: 0 });
        }
        true
    });
    for (run, source) in family.version.runs.iter().zip(1..) {
        let candidates = run.files_with(key.key(), keys);
        run.count_lookup(candidates.len());
        for file in candidates {
            file.lookups.fetch_add(1, Ordering::Relaxed);
            let table = family.table(file)?;
            let deletion = table.newest_range_deletion_at(key.key(), view)?;
            deletions.extend(deletion.map(|number| (number, source)));
            each_seen(&table, key, in_batch, family, view, |user_key, sequence, kind, value| {
                let (user_key, file) = (user_key.to_vec(), Some(Arc::clone(file)));
                all.push(Found { user_key, sequence, kind, value, file, source });
                true
            })?;
        }
    }
    // Stable: of equal numbers that of the newest source stays in front.
    all.sort_by(|a, b| {
        let keys = keys.compare_stored(&a.user_key, &b.user_key);
        keys.then_with(|| b.sequence.cmp(&a.sequence))
    });
    let recency = family.version.recency;
    // Of equal numbers that of the newest source.
    let newest = deletions.into_iter().max_by_key(|&(number, by)| (number, Reverse(by)));
    let mut versions = Versions::default();
    for Found { user_key, sequence, kind, value, file, source } in all {
        let is_covered = newest.is_some_and(|it| recency.covers(it, (sequence, source)));
        let seen = SeenEntry { user_key: &user_key, sequence, kind, is_covered };
        versions.add(seen, || value, || file, keys);
    }
    all_of(versions, family)
}

/// What was found. Nothing is an error where it may be in a table that was left out.
fn all_of(versions: Versions, family: &ColumnFamilyData) -> Result<Versions> {
    if !versions.is_visible() {
        family.require_all_tables()?;
    }
    Ok(versions)
}

/// The newest range deletion over `key` of files that have it within their bounds.
pub(super) fn newest_deletion_of(
    files: &[Arc<TableFile>],
    key: &[u8],
    family: &ColumnFamilyData,
    view: &ReadView,
) -> Result<Option<u64>> {
    files.iter().try_fold(None, |newest: Option<u64>, file| {
        let table = family.table(file)?;
        Ok(newest.max(table.newest_range_deletion_at(key, view)?))
    })
}

/// Shows the entries of `key` that the view sees, the newest first, until `visit` says `false`.
fn each_seen(
    table: &Table,
    key: &HashedKey<'_>,
    in_batch: bool,
    family: &ColumnFamilyData,
    view: &ReadView,
    mut visit: impl FnMut(&[u8], u64, EntryKind, Value) -> bool,
) -> Result<()> {
    let keys = &family.keys;
    let has_timestamps =
        keys.timestamp_size() == 0 || table.properties().has_persisted_timestamps();
    let show = |entry: &InternalKey<'_>, value| {
        let stamped;
        let user_key = match has_timestamps {
            true => entry.user_key,
            false => {
                stamped = with_smallest_timestamp(entry.user_key, keys.timestamp_size());
                &stamped
            }
        };
        !view.sees(entry.sequence, keys.timestamp(user_key), keys)
            || visit(user_key, entry.sequence, entry.kind, value)
    };
    match in_batch {
        true => table.lookup_in_batch(key, show)?,
        false => table.lookup(key, show)?,
    };
    Ok(())
}

/// What RocksDB reads from a table that does not keep timestamps.
fn with_smallest_timestamp(key: &[u8], size: usize) -> Vec<u8> {
    let mut stamped = key.to_vec();
    stamped.resize(key.len() + size, 0);
    stamped
}

/// Finds all that matters about one key.
pub(crate) fn get(family: &ColumnFamilyData, view: &ReadView, key: &[u8]) -> Result<Versions> {
    find(family, view, Lookup::new(key, false))
}

fn find(family: &ColumnFamilyData, view: &ReadView, mut lookup: Lookup<'_>) -> Result<Versions> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    family.lookups.fetch_add(1, Ordering::Relaxed);
    if family.version.recency == Recency::BySequence {
        return look_everywhere(&lookup.key, lookup.in_batch, family, view);
    }
    lookup.look_into_memtable(family, view);
    for run in &family.version.runs {
        if lookup.is_done() {
            break;
        }
        lookup.look_into_run(run, family, view)?;
    }
    all_of(lookup.versions, family)
}

/// Finds all that matters about many keys, in the order of `keys`: source by source, and in the
/// order of the keys within each, so that neighbours find their blocks still there.
pub(crate) fn get_many<K: AsRef<[u8]>>(
    family: &ColumnFamilyData,
    view: &ReadView,
    keys: &[K],
) -> Result<Vec<Versions>> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    if family.version.recency == Recency::BySequence {
        return keys
            .iter()
            .map(|key| find(family, view, Lookup::new(key.as_ref(), true)))
            .collect();
    }
    family.lookups.fetch_add(keys.len() as u64, Ordering::Relaxed);
    let mut lookups: Vec<Lookup<'_>> =
        keys.iter().map(|key| Lookup::new(key.as_ref(), true)).collect();
    let mut open: Vec<usize> = (0..keys.len()).collect();
    open.sort_by(|&a, &b| family.keys.compare(keys[a].as_ref(), keys[b].as_ref()));
    for &i in &open {
        lookups[i].look_into_memtable(family, view);
    }
    for run in &family.version.runs {
        open.retain(|&i| !lookups[i].is_done());
        for &i in &open {
            lookups[i].look_into_run(run, family, view)?;
        }
    }
    lookups.into_iter().map(|lookup| all_of(lookup.versions, family)).collect()
}
