//! Record batches of tables and databases.
//!
//! ```text
//! Scan ---> cursor of a table or column family ---> ColumnBuilders ---> RecordBatch …
//!           columns that are not requested           a batch ends at a number of rows or bytes
//!           are never read
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `scan_column.rs` | the columns, and their types |
//! | `builders.rs`, `bytes_builder.rs` | columns that are being filled |
//! | `visible.rs` | rows of the visible state |
//! | `versions.rs` | rows of everything that is stored |
//! | `batches.rs` | the iterator |
//! | `parallel.rs` | batches that several threads make |

mod batches;
mod builders;
mod bytes_builder;
mod concatenated_builder;
mod parallel;
mod scan_column;
mod versions;
mod visible;

use std::ops::Bound;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use sstkit_coding::setters;
use sstkit_db::ColumnFamily;
use sstkit_inspect::InspectedTable;
use sstkit_table::visibility::{Direction, ReadView};
use sstkit_table::{Comparator, KeyBounds, KeyRange, ReadOptions, Table};

use self::builders::ColumnBuilders;
use self::versions::{DatabaseVersions, TableVersions};
use self::visible::VisibleRows;
use crate::error::{Error, Result};
use crate::key::KeyEncoding;

pub use self::batches::Batches;
pub use self::bytes_builder::BinaryLayout;
pub use self::scan_column::ScanColumn;

/// Rows of a batch, unless set otherwise. What fits in a processor's cache with small values.
pub const DEFAULT_BATCH_ROWS: usize = 8192;

/// Bytes of a batch after which it ends, unless set otherwise.
pub const DEFAULT_BATCH_BYTES: usize = 16 << 20;

/// What to read of a table or column family, as record batches.
///
/// ```no_run
/// use sstkit_arrow::{Scan, ScanColumn};
/// use sstkit_table::Table;
///
/// let table = Table::open("000011.sst")?;
/// let scan = Scan::new().columns([ScanColumn::Key]).prefix(b"user7/"); // no value is read
/// for batch in scan.table(&table)? {
///     println!("{} keys", batch?.num_rows());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The default columns are `key` and `value` of the visible state: the newest version of each key,
/// with deletions and range deletions applied.
#[derive(Clone, Debug)]
pub struct Scan {
    columns: Vec<ScanColumn>,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    prefix: Option<Vec<u8>>,
    reverse: bool,
    limit: Option<u64>,
    versions: bool,
    sequence: Option<u64>,
    timestamp: Option<Vec<u8>>,
    key_encoding: Option<KeyEncoding>,
    layout: BinaryLayout,
    batch_rows: usize,
    batch_bytes: usize,
    threads: usize,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            columns: vec![ScanColumn::Key, ScanColumn::Value],
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            prefix: None,
            reverse: false,
            limit: None,
            versions: false,
            sequence: None,
            timestamp: None,
            key_encoding: None,
            layout: BinaryLayout::default(),
            batch_rows: DEFAULT_BATCH_ROWS,
            batch_bytes: DEFAULT_BATCH_BYTES,
            threads: 1,
        }
    }
}

