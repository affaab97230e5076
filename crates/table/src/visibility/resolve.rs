//! Resolves the value of a key from its entries: reads blobs, decodes columns, merges operands.

use crate::error::{Error, Result};
use crate::raw::{
    BlobIndex, ColumnValue, EntryKind, WideColumn, decode_wide_columns, split_preferred_seqno,
};
use crate::reader::{MergeOperator, Value};
use crate::visibility::record::{Column, Record, RecordValue, default_column};
use crate::visibility::versions::{Base, Versions};

/// Locates the values of entries and merges operands, for a table, several tables or a database.
/// The provided methods resolve values, in the same way for all.
pub trait Resolver {
    /// The origin of an entry.
    type Origin;

    /// The value that a blob index refers to. The index is in the entry of `user_key` (as stored)
    /// from `origin`, and is not inlined.
    fn blob(
        &self,
        index: &BlobIndex<'_>,
        user_key: &[u8],
        origin: Option<&Self::Origin>,
    ) -> Result<Value>;

    /// The merge operator, if known.
    fn merge_operator(&self) -> Option<&dyn MergeOperator>;

    /// The name of the merge operator that the entries were written with, if known.
    fn merge_operator_name(&self) -> Option<String>;

    /// The column family of the keys, if any.
    fn column_family(&self) -> Option<&str> {
        None
    }

    /// Adds the file or directory to an error.
    fn in_file(&self, error: Error) -> Error;

    /// The value of `key`, which is visible. Fails with
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if there are operands without an operator.
    fn value(&self, key: &[u8], versions: &Versions<Self::Origin>) -> Result<Value> {
        match (versions.base(), versions.operands()) {
            // Only the default column is read.
            (Some(base), []) => self.plain(base),
            _ => match self.record_value(key, versions)? {
                RecordValue::Value(value) => Ok(value),
                RecordValue::Entity(columns) => Ok(default_column(&columns)),
                RecordValue::Unresolved { operator, .. } => Err(self.unresolved(key, operator)),
            },
        }
    }

    /// The columns of `key`, which is visible; for a plain value, only the default column.
    fn entity(&self, key: &[u8], versions: &Versions<Self::Origin>) -> Result<Vec<Column>> {
        match self.record_value(key, versions)? {
            RecordValue::Entity(columns) => Ok(columns),
            RecordValue::Value(value) => Ok(vec![Column { name: Value::default(), value }]),
            RecordValue::Unresolved { operator, .. } => Err(self.unresolved(key, operator)),
        }
    }

    /// The complete record of `key`, which is visible.
    fn record(&self, key: &[u8], versions: &Versions<Self::Origin>) -> Result<Record> {
        let (timestamp, value) = (versions.timestamp().to_vec(), self.record_value(key, versions)?);
        Ok(Record { key: key.to_vec(), timestamp, value })
    }

    /// The value of `key`, which is visible.
    fn record_value(&self, key: &[u8], versions: &Versions<Self::Origin>) -> Result<RecordValue> {
        let base = versions.base();
        if versions.operands().is_empty() {
            return match base {
                Some(base) if base.kind == EntryKind::WideColumnEntity => {
                    self.columns(base).map(RecordValue::Entity)
                }
                Some(base) => self.plain(base).map(RecordValue::Value),
                None => Ok(RecordValue::Value(Value::default())),
            };
        }
        let operands = versions.operands().iter().rev();
        let Some(operator) = self.merge_operator() else {
            return Ok(RecordValue::Unresolved {
                operator: self.merge_operator_name(),
                base: base.map(|base| self.plain(base)).transpose()?,
                operands: operands.cloned().collect(),
            });
        };
        let operands: Vec<&[u8]> = operands.map(|operand| &**operand).collect();
        let merge = |base: Option<&[u8]>| {
            operator.merge(key, base, &operands).map(Value::from).ok_or_else(|| {
                let (operator, key) = (operator.name(), self.named(key));
                let message = format!("{operator} failed to merge the operands of {key}");
                self.in_file(Error::corrupt(message))
            })
        };
        match base {
            // The operands apply to the default column; the others are unchanged.
            Some(base) if base.kind == EntryKind::WideColumnEntity => {
                let mut columns = self.columns(base)?;
                let value = merge(Some(&default_column(&columns)))?;
                match columns.first_mut() {
                    Some(column) if column.name.is_empty() => column.value = value,
                    _ => columns.insert(0, Column { name: Value::default(), value }),
                }
                Ok(RecordValue::Entity(columns))
            }
            base => {
                let base = base.map(|base| self.plain(base)).transpose()?;
                merge(base.as_deref()).map(RecordValue::Value)
            }
        }
    }

    /// The error for operands without an operator.
    fn unresolved(&self, key: &[u8], operator: Option<String>) -> Error {
        let written_with = match operator {
            Some(name) => format!("{name:?}"),
            None => "an operator without a name".to_owned(),
        };
        let error = Error::unsupported(format!(
            "the value of {} has merge operands: provide a merge operator (written with \
             {written_with})",
            self.named(key)
        ));
        self.in_file(error)
    }

    /// A key in a message.
    fn named(&self, key: &[u8]) -> String {
        let key = key.escape_ascii();
        match self.column_family() {
            Some(name) => format!("\"{key}\" in column family {name:?}"),
            None => format!("\"{key}\""),
        }
    }

    /// The user value in a stored value of this kind; for an entity, its default column.
    fn plain(&self, base: &Base<Self::Origin>) -> Result<Value> {
        let value = &base.value;
        match base.kind {
            EntryKind::BlobIndex => self.blob_or_inlined(base, &BlobIndex::decode_from(value)?),
            EntryKind::WideColumnEntity => match decode_wide_columns(value)?.first() {
                Some(column) if column.name.is_empty() => self.column(base, column),
                _ => Ok(Value::default()),
            },
            EntryKind::ValuePreferredSeqno => match split_preferred_seqno(value) {
                Some((bytes, _)) => Ok(value.slice_ref(bytes)),
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
    fn columns(&self, base: &Base<Self::Origin>) -> Result<Vec<Column>> {
        decode_wide_columns(&base.value)?
            .iter()
            .map(|column| {
                let value = self.column(base, column)?;
                Ok(Column { name: base.value.slice_ref(column.name), value })
            })
            .collect()
    }

    /// The value of a column of an entity.
    fn column(&self, base: &Base<Self::Origin>, column: &WideColumn<'_>) -> Result<Value> {
        match &column.value {
            ColumnValue::Inline(bytes) => Ok(base.value.slice_ref(bytes)),
            ColumnValue::Blob(index) => self.blob_or_inlined(base, index),
        }
    }

    /// The value that a blob index in an entry refers to, or contains.
    fn blob_or_inlined(&self, base: &Base<Self::Origin>, index: &BlobIndex<'_>) -> Result<Value> {
        match *index {
            BlobIndex::Inlined { value, .. } => Ok(base.value.slice_ref(value)),
            BlobIndex::Stored { .. } => self.blob(index, &base.user_key, base.origin.as_ref()),
        }
    }
}
