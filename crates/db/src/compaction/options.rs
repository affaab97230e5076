//! How tables are merged.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use sstkit_filter::{Destination, FilterPolicy};
use sstkit_table::raw::Engine;
use sstkit_table::{Comparator, MergeOperator, TableOptions};

use crate::bulk::DEFAULT_EXTENSION;
use crate::error::{Error, Result};
use crate::output::{Progress, ProgressCallback, SetOptions};

/// What an open input takes: the read-ahead of a scan, and a block.
const INPUT_MEMORY: usize = (256 + 64) << 10;

/// What the writer of a table takes: blocks on their way through compression, index and filter of
/// a file.
const WRITER_MEMORY: usize = 16 << 20;

/// What becomes of sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SequenceNumbers {
    /// They stay: the default.
    #[default]
    Keep,
    /// All become 0, as in tables for RocksDB's `IngestExternalFile` (see
    /// [`TableOptions::readable_by`] for versions before 10.4): one entry of each user key.
    Zero,
}

/// How tables are merged.
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
#[derive(Clone)]
pub struct CompactionOptions {
    pub(super) table: TableOptions,
    pub(super) comparator: Option<Comparator>,
    pub(super) max_file_size: Option<u64>,
    pub(super) extension: String,
    pub(super) replace: bool,
    pub(super) threads: usize,
    pub(super) memory: Option<usize>,
    pub(super) bottommost: bool,
    pub(super) keep_versions: bool,
    pub(super) sequence_numbers: SequenceNumbers,
    pub(super) merge_operator: Option<Arc<dyn MergeOperator>>,
    pub(super) optimize_filters_for_hits: bool,
    pub(super) progress: Option<ProgressCallback>,
}

impl CompactionOptions {
    /// New tables with these settings. Their comparator, threads and whether they are
    /// [external](TableOptions::external_file) are set here.
    pub fn new(table: TableOptions) -> Self {
        Self {
            table,
            comparator: None,
            max_file_size: None,
            extension: DEFAULT_EXTENSION.into(),
            replace: false,
            threads: 1,
            memory: None,
            bottommost: false,
            keep_versions: false,
            sequence_numbers: SequenceNumbers::Keep,
            merge_operator: None,
            optimize_filters_for_hits: false,
            progress: None,
        }
    }

    /// The order of the keys. Default: that of the inputs, which must agree.
    #[must_use]
    pub fn comparator(mut self, comparator: Comparator) -> Self {
        self.comparator = Some(comparator);
        self
    }

    /// About how large a file becomes, as in
    /// [`BulkOptions::max_file_size`](crate::BulkOptions::max_file_size). `None`, the default, makes
    /// one file of the name given.
    #[must_use]
    pub fn max_file_size(mut self, bytes: Option<u64>) -> Self {
        self.max_file_size = bytes;
        self
    }

    /// The ending of the names of tables in a folder, `sst` (the default) or `ldb`.
    #[must_use]
    pub fn extension(mut self, extension: impl Into<String>) -> Self {
        self.extension = extension.into();
        self
    }

    /// Whether what an earlier run has written may be replaced, as in
    /// [`BulkOptions::replace`](crate::BulkOptions::replace). Default: no.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Threads to use. Default: 1. With more, and a file size, the key range is cut into as many
    /// parts, which are merged at once. The entries are the same, but files end in other places.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Bytes for merging. Default: what the threads need. With less than that for as many parts of
    /// the key range as there are [threads](Self::threads), there are fewer of them, down to one.
    ///
    /// A part takes about 256 KiB and a block for each input that is open in it, and 16 MiB for the
    /// writer of a table. Not bounded are the range deletions, the versions of a single key, what a
    /// filter must know of all keys of a file, and the cache of the tables that are read.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Whether nothing is below the new tables that they could delete. Default: no. Deletions and
    /// range deletions have then done their work and are left out, and merge operands without an
    /// older value are merged. Not where keys have timestamps: reading as of an earlier time still
    /// needs them.
    #[must_use]
    pub fn bottommost(mut self, bottommost: bool) -> Self {
        self.bottommost = bottommost;
        self
    }

    /// Whether all versions of all keys are kept, deleted ones included. Default: no.
    #[must_use]
    pub fn keep_versions(mut self, keep: bool) -> Self {
        self.keep_versions = keep;
        self
    }

    /// What becomes of sequence numbers. Default: they stay.
    #[must_use]
    pub fn sequence_numbers(mut self, numbers: SequenceNumbers) -> Self {
        self.sequence_numbers = numbers;
        self
    }

    /// What combines merge operands. Default: what the column family names, if it comes from one;
    /// otherwise operands stay as they are.
    #[must_use]
    pub fn merge_operator(mut self, operator: Arc<dyn MergeOperator>) -> Self {
        self.merge_operator = Some(operator);
        self
    }

    /// The level the tables go to, which decides between Bloom and Ribbon for
    /// `ribbonfilter:BITS:LEVEL`. Default: not known.
    #[must_use]
    pub fn level(mut self, level: u32) -> Self {
        self.table = self.table.destination(Destination::Level(level));
        self
    }

    /// RocksDB's `optimize_filters_for_hits`: no filters on the bottommost level, because most keys
    /// that get there are found there. Default: no.
    #[must_use]
    pub fn optimize_filters_for_hits(mut self, on: bool) -> Self {
        self.optimize_filters_for_hits = on;
        self
    }

    /// Called now and then with how far it is, from any thread. `Break` ends the work with an error
    /// of the kind [`Io`](crate::ErrorKind::Io), *cancelled*, and nothing is left behind.
    #[must_use]
    pub fn progress(
        mut self,
        callback: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress = Some(Arc::new(callback));
        self
    }

    /// Refuses settings that contradict each other, naming both.
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
        refuse(self.keep_versions && self.bottommost, "keep_versions contradicts bottommost")?;
        refuse(
            self.keep_versions && zero,
            "keep_versions contradicts sequence_numbers = Zero: only one version of a key can \
             have sequence number 0",
        )
    }

    /// How many parts of the key range may be merged at once, of so many inputs each.
    pub(super) fn parts(&self, inputs: usize) -> usize {
        let each = WRITER_MEMORY.saturating_add(INPUT_MEMORY.saturating_mul(inputs));
        let affordable = self.memory.map_or(usize::MAX, |memory| memory / each);
        self.threads.min(affordable).max(1)
    }

    /// The settings of one of so many parts that are written at once, whose merge operands this
    /// operator combines.
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
        // LevelDB has no merges, and nowhere to say it.
        if let (Some(operator), Engine::RocksDb) = (operator, table.engine()) {
            table = table.merge_operator(operator);
        }
        let (comparator, max_file_size) = (comparator.clone(), self.max_file_size);
        SetOptions { table, comparator, max_file_size }
    }
}

impl fmt::Debug for CompactionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompactionOptions")
            .field("table", &self.table)
            .field("max_file_size", &self.max_file_size)
            .field("bottommost", &self.bottommost)
            .field("keep_versions", &self.keep_versions)
            .field("sequence_numbers", &self.sequence_numbers)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
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
