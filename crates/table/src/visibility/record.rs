//! A visible key with everything that belongs to it.

use crate::reader::Value;

/// A key and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The key, without timestamp.
    pub key: Vec<u8>,
    /// The timestamp of the visible version; empty where keys have none.
    pub timestamp: Vec<u8>,
    /// What it holds.
    pub value: RecordValue,
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordValue {
    /// A value.
    Value(Value),
    /// Named columns, in the order of their names.
    Entity(Vec<Column>),
    /// Merge operands without an operator to combine them.
    Unresolved {
        /// The name of the operator in the database or table, if there is one.
        operator: Option<String>,
        /// What the operands apply to; of an entity, its default column.
        base: Option<Value>,
        /// The oldest first.
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
    /// What it holds.
    pub value: Value,
}

/// The default column of an entity. Names ascend, so it comes first, as its name is empty; an entity
/// without one has an empty default column.
pub(crate) fn default_column(columns: &[Column]) -> Value {
    match columns.first() {
        Some(column) if column.name.is_empty() => column.value.clone(),
        _ => Value::default(),
    }
}
