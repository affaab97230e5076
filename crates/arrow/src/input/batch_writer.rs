//! Writes the rows of record batches as entries.

use std::borrow::Cow;

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use sstkit_inspect::names;
use sstkit_table::raw::{EntryKind, InternalKey};

use super::batch_columns::{BatchColumns, ValueNames};
use super::entry_sink::EntrySink;
use super::field;
use super::plain_rows::{PlainKeys, PlainRows};
use super::row_values::{
    RowValues, ValueIndexes, entity, entity_of_map, json, json_index, refuse_operands, value_index,
};
use super::value_column::ValueColumn;
use crate::bytes_column::BytesColumn;
use crate::dictionary::{plain_batch, plain_schema};
use crate::error::{Error, Result};
use crate::key::{KeyEncoding, Keys};

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
    /// Of the batches.
    given: SchemaRef,
    /// The same with the values of dictionaries.
    schema: SchemaRef,
    has_dictionaries: bool,
    key: Vec<usize>,
    encoding: KeyEncoding,
    value: ValueIndexes,
    kind: Option<usize>,
    timestamp: Option<usize>,
    sequence: Option<usize>,
    entities: Option<usize>,
    operands: Option<usize>,
    rows: u64,
}

impl BatchWriter {
    /// For batches of `schema`.
    ///
    /// # Errors
    ///
    /// Fails if a column is missing, or has a type that cannot be written.
    pub fn new(schema: SchemaRef, columns: &BatchColumns) -> Result<Self> {
        let (given, plain) = (SchemaRef::clone(&schema), plain_schema(&schema));
        let has_dictionaries = plain.is_some();
        let schema = plain.unwrap_or(schema);
        let encoding = KeyEncoding::of_columns(&schema, &columns.key)?;
        let index = |name: &String| Ok(field(&schema, name)?.0);
        let optional = |name: &Option<String>| name.as_ref().map(index).transpose();
        let key = columns.key.iter().map(index).collect::<Result<_>>()?;
        let value = match &columns.value {
            ValueNames::One(name) => ValueIndexes::One(value_index(&schema, name)?),
            ValueNames::Entity(names) => ValueIndexes::Entity(
                names.iter().map(|name| value_index(&schema, name)).collect::<Result<_>>()?,
            ),
            ValueNames::Json(names) => ValueIndexes::Json(
                names.iter().map(|name| json_index(&schema, name)).collect::<Result<_>>()?,
            ),
        };
        Ok(Self {
            key,
            encoding,
            value,
            kind: optional(&columns.kind)?,
            timestamp: optional(&columns.timestamp)?,
            sequence: optional(&columns.sequence)?,
            entities: optional(&columns.entities)?,
            operands: optional(&columns.operands)?,
            given,
            schema,
            has_dictionaries,
            rows: 0,
        })
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
        let batch = &self.plain(batch)?;
        let rows = Rows::new(self, batch)?;
        let mut next = 0;
        if let Some(plain) = rows.plain() {
            plain.add_to(sink)?;
            next = plain.len();
        }
        for row in next..batch.num_rows() {
            rows.add(row, sink).map_err(|error| self.at_row(row, error))?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// The keys of a batch, encoded.
    pub fn keys(&self, batch: &RecordBatch) -> Result<Keys> {
        let batch = self.plain(batch)?;
        self.encoding.encode(&self.key_columns(&batch))
    }

    /// The batch with the values of its dictionaries.
    fn plain<'b>(&self, batch: &'b RecordBatch) -> Result<Cow<'b, RecordBatch>> {
        self.check(batch)?;
        Ok(match self.has_dictionaries {
            true => Cow::Owned(plain_batch(batch, &self.schema)?),
            false => Cow::Borrowed(batch),
        })
    }

    fn key_columns(&self, batch: &RecordBatch) -> Vec<ArrayRef> {
        self.key.iter().map(|&index| ArrayRef::clone(batch.column(index))).collect()
    }

    /// Types are compared, not whether columns are nullable: nulls are looked for.
    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let same = batch.num_columns() == self.given.fields().len()
            && batch
                .columns()
                .iter()
                .zip(self.given.fields())
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
    /// Nothing but keys and values.
    is_plain: bool,
    kind: Option<BytesColumn>,
    timestamp: Option<(BytesColumn, ArrayRef)>,
    sequence: Option<UInt64Array>,
    entities: Option<MapArray>,
    operands: Option<ListArray>,
}

enum RowKeys {
    Plain(BytesColumn, ArrayRef),
    Encoded(Keys),
}

