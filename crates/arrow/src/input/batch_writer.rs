//! Which columns of batches are written, and writing them.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use sstkit_coding::setters;
use sstkit_inspect::names;
use sstkit_table::raw::{ColumnValue, EntryKind, WideColumn, encode_wide_columns};

use super::entry_sink::EntrySink;
use super::field;
use super::value_column::ValueColumn;
use crate::bytes_column::BytesColumn;
use crate::error::{Error, Result};
use crate::key::{KeyEncoding, Keys};

/// Which columns make the key, the value and the rest of an entry.
///
/// ```
/// use sstkit_arrow::BatchColumns;
///
/// let columns = BatchColumns::new(["country", "id"], "payload").kind("op");
/// ```
#[derive(Clone, Debug)]
pub struct BatchColumns {
    key: Vec<String>,
    value: ValueNames,
    kind: Option<String>,
    timestamp: Option<String>,
}

#[derive(Clone, Debug)]
enum ValueNames {
    One(String),
    Entity(Vec<String>),
}

impl BatchColumns {
    /// Key columns, which are [encoded](KeyEncoding), and the value column: binary or string as it
    /// is, integers big-endian in two's complement.
    pub fn new<N: Into<String>>(
        key: impl IntoIterator<Item = N>,
        value: impl Into<String>,
    ) -> Self {
        let (key, value) = (key.into_iter().map(N::into).collect(), ValueNames::One(value.into()));
        Self { key, value, kind: None, timestamp: None }
    }
}

setters! {
    impl BatchColumns:

    /// Writes entities: these columns under their names, with nulls left out. The one with the empty
    /// name is the default column.
    pub fn entity(mut self, columns: impl IntoIterator<Item = impl Into<String>>) {
        self.value = ValueNames::Entity(columns.into_iter().map(Into::into).collect());
    }

    /// A string column that says what each row does: `put`, `delete`, `single_delete`, `merge` or
    /// `range_delete`, whose value is the end key. Default: all rows are put.
    pub fn kind(mut self, column: impl Into<String>) { self.kind = Some(column.into()); }

    /// A binary column with the timestamps of the keys, if the comparator has them. Default: none.
    pub fn timestamp(mut self, column: impl Into<String>) { self.timestamp = Some(column.into()); }
}

/// Writes record batches of one schema to an [`EntrySink`].
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{Int64Array, RecordBatch, StringArray};
/// use sstkit_arrow::{BatchColumns, BatchWriter};
/// use sstkit_db::{BulkBuilder, BulkOptions};
/// use sstkit_table::TableOptions;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("users.sst");
/// let batch = RecordBatch::try_from_iter([
///     ("id", Arc::new(Int64Array::from(vec![7, -7])) as _),
///     ("name", Arc::new(StringArray::from(vec!["alice", "bob"])) as _),
/// ])?;
/// let mut rows = BatchWriter::new(batch.schema(), &BatchColumns::new(["id"], "name"))?;
/// let mut builder = BulkBuilder::create(&path, &BulkOptions::new(TableOptions::rocksdb()))?;
/// rows.write(&batch, &mut builder)?;
/// assert_eq!(builder.finish()?.manifest.entries, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BatchWriter {
    schema: SchemaRef,
    key: Vec<usize>,
    encoding: KeyEncoding,
    value: ValueIndexes,
    kind: Option<usize>,
    timestamp: Option<usize>,
    rows: u64,
}

#[derive(Debug)]
enum ValueIndexes {
    One(usize),
    Entity(Vec<usize>),
}

impl BatchWriter {
    /// For batches of `schema`.
    ///
    /// # Errors
    ///
    /// Fails if a column is missing, or has a type that cannot be written.
    pub fn new(schema: SchemaRef, columns: &BatchColumns) -> Result<Self> {
        let encoding = KeyEncoding::of_columns(&schema, &columns.key)?;
        let index = |name: &String| Ok(field(&schema, name)?.0);
        let optional = |name: &Option<String>| name.as_ref().map(index).transpose();
        let key = columns.key.iter().map(index).collect::<Result<_>>()?;
        let value = match &columns.value {
            ValueNames::One(name) => ValueIndexes::One(value_index(&schema, name)?),
            ValueNames::Entity(names) => ValueIndexes::Entity(
                names.iter().map(|name| value_index(&schema, name)).collect::<Result<_>>()?,
            ),
        };
        let (kind, timestamp) = (optional(&columns.kind)?, optional(&columns.timestamp)?);
        Ok(Self { schema, key, encoding, value, kind, timestamp, rows: 0 })
    }

