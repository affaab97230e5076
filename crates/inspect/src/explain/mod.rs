//! The steps of a point lookup: files skipped, result and probed bits of each filter, index entry,
//! block, restart interval, entries.

mod coverage;
mod explained_lookup;
mod filter;

use serde::Serialize;
use sstkit_db::{Answer, ColumnFamily, MemtableEntry, RecordValue, Step};
use sstkit_table::explain::{
    BlockStep, DataStep, EntryStep, IntervalSearch, LookupAnswer, LookupTrace, PartitionStep,
};
use sstkit_table::raw::{BlockHandle, EntryKind, MAX_SEQUENCE_NUMBER};

pub use self::explained_lookup::ExplainedLookup;
pub use self::filter::{FilterAnswer, ProbedBit, ProbedPlace};
use crate::encoding::Encoding;
use crate::inspected_table::InspectedTable;
use crate::names;
use crate::record::JsonRecord;

/// A lookup in a table or a database.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The key that was looked up.
    pub key: String,
    /// Whether it was found.
    pub found: bool,
    /// The result: `found`, `deleted`, `absent`, `filtered` or `unresolved`; `failed` if a source could not
    /// be read.
    pub answer: &'static str,
    /// The value, if available.
    pub value: Option<String>,
    /// Operands that were not merged, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<Vec<String>>,
    /// Why the value is not available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The column family of a database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_family: Option<String>,
    /// The sequence number of the lookup in a database; `None` if no MANIFEST tells the last one,
    /// and everything in the tables is visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The sources, newest first; for a table, only itself.
    pub steps: Vec<LookupStep>,
}

/// One source of a lookup.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "source", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LookupStep {
    /// The writes replayed from the write-ahead logs.
    Memtable {
        /// The sequence number of the newest range tombstone over the key.
        range_deletion: Option<u64>,
        /// Whether it deletes the key: not if an entry of the key, here or in another source, is at
        /// least as new. `None` without one.
        #[serde(skip_serializing_if = "Option::is_none")]
        range_deletion_covers: Option<bool>,
        /// The entries of the key, newest first.
        entries: Vec<FoundEntry>,
    },
    /// Files whose key ranges do not contain the key.
    OutOfRange {
        /// The level.
        level: u32,
        /// The file numbers.
        files: Vec<u64>,
    },
    /// A table that was read.
    Table(Box<TableStep>),
    /// Files that were skipped, since the key was already resolved.
    #[serde(rename = "not_asked")]
    Skipped {
        /// The level.
        level: u32,
        /// The file numbers.
        files: Vec<u64>,
    },
    /// The part of a blob file with the value, or with a column of it.
    #[serde(rename = "blob_file")]
    Blob {
        /// The number of the blob file; 0 is the table with the entry.
        file: u64,
        /// The offset in it.
        offset: u64,
        /// The stored size in bytes.
        length: u64,
    },
}

/// A table that was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TableStep {
    /// The level in a database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// The file number in a database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<u64>,
    /// The result of this table alone: `found`, `deleted`, `absent`, `filtered` or `unresolved`.
    pub answer: &'static str,
    /// The sequence number of its newest range tombstone over the key.
    pub range_deletion: Option<u64>,
    /// Whether it deletes the key: not if an entry of the key, here or in another source, is at
    /// least as new. `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_deletion_covers: Option<bool>,
    /// The result of its filter; `None` if it has no known filter.
    pub filter: Option<FilterAnswer>,
    /// The data blocks found in the index.
    pub blocks: Vec<BlockVisit>,
}

/// An index entry and its data block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BlockVisit {
    /// The partition with the entry, in a two-level index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_partition: Option<PartitionVisit>,
    /// The key of the entry, as stored.
    pub separator: String,
    /// The first key of the block, in indexes that have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_key: Option<String>,
    /// The offset of the block.
    pub offset: u64,
    /// The stored size in bytes.
    pub length: u64,
    /// The result of the filter for this block, in a filter block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterAnswer>,
    /// The search in the block; `None` if it was not read.
    pub search: Option<BlockSearch>,
}

