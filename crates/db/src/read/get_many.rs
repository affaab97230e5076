//! Lookups of several keys: source by source, and all keys of a run at once.
//!
//! ```text
//! keys, sorted        a    c    f    k    p    t         those that newer sources have not resolved
//! files of the run   [a ........ g]  [k ....... z]
//!                     filters, index, cache slots, entries: each step for all keys, so that their
//!                     cache misses overlap
//! ```
//!
//! Adjacent keys share files and blocks. Where each read costs a round trip, `rounds` reads what all keys need first.

use std::sync::Arc;

use sstkit_table::visibility::ReadView;
use sstkit_table::{ReadOptions, Table};

use super::LookupVersions;
use super::get::{GetContext, LookupKey, SearchedFile};
use super::recorder::{InBatch, NoRecorder, WithOptions};
use super::rounds::get_in_rounds;
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::version::{Run, TableFile};

/// Looks up several keys. Returns what `value` makes of the entries of those that have a value, in the
/// order of `keys`.
pub(crate) fn get_many<K: AsRef<[u8]>, T>(
    family: &ColumnFamilyData,
    view: &ReadView,
    keys: &[K],
    value: impl Fn(&[u8], LookupVersions) -> Result<T>,
) -> Result<Vec<Option<T>>> {
    match family.files.is_remote() {
        true => get_in_rounds(family, &ReadOptions::default().at(view), keys, |keys| {
            Batch::read(family, view, keys, Batch::get_from_run)?.finish(&value)
        }),
        false => Batch::read(family, view, keys, Batch::get_from_run)?.finish(value),
    }
}

/// Like [`get_many`], reading as the options say.
pub(crate) fn get_many_with<K: AsRef<[u8]>, T>(
    family: &ColumnFamilyData,
    options: &ReadOptions,
    keys: &[K],
    value: impl Fn(&[u8], LookupVersions) -> Result<T>,
) -> Result<Vec<Option<T>>> {
    options.check_timestamp(family.keys.comparator())?;
    match family.files.is_remote() {
        true => get_in_rounds(family, options, keys, |keys| {
            Batch::read_with(family, options, keys)?.finish(&value)
        }),
        false => Batch::read_with(family, options, keys)?.finish(value),
    }
}

/// Several keys, and the states of their lookups.
struct Batch<'a> {
    family: &'a ColumnFamilyData,
    lookups: Vec<LookupKey<'a>>,
    contexts: Vec<GetContext>,
    /// The numbers of the keys that are not resolved, in key order.
    pending: Vec<usize>,
}

impl<'a> Batch<'a> {
    /// Reads source by source; `get_from_run` reads one for all pending keys.
    fn read<K: AsRef<[u8]>>(
        family: &'a ColumnFamilyData,
        view: &'a ReadView,
        keys: &'a [K],
        mut get_from_run: impl FnMut(&mut Self, &'a Run, usize) -> Result<()>,
    ) -> Result<Self> {
        let family = family.readable()?.map_or(family, |ordered| ordered);
        family.lookups.add(0, keys.len() as u64);
        let mut pending: Vec<usize> = (0..keys.len()).collect();
        pending.sort_by(|&a, &b| family.keys.compare(keys[a].as_ref(), keys[b].as_ref()));
        let lookups = keys.iter().map(|key| LookupKey::new(key.as_ref(), family, view)).collect();
        let contexts = keys.iter().map(|_| GetContext::default()).collect();
        let mut batch = Self { family, lookups, contexts, pending };
        for &i in &batch.pending {
            batch.contexts[i].get_from_memtable(&batch.lookups[i], &mut NoRecorder);
        }
        for (run, source) in family.version.runs.iter().zip(1..) {
            batch.pending.retain(|&i| !batch.contexts[i].is_done(family));
            get_from_run(&mut batch, run, source)?;
        }
        Ok(batch)
    }

    /// Reads as the options say.
    fn read_with<K: AsRef<[u8]>>(
        family: &'a ColumnFamilyData,
        options: &'a ReadOptions,
        keys: &'a [K],
    ) -> Result<Self> {
        Self::read(family, options.view(), keys, |batch, run, source| {
            let Batch { family, lookups, contexts, pending } = batch;
            pending.iter().try_for_each(|&i| {
                let candidates = (run, run.files_with(lookups[i].key.key(), &family.keys));
                let mut recorder = WithOptions(options);
                contexts[i].get_from_files(&lookups[i], candidates, source, &mut recorder)
            })
        })
    }

    fn finish<T>(
        self,
        value: impl Fn(&[u8], LookupVersions) -> Result<T>,
    ) -> Result<Vec<Option<T>>> {
        let Self { family, lookups, contexts, .. } = self;
        let each = |(lookup, mut context): (&LookupKey<'_>, GetContext)| {
            context.finish(family)?;
            context.visible().map(|versions| value(lookup.key.key(), versions)).transpose()
        };
        lookups.iter().zip(contexts).map(each).collect()
    }

    /// Searches the files of a run whose ranges contain the pending keys.
    fn get_from_run(&mut self, run: &'a Run, source: usize) -> Result<()> {
        let Self { family, lookups, contexts, pending } = self;
        let mut files: Vec<(&Arc<TableFile>, Table)> = Vec::new();
        let mut searches = Vec::with_capacity(pending.len());
        for &i in &*pending {
            let candidates = run.files_with(lookups[i].key.key(), &family.keys);
            match candidates {
                [file] => {
                    run.count_lookup(1);
                    if !files.last().is_some_and(|(last, _)| Arc::ptr_eq(last, file)) {
                        files.push((file, family.table(file)?));
                    }
                    searches.push((i, files.len() - 1));
                }
                _ => {
                    let candidates = (run, candidates);
                    contexts[i].get_from_files(&lookups[i], candidates, source, &mut InBatch)?;
                }
            }
        }
        let searched = |&(file, ref table)| SearchedFile::new(family, file, table, source);
        let searched: Vec<_> = files.iter().map(searched).collect();
        let mut batch = Vec::with_capacity(searches.len());
        for &(i, at) in &searches {
            let table = &files[at].1;
            searched[at].file.lookups.add(0, 1);
            contexts[i].enter(&lookups[i], &searched[at], table)?;
            batch.push((table, &lookups[i].key));
        }
        Table::lookup_batch(&batch, |number, entry, value| {
            let (i, at) = searches[number];
            contexts[i].visit(&lookups[i], &searched[at], entry, value)
        })
    }
}