setters! {
    impl Scan:

    /// The columns, in this order. Default: key and value. Values, blobs and merge operands are read
    /// only for [`Value`](ScanColumn::Value), [`Columns`](ScanColumn::Columns) and
    /// [`Merge`](ScanColumn::Merge).
    pub fn columns(mut self, columns: impl IntoIterator<Item = ScanColumn>) {
        self.columns = columns.into_iter().collect();
    }

    /// Only keys that start with these bytes. Default: all.
    pub fn prefix(mut self, prefix: impl Into<Vec<u8>>) { self.prefix = Some(prefix.into()); }

    /// From the last key to the first. Default: no.
    pub fn reverse(mut self, reverse: bool) { self.reverse = reverse; }

    /// At most this many rows. Default: all.
    pub fn limit(mut self, rows: Option<u64>) { self.limit = rows; }

    /// All that is stored instead of the visible state: every version of every key, deletions and
    /// merge operands, then the range deletions that overlap the range, whose value is the end key.
    /// Default: no.
    pub fn versions(mut self, versions: bool) { self.versions = versions; }

    /// The state at a sequence number: later writes are left out. Default: the newest.
    pub fn sequence(mut self, sequence: Option<u64>) { self.sequence = sequence; }

    /// The state at a timestamp, if keys have timestamps: later versions are left out. Default: the
    /// newest.
    pub fn timestamp(mut self, timestamp: Option<Vec<u8>>) { self.timestamp = timestamp; }

    /// Decodes the keys: instead of the column `key`, there are the columns of this encoding.
    /// Default: none.
    pub fn key_encoding(mut self, encoding: Option<KeyEncoding>) { self.key_encoding = encoding; }

    /// The type of binary columns. Default: [`BinaryLayout::Binary`].
    pub fn binary_layout(mut self, layout: BinaryLayout) { self.layout = layout; }

    /// Rows of a batch. Default: [`DEFAULT_BATCH_ROWS`].
    pub fn batch_rows(mut self, rows: usize) { self.batch_rows = rows; }

    /// Bytes after which a batch ends. Default: [`DEFAULT_BATCH_BYTES`].
    pub fn batch_bytes(mut self, bytes: usize) { self.batch_bytes = bytes; }

    /// The number of threads that decode blocks and fill batches, ahead of the caller. Default: 1,
    /// the caller's own. The batches are in the order of the keys in any case; with several threads
    /// some of them are smaller. Scans with a limit or a prefix, of all versions, and of less than some
    /// MiB do not use more than one.
    pub fn threads(mut self, threads: usize) { self.threads = threads; }
}

impl Scan {
    /// All keys and values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only keys in this range, in the order of the comparator. Default: all.
    #[must_use]
    pub fn range(mut self, range: impl KeyBounds) -> Self {
        (self.lower, self.upper) = range.into_key_range();
        self
    }