    /// How the keys are encoded.
    pub fn key_encoding(&self) -> &KeyEncoding {
        &self.encoding
    }

    /// The number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the rows of a batch.
    ///
    /// # Errors
    ///
    /// Fails if the batch has another schema, for a null key or value, and if the sink refuses an
    /// entry. The rows before it have been written.
    pub fn write(&mut self, batch: &RecordBatch, sink: &mut impl EntrySink) -> Result<()> {
        self.check(batch)?;
        let rows = Rows::new(self, batch)?;
        for row in 0..batch.num_rows() {
            rows.add(row, sink).map_err(|error| self.at_row(row, error))?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// The keys of a batch, encoded.
    pub fn keys(&self, batch: &RecordBatch) -> Result<Keys> {
        self.check(batch)?;
        self.encoding.encode(&self.key_columns(batch))
    }

    fn key_columns(&self, batch: &RecordBatch) -> Vec<ArrayRef> {
        self.key.iter().map(|&index| ArrayRef::clone(batch.column(index))).collect()
    }

    /// Types are compared, not whether columns are nullable: nulls are looked for.
    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let same = batch.num_columns() == self.schema.fields().len()
            && batch
                .columns()
                .iter()
                .zip(self.schema.fields())
                .all(|(column, field)| column.data_type() == field.data_type());
        match same {
            true => Ok(()),
            false => Err(Error::invalid("a batch does not have the schema of the others")),
        }
    }

    /// Adds the row to an error about the input. Those of the sink name the key.
    fn at_row(&self, row: usize, error: Error) -> Error {
        match error {
            Error::InvalidInput(what) => {
                Error::InvalidInput(format!("row {}: {what}", self.rows + row as u64))
            }
            error => error,
        }
    }
}

/// The columns of one batch.
struct Rows {
    key: RowKeys,
    value: RowValues,
    kind: Option<BytesColumn>,
    timestamp: Option<BytesColumn>,
}

enum RowKeys {
    Plain(BytesColumn, ArrayRef),
    Encoded(Keys),
}

enum RowValues {
    One(ValueColumn, ArrayRef),
    Entity(Vec<(String, ValueColumn, ArrayRef)>),
}

impl Rows {
    fn new(writer: &BatchWriter, batch: &RecordBatch) -> Result<Self> {
        let columns = writer.key_columns(batch);
        let key = match BytesColumn::new(&columns[0]).filter(|_| writer.encoding.is_plain()) {
            Some(bytes) => RowKeys::Plain(bytes, ArrayRef::clone(&columns[0])),
            None => RowKeys::Encoded(writer.encoding.encode(&columns)?),
        };
        let column = |index: usize| {
            let array = ArrayRef::clone(batch.column(index));
            let values = ValueColumn::new(&array);
            let name = writer.schema.field(index).name();
            let values = values.ok_or_else(|| unsupported_value(name, array.data_type()))?;
            Ok::<_, Error>((name.clone(), values, array))
        };
        let value = match &writer.value {
            ValueIndexes::One(index) => {
                let (_, values, array) = column(*index)?;
                RowValues::One(values, array)
            }
            ValueIndexes::Entity(indexes) => RowValues::Entity(
                indexes.iter().map(|&index| column(index)).collect::<Result<_>>()?,
            ),
        };
        let bytes = |index: Option<usize>, what: &str| match index {
            None => Ok(None),
            Some(index) => match BytesColumn::new(batch.column(index)) {
                Some(bytes) if super::first_null(batch.column(index)).is_none() => Ok(Some(bytes)),
                _ => Err(Error::invalid(format!("the {what} column must be text without nulls"))),
            },
        };
        let (kind, timestamp) =
            (bytes(writer.kind, "kind")?, bytes(writer.timestamp, "timestamp")?);
        Ok(Self { key, value, kind, timestamp })
    }

