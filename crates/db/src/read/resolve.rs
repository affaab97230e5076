//! From what the entries of a key hold to the user's value: blobs read, columns found, operands
//! merged.

use sstkit_table::raw::{
    BlobIndex, ColumnValue, EntryKind, WideColumn, decode_wide_columns, split_preferred_seqno,
};
use sstkit_table::{MergeOperator, Value};

use super::record::{Column, Record, RecordValue, default_column};
use super::versions::{Base, Versions};
use crate::column_family_data::{ColumnFamilyData, part};
use crate::error::{Error, Result};

impl ColumnFamilyData {
    /// The value of `key`, which is visible; an error if it has to be merged and no operator is
    /// known.
    pub(crate) fn value(&self, key: &[u8], versions: &Versions) -> Result<Value> {
        match (&versions.base, versions.operands.is_empty()) {
            // Not all columns need be read.
            (Some(base), true) => self.plain(base),
            _ => match self.record_value(key, versions)? {
                RecordValue::Value(value) => Ok(value),
                RecordValue::Entity(columns) => Ok(default_column(&columns)),
                RecordValue::Unresolved { operator, .. } => {
                    Err(self.unresolved(key, operator.as_deref()))
                }
            },
        }
    }

    /// The columns of `key`, which is visible; a plain value is the default column alone.
    pub(crate) fn entity(&self, key: &[u8], versions: &Versions) -> Result<Vec<Column>> {
        match self.record_value(key, versions)? {
            RecordValue::Entity(columns) => Ok(columns),
            RecordValue::Value(value) => Ok(vec![Column { name: Value::default(), value }]),
            RecordValue::Unresolved { operator, .. } => {
                Err(self.unresolved(key, operator.as_deref()))
            }
        }
    }

    /// Everything there is about `key`, which is visible.
    pub(crate) fn record(&self, key: &[u8], versions: &Versions) -> Result<Record> {
        Ok(Record {
            key: key.to_vec(),
            timestamp: versions.timestamp.clone(),
            value: self.record_value(key, versions)?,
        })
    }

    pub(crate) fn record_value(&self, key: &[u8], versions: &Versions) -> Result<RecordValue> {
        let base = versions.base.as_ref();
        if versions.operands.is_empty() {
            return match base {
                Some(base) if base.kind == EntryKind::WideColumnEntity => {
                    self.columns(base).map(RecordValue::Entity)
                }
                Some(base) => self.plain(base).map(RecordValue::Value),
                None => Ok(RecordValue::Value(Value::default())),
            };
        }
        let operands = versions.operands.iter().rev();
        let merging = self.merging();
        let Some(operator) = &merging.operator else {
            return Ok(RecordValue::Unresolved {
                operator: merging.name.clone(),
                base: base.map(|base| self.plain(base)).transpose()?,
                operands: operands.cloned().collect(),
            });
        };
        let operands: Vec<&[u8]> = operands.map(|operand| &**operand).collect();
        match base {
            // The operands go on top of the default column, the others stay.
            Some(base) if base.kind == EntryKind::WideColumnEntity => {
                let mut columns = self.columns(base)?;
                let value = default_column(&columns);
                let value = self.merge(&**operator, key, Some(&value), &operands)?;
                match columns.first_mut() {
                    Some(column) if column.name.is_empty() => column.value = value,
                    _ => columns.insert(0, Column { name: Value::default(), value }),
                }
                Ok(RecordValue::Entity(columns))
            }
            base => {
                let base = base.map(|base| self.plain(base)).transpose()?;
                let merged = self.merge(&**operator, key, base.as_deref(), &operands)?;
                Ok(RecordValue::Value(merged))
            }
        }
    }

    fn merge(
        &self,
        operator: &dyn MergeOperator,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> Result<Value> {
        operator.merge(key, base, operands).map(Value::from).ok_or_else(|| {
            Error::corrupt(format!(
                "{} failed to merge the operands of \"{}\" in column family {:?}",
                operator.name(),
                key.escape_ascii(),
                self.name
            ))
            .in_file(self.files.directory().path())
        })
    }

    fn unresolved(&self, key: &[u8], operator: Option<&str>) -> Error {
        let written_with = match operator {
            Some(name) => format!("{name:?}"),
            None => "an operator that the database does not name".to_owned(),
        };
        Error::unsupported(format!(
            "the value of \"{}\" in column family {:?} has merge operands: provide a merge \
             operator (written with {written_with})",
            key.escape_ascii(),
            self.name
        ))
        .in_file(self.files.directory().path())
    }

    /// The user's bytes in a value of some kind; of an entity, its default column.
    pub(crate) fn plain(&self, base: &Base) -> Result<Value> {
        let Base { kind, value, user_key, .. } = base;
        match kind {
            EntryKind::BlobIndex => {
                self.blob(&BlobIndex::decode_from(value)?, user_key, base.file.as_deref(), value)
            }
            EntryKind::WideColumnEntity => match decode_wide_columns(value)?.first() {
                Some(column) if column.name.is_empty() => self.column(base, column),
                _ => Ok(Value::default()),
            },
            EntryKind::ValuePreferredSeqno => match split_preferred_seqno(value) {
                Some((bytes, _)) => Ok(part(value, bytes)),
                None => Err(Error::mismatch(
                    "a value is shorter than its sequence number",
                    "8 bytes or more",
                    value.len(),
                )),
            },
            _ => Ok(value.clone()),
        }
    }

    /// All columns of an entity.
    pub(crate) fn columns(&self, base: &Base) -> Result<Vec<Column>> {
        decode_wide_columns(&base.value)?
            .iter()
            .map(|column| {
                let value = self.column(base, column)?;
                Ok(Column { name: part(&base.value, column.name), value })
            })
            .collect()
    }

    fn column(&self, base: &Base, column: &WideColumn<'_>) -> Result<Value> {
        match &column.value {
            ColumnValue::Inline(bytes) => Ok(part(&base.value, bytes)),
            ColumnValue::Blob(index) => {
                self.blob(index, &base.user_key, base.file.as_deref(), &base.value)
            }
        }
    }
}