    /// The schema of the batches. All columns are nullable: some consumers compare that.
    ///
    /// # Errors
    ///
    /// Fails if the request contradicts itself.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.check()?;
        let mut fields = Vec::new();
        for column in &self.columns {
            match (column, &self.key_encoding) {
                (ScanColumn::Key, Some(encoding)) => fields.extend_from_slice(encoding.fields()),
                _ => fields.push(Arc::new(column.field(self.layout))),
            }
        }
        Ok(Arc::new(Schema::new(fields)))
    }

    fn check(&self) -> Result<()> {
        for (number, column) in self.columns.iter().enumerate() {
            if self.columns[..number].contains(column) {
                return Err(Error::invalid(format!("the column {column} is requested twice")));
            }
            if column.is_of_versions() && !self.versions {
                return Err(Error::invalid(format!(
                    "the column {column} belongs to a stored version: request versions = true"
                )));
            }
        }
        if self.versions && self.columns.contains(&ScanColumn::Merge) {
            let what = "with versions = true each operand is a row; the column merge is not needed";
            return Err(Error::invalid(what));
        }
        if self.prefix.is_some()
            && !matches!((&self.lower, &self.upper), (Bound::Unbounded, Bound::Unbounded))
        {
            return Err(Error::invalid("a prefix and a range cannot be combined"));
        }
        if self.batch_rows == 0 || self.batch_bytes == 0 {
            return Err(Error::invalid("a batch has at least one row and one byte"));
        }
        Ok(())
    }

    /// The batches of a table. Opening it again for each pass is not necessary.
    pub fn table(&self, table: &Table) -> Result<Batches> {
        let name = table.path().and_then(|path| path.file_name());
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let builders = self.builders(None, name.clone())?;
        let order = table.comparator().ok();
        let size = order.map_or(0, Comparator::timestamp_size);
        if self.timestamp.as_ref().is_some_and(|it| size == 0 || it.len() != size) {
            return Err(Error::invalid(format!("the timestamps of the table have {size} bytes")));
        }
        let options = self.scan_options().fill_cache(false).at(&self.view());
        if self.versions {
            let path = table.path().map(std::path::Path::to_path_buf).unwrap_or_default();
            let file = InspectedTable::of_table(table.clone(), path);
            let rows = TableVersions::new(file, &options, self.direction());
            return Ok(Batches::new(Box::new(rows), builders, self));
        }
        if let Some(order) = order.filter(|_| self.is_divisible()) {
            let parts =
                Self::parts(table.approximate_size((self.lower.clone(), self.upper.clone()))?);
            if let Some(ranges) = self.ranges(parts, order, |parts| Ok(table.split_keys(parts)?))? {
                let table = table.clone();
                return self.in_parallel(ranges, move |scan| scan.table(&table));
            }
        }
        let rows = VisibleRows::new(table.cursor_with(&options), self.reverse);
        Ok(Batches::new(Box::new(rows), builders, self))
    }

    /// The batches of a column family, at its sequence number unless one is given here. All versions
    /// that are stored have one of their own.
    pub fn column_family(&self, family: &ColumnFamily) -> Result<Batches> {
        let builders = self.builders(Some(family.name()), None)?;
        let family = match self.sequence {
            Some(sequence) => family.at(sequence),
            None => family.clone(),
        };
        let family = match &self.timestamp {
            Some(timestamp) => family.at_timestamp(timestamp)?,
            None => family,
        };
        let options = self.scan_options().fill_cache(false);
        if self.versions {
            let options = options.at(&self.view());
            let rows = DatabaseVersions::new(&family, &options, self.direction())?;
            return Ok(Batches::new(Box::new(rows), builders, self));
        }
        if let Some(order) = family.comparator().ok().filter(|_| self.is_divisible()) {
            let parts =
                Self::parts(family.approximate_size((self.lower.clone(), self.upper.clone()))?);
            if let Some(ranges) =
                self.ranges(parts, order, |parts| Ok(family.split_keys(parts)?))?
            {
                // At the same sequence number and timestamp.
                let scan = Self { sequence: None, timestamp: None, ..self.clone() };
                let family = family.clone();
                return scan.in_parallel(ranges, move |scan| scan.column_family(&family));
            }
        }
        let rows = VisibleRows::new(family.cursor_with(&options)?, self.reverse);
        Ok(Batches::new(Box::new(rows), builders, self))
    }

    /// Whether several threads may do it.
    fn is_divisible(&self) -> bool {
        self.threads > 1 && !self.versions && self.limit.is_none() && self.prefix.is_none()
    }

    /// The number of ranges for a number of bytes of data blocks.
    fn parts(bytes: u64) -> usize {
        usize::try_from(bytes / parallel::RANGE_BYTES).unwrap_or(usize::MAX)
    }

    /// The ranges in the order of the scan, if there are several.
    fn ranges(
        &self,
        parts: usize,
        order: &Comparator,
        split_keys: impl FnOnce(usize) -> Result<Vec<Vec<u8>>>,
    ) -> Result<Option<Vec<KeyRange>>> {
        if parts < 2 {
            return Ok(None);
        }
        let whole = (self.lower.clone(), self.upper.clone());
        let mut ranges = parallel::cut(whole, split_keys(parts)?, order);
        if self.reverse {
            ranges.reverse();
        }
        Ok((ranges.len() > 1).then_some(ranges))
    }

    fn in_parallel(
        &self,
        ranges: Vec<KeyRange>,
        open: impl Fn(&Self) -> Result<Batches> + Send + Sync + 'static,
    ) -> Result<Batches> {
        let scan = self.clone().threads(1);
        let open = move |range: KeyRange| open(&scan.clone().range(range));
        Ok(Batches::in_parallel(ranges, self.threads, self.schema()?, Arc::new(open)))
    }

    fn builders(&self, family: Option<&str>, file: Option<String>) -> Result<ColumnBuilders> {
        let schema = self.schema()?;
        let encoding = self.key_encoding.clone();
        Ok(ColumnBuilders::new(&self.columns, schema, self.layout, encoding, family, file))
    }

    fn direction(&self) -> Direction {
        if self.reverse { Direction::Backward } else { Direction::Forward }
    }

    /// What the scan sees of a table, and of all versions that are stored.
    fn view(&self) -> ReadView {
        let all = ReadView::default();
        let sequence = self.sequence.unwrap_or(all.sequence);
        ReadView { sequence, timestamp: self.timestamp.clone() }
    }

    fn scan_options(&self) -> ReadOptions {
        match &self.prefix {
            Some(prefix) => ReadOptions::default().prefix(prefix),
            None => ReadOptions::default().range((self.lower.clone(), self.upper.clone())),
        }
    }
}
