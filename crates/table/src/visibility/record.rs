//! A visible key with its value and metadata.

use sstkit_coding::debug_struct;

use crate::reader::Value;

/// A key and its value.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The key, without timestamp.
    pub key: Vec<u8>,
    /// The timestamp of the visible version; empty if keys have none.
    pub timestamp: Vec<u8>,
    /// The value.
    pub value: RecordValue,
}

debug_struct!(Record { key: bytes, timestamp: bytes, value });

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordValue {
    /// A plain value.
    Value(Value),
    /// Named columns, sorted by name.
    Entity(Vec<Column>),
    /// Merge operands that cannot be combined.
    Unresolved {
        /// The name of the merge operator in the database or table, if any.
        operator: Option<String>,
        /// The base of the operands; for an entity, its default column.
        base: Option<Value>,
        /// Oldest first.
        operands: Vec<Value>,
    },
}

impl RecordValue {
    /// The value, or the default column of an entity; `None` if it is unresolved.
    pub fn value(&self) -> Option<Value> {
        match self {
            Self::Value(value) => Some(value.clone()),
            Self::Entity(columns) => Some(default_column(columns)),
            Self::Unresolved { .. } => None,
        }
    }
}

/// A column of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Empty for the default column.
    pub name: Value,
    /// The value.
    pub value: Value,
}

/// The default column of an entity. Its name is empty, so it is the first one; an entity without it
/// has an empty default column.
pub(crate) fn default_column(columns: &[Column]) -> Value {
    match columns.first() {
        Some(column) if column.name.is_empty() => column.value.clone(),
        _ => Value::default(),
    }
}
