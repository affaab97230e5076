//! How tables are made of entries in any order.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use sstkit_filter::Destination;
use sstkit_table::{Comparator, TableOptions};

use crate::error::{Error, Result};
use crate::output::{Progress, ProgressCallback, SetOptions};

/// Memory for sorting and merging.
pub const DEFAULT_MEMORY: usize = 256 << 20;

/// The ending of the names of tables in a folder.
pub const DEFAULT_EXTENSION: &str = "sst";

/// What becomes of several entries of one key. Merge operands are entries like others: a table that
/// is made outside of a database has one entry of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Duplicates {
    /// The last one stays: the default.
    #[default]
    Last,
    /// The first one stays.
    First,
    /// They are an error, which names the key.
    Error,
}

/// How tables are made of entries in any order.
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
#[derive(Clone)]
pub struct BulkOptions {
    pub(super) table: TableOptions,
    pub(super) comparator: Comparator,
    pub(super) max_file_size: Option<u64>,
    pub(super) extension: String,
    pub(super) replace: bool,
    pub(super) memory: usize,
    pub(super) threads: usize,
    pub(super) temp_dir: Option<PathBuf>,
    pub(super) duplicates: Duplicates,
    pub(super) sorted: bool,
    pub(super) progress: Option<ProgressCallback>,
}

impl BulkOptions {
    /// Tables with these settings. Their comparator and threads are set here, and whether they are
    /// [external](TableOptions::external_file): they are, unless an entry has a [sequence
    /// number](crate::BulkBuilder::add_internal).
    pub fn new(table: TableOptions) -> Self {
        Self {
            table,
            comparator: Comparator::Bytewise,
            max_file_size: None,
            extension: DEFAULT_EXTENSION.into(),
            replace: false,
            memory: DEFAULT_MEMORY,
            threads: 1,
            temp_dir: None,
            duplicates: Duplicates::Last,
            sorted: false,
            progress: None,
        }
    }

    /// The order of the keys. Default: by bytes.
    #[must_use]
    pub fn comparator(mut self, comparator: Comparator) -> Self {
        self.comparator = comparator;
        self
    }

    /// About how large a file becomes: one that has reached so many bytes of data ends before the
    /// next user key, and its filter and index come on top. `None`, the default, makes one file of
    /// the name given; otherwise that is a folder, with a `manifest.json` beside the tables.
    #[must_use]
    pub fn max_file_size(mut self, bytes: Option<u64>) -> Self {
        self.max_file_size = bytes;
        self
    }

    /// The ending of the names of tables in a folder, `sst` or `ldb`. Default:
    /// [`DEFAULT_EXTENSION`].
    #[must_use]
    pub fn extension(mut self, extension: impl Into<String>) -> Self {
        self.extension = extension.into();
        self
    }

    /// Whether a file of that name, or the tables that the `manifest.json` of a folder names, may be
    /// replaced. Default: no. A database is never written into.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Bytes for sorting and merging, what the writer of a table holds included. Default:
    /// [`DEFAULT_MEMORY`].
    ///
    /// Not bounded by it are a single entry that is larger, the range deletions, and what a filter
    /// of a file without [a size](Self::max_file_size) and [partitions](TableOptions::partition_filters)
    /// must know of all its keys (8 bytes each).
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Threads to use. Default: 1. With more, entries are sorted while others come, in half of the
    /// memory each, and blocks are compressed by several.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Where sorted runs go that do not fit into memory, as files without names. Default: where the
    /// tables go.
    #[must_use]
    pub fn temp_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(folder.into());
        self
    }

    /// What becomes of several entries of one key. Default: the last one stays.
    #[must_use]
    pub fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// Whether entries must come in order. Default: no. They are then written as they come, and one
    /// out of order is an error that says which one it is.
    #[must_use]
    pub fn sorted(mut self, sorted: bool) -> Self {
        self.sorted = sorted;
        self
    }

    /// The level the tables go to, which decides between Bloom and Ribbon for
    /// `ribbonfilter:BITS:LEVEL`. Default: not known.
    #[must_use]
    pub fn level(mut self, level: u32) -> Self {
        self.table = self.table.destination(Destination::Level(level));
        self
    }

    /// Called now and then with how far it is. `Break` ends the work with an error of the kind
    /// [`Io`](crate::ErrorKind::Io), *cancelled*, and nothing is left behind.
    #[must_use]
    pub fn progress(
        mut self,
        callback: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress = Some(Arc::new(callback));
        self
    }

    /// Refuses settings that contradict each other.
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
                .external_file(external)
                .threads(self.threads),
            comparator,
            max_file_size: self.max_file_size,
        }
    }
}

impl fmt::Debug for BulkOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkOptions")
            .field("table", &self.table)
            .field("comparator", &self.comparator)
            .field("max_file_size", &self.max_file_size)
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .field("duplicates", &self.duplicates)
            .field("sorted", &self.sorted)
            .finish_non_exhaustive()
    }
}
