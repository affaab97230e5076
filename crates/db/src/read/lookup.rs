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
//! source need be asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sstkit_filter::HashedKey;
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{Table, Value};

use super::versions::{Seen, Versions};
use crate::error::Result;
use crate::family::Family;
use crate::range_deletions::{Range, newest_over};
use crate::version::{Run, TableFile};
use crate::view::View;

/// A lookup in progress.
pub(super) struct Lookup<'k> {
    key: HashedKey<'k>,
    pub(super) versions: Versions,
    /// Number of the newest range deletion over the key so far.
    newest_deletion: u64,
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
}

impl<'k> Lookup<'k> {
    pub(super) fn new(key: &'k [u8], in_batch: bool) -> Self {
        let key = HashedKey::new(key);
        Self { key, versions: Versions::default(), newest_deletion: 0, in_batch }
    }

    /// Whether nothing older can matter.
    pub(super) fn is_done(&self) -> bool {
        self.versions.is_decided() || self.newest_deletion > 0
    }

    pub(super) fn look_into_memtable(&mut self, family: &Family, view: &View) {
        let (key, keys) = (self.key.key(), &family.keys);
        self.note_deletion(newest_over(family.memtable.ranges(), key, view, keys));
        let Self { versions, newest_deletion, .. } = self;
        family.memtable.lookup(key, |user_key, sequence, kind, value| {
            if !view.sees(sequence, keys.timestamp(user_key), keys) {
                return true;
            }
            let is_covered = *newest_deletion > sequence;
            versions.add(Seen { user_key, sequence, kind, is_covered, file: None }, || value, keys)
        });
    }

    /// Looks into the files of a run that may have the key.
    pub(super) fn look_into_run(&mut self, run: &Run, family: &Family, view: &View) -> Result<()> {
        let candidates = run.files_with(self.key.key(), &family.keys);
        run.count_lookup(candidates.len());
        for file in candidates {
            // Not because of a range deletion: the versions of a key that two files share may be
            // newer in the second one than what the first one deletes.
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
        family: &Family,
        view: &View,
    ) -> Result<()> {
        file.lookups.fetch_add(1, Ordering::Relaxed);
        let table = family.table(file)?;
        let deletion = newest_deletion_in(&table, file, self.key.key(), family, view)?;
        self.note_deletion(deletion);
        let Self { key, versions, newest_deletion, in_batch } = self;
        each_seen(&table, key, *in_batch, family, view, |user_key, sequence, kind, value| {
            let seen = Seen {
                user_key,
                sequence,
                kind,
                is_covered: *newest_deletion > sequence,
                file: Some(file),
            };
            versions.add(seen, || value, &family.keys)
        })
    }

    fn note_deletion(&mut self, sequence: Option<u64>) {
        self.newest_deletion = self.newest_deletion.max(sequence.unwrap_or(0));
    }

    /// Where runs do not tell which entry is newer: finds all, then puts them in order.
    fn look_everywhere(&mut self, family: &Family, view: &View) -> Result<()> {
        let key = self.key.key();
        self.note_deletion(newest_over(family.memtable.ranges(), key, view, &family.keys));
        let mut all = Vec::new();
        family.memtable.lookup(key, |user_key, sequence, kind, value| {
            if view.sees(sequence, family.keys.timestamp(user_key), &family.keys) {
                all.push(Found { user_key: user_key.to_vec(), sequence, kind, value, file: None });
            }
            true
        });
        for run in &family.version.runs {
            let candidates = run.files_with(key, &family.keys);
            run.count_lookup(candidates.len());
            for file in candidates {
                file.lookups.fetch_add(1, Ordering::Relaxed);
                let table = family.table(file)?;
                self.note_deletion(newest_deletion_in(&table, file, key, family, view)?);
                let key = &self.key;
                each_seen(
                    &table,
                    key,
                    self.in_batch,
                    family,
                    view,
                    |user_key, sequence, kind, value| {
                        let (user_key, file) = (user_key.to_vec(), Some(Arc::clone(file)));
                        all.push(Found { user_key, sequence, kind, value, file });
                        true
                    },
                )?;
            }
        }
        // Stable: of equal numbers that of the memtable stays in front, then that of the newest file.
        let age = |found: &Found| found.file.as_ref().map_or(u64::MAX, |file| file.meta.number);
        all.sort_by(|a, b| {
            let keys = family.keys.compare_stored(&a.user_key, &b.user_key);
            keys.then_with(|| b.sequence.cmp(&a.sequence)).then_with(|| age(b).cmp(&age(a)))
        });
        for Found { user_key, sequence, kind, value, file } in all {
            let is_covered = self.newest_deletion > sequence;
            let seen =
                Seen { user_key: &user_key, sequence, kind, is_covered, file: file.as_ref() };
            self.versions.add(seen, || value, &family.keys);
        }
        Ok(())
    }
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
    family.require_order()?;
    family.lookups.fetch_add(1, Ordering::Relaxed);
    if family.version.is_by_sequence {
        lookup.look_everywhere(family, view)?;
        return Ok(lookup.versions);
    }
    lookup.look_into_memtable(family, view);
    for run in &family.version.runs {
        if lookup.is_done() {
            break;
        }
        lookup.look_into_run(run, family, view)?;
    }
    Ok(lookup.versions)
}

/// Finds all that matters about many keys, in the order of `keys`: source by source, and in the
/// order of the keys within each, so that neighbours find their blocks still there.
pub(crate) fn get_many<K: AsRef<[u8]>>(
    family: &Family,
    view: &View,
    keys: &[K],
) -> Result<Vec<Versions>> {
    family.require_order()?;
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
    for run in &family.version.runs {
        open.retain(|&i| !lookups[i].is_done());
        for &i in &open {
            lookups[i].look_into_run(run, family, view)?;
        }
    }
    Ok(lookups.into_iter().map(|lookup| lookup.versions).collect())
}