/// A partition of an index or filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PartitionVisit {
    /// Its key in the top level, as stored.
    pub separator: String,
    /// The offset.
    pub offset: u64,
    /// The stored size in bytes.
    pub length: u64,
    /// Whether it was in the cache.
    pub cached: bool,
}

/// The search in one data block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BlockSearch {
    /// The decompressed size in bytes.
    pub uncompressed: u64,
    /// Whether the block was in the cache.
    pub cached: bool,
    /// How the restart interval was found: `binary`, `hash_index` or `hash_collision`.
    pub by: &'static str,
    /// The restart interval; `None` if the hash index has no entry for the key.
    pub interval: Option<u64>,
    /// The number of restart intervals.
    pub intervals: u64,
    /// The relevant entries of the key, newest first.
    pub entries: Vec<FoundEntry>,
}

/// An entry of the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoundEntry {
    /// The type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The sequence number.
    pub seq: u64,
    /// The stored size of the value; `None` in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_length: Option<u64>,
    /// Whether a range deletion covers it.
    pub covered: bool,
}

impl Explanation {
    /// Looks up a key in a table.
    pub fn in_table(
        file: &InspectedTable,
        key: &[u8],
        encoding: Encoding,
    ) -> sstkit_table::Result<Self> {
        Self::in_table_while(file, key, encoding, &|| true)
    }

    /// The same, [cancelled](sstkit_table::Error::is_cancelled) when `keep_going` returns false.
    pub fn in_table_while(
        file: &InspectedTable,
        key: &[u8],
        encoding: Encoding,
        keep_going: &dyn Fn() -> bool,
    ) -> sstkit_table::Result<Self> {
        let trace = file.table().explain_while(key, keep_going)?;
        let (value, problem) = match &trace.answer {
            LookupAnswer::Value(value) => (Some(encoding.encode(value)), None),
            LookupAnswer::Unresolved(why) => (None, Some(why.clone())),
            _ => (None, None),
        };
        let step = TableStep::of(None, &trace, encoding);
        let answer = step.answer;
        let mut steps = vec![LookupStep::Table(Box::new(step))];
        coverage::settle(&mut steps, MAX_SEQUENCE_NUMBER, false);
        Ok(Self {
            key: encoding.encode(key),
            found: value.is_some() || problem.is_some(),
            answer,
            value,
            merge: None,
            problem,
            column_family: None,
            seq: None,
            steps,
        })
    }

    /// A lookup in a column family, [cancelled](sstkit_db::Error::is_cancelled) when `keep_going` returns
    /// false. An error of a source does not hide the steps before it: it is returned beside them, and is
    /// their problem.
    pub fn in_column_family_while(
        family: &ColumnFamily,
        key: &[u8],
        encoding: Encoding,
        keep_going: &dyn Fn() -> bool,
    ) -> sstkit_db::Result<(Self, Option<sstkit_db::Error>)> {
        let (trace, error) = family.explain_readable_while(key, keep_going)?;
        let problem = error.as_ref().map(ToString::to_string);
        Ok((Self { problem, ..Self::in_database(&trace, encoding) }, error))
    }

    /// A lookup in a database.
    pub fn in_database(explanation: &sstkit_db::DatabaseTrace, encoding: Encoding) -> Self {
        let steps = explanation.steps.iter().filter_map(|step| LookupStep::of(step, encoding));
        let mut steps: Vec<_> = steps.collect();
        coverage::settle(&mut steps, explanation.sequence, explanation.is_by_sequence);
        let record = match &explanation.answer {
            Answer::Found(value) => JsonRecord::of_record_value(&explanation.key, value, encoding),
            _ => JsonRecord::default(),
        };
        Self {
            key: encoding.encode(&explanation.key),
            found: matches!(explanation.answer, Answer::Found(_)),
            answer: match &explanation.answer {
                Answer::Unknown => "failed",
                Answer::Found(RecordValue::Unresolved { .. }) => "unresolved",
                Answer::Found(_) => "found",
                Answer::Deleted => "deleted",
                _ => "absent",
            },
            value: record.value.flatten(),
            merge: record.merge,
            problem: None,
            column_family: Some(explanation.column_family.clone()),
            seq: Some(explanation.sequence).filter(|&sequence| sequence < MAX_SEQUENCE_NUMBER),
            steps,
        }
    }
}

