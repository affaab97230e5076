//! A lookup, written down: what [`Table::get`](crate::Table::get) does for one key, step by step.
//!
//! ```text
//! key ---> filter --- no ------------------------------------------------> Filtered
//!            | maybe
//!            v
//!          index entry ---> data block ---> restart interval ---> entries of the key ---> answer
//!            ^    (a filter block is asked here)                        |
//!            '------------- if they may go on in the next block --------'
//! ```
//!
//! [`Table::explain`](crate::Table::explain) makes a [`LookupTrace`]. Nothing is counted and nothing
//! is put into the cache: looking does not change what is looked at.

mod filter;
mod walk;

use std::sync::Arc;

use sstkit_filter::{FilterBlockTrace, FilterLayout, FilterTrace};

use crate::error::Result;
use crate::raw::{BlockHandle, EntryKind};
use crate::reader::open::core::Core;
use crate::reader::value::Value;
use crate::visibility::{Resolver, Versions};

/// What a lookup of one key does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LookupTrace {
    /// What the filter said; `None` if the table has none whose policy is known.
    pub filter: Option<FilterStep>,
    /// The data blocks that the index led to, in order: most often one, none if the filter has said
    /// no or all keys are smaller.
    pub blocks: Vec<BlockStep>,
    /// The sequence number of the newest range deletion over the key. (With timestamps there is not
    /// one newest; see [`EntryStep::is_covered`].)
    pub range_deletion: Option<u64>,
    /// What came out.
    pub answer: LookupAnswer,
}

/// The filter of the table, asked about the key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FilterStep {
    /// How it is laid out.
    pub layout: FilterLayout,
    /// The name of its policy.
    pub policy: String,
    /// Where it is; of a partitioned one, the index over its partitions.
    pub handle: BlockHandle,
    /// What it was asked.
    pub question: FilterQuestion,
    /// Of a partitioned filter, the part that was asked.
    pub partition: Option<PartitionStep>,
    /// What it looked at. `None` where it was not asked, could not be read, or is a filter block:
    /// those are asked about one data block at a time ([`BlockStep::filter`]).
    pub trace: Option<FilterTrace>,
    /// Why it could not be read; it lets everything pass then.
    pub problem: Option<String>,
    /// Whether the lookup went on to the index.
    pub may_contain: bool,
}

/// What a lookup asks a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterQuestion {
    /// Whether the key is there.
    WholeKey,
    /// Whether keys with this prefix are.
    Prefix(Vec<u8>),
    /// Nothing, for the reason given.
    Nothing(NotAsked),
}

/// Why a filter is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAsked {
    /// Filters are not to be used.
    FiltersOff,
    /// Keys that are equal in this order may have different bytes, and the filter knows bytes.
    EqualKeysDiffer,
    /// Whole keys are not in it, and prefixes neither, or those of another extractor than that of
    /// the one who asks, or in a filter block.
    NoSuitablePrefixes,
    /// Only prefixes are in it, and the key has none.
    KeyWithoutPrefix,
}

/// The part of a two-level structure that is responsible for the key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionStep {
    /// Its key in the upper level, as stored: no key of it is greater.
    pub separator: Vec<u8>,
    /// Where it is.
    pub handle: BlockHandle,
    /// Whether the cache has it.
    pub is_cached: bool,
}

/// An entry of the index, and the data block it leads to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockStep {
    /// In an index of two levels, the partition that has the entry.
    pub index_partition: Option<PartitionStep>,
    /// The key of the entry, as stored: no key of the block is greater.
    pub separator: Vec<u8>,
    /// The first key of the block, in indexes that have it.
    pub first_key: Option<Vec<u8>>,
    /// Where the block is.
    pub handle: BlockHandle,
    /// What a filter block says about it.
    pub filter: Option<FilterBlockTrace>,
    /// What was found in it; `None` if it was not read, because the filter said no or its first key
    /// is greater.
    pub data: Option<DataStep>,
}

/// The search in one data block.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DataStep {
    /// The codec byte as stored.
    pub codec: u8,
    /// Bytes after decompression.
    pub decoded_size: usize,
    /// Whether the cache has the block.
    pub is_cached: bool,
    /// How the restart interval was found.
    pub search: IntervalSearch,
    /// Which interval it is; `None` if the hash index says that the key is in none.
    pub interval: Option<usize>,
    /// How many there are.
    pub intervals: usize,
    /// The entries of the key, the newest first, as far as they matter for its value.
    pub entries: Vec<EntryStep>,
}

/// How the restart interval of a key is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IntervalSearch {
    /// By binary search: there is no hash index that can be used.
    Binary,
    /// By the hash index of the block.
    HashIndex,
    /// By binary search, because the hash index has several intervals in the bucket of the key.
    HashCollision,
}

/// An entry of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryStep {
    /// The user's key, with its timestamp if it has one.
    pub user_key: Vec<u8>,
    /// When it was written.
    pub sequence: u64,
    /// What it does.
    pub kind: EntryKind,
    /// Bytes of the value as stored.
    pub value_length: usize,
    /// Whether a range deletion covers it.
    pub is_covered: bool,
}

/// What a lookup comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupAnswer {
    /// The filter says that the table does not have the key.
    Filtered,
    /// The table does not have the key. If a filter was asked, this was a false positive.
    NotThere,
    /// The newest thing that happened to the key is its deletion.
    Deleted,
    /// The key has this value.
    Value(Value),
    /// The key has a value that cannot be told from here, for the reason given: its operands cannot
    /// be merged, or it is in another file.
    Unresolved(String),
}

/// Looks `key` up, and writes down how.
pub(crate) fn explain(core: &Arc<Core>, key: &[u8]) -> Result<LookupTrace> {
    core.require_order()?;
    let mut trace = LookupTrace {
        filter: filter::ask(core, key),
        blocks: Vec::new(),
        range_deletion: core.range_deletions.newest_over(key, &core.keys),
        answer: LookupAnswer::Filtered,
    };
    if trace.filter.as_ref().is_some_and(|filter| !filter.may_contain) {
        return Ok(trace);
    }
    let mut versions = Versions::default();
    trace.blocks = walk::blocks(core, key, &mut versions)?;
    trace.answer = answer(core, key, &trace.blocks, &versions);
    Ok(trace)
}

fn answer(core: &Core, key: &[u8], blocks: &[BlockStep], versions: &Versions<()>) -> LookupAnswer {
    let refused = |step: &BlockStep| step.filter.as_ref().is_some_and(|it| !it.filter.may_contain);
    let has_entries =
        |step: &BlockStep| step.data.as_ref().is_some_and(|it| !it.entries.is_empty());
    match versions.is_visible() {
        true => match core.value(key, versions) {
            Ok(value) => LookupAnswer::Value(value),
            Err(error) => LookupAnswer::Unresolved(core.blocks.in_file(error).to_string()),
        },
        false if blocks.iter().any(has_entries) => LookupAnswer::Deleted,
        false if !blocks.is_empty() && blocks.iter().all(refused) => LookupAnswer::Filtered,
        false => LookupAnswer::NotThere,
    }
}
