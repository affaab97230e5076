//! Options for merging tables.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use sstkit_coding::{setters, with_defaults};
use sstkit_filter::{Destination, FilterPolicy};
use sstkit_table::raw::Engine;
use sstkit_table::{Comparator, KeyBounds, KeyRange, MergeOperator, TableOptions};

use super::compaction_filter::CompactionFilter;
use crate::bulk::DEFAULT_EXTENSION;
use crate::error::{Error, Result};
use crate::output::{Progress, ProgressCallback, SetOptions};

/// Memory of an open input: the read-ahead of a scan, and a block.
const INPUT_MEMORY: usize = (256 + 64) << 10;

/// Memory of the table writer: blocks being compressed, index and filter of a file.
const WRITER_MEMORY: usize = 16 << 20;

/// The sequence numbers of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SequenceNumbers {
    /// Keep them (the default).
    #[default]
    Keep,
    /// Set all to 0, as RocksDB's `IngestExternalFile` requires (see [`TableOptions::readable_by`]
    /// for versions before 10.4), with one entry per user key.
    Zero,
}

with_defaults! {
    /// Options for merging tables.
    ///
    /// ```
    /// use sstkit_db::{CompactionOptions, SequenceNumbers};
    /// use sstkit_table::TableOptions;
    ///
    /// let table = TableOptions::rocksdb().filter("ribbonfilter:10:3".parse()?);
    /// let options = CompactionOptions::new(table)
    ///     .bottommost(true)
    ///     .sequence_numbers(SequenceNumbers::Zero)
    ///     .level(6)
    ///     .threads(4);
    /// # Ok::<(), sstkit_filter::Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct CompactionOptions {
        pub(super) table: TableOptions = TableOptions::rocksdb(),
        pub(super) comparator: Option<Comparator>,
        pub(super) range: KeyRange = (Bound::Unbounded, Bound::Unbounded),
        pub(super) prefix: Option<Vec<u8>>,
        pub(super) max_file_size: Option<u64>,
        pub(super) split_at: Vec<Vec<u8>>,
        pub(super) extension: String = DEFAULT_EXTENSION.into(),
        pub(super) replace: bool,
        pub(super) threads: usize = 1,
        pub(super) memory: Option<usize>,
        pub(super) bottommost: bool,
        pub(super) keep_versions: bool,
        pub(super) keep_blob_files: bool,
        pub(super) sequence_numbers: SequenceNumbers = SequenceNumbers::Keep,
        pub(super) merge_operator: Option<Arc<dyn MergeOperator>>,
        pub(super) filter: Option<Arc<dyn CompactionFilter>>,
        pub(super) optimize_filters_for_hits: bool,
        pub(super) progress: Option<ProgressCallback>,
    }
}

impl CompactionOptions {
    /// Tables with these settings. Comparator and threads are set here, and whether the tables are
    /// [external](TableOptions::external_file).
    pub fn new(table: TableOptions) -> Self {
        Self { table, ..Self::default() }
    }
}

setters! {
    impl CompactionOptions:

    /// The comparator. Default: that of the inputs, which must be the same for all.
    pub fn comparator(mut self, comparator: Comparator) { self.comparator = Some(comparator); }

    /// Keeps only the keys that start with this, instead of a range. Not for custom comparators, which
    /// may have such keys anywhere.
    pub fn prefix(mut self, prefix: impl Into<Vec<u8>>) { self.prefix = Some(prefix.into()); }

    /// Starts a new file at each of these keys, which are without timestamps, in any order; the output
    /// is a directory, as with a [maximum file size](Self::max_file_size). Default: none.
    pub fn split_at(mut self, keys: Vec<Vec<u8>>) { self.split_at = keys; }

    /// Starts a new file after this many bytes of data, as in
    /// [`BulkOptions::max_file_size`](crate::BulkOptions::max_file_size). `None`, the default,
    /// writes a single file.
    pub fn max_file_size(mut self, bytes: Option<u64>) { self.max_file_size = bytes; }

    /// The file name extension of tables in a directory, `sst` (the default) or `ldb`.
    pub fn extension(mut self, extension: impl Into<String>) { self.extension = extension.into(); }

    /// Whether an existing output may be replaced, as in
    /// [`BulkOptions::replace`](crate::BulkOptions::replace). Default: no.
    pub fn replace(mut self, replace: bool) { self.replace = replace; }

    /// The number of threads. Default: 1. With more, and a maximum file size, the key range is
    /// split into as many parts, which are merged in parallel. The entries are the same, but files
    /// end at other keys.
    pub fn threads(mut self, threads: usize) { self.threads = threads; }

    /// Memory in bytes for merging. Default: as much as the threads need. If it does not suffice
    /// for one part of the key range per [thread](Self::threads), there are fewer parts, down to
    /// one.
    ///
    /// A part takes about 256 KiB and a block for each open input, and 16 MiB for the table writer.
    /// The limit does not include the range deletions, the versions of a single key, the key hashes
    /// for the filter of a file, and the block cache of the inputs.
    pub fn memory(mut self, bytes: usize) { self.memory = Some(bytes); }

    /// Whether there is no older data below the output. Default: no. Deletions and range deletions
    /// are then dropped, and merge operands without an older value are merged, unless keys have
    /// timestamps: reads at an earlier time still need them.
    pub fn bottommost(mut self, bottommost: bool) { self.bottommost = bottommost; }

    /// Whether to keep all versions of all keys, including deleted ones. Default: no.
    pub fn keep_versions(mut self, keep: bool) { self.keep_versions = keep; }

    /// Whether values in blob files stay there: the blob files are taken over with the tables, as hard
    /// links where possible, with their garbage recounted. Default: no, they become inline values.
    /// Only for [a database](crate::Compaction::run_into), and from a single column family.
    pub fn keep_blob_files(mut self, keep: bool) { self.keep_blob_files = keep; }

    /// The sequence numbers of the output. Default: keep them.
    pub fn sequence_numbers(mut self, numbers: SequenceNumbers) { self.sequence_numbers = numbers; }

    /// The merge operator. Default: the one that the column family names, if any; otherwise
    /// operands are kept.
    pub fn merge_operator(mut self, operator: Arc<dyn MergeOperator>) {
        self.merge_operator = Some(operator);
    }

    /// Decides about the newest value of each key. Default: none, all are kept.
    pub fn filter(mut self, filter: Arc<dyn CompactionFilter>) { self.filter = Some(filter); }

    /// The level that the tables are for, which selects Bloom or Ribbon for
    /// `ribbonfilter:BITS:LEVEL`. Default: unknown.
    pub fn level(mut self, level: u32) {
        self.table = self.table.destination(Destination::Level(level));
    }

    /// RocksDB's `optimize_filters_for_hits`: no filters in the bottommost level, since most
    /// lookups that reach it succeed. Default: no.
    pub fn optimize_filters_for_hits(mut self, on: bool) { self.optimize_filters_for_hits = on; }

    /// Called regularly with the progress, from any thread. `Break` stops the work with an error of
    /// kind [`Io`](crate::ErrorKind::Io), *cancelled*, and leaves nothing behind.
    pub fn progress(
        mut self,
        callback: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) {
        self.progress = Some(ProgressCallback::new(callback));
    }
}