impl LookupStep {
    fn of(step: &Step, encoding: Encoding) -> Option<Self> {
        Some(match step {
            Step::Memtable { range_deletion, entries } => Self::Memtable {
                range_deletion: *range_deletion,
                range_deletion_covers: None,
                entries: entries.iter().map(in_memory).collect(),
            },
            Step::OutOfRange { level, files } => {
                Self::OutOfRange { level: *level, files: files.clone() }
            }
            Step::File { level, file, range_deletion, trace } => {
                let mut table = TableStep::of(Some((*level, *file)), trace, encoding);
                table.range_deletion = *range_deletion;
                Self::Table(Box::new(table))
            }
            Step::Skipped { level, files } => Self::Skipped { level: *level, files: files.clone() },
            Step::Blob { file, offset, size } => {
                Self::Blob { file: *file, offset: *offset, length: *size }
            }
            _ => return None,
        })
    }
}

fn in_memory(entry: &MemtableEntry) -> FoundEntry {
    FoundEntry {
        kind: names::entry_kind(entry.kind),
        seq: entry.sequence,
        value_length: None,
        covered: entry.is_covered,
    }
}

impl TableStep {
    fn of(place: Option<(u32, u64)>, trace: &LookupTrace, encoding: Encoding) -> Self {
        Self {
            level: place.map(|(level, _)| level),
            file: place.map(|(_, file)| file),
            answer: answer(&trace.answer),
            range_deletion: trace.range_deletion,
            range_deletion_covers: None,
            filter: trace.filter.as_ref().map(|step| FilterAnswer::of_step(step, encoding)),
            blocks: trace.blocks.iter().map(|step| BlockVisit::of(step, encoding)).collect(),
        }
    }
}

fn answer(answer: &LookupAnswer) -> &'static str {
    match answer {
        LookupAnswer::Filtered => "filtered",
        LookupAnswer::Deleted => "deleted",
        LookupAnswer::Value(_) => "found",
        LookupAnswer::Unresolved(_) => "unresolved",
        _ => "absent",
    }
}

impl BlockVisit {
    fn of(step: &BlockStep, encoding: Encoding) -> Self {
        let BlockHandle { offset, size: length } = step.handle;
        let partition = step.index_partition.as_ref();
        Self {
            index_partition: partition.map(|partition| PartitionVisit::of(partition, encoding)),
            separator: encoding.encode(&step.separator),
            first_key: step.first_key.as_ref().map(|key| encoding.encode(key)),
            offset,
            length,
            filter: step.filter.as_ref().map(FilterAnswer::of_block),
            search: step.data.as_ref().map(BlockSearch::of),
        }
    }
}

impl PartitionVisit {
    fn of(step: &PartitionStep, encoding: Encoding) -> Self {
        let BlockHandle { offset, size: length } = step.handle;
        Self { separator: encoding.encode(&step.separator), offset, length, cached: step.is_cached }
    }
}

impl BlockSearch {
    fn of(step: &DataStep) -> Self {
        Self {
            uncompressed: step.decoded_size as u64,
            cached: step.is_cached,
            by: match step.search {
                IntervalSearch::HashIndex => "hash_index",
                IntervalSearch::HashCollision => "hash_collision",
                _ => "binary",
            },
            interval: step.interval.map(|interval| interval as u64),
            intervals: step.intervals as u64,
            entries: step.entries.iter().map(in_block).collect(),
        }
    }
}

fn in_block(entry: &EntryStep) -> FoundEntry {
    let kind: EntryKind = entry.kind;
    FoundEntry {
        kind: names::entry_kind(kind),
        seq: entry.sequence,
        value_length: Some(entry.value_length as u64),
        covered: entry.is_covered,
    }
}
