//! A point lookup, recorded: what [`Table::get`](crate::Table::get) does for one key, step by step.
//!
//! ```text
//! key ---> filter --- no ------------------------------------------------> Filtered
//!            | maybe
//!            v
//!          index entry ---> data block ---> restart interval ---> entries of the key ---> answer
//!            ^    (a filter block is probed here)                       |
//!            '------------- if they may continue in the next block -----'
//! ```
//!
//! [`Table::explain`](crate::Table::explain) makes a [`LookupTrace`], and counts and caches nothing.
//! [`Table::lookup_traced`](crate::Table::lookup_traced) makes one of a lookup that counts as any
//! other does.

mod trace;

use sstkit_filter::{FilterBlockTrace, FilterLayout, FilterTrace};

pub(crate) use self::trace::TraceRecorder;
use crate::raw::{BlockHandle, EntryKind};
use crate::reader::value::Value;

/// What a lookup of one key does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LookupTrace {
    /// The filter; `None` if the table has none whose policy is known.
    pub filter: Option<FilterStep>,
    /// The data blocks that the index led to, in order: most often one, none if the filter rejected
    /// the key or all keys are smaller.
    pub blocks: Vec<BlockStep>,
    /// The sequence number of the newest range deletion over the key. (With timestamps there is not
    /// one newest; see [`EntryStep::is_covered`].)
    pub range_deletion: Option<u64>,
    /// The result.
    pub answer: LookupAnswer,
}

/// The filter of the table, probed for the key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FilterStep {
    /// How it is laid out.
    pub layout: FilterLayout,
    /// The name of its policy.
    pub policy: String,
    /// Where it is; of a partitioned one, the index over its partitions.
    pub handle: BlockHandle,
    /// What it was probed for.
    pub probed_for: ProbedFor,
    /// Of a partitioned filter, the partition that was probed.
    pub partition: Option<PartitionStep>,
    /// The probe. `None` if there was none, if the filter could not be read, or if it is a filter
    /// block: those are probed for one data block at a time ([`BlockStep::filter`]).
    pub trace: Option<FilterTrace>,
    /// Why it could not be read; it lets everything pass then.
    pub problem: Option<String>,
    /// Whether the lookup continued with the index.
    pub may_contain: bool,
}

/// What a lookup probes a filter for.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbedFor {
    /// The key.
    WholeKey,
    /// This prefix of the key.
    Prefix(Vec<u8>),
    /// Nothing, for this reason.
    Nothing(NotProbed),
}

sstkit_coding::debug_enum!(ProbedFor {
    WholeKey, Prefix(prefix: bytes), Nothing(reason),
});

/// Why a filter is not probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotProbed {
    /// Filters are switched off.
    FiltersOff,
    /// Keys that are equal in this order may have different bytes, and the filter knows bytes.
    EqualKeysDiffer,
    /// It has no whole keys. It has no prefixes either, or those of an extractor that the reader does
    /// not use, or it is a filter block.
    NoSuitablePrefixes,
    /// It has only prefixes, and the key has none.
    KeyWithoutPrefix,
}

/// The partition of an index or a filter that covers the key.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionStep {
    /// Its key in the upper level, as stored: no key of it is greater.
    pub separator: Vec<u8>,
    /// Where it is.
    pub handle: BlockHandle,
    /// Whether the cache has it.
    pub is_cached: bool,
}

sstkit_coding::debug_struct!(PartitionStep { separator: bytes, handle, is_cached });

/// An entry of the index, and the data block it leads to.
#[derive(Clone)]
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
    /// The probe of a filter block for it.
    pub filter: Option<FilterBlockTrace>,
    /// What was found in it; `None` if it was not read, because the filter rejected the key or its
    /// first key is greater.
    pub data: Option<DataStep>,
}

sstkit_coding::debug_struct!(BlockStep {
    index_partition,
    separator: bytes,
    first_key: bytes,
    handle,
    filter,
    data,
});

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
    /// The entries of the key that determine its value, newest first.
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
#[derive(Clone, PartialEq, Eq)]
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

sstkit_coding::debug_struct!(EntryStep {
    user_key: bytes,
    sequence,
    kind,
    value_length,
    is_covered,
});

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupAnswer {
    /// The filter says that the table does not have the key.
    Filtered,
    /// The table does not have the key. If a filter was probed, this was a false positive.
    NotFound,
    /// The newest entry of the key is a deletion.
    Deleted,
    /// The key has this value.
    Value(Value),
    /// The key has a value that cannot be resolved here, for the reason given: its operands cannot be
    /// merged, or it is in another file.
    Unresolved(String),
}
