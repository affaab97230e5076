//! The columns of a batch that is being filled.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, MapBuilder, StringBuilder, UInt64Builder};
use arrow_array::types::BinaryType;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::SchemaRef;
use sstkit_table::{Column, Value};

use super::bytes_builder::{BinaryLayout, BytesBuilder};
use super::concatenated_builder::ConcatenatedBuilder;
use super::scan_column::ScanColumn;
use crate::error::{Error, Result};
use crate::key::KeyEncoding;

/// The columns of a batch; those that are not requested are `None`.
pub(super) struct ColumnBuilders {
    order: Vec<ScanColumn>,
    schema: SchemaRef,
    encoding: Option<KeyEncoding>,
    column_family: Option<String>,
    /// Of a single table.
    table_name: Option<String>,
    rows: usize,
    bytes: usize,
    key: Option<BytesBuilder>,
    pub(super) value: Option<BytesBuilder>,
    timestamp: Option<BytesBuilder>,
    pub(super) columns: Option<MapBuilder<BinaryBuilder, BinaryBuilder>>,
    pub(super) merge: Option<ListBuilder<BinaryBuilder>>,
    sequence: Option<UInt64Builder>,
    kind: Option<StringBuilder>,
    file: Option<StringBuilder>,
}

/// Keys and values and nothing else, as most scans want them.
pub(super) struct PlainColumns<'c> {
    keys: &'c mut ConcatenatedBuilder<BinaryType>,
    values: &'c mut ConcatenatedBuilder<BinaryType>,
    rows: &'c mut usize,
    bytes: &'c mut usize,
}

impl PlainColumns<'_> {
    /// Whether there is room for another row.
    #[inline]
    pub(super) fn has_room(&self, rows: usize, bytes: usize) -> bool {
        *self.rows < rows && *self.bytes < bytes
    }

    /// Appends a row.
    #[inline]
    pub(super) fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        *self.rows += 1;
        *self.bytes = self.bytes.saturating_add(key.len()).saturating_add(value.len());
        self.keys.append(key)?;
        self.values.append(value)
    }
}

impl ColumnBuilders {
    pub(super) fn new(
        order: &[ScanColumn],
        schema: SchemaRef,
        layout: BinaryLayout,
        encoding: Option<KeyEncoding>,
        column_family: Option<&str>,
        table_name: Option<String>,
    ) -> Self {
        let wants = |column: ScanColumn| order.contains(&column);
        let bytes = |column| wants(column).then(|| BytesBuilder::new(layout));
        // Encoded keys are read again, at the end of a batch.
        let key_layout = if encoding.is_some() { BinaryLayout::Binary } else { layout };
        Self {
            key: wants(ScanColumn::Key).then(|| BytesBuilder::new(key_layout)),
            value: bytes(ScanColumn::Value),
            timestamp: bytes(ScanColumn::Timestamp),
            columns: wants(ScanColumn::Columns)
                .then(|| MapBuilder::new(None, BinaryBuilder::new(), BinaryBuilder::new())),
            merge: wants(ScanColumn::Merge).then(|| ListBuilder::new(BinaryBuilder::new())),
            sequence: wants(ScanColumn::Sequence).then(UInt64Builder::new),
            kind: wants(ScanColumn::Kind).then(StringBuilder::new),
            file: wants(ScanColumn::File).then(StringBuilder::new),
            order: order.to_vec(),
            schema,
            encoding,
            column_family: column_family.map(str::to_owned),
            table_name,
            rows: 0,
            bytes: 0,
        }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of keys, values and columns so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The columns of keys and values, and the counts of rows and bytes, if nothing else is requested.
    #[inline]
    pub(super) fn plain(&mut self) -> Option<PlainColumns<'_>> {
        let others = self.timestamp.is_some() || self.columns.is_some() || self.merge.is_some();
        match (&mut self.key, &mut self.value) {
            (Some(BytesBuilder::Binary(keys)), Some(BytesBuilder::Binary(values))) if !others => {
                Some(PlainColumns { keys, values, rows: &mut self.rows, bytes: &mut self.bytes })
            }
            _ => None,
        }
    }

    /// Whether anything of the values is requested.
    #[inline]
    pub(super) fn wants_values(&self) -> bool {
        self.value.is_some() || self.columns.is_some() || self.merge.is_some()
    }

    /// Starts a row.
    #[inline]
    pub(super) fn append_key(&mut self, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.rows += 1;
        self.bytes = self.bytes.saturating_add(key.len());
        if let Some(column) = &mut self.key {
            column.append(key)?;
        }
        match &mut self.timestamp {
            Some(column) if timestamp.is_empty() => column.append_null(),
            Some(column) => column.append(timestamp)?,
            None => {}
        }
        Ok(())
    }

    /// The stored version of the row: nothing that a visible key has.
    pub(super) fn append_version(
        &mut self,
        sequence: u64,
        kind: &str,
        file: Option<&str>,
    ) -> Result<()> {
        if let Some(column) = &mut self.sequence {
            column.append_value(sequence);
        }
        if let Some(column) = &mut self.kind {
            column.append_value(kind);
        }
        if let Some(column) = &mut self.file {
            column.append_option(file.or(self.table_name.as_deref()));
        }
        Ok(())
    }

