//! Options for building tables from unsorted entries.

use std::ops::ControlFlow;
use std::path::PathBuf;

use sstkit_coding::{setters, with_defaults};
use sstkit_filter::Destination;
use sstkit_table::{Comparator, TableOptions};

use crate::error::{Error, Result};
use crate::output::{Progress, ProgressCallback, SetOptions};

/// The default memory for sorting and merging.
pub const DEFAULT_MEMORY: usize = 256 << 20;

/// The default file name extension of tables in a directory.
pub const DEFAULT_EXTENSION: &str = "sst";

/// What to do with several entries for one key. Merge operands are entries like any other: a table
/// built outside a database has one entry per key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Duplicates {
    /// Keep the last one (the default).
    #[default]
    Last,
    /// Keep the first one.
    First,
    /// Fail with an error that names the key.
    Error,
}

with_defaults! {
    /// Options for building tables from unsorted entries.
    ///
    /// ```
    /// use sstkit_db::BulkOptions;
    /// use sstkit_table::TableOptions;
    ///
    /// let options = BulkOptions::new(TableOptions::rocksdb().filter("bloomfilter:10".parse()?))
    ///     .memory(64 << 20)
    ///     .max_file_size(Some(64 << 20))
    ///     .threads(4);
    /// # Ok::<(), sstkit_filter::Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct BulkOptions {
        pub(super) table: TableOptions = TableOptions::rocksdb(),
        pub(super) comparator: Comparator = Comparator::Bytewise,
        pub(super) max_file_size: Option<u64>,
        pub(super) extension: String = DEFAULT_EXTENSION.into(),
        pub(super) replace: bool,
        pub(super) memory: usize = DEFAULT_MEMORY,
        pub(super) threads: usize = 1,
        pub(super) temp_dir: Option<PathBuf>,
        pub(super) duplicates: Duplicates = Duplicates::Last,
        pub(super) sorted: bool,
        pub(super) progress: Option<ProgressCallback>,
        /// The tables are those of a database, not external.
        pub(super) in_database: bool,
    }
}

impl BulkOptions {
    /// Tables with these settings. Comparator and threads are set here, and whether the tables are
    /// [external](TableOptions::external_file): they are, unless an entry has a [sequence
    /// number](crate::BulkBuilder::add_internal).
    pub fn new(table: TableOptions) -> Self {
        Self { table, ..Self::default() }
    }
}

setters! {
    impl BulkOptions:

    /// The comparator. Default: bytewise.
    pub fn comparator(mut self, comparator: Comparator) { self.comparator = comparator; }

    /// Starts a new file after this many bytes of data, at the next user key; filter and index are
    /// not included. `None`, the default, writes a single file; otherwise the output path is a
    /// directory with the tables and a `manifest.json`.
    pub fn max_file_size(mut self, bytes: Option<u64>) { self.max_file_size = bytes; }

    /// The file name extension of tables in a directory, `sst` or `ldb`. Default:
    /// [`DEFAULT_EXTENSION`].
    pub fn extension(mut self, extension: impl Into<String>) { self.extension = extension.into(); }

    /// Whether an existing file, or the tables that the `manifest.json` of a directory names, may
    /// be replaced. Default: no. A database is never overwritten.
    pub fn replace(mut self, replace: bool) { self.replace = replace; }

    /// Memory in bytes for sorting and merging, including the table writer. Default:
    /// [`DEFAULT_MEMORY`].
    ///
    /// The limit does not include a single larger entry, the range deletions, and the key hashes
    /// for the filter (8 bytes each) of a file without [a maximum size](Self::max_file_size) and
    /// [partitions](TableOptions::partition_filters).
    pub fn memory(mut self, bytes: usize) { self.memory = bytes; }

    /// The number of threads. Default: 1. With more, entries are sorted while others arrive, in
    /// half of the memory each, and blocks are compressed in parallel.
    pub fn threads(mut self, threads: usize) { self.threads = threads; }

    /// The directory for temporary sorted runs, which are unnamed files. Default: the directory of
    /// the output.
    pub fn temp_dir(mut self, folder: impl Into<PathBuf>) { self.temp_dir = Some(folder.into()); }

    /// What to do with several entries for one key. Default: keep the last one.
    pub fn duplicates(mut self, duplicates: Duplicates) { self.duplicates = duplicates; }

    /// Whether entries must arrive sorted. Default: no. They are then written immediately, and an
    /// entry out of order is an error that names it.
    pub fn sorted(mut self, sorted: bool) { self.sorted = sorted; }

    /// The level that the tables are for, which selects Bloom or Ribbon for
    /// `ribbonfilter:BITS:LEVEL`. Default: unknown.
    pub fn level(mut self, level: u32) {
        self.table = self.table.destination(Destination::Level(level));
    }

    /// Called regularly with the progress. `Break` stops the work with an error of kind
    /// [`Io`](crate::ErrorKind::Io), *cancelled*, and leaves nothing behind.
    pub fn progress(
        mut self,
        callback: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) {
        self.progress = Some(ProgressCallback::new(callback));
    }
}

impl BulkOptions {
    /// Rejects contradictory settings.
    pub(super) fn check(&self) -> Result<()> {
        if self.threads == 0 {
            return Err(Error::invalid_input("threads = 0"));
        }
        if self.max_file_size == Some(0) {
            return Err(Error::invalid_input("max_file_size = 0"));
        }
        if !matches!(self.extension.as_str(), "sst" | "ldb") {
            let what = format!("extension = {:?} must be sst or ldb", self.extension);
            return Err(Error::invalid_input(what));
        }
        Ok(())
    }

    /// Tables with sequence numbers are not external.
    pub(super) fn set_options(&self, external: bool) -> SetOptions {
        let comparator = self.comparator.clone();
        SetOptions {
            table: self
                .table
                .clone()
                .comparator(comparator.clone())
                .external_file(external && !self.in_database)
                .threads(self.threads),
            comparator,
            max_file_size: self.max_file_size,
            split_at: Vec::new(),
        }
    }
}
