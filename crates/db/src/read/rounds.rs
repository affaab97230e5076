//! Lookups of several keys in files where each read costs a round trip.
//!
//! ```text
//! keys, sorted   a  c  f  k  p  t     a part of them, whose tables can all be open
//! plan           look up all of them in all sources, with what is open and was read before
//!  |---> tables, blob files that are not open     opened at the same time, by threads
//!  '---> blocks, blobs that were not read         read at the same time: sstkit_table::rounds
//! plan … nothing is missing ---> the real lookup
//! ```
//!
//! A plan does not wait for the newer sources: where one of them lacks a block, the older ones are searched in the same
//! round. That reads a block of an older version now and then. One round for each level would take longer.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sstkit_filter::HashedKey;
use sstkit_table::raw::{BlobIndex, InternalKey};
use sstkit_table::rounds::read_in_rounds;
use sstkit_table::visibility::Resolver;
use sstkit_table::{MergeOperator, ReadOptions, Table, Value};

use super::get::{GetContext, LookupKey};
use super::recorder::Recorder;
use crate::column_family_data::ColumnFamilyData;
use crate::error::{Error, Result};
use crate::version::TableFile;

/// The most keys whose blocks are in memory at once, besides the cache.
const MAX_KEYS: usize = 1024;

/// Files that are opened at the same time. The end of each is read, half a megabyte.
const MAX_OPENED: usize = 32;

/// Runs `read`, a lookup of several keys, with a part of `keys` at a time, after what it needs has been read in rounds.
/// Returns its results in the order of `keys`.
pub(super) fn get_in_rounds<K: AsRef<[u8]>, T>(
    family: &ColumnFamilyData,
    options: &ReadOptions,
    keys: &[K],
    read: impl Fn(&[&[u8]]) -> Result<Vec<Option<T>>>,
) -> Result<Vec<Option<T>>> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    let mut sorted: Vec<usize> = (0..keys.len()).collect();
    sorted.sort_by(|&a, &b| family.keys.compare(keys[a].as_ref(), keys[b].as_ref()));
    let mut values: Vec<Option<T>> = keys.iter().map(|_| None).collect();
    let mut rest: Vec<&[u8]> = sorted.iter().map(|&at| keys[at].as_ref()).collect();
    let mut numbers = sorted.into_iter();
    while !rest.is_empty() {
        let others = rest.split_off(part_length(family, &rest));
        let part = std::mem::replace(&mut rest, others);
        let mut plan = LookupPlan::new(family, options, &part);
        let found = read_in_rounds(|| plan.run(), || read(&part))?;
        // `found` ends first, and leaves the numbers of the other parts.
        for (value, at) in found.into_iter().zip(numbers.by_ref()) {
            values[at] = value;
        }
    }
    Ok(values)
}

/// The number of keys from the first one on whose tables can all be open. At least one.
fn part_length(family: &ColumnFamilyData, sorted: &[&[u8]]) -> usize {
    let mut tables = BTreeSet::new();
    let fits = |key: &&&[u8]| {
        for run in &family.version.runs {
            tables.extend(run.files_with(key, &family.keys).iter().map(Arc::as_ptr));
        }
        tables.len() <= family.files.max_open_together()
    };
    sorted.iter().take(MAX_KEYS).take_while(fits).count().max(1)
}

/// Several lookups, tried until they lack nothing.
struct LookupPlan<'a> {
    family: &'a ColumnFamilyData,
    options: &'a ReadOptions,
    lookups: Vec<PlannedLookup<'a>>,
    unopened: UnopenedFiles,
}

struct PlannedLookup<'a> {
    key: LookupKey<'a>,
    lacks_nothing: bool,
}

impl<'a> LookupPlan<'a> {
    fn new(family: &'a ColumnFamilyData, options: &'a ReadOptions, keys: &[&'a [u8]]) -> Self {
        let lookup = |key: &&'a [u8]| PlannedLookup {
            key: LookupKey::new(key, family, options.view()),
            lacks_nothing: false,
        };
        let lookups = keys.iter().map(lookup).collect();
        Self { family, options, lookups, unopened: UnopenedFiles::default() }
    }

    /// Looks up all keys, and opens the files that this needs.
    fn run(&mut self) {
        let Self { family, options, lookups, unopened } = self;
        loop {
            for PlannedLookup { key, lacks_nothing } in lookups.iter_mut() {
                *lacks_nothing = *lacks_nothing || plan(key, family, options, unopened).is_ok();
            }
            if !unopened.open(family) {
                break;
            }
        }
    }
}

