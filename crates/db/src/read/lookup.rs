//! One key: source by source, the newest first, until the answer is known.
//!
//! ```text
//! memtable ---> level 0, newest file first ---> level 1 ---> level 2 …
//!
//! in each file   key range ---> range deletions ---> filter ---> index ---> block ---> entries
//! ```
//!
//! The key is hashed once for all filters. Range deletions of a source count for all that is older,
//! so that they are looked at before its entries. The larger sequence number is the newer one: a
//! lookup ends where no remaining source can have a larger one than what it has found. See
//! [`Progress`] for directories whose sources contradict their numbers.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sstkit_filter::HashedKey;
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{Table, Value};

use super::progress::Progress;
use super::versions::{Seen, Versions};
use crate::error::Result;
use crate::family::Family;
use crate::range_deletions::{Range, newest_over};
use crate::version::{Run, TableFile};
use crate::view::View;

/// A lookup in progress.
pub(super) struct Lookup<'k> {
    key: HashedKey<'k>,
    progress: Progress,
    /// Whether the key is one of many, which RocksDB counts in another way.
    in_batch: bool,
}

/// An entry that was found, in a lookup that has to put them in order itself.
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
        Self { key: HashedKey::new(key), progress: Progress::default(), in_batch }
    }

    /// Whether run number `run` and those after it need not be looked into.
    fn is_done_before(&self, run: usize, family: &Family) -> bool {
        if self.progress.is_contradicted() {
            return true;
        }
        let settled = self.progress.settled();
        // Timestamps are compared file by file.
        let by_number = family.keys.timestamp_size() == 0 || !self.progress.versions.is_decided();
        settled.is_some_and(|at| by_number && !family.version.has_newer_from(run, at))
    }

    pub(super) fn look_into_memtable(&mut self, family: &Family, view: &View) {
        let (key, keys, progress) = (self.key.key(), &family.keys, &mut self.progress);
        progress.note_deletion(newest_over(family.memtable.ranges(), key, view, keys));
        family.memtable.lookup(key, |user_key, sequence, kind, value| {
            if !view.sees(sequence, keys.timestamp(user_key), keys) {
                return true;
            }
            let is_covered = progress.is_covered(sequence);
            progress.take(Seen { user_key, sequence, kind, is_covered, file: None }, || value, keys)
        });
    }

    /// Looks into the files of a run that may have the key.
    pub(super) fn look_into_run(&mut self, run: &Run, family: &Family, view: &View) -> Result<()> {
        let candidates = run.files_with(self.key.key(), &family.keys);
        let may_change = |progress: &Progress, file| progress.may_change(file, &family.keys);
        if self.progress.is_settled()
            && !candidates.iter().any(|file| may_change(&self.progress, file))
        {
            return Ok(());
        }
        self.progress.begin_source();
        run.count_lookup(candidates.len());
        for file in candidates {
            // A range deletion alone does not end it: the versions of a key that two files share may
            // be newer in the second one than what the first one deletes.
            let is_decided = self.progress.versions.is_decided();
            if is_decided && !may_change(&self.progress, file) {
                continue;
            }
            self.look_into_file(file, family, view)?;
        }
        Ok(())
    }

    fn look_into_file(
        &mut self,
        file: &Arc<TableFile>,
        family: &Family,
        view: &View,
    ) -> Result<()> {
        file.lookups.fetch_add(1, Ordering::Relaxed);
        let table = family.table(file)?;
        let deletion = newest_deletion_in(&table, file, self.key.key(), family, view)?;
        let Self { key, progress, in_batch } = self;
        progress.note_deletion(deletion);
        each_seen(&table, key, *in_batch, family, view, |user_key, sequence, kind, value| {
            let is_covered = progress.is_covered(sequence);
            let seen = Seen { user_key, sequence, kind, is_covered, file: Some(file) };
            progress.take(seen, || value, &family.keys)
        })
    }

    /// What was found; where sources and numbers contradict each other, by numbers.
    fn finish(self, family: &Family, view: &View) -> Result<Versions> {
        match self.progress.is_contradicted() {
            true => look_everywhere(&self.key, self.in_batch, family, view),
            false => all_of(self.progress.versions, family),
        }
    }
}