    #[inline]
    fn add(&self, row: usize, sink: &mut impl EntrySink) -> Result<()> {
        let key = match &self.key {
            RowKeys::Plain(keys, array) => match array.is_null(row) {
                true => return Err(Error::invalid("the key is null")),
                false => keys.value(row),
            },
            RowKeys::Encoded(keys) => keys.get(row),
        };
        if self.kind.is_none()
            && self.timestamp.is_none()
            && let RowValues::One(values, array) = &self.value
        {
            if array.is_null(row) {
                return Err(Error::invalid("the value is null"));
            }
            return sink.add(EntryKind::Value, key, values.value(row, &mut Vec::new()));
        }
        self.add_any(row, key, sink)
    }

    /// An entry that is not simply a value.
    fn add_any(&self, row: usize, key: &[u8], sink: &mut impl EntrySink) -> Result<()> {
        let timestamp = self.timestamp.as_ref().map_or(&[][..], |column| column.value(row));
        let mut kind = self.kind_of(row)?;
        if kind == EntryKind::Deletion && !timestamp.is_empty() {
            kind = EntryKind::DeletionWithTimestamp;
        }
        let user_key = [key, timestamp].concat();
        let is_deletion = matches!(
            kind,
            EntryKind::Deletion | EntryKind::DeletionWithTimestamp | EntryKind::SingleDeletion
        );
        match &self.value {
            _ if is_deletion => sink.add(kind, &user_key, &[]),
            RowValues::One(values, array) => {
                if array.is_null(row) {
                    return Err(Error::invalid("the value is null"));
                }
                let mut buffer = Vec::new();
                let value = values.value(row, &mut buffer);
                match kind {
                    // The end key has a timestamp, as its begin key.
                    EntryKind::RangeDeletion => {
                        sink.add(kind, &user_key, &[value, timestamp].concat())
                    }
                    _ => sink.add(kind, &user_key, value),
                }
            }
            RowValues::Entity(columns) => match kind {
                EntryKind::Value | EntryKind::WideColumnEntity => {
                    let entity = entity(columns, row)?;
                    sink.add(EntryKind::WideColumnEntity, &user_key, &entity)
                }
                _ => Err(Error::invalid(format!("an entity cannot be a {kind:?}"))),
            },
        }
    }

    fn kind_of(&self, row: usize) -> Result<EntryKind> {
        let Some(column) = &self.kind else { return Ok(EntryKind::Value) };
        let name = column.value(row);
        let kind = std::str::from_utf8(name).ok().and_then(names::parse_entry_kind);
        let kind = kind
            .filter(|kind| !matches!(kind, EntryKind::BlobIndex | EntryKind::ValuePreferredSeqno));
        kind.ok_or_else(|| {
            Error::invalid(format!(
                "\"{}\" is not a kind (expected put, delete, single_delete, merge or range_delete)",
                name.escape_ascii()
            ))
        })
    }
}

fn entity(columns: &[(String, ValueColumn, ArrayRef)], row: usize) -> Result<Vec<u8>> {
    let mut values: Vec<(&str, Vec<u8>)> = columns
        .iter()
        .filter(|(_, _, array)| !array.is_null(row))
        .map(|(name, values, _)| (name.as_str(), values.value(row, &mut Vec::new()).to_vec()))
        .collect();
    values.sort_by_key(|(name, _)| *name);
    let columns: Vec<WideColumn<'_>> = values
        .iter()
        .map(|(name, value)| WideColumn {
            name: name.as_bytes(),
            value: ColumnValue::Inline(value),
        })
        .collect();
    let mut entity = Vec::new();
    encode_wide_columns(&columns, &mut entity)?;
    Ok(entity)
}

/// The column of values with this name.
fn value_index(schema: &Schema, name: &str) -> Result<usize> {
    let (index, field) = field(schema, name)?;
    match ValueColumn::new(&arrow_array::new_empty_array(field.data_type())) {
        Some(_) => Ok(index),
        None => Err(unsupported_value(name, field.data_type())),
    }
}

fn unsupported_value(name: &str, data_type: &DataType) -> Error {
    Error::Unsupported(format!(
        "column {name:?} of type {data_type} has no encoding as a value: convert it to binary, \
         string or integers"
    ))
}
