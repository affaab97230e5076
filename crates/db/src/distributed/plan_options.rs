//! The settings of a plan.

use sstkit_coding::setters;
use sstkit_table::{Comparator, TableOptions};

use crate::bulk::Duplicates;

/// The approximate size of a table, unless set otherwise.
pub(super) const DEFAULT_MAX_FILE_SIZE: u64 = 256 << 20;

/// The settings of a plan, which hold for all of its parts.
///
/// ```
/// use sstkit_db::PlanOptions;
/// use sstkit_table::TableOptions;
///
/// let table = TableOptions::rocksdb().readable_by("8.0".parse()?);
/// let options = PlanOptions::new(table).splits([b"h", b"p"]).max_file_size(64 << 20);
/// # Ok::<(), sstkit_table::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlanOptions {
    pub(super) table: TableOptions,
    pub(super) compression_level: Option<i32>,
    pub(super) comparator: Comparator,
    pub(super) splits: Vec<Vec<u8>>,
    pub(super) max_file_size: u64,
    pub(super) duplicates: Duplicates,
}

impl PlanOptions {
    /// Tables with these settings, in one part. What the plan file keeps of them are the options that
    /// [`TableOptions::rocksdb_options`] lists.
    pub fn new(table: TableOptions) -> Self {
        Self {
            table,
            compression_level: None,
            comparator: Comparator::Bytewise,
            splits: Vec::new(),
            max_file_size: DEFAULT_MAX_FILE_SIZE,
            duplicates: Duplicates::Error,
        }
    }
}

setters! {
    impl PlanOptions:

    /// The level of the compression. Default: that of the codec.
    pub fn compression_level(mut self, level: Option<i32>) { self.compression_level = level; }

    /// The comparator, one of RocksDB's own. Default: bytewise.
    pub fn comparator(mut self, comparator: Comparator) { self.comparator = comparator; }

    /// The first key of every part but the first, in order. Default: none, a single part.
    pub fn splits(mut self, keys: impl IntoIterator<Item = impl Into<Vec<u8>>>) {
        self.splits = keys.into_iter().map(Into::into).collect();
    }

    /// Starts a new file of a part after this many bytes of data. Default: 256 MiB.
    pub fn max_file_size(mut self, bytes: u64) { self.max_file_size = bytes; }

    /// What to do with several entries for one key. Default: an error. With other choices two attempts
    /// at a part may differ, if their input arrives in another order; either of them is complete.
    pub fn duplicates(mut self, duplicates: Duplicates) { self.duplicates = duplicates; }
}