/// Looks up one key in all sources that may be needed, up to the first read of each that is missing. Any error means
/// that something is missing, or that the real lookup fails, too.
fn plan(
    key: &LookupKey<'_>,
    family: &ColumnFamilyData,
    options: &ReadOptions,
    unopened: &mut UnopenedFiles,
) -> Result<()> {
    let mut planner = PlanRecorder { options, unopened };
    let mut context = GetContext::default();
    context.get_from_memtable(key, &mut planner);
    let mut lacks_nothing = Ok(());
    for (run, source) in family.version.runs.iter().zip(1..) {
        if context.is_done(family) {
            break;
        }
        let candidates = (run.as_ref(), run.files_with(key.key.key(), &family.keys));
        let searched = context.get_from_files(key, candidates, source, &mut planner);
        lacks_nothing = lacks_nothing.and(searched);
    }
    lacks_nothing?;
    context.finish(family)?;
    if let Some(versions) = context.visible() {
        BlobPlan { family, unopened: RefCell::new(unopened) }.value(key.key.key(), &versions)?;
    }
    Ok(())
}

/// Searches only tables that are open.
struct PlanRecorder<'p> {
    options: &'p ReadOptions,
    unopened: &'p mut UnopenedFiles,
}

impl Recorder for PlanRecorder<'_> {
    const RECORDS: bool = false;
    const IS_QUIET: bool = true;

    fn require_open(&mut self, family: &ColumnFamilyData, file: &Arc<TableFile>) -> Result<()> {
        match file.slot.is_open() {
            true => Ok(()),
            false => Err(self.unopened.note(UnopenedFile::Table(Arc::clone(file)), family)),
        }
    }

    fn lookup(
        &mut self,
        (table, _): (&Table, &TableFile),
        key: &HashedKey<'_>,
        _: Option<u64>,
        visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<()> {
        table.plan_lookup(key, self.options, visit).map(drop)
    }
}

/// Reads blobs of blob files that are open. Merges nothing, which needs no reads.
struct BlobPlan<'p> {
    family: &'p ColumnFamilyData,
    unopened: RefCell<&'p mut UnopenedFiles>,
}

impl Resolver for BlobPlan<'_> {
    type Origin = Option<Arc<TableFile>>;

    fn blob(
        &self,
        index: &BlobIndex<'_>,
        user_key: &[u8],
        origin: Option<&Self::Origin>,
    ) -> Result<Value> {
        let family = self.family;
        if let BlobIndex::Stored { file: number @ 1.., .. } = *index
            && !family.files.has_open_blob_file(number)
        {
            let file = UnopenedFile::Blob(number, origin.cloned().flatten());
            return Err(self.unopened.borrow_mut().note(file, family));
        }
        family.blob(index, user_key, origin)
    }

    fn merge_operator(&self) -> Option<&dyn MergeOperator> {
        None
    }

    fn merge_operator_name(&self) -> Option<String> {
        None
    }

    fn in_file(&self, error: Error) -> Error {
        error
    }
}

/// A file that a plan needs.
enum UnopenedFile {
    Table(Arc<TableFile>),
    /// A blob file, and the table that refers to it.
    Blob(u64, Option<Arc<TableFile>>),
}

/// The files that a plan needs.
#[derive(Default)]
struct UnopenedFiles {
    /// By number.
    files: BTreeMap<u64, UnopenedFile>,
    /// Those that could not be opened, or were closed again. The real lookup opens them, and reports errors.
    tried: BTreeSet<u64>,
}

impl UnopenedFiles {
    /// Notes a file, and returns the error that ends the search in it.
    fn note(&mut self, file: UnopenedFile, family: &ColumnFamilyData) -> Error {
        let number = match &file {
            UnopenedFile::Table(table) => table.meta.number,
            UnopenedFile::Blob(number, _) => *number,
        };
        if !self.tried.contains(&number) {
            self.files.insert(number, file);
        }
        Error::cancelled().in_file(family.files.directory().path())
    }

    /// Opens all files. False if there are none.
    fn open(&mut self, family: &ColumnFamilyData) -> bool {
        let files = std::mem::take(&mut self.files);
        self.tried.extend(files.keys());
        let (files, next) = (Vec::from_iter(files.into_values()), AtomicUsize::new(0));
        let open_some = || {
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                file.open(family);
            }
        };
        thread::scope(|scope| {
            for _ in 0..files.len().min(MAX_OPENED) {
                // Without threads the real lookup opens them.
                let _ = thread::Builder::new().spawn_scoped(scope, open_some);
            }
        });
        !files.is_empty()
    }
}

impl UnopenedFile {
    /// An error is found again by the real lookup.
    fn open(&self, family: &ColumnFamilyData) {
        match self {
            Self::Table(file) => drop(family.table(file)),
            Self::Blob(number, file) => drop(family.blob_file(*number, file.as_deref())),
        }
    }
}
