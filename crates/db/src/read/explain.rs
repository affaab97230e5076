//! Point lookups with a recorder: which sources were searched, and what each contained.

use std::sync::Arc;

use sstkit_filter::HashedKey;
use sstkit_table::explain::LookupTrace;
use sstkit_table::raw::{BlobIndex, ColumnValue, EntryKind, InternalKey, decode_wide_columns};
use sstkit_table::visibility::{ReadView, Recency, Resolver, SeenEntry, UserKeys};
use sstkit_table::{RecordValue, Table, Value};

use super::get::{GetContext, LookupKey};
use super::recorder::Recorder;
use crate::column_family_data::ColumnFamilyData;
use crate::error::{Error, Result};
use crate::version::{Run, TableFile};

/// A lookup in a column family, step by step.
///
/// Steps and answer are those at the sequence number. The trace of a [file](Step::File) is that of
/// the newest state: it may contain newer entries, which the lookup ignored.
#[derive(Clone)]
#[non_exhaustive]
pub struct DatabaseTrace {
    /// The key that was looked up.
    pub key: Vec<u8>,
    /// The column family.
    pub column_family: String,
    /// The sequence number of the lookup.
    pub sequence: u64,
    /// The sources, newest first.
    pub steps: Vec<Step>,
    /// Whether only sequence numbers tell which entry is newer, because the order of the sources is
    /// unknown.
    pub is_by_sequence: bool,
    /// The result.
    pub answer: Answer,
}

sstkit_coding::debug_struct!(DatabaseTrace {
    key: bytes,
    column_family,
    sequence,
    steps,
    is_by_sequence,
    answer,
});

/// One source of a lookup.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Step {
    /// The memtable: the writes in the write-ahead logs.
    Memtable {
        /// The newest visible range tombstone over the key.
        range_deletion: Option<u64>,
        /// The visible entries of the key that the lookup read, newest first.
        entries: Vec<MemtableEntry>,
    },
    /// Files whose key ranges do not contain the key.
    OutOfRange {
        /// Their level.
        level: u32,
        /// Their numbers.
        files: Vec<u64>,
    },
    /// A file that was searched.
    File {
        /// Its level.
        level: u32,
        /// Its number.
        file: u64,
        /// The newest visible range tombstone of this file over the key.
        range_deletion: Option<u64>,
        /// The probe of its filter, its index and data blocks. Entries and answer are those of the
        /// newest state of this file alone.
        trace: Box<LookupTrace>,
    },
    /// Files that might have the key, but were skipped: the lookup was already resolved.
    Skipped {
        /// Their level.
        level: u32,
        /// Their numbers.
        files: Vec<u64>,
    },
    /// A part of a blob file: the value, or a column of it.
    Blob {
        /// The number of the blob file; 0 is the table with the entry.
        file: u64,
        /// Where its bytes start.
        offset: u64,
        /// How many there are, as stored.
        size: u64,
    },
}

/// An entry of the memtable.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemtableEntry {
    /// Its sequence number.
    pub sequence: u64,
    /// Its kind.
    pub kind: EntryKind,
    /// Whether a range tombstone covers it.
    pub is_covered: bool,
    /// Its timestamp; empty if keys have none.
    pub timestamp: Vec<u8>,
    /// The value as written: columns and references are not resolved.
    pub value: Value,
}

sstkit_coding::debug_struct!(MemtableEntry { sequence, kind, is_covered, timestamp: bytes, value });

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// No source has the key.
    NotFound,
    /// The newest entry of the key is a deletion, or a range tombstone covers it.
    Deleted,
    /// The key has this value.
    Found(RecordValue),
    /// A source could not be read, so that the result is not known.
    Unknown,
}

/// Looks up `key` and records the steps, until `keep_going` returns false.
pub(crate) fn explain(
    family: &ColumnFamilyData,
    view: &ReadView,
    key: &[u8],
    keep_going: &dyn Fn() -> bool,
) -> Result<DatabaseTrace> {
    let (trace, error) = explain_readable(family, view, key, keep_going)?;
    error.map_or(Ok(trace), Err)
}