impl CompactionOptions {
    /// Keeps only the keys in this range, in comparator order. Range tombstones are cut to it.
    /// Default: all keys.
    #[must_use]
    pub fn range(mut self, range: impl KeyBounds) -> Self {
        self.range = range.into_key_range();
        self
    }

    /// Rejects contradictory settings, with an error that names both.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |wrong: bool, what: &str| match wrong {
            true => Err(Error::invalid_input(what)),
            false => Ok(()),
        };
        let zero = self.sequence_numbers == SequenceNumbers::Zero;
        refuse(self.threads == 0, "threads = 0")?;
        refuse(self.memory == Some(0), "memory = 0")?;
        refuse(self.max_file_size == Some(0), "max_file_size = 0")?;
        refuse(
            !matches!(self.extension.as_str(), "sst" | "ldb"),
            "the extension must be sst or ldb",
        )?;
        refuse(
            self.keep_versions && self.filter.is_some(),
            "keep_versions contradicts filter: only the newest version of a key is filtered",
        )?;
        refuse(
            self.keep_blob_files && self.filter.is_some(),
            "keep_blob_files contradicts filter: values in blob files would not be filtered",
        )?;
        refuse(self.keep_versions && self.bottommost, "keep_versions contradicts bottommost")?;
        refuse(
            self.keep_versions && zero,
            "keep_versions contradicts sequence_numbers = Zero: only one version of a key can \
             have sequence number 0",
        )
    }

    /// Whether the output is a directory of tables.
    pub(super) fn is_folder(&self) -> bool {
        self.max_file_size.is_some() || !self.split_at.is_empty()
    }

    /// The number of parts of the key range that can be merged in parallel, with this number of
    /// inputs each.
    pub(super) fn parts(&self, inputs: usize) -> usize {
        let each = WRITER_MEMORY.saturating_add(INPUT_MEMORY.saturating_mul(inputs));
        let affordable = self.memory.map_or(usize::MAX, |memory| memory / each);
        self.threads.min(affordable).max(1)
    }

    /// The settings of one of several parts that are written in parallel, with this merge operator.
    pub(super) fn set_options(
        &self,
        comparator: &Comparator,
        parts: usize,
        operator: Option<&str>,
    ) -> SetOptions {
        let mut table = self
            .table
            .clone()
            .comparator(comparator.clone())
            .external_file(self.sequence_numbers == SequenceNumbers::Zero)
            .threads((self.threads / parts).max(1));
        if self.bottommost && self.optimize_filters_for_hits {
            table = table.filter(FilterPolicy::None);
        }
        // LevelDB has no merge operands, and no property for the operator.
        if let (Some(operator), Engine::RocksDb) = (operator, table.engine()) {
            table = table.merge_operator(operator);
        }
        let mut split_at = self.split_at.clone();
        split_at.sort_by(|a, b| comparator.compare_without_timestamp(a, b));
        split_at.dedup_by(|a, b| comparator.compare_without_timestamp(a, b).is_eq());
        let (comparator, max_file_size) = (comparator.clone(), self.max_file_size);
        SetOptions { table, comparator, max_file_size, split_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_limits_the_parts() {
        let options = CompactionOptions::new(TableOptions::rocksdb()).threads(8);
        assert_eq!(options.parts(1000), 8);
        let limited = options.memory(64 << 20);
        assert_eq!([0, 10, 100, 1000].map(|inputs| limited.parts(inputs)), [4, 3, 1, 1]);
        assert!(limited.check().is_ok());
        assert!(limited.memory(0).check().is_err());
    }
}