/// Where sources do not tell which entry is newer: finds all, then puts them in order.
fn look_everywhere(
    key: &HashedKey<'_>,
    in_batch: bool,
    family: &Family,
    view: &View,
) -> Result<Versions> {
    let keys = &family.keys;
    // Number and source; of equal numbers that of the newest source.
    let mut deletion: Option<(u64, Reverse<usize>)> = None;
    let mut note = |sequence: Option<u64>, source| {
        deletion = deletion.max(sequence.map(|sequence| (sequence, Reverse(source))));
    };
    note(newest_over(family.memtable.ranges(), key.key(), view, keys), 0);
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
            note(newest_deletion_in(&table, file, key.key(), family, view)?, source);
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
    let mut versions = Versions::default();
    for Found { user_key, sequence, kind, value, file, source } in all {
        let is_covered = deletion.is_some_and(|(deleted, Reverse(by))| {
            deleted > sequence || deleted == sequence && by < source
        });
        let seen = Seen { user_key: &user_key, sequence, kind, is_covered, file: file.as_ref() };
        versions.add(seen, || value, keys);
    }
    all_of(versions, family)
}

/// What was found. Nothing is an error where it may be in a table that was left out.
fn all_of(versions: Versions, family: &Family) -> Result<Versions> {
    if !versions.is_visible() {
        family.require_all_tables()?;
    }
    Ok(versions)
}

/// The newest range deletion of a file over `key`, which is within the file's bounds.
pub(super) fn newest_deletion_in(
    table: &Table,
    file: &TableFile,
    key: &[u8],
    family: &Family,
    view: &View,
) -> Result<Option<u64>> {
    let ranges = table.range_deletions();
    if ranges.is_empty() {
        return Ok(None);
    }
    if family.keys.timestamp_size() == 0 && view.sees_all(file.meta.largest_sequence) {
        return Ok(table.newest_range_deletion(key)?);
    }
    Ok(newest_over(ranges.iter().map(Range::from), key, view, &family.keys))
}

/// Shows the entries of `key` that the view sees, the newest first, until `visit` says `false`.
fn each_seen(
    table: &Table,
    key: &HashedKey<'_>,
    in_batch: bool,
    family: &Family,
    view: &View,
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
pub(crate) fn get(family: &Family, view: &View, key: &[u8]) -> Result<Versions> {
    find(family, view, Lookup::new(key, false))
}

fn find(family: &Family, view: &View, mut lookup: Lookup<'_>) -> Result<Versions> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    family.lookups.fetch_add(1, Ordering::Relaxed);
    if family.version.is_by_sequence {
        return look_everywhere(&lookup.key, lookup.in_batch, family, view);
    }
    lookup.look_into_memtable(family, view);
    for (number, run) in family.version.runs.iter().enumerate() {
        if lookup.is_done_before(number, family) {
            break;
        }
        lookup.look_into_run(run, family, view)?;
    }
    lookup.finish(family, view)
}

/// Finds all that matters about many keys, in the order of `keys`: source by source, and in the
/// order of the keys within each, so that neighbours find their blocks still there.
pub(crate) fn get_many<K: AsRef<[u8]>>(
    family: &Family,
    view: &View,
    keys: &[K],
) -> Result<Vec<Versions>> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    if family.version.is_by_sequence {
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
    for (number, run) in family.version.runs.iter().enumerate() {
        open.retain(|&i| !lookups[i].is_done_before(number, family));
        for &i in &open {
            lookups[i].look_into_run(run, family, view)?;
        }
    }
    lookups.into_iter().map(|lookup| lookup.finish(family, view)).collect()
}
