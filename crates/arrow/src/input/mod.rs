//! Record batches into tables.
//!
//! ```text
//! RecordBatch ---> BatchWriter: key columns ---> KeyEncoding ---> key --.
//!                               value column, entity or JSON columns ---+--> EntrySink
//!                               kind, timestamp, sequence, if given ----'    TableWriter, BulkBuilder,
//!                                                                            PartWriter
//! ```

mod batch_columns;
mod batch_writer;
mod entry_sink;
mod plain_rows;
mod row_values;
mod value_column;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{Field, Schema};

use crate::error::{Error, Result};

pub use self::batch_columns::BatchColumns;
pub use self::batch_writer::BatchWriter;
pub use self::entry_sink::EntrySink;

/// A column of a schema, by name.
pub(crate) fn field<'s>(schema: &'s Schema, name: &str) -> Result<(usize, &'s Field)> {
    schema.column_with_name(name).ok_or_else(|| {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        Error::invalid(format!("no column {name:?} (found {})", names.join(", ")))
    })
}

/// The first row that is null.
pub(crate) fn first_null(column: &ArrayRef) -> Option<usize> {
    let nulls = column.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
    (0..nulls.len()).find(|&row| nulls.is_null(row))
}