    /// A plain value, borrowed.
    #[inline]
    pub(super) fn append_plain(&mut self, value: &[u8]) -> Result<()> {
        self.bytes = self.bytes.saturating_add(value.len());
        if let Some(column) = &mut self.value {
            column.append(value)?;
        }
        self.no_columns()?;
        self.no_operands();
        Ok(())
    }

    /// A value by its handle, or none.
    pub(super) fn append_value(&mut self, value: Option<Value>) -> Result<()> {
        self.bytes = self.bytes.saturating_add(value.as_ref().map_or(0, |value| value.len()));
        match (&mut self.value, value) {
            (Some(column), Some(value)) => column.append_handle(value)?,
            (Some(column), None) => column.append_null(),
            (None, _) => {}
        }
        self.no_columns()?;
        self.no_operands();
        Ok(())
    }

    /// An entity; its value is the default column.
    pub(super) fn append_entity(&mut self, columns: &[Column]) -> Result<()> {
        let bytes = columns.iter().map(|column| column.name.len() + column.value.len());
        self.bytes = self.bytes.saturating_add(bytes.sum());
        if let Some(value) = &mut self.value {
            let default = columns.iter().find(|column| column.name.is_empty());
            value.append_handle(default.map(|column| column.value.clone()).unwrap_or_default())?;
        }
        if let Some(map) = &mut self.columns {
            for column in columns {
                map.keys().append_value(&column.name);
                map.values().append_value(&column.value);
            }
            map.append(true)?;
        }
        self.no_operands();
        Ok(())
    }

    /// Operands that nothing combines, and what they apply to.
    pub(super) fn append_unresolved(
        &mut self,
        key: &[u8],
        operator: Option<&str>,
        base: Option<Value>,
        operands: &[Value],
    ) -> Result<()> {
        if self.merge.is_none() {
            return Err(Error::Unsupported(format!(
                "the value of key \"{}\" needs the merge operator {:?}: give one, or request the \
                 column merge",
                key[..key.len().min(64)].escape_ascii(),
                operator.unwrap_or("that the database does not name"),
            )));
        }
        self.bytes = self.bytes.saturating_add(operands.iter().map(|it| it.len()).sum());
        match (&mut self.value, base) {
            (Some(column), Some(base)) => column.append_handle(base)?,
            (Some(column), None) => column.append_null(),
            (None, _) => {}
        }
        self.no_columns()?;
        if let Some(list) = &mut self.merge {
            for operand in operands {
                list.values().append_value(operand);
            }
            list.append(true);
        }
        Ok(())
    }

    #[inline]
    fn no_columns(&mut self) -> Result<()> {
        if let Some(map) = &mut self.columns {
            map.append(false)?;
        }
        Ok(())
    }

    #[inline]
    fn no_operands(&mut self) {
        if let Some(list) = &mut self.merge {
            list.append(false);
        }
    }

    /// The batch. The columns are empty then.
    pub(super) fn finish(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.order.len());
        for column in self.order.clone() {
            if let (ScanColumn::Key, Some(encoding)) = (column, &self.encoding) {
                arrays.extend(decoded(self.key.as_mut(), encoding)?);
                continue;
            }
            arrays.extend(self.finish_column(column, rows)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }

    fn finish_column(&mut self, column: ScanColumn, rows: usize) -> Result<Option<ArrayRef>> {
        let bytes = match column {
            ScanColumn::Key => &mut self.key,
            ScanColumn::Value => &mut self.value,
            ScanColumn::Timestamp => &mut self.timestamp,
            _ => return Ok(self.finish_other(column, rows)),
        };
        bytes.as_mut().map(BytesBuilder::finish).transpose()
    }

    /// A column that is not of bytes alone.
    fn finish_other(&mut self, column: ScanColumn, rows: usize) -> Option<ArrayRef> {
        Some(match column {
            ScanColumn::Key | ScanColumn::Value | ScanColumn::Timestamp => return None,
            ScanColumn::Columns => Arc::new(self.columns.as_mut()?.finish()),
            ScanColumn::Merge => Arc::new(self.merge.as_mut()?.finish()),
            ScanColumn::Sequence => Arc::new(self.sequence.as_mut()?.finish()),
            ScanColumn::Kind => Arc::new(self.kind.as_mut()?.finish()),
            ScanColumn::File => Arc::new(self.file.as_mut()?.finish()),
            ScanColumn::ColumnFamily => {
                let name = self.column_family.as_deref();
                Arc::new(std::iter::repeat_n(name, rows).collect::<StringArray>())
            }
        })
    }
}

/// The columns that encoded keys were made of.
fn decoded(keys: Option<&mut BytesBuilder>, encoding: &KeyEncoding) -> Result<Vec<ArrayRef>> {
    let keys = keys.map(BytesBuilder::finish).transpose()?;
    let keys = keys.as_ref().and_then(|keys| keys.as_any().downcast_ref::<BinaryArray>());
    match keys {
        Some(keys) => encoding.decode((0..keys.len()).map(|row| keys.value(row))),
        None => Ok(Vec::new()),
    }
}
