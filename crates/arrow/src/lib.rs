//! Arrow record batches out of tables and databases of LevelDB and RocksDB, and into them.
//!
//! | to | see |
//! |---|---|
//! | read a table or column family as record batches | [`Scan`], [`ScanColumn`], [`Batches`] |
//! | write record batches to a table, or to many | [`BatchWriter`], [`BatchColumns`], [`EntrySink`] |
//! | make keys of columns, and columns of keys | [`KeyEncoding`] |
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{RecordBatch, StringArray};
//! use sstkit_arrow::{BatchColumns, BatchWriter, Scan};
//! use sstkit_table::{Table, TableOptions, TableWriter};
//!
//! let batch = RecordBatch::try_from_iter([
//!     ("name", Arc::new(StringArray::from(vec!["alice", "bob"])) as _),
//!     ("city", Arc::new(StringArray::from(vec!["Paris", "Rome"])) as _),
//! ])?;
//! let mut rows = BatchWriter::new(batch.schema(), &BatchColumns::new(["name"], "city"))?;
//! let mut bytes = Vec::new();
//! let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb())?;
//! rows.write(&batch, &mut writer)?; // sorted, as a table has to be
//! writer.finish()?;
//!
//! let mut batches = Scan::new().table(&Table::from_bytes(bytes)?)?;
//! let read = batches.next().expect("a batch")?;
//! assert_eq!((read.num_rows(), read.num_columns()), (2, 2)); // key, value
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod bytes_column;
mod dictionary;
mod error;
mod input;
mod key;
mod scan;

pub use error::{Error, Result};
pub use input::{BatchColumns, BatchWriter, EntrySink};
pub use key::{KeyEncoding, Keys, data_type_name, parse_data_type};
pub use scan::{Batches, BinaryLayout, DEFAULT_BATCH_BYTES, DEFAULT_BATCH_ROWS, Scan, ScanColumn};