/// The same; after an error the steps before it, and the error.
pub(crate) fn explain_readable(
    family: &ColumnFamilyData,
    view: &ReadView,
    key: &[u8],
    keep_going: &dyn Fn() -> bool,
) -> Result<(DatabaseTrace, Option<Error>)> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    let mut recorder = StepRecorder { steps: Vec::new(), keep_going };
    let (answer, error) = match answer(family, view, key, &mut recorder) {
        Ok(answer) => (answer, None),
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => (Answer::Unknown, Some(error)),
    };
    let (key, column_family, steps) = (key.to_vec(), family.name.clone(), recorder.steps);
    let is_by_sequence = family.version.recency == Recency::BySequence;
    let sequence = view.sequence;
    Ok((DatabaseTrace { key, column_family, sequence, steps, is_by_sequence, answer }, error))
}

fn answer(
    family: &ColumnFamilyData,
    view: &ReadView,
    key: &[u8],
    recorder: &mut StepRecorder<'_>,
) -> Result<Answer> {
    let mut context = GetContext::default();
    LookupKey::new(key, family, view).get(&mut context, recorder)?;
    let has_tombstone = context.has_tombstone();
    context.finish(family)?;
    Ok(match context.versions() {
        Some(versions) if versions.is_visible() => {
            if let Some(base) = versions.base() {
                recorder.blobs(base.kind, &base.value);
            }
            Answer::Found(family.record_value(key, &versions)?)
        }
        Some(versions) if versions.is_decided() => Answer::Deleted,
        _ if has_tombstone => Answer::Deleted,
        _ => Answer::NotFound,
    })
}

/// Records the steps of a lookup.
struct StepRecorder<'k> {
    steps: Vec<Step>,
    keep_going: &'k dyn Fn() -> bool,
}

impl StepRecorder<'_> {
    /// The values in blob files that a stored value refers to. One that is damaged is an error of the
    /// lookup.
    fn blobs(&mut self, kind: EntryKind, value: &[u8]) {
        let mut add = |index: BlobIndex<'_>| {
            if let BlobIndex::Stored { file, offset, size, .. } = index {
                self.steps.push(Step::Blob { file, offset, size });
            }
        };
        match kind {
            EntryKind::BlobIndex => BlobIndex::decode_from(value).into_iter().for_each(&mut add),
            EntryKind::WideColumnEntity => {
                for column in decode_wide_columns(value).into_iter().flatten() {
                    if let ColumnValue::Blob(index) = column.value {
                        add(index);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Recorder for StepRecorder<'_> {
    fn memtable(&mut self, tombstone: Option<u64>) {
        self.steps.push(Step::Memtable { range_deletion: tombstone, entries: Vec::new() });
    }

    fn memtable_entry(&mut self, entry: SeenEntry<'_>, value: &Value, keys: &UserKeys) {
        if let Some(Step::Memtable { entries, .. }) = self.steps.last_mut() {
            let SeenEntry { user_key, sequence, kind, is_covered } = entry;
            let timestamp = keys.timestamp(user_key).to_vec();
            let value = value.clone();
            entries.push(MemtableEntry { sequence, kind, is_covered, timestamp, value });
        }
    }

    fn out_of_range(&mut self, run: &Run, candidates: &[Arc<TableFile>]) {
        let is_candidate =
            |file: &&Arc<TableFile>| candidates.iter().any(|it| Arc::ptr_eq(it, file));
        let files = numbers(run.files.iter().filter(|file| !is_candidate(file)));
        if !files.is_empty() {
            self.steps.push(Step::OutOfRange { level: run.level, files });
        }
    }

    fn lookup(
        &mut self,
        (table, file): (&Table, &TableFile),
        key: &HashedKey<'_>,
        tombstone: Option<u64>,
        visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<()> {
        // A filter may reject the key before the table looks.
        if !(self.keep_going)() {
            return Err(Error::cancelled());
        }
        let trace = Box::new(table.lookup_traced(key, self.keep_going, visit)?);
        let (level, file) = (file.level, file.meta.number);
        self.steps.push(Step::File { level, file, range_deletion: tombstone, trace });
        Ok(())
    }

    fn skip(&mut self, run: &Run, files: &[Arc<TableFile>]) {
        if !files.is_empty() {
            self.steps.push(Step::Skipped { level: run.level, files: numbers(files) });
        }
    }
}

fn numbers<'a>(files: impl IntoIterator<Item = &'a Arc<TableFile>>) -> Vec<u64> {
    files.into_iter().map(|file| file.meta.number).collect()
}