impl Rows {
    fn new(writer: &BatchWriter, batch: &RecordBatch) -> Result<Self> {
        let columns = writer.key_columns(batch);
        let key = match BytesColumn::new(&columns[0]).filter(|_| writer.encoding.is_plain()) {
            Some(bytes) => RowKeys::Plain(bytes, ArrayRef::clone(&columns[0])),
            None => RowKeys::Encoded(writer.encoding.encode(&columns)?),
        };
        let array = |index: Option<usize>| index.map(|index| ArrayRef::clone(batch.column(index)));
        let wrong = |what: &str, needed: &str| {
            Error::invalid(format!("the {what} column must be {needed}"))
        };
        let kind = array(writer.kind).map(|array| match BytesColumn::new(&array) {
            Some(bytes) if super::first_null(&array).is_none() => Ok(bytes),
            _ => Err(wrong("kind", "text without nulls")),
        });
        let timestamp = array(writer.timestamp).map(|array| match BytesColumn::new(&array) {
            Some(bytes) => Ok((bytes, array)),
            None => Err(wrong("timestamp", "binary")),
        });
        let sequence =
            array(writer.sequence).map(|array| match array.as_primitive_opt::<UInt64Type>() {
                Some(numbers) if super::first_null(&array).is_none() => Ok(numbers.clone()),
                _ => Err(wrong("sequence", "uint64 without nulls")),
            });
        let entities = array(writer.entities)
            .map(|array| array.as_map_opt().cloned().ok_or_else(|| wrong("columns", "a map")));
        let operands = array(writer.operands)
            .map(|array| array.as_list_opt().cloned().ok_or_else(|| wrong("merge", "a list")));
        let is_plain = [&writer.kind, &writer.timestamp, &writer.sequence]
            .into_iter()
            .chain([&writer.entities, &writer.operands])
            .all(Option::is_none);
        Ok(Self {
            key,
            value: RowValues::new(&writer.schema, &writer.value, batch)?,
            is_plain,
            kind: kind.transpose()?,
            timestamp: timestamp.transpose()?,
            sequence: sequence.transpose()?,
            entities: entities.transpose()?,
            operands: operands.transpose()?,
        })
    }

    /// The rows up to the first null, if they are nothing but bytes of keys and values.
    fn plain(&self) -> Option<PlainRows<'_>> {
        match (&self.key, &self.value) {
            _ if !self.is_plain => None,
            (
                RowKeys::Plain(keys, key_array),
                RowValues::One(ValueColumn::Bytes(values), array),
            ) => Some(PlainRows::new(PlainKeys::Column(keys), values, &[key_array, array])),
            (RowKeys::Encoded(keys), RowValues::One(ValueColumn::Bytes(values), array)) => {
                Some(PlainRows::new(PlainKeys::Encoded(keys), values, &[array]))
            }
            _ => None,
        }
    }

    fn add(&self, row: usize, sink: &mut impl EntrySink) -> Result<()> {
        let key = match &self.key {
            RowKeys::Plain(keys, array) => match array.is_null(row) {
                true => return Err(Error::invalid("the key is null")),
                false => keys.value(row),
            },
            RowKeys::Encoded(keys) => keys.get(row),
        };
        if self.is_plain
            && let RowValues::One(values, array) = &self.value
        {
            if array.is_null(row) {
                return Err(Error::invalid("the value is null"));
            }
            let key = InternalKey { user_key: key, sequence: 0, kind: EntryKind::Value };
            return sink.add(&key, values.value(row, &mut Vec::new()));
        }
        self.add_any(row, key, sink)
    }

    /// An entry that is not simply a value.
    fn add_any(&self, row: usize, key: &[u8], sink: &mut impl EntrySink) -> Result<()> {
        refuse_operands(self.operands.as_ref(), row)?;
        let timestamp = match &self.timestamp {
            Some((timestamps, array)) if !array.is_null(row) => timestamps.value(row),
            _ => &[],
        };
        let mut kind = self.kind_of(row)?;
        if kind == EntryKind::Deletion && !timestamp.is_empty() {
            kind = EntryKind::DeletionWithTimestamp;
        }
        let sequence = self.sequence.as_ref().map_or(0, |numbers| numbers.value(row));
        let user_key = [key, timestamp].concat();
        let mut add = |kind: EntryKind, value: &[u8]| {
            sink.add(&InternalKey { user_key: &user_key, sequence, kind }, value)
        };
        if kind.is_point_deletion() {
            return add(kind, &[]);
        }
        if let Some(map) = self.entities.as_ref().filter(|map| !map.is_null(row)) {
            return add(entity_kind(kind)?, &entity_of_map(map, row)?);
        }
        match &self.value {
            RowValues::One(_, array) if array.is_null(row) => {
                Err(Error::invalid("the value is null"))
            }
            RowValues::One(values, _) => {
                let mut buffer = Vec::new();
                let value = values.value(row, &mut buffer);
                match kind {
                    // The end key has a timestamp, as its begin key.
                    EntryKind::RangeDeletion => add(kind, &[value, timestamp].concat()),
                    _ => add(kind, value),
                }
            }
            RowValues::Json(columns) => add(kind, &json(columns, row)?),
            RowValues::Entity(columns) => add(entity_kind(kind)?, &entity(columns, row)?),
        }
    }

    fn kind_of(&self, row: usize) -> Result<EntryKind> {
        let Some(column) = &self.kind else { return Ok(EntryKind::Value) };
        let name = column.value(row);
        match std::str::from_utf8(name).ok().and_then(names::parse_entry_kind) {
            // The values of a scan are those that these lead to.
            Some(EntryKind::BlobIndex | EntryKind::ValuePreferredSeqno) => Ok(EntryKind::Value),
            Some(kind) => Ok(kind),
            None => Err(Error::invalid(format!(
                "\"{}\" is not a kind (expected put, delete, single_delete, merge or range_delete)",
                name.escape_ascii()
            ))),
        }
    }
}

/// What an entity is stored as.
fn entity_kind(kind: EntryKind) -> Result<EntryKind> {
    match kind {
        EntryKind::Value | EntryKind::WideColumnEntity => Ok(EntryKind::WideColumnEntity),
        _ => Err(Error::invalid(format!("an entity cannot be a {kind:?}"))),
    }
}
