//! What the user sees of a key, with everything that belongs to it.

use sstkit_table::Value;

/// A key and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The key, without timestamp.
    pub key: Vec<u8>,
    /// The timestamp of the version that is shown; empty where keys have none.
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
    /// Merge operands that no operator combined.
    Unresolved {
        /// What the database calls the operator, if it says so.
        operator: Option<String>,
        /// What is under the operands; of an entity, its default column.
        base: Option<Value>,
        /// The oldest first.
        operands: Vec<Value>,
    },
}

impl RecordValue {
    /// The value, or the default column of an entity; `None` where it is not resolved.
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

/// The value of an entity as a whole. Names ascend, so the default column, whose name is empty,
/// comes first; an entity without one has an empty one.
pub(super) fn default_column(columns: &[Column]) -> Value {
    match columns.first() {
        Some(column) if column.name.is_empty() => column.value.clone(),
        _ => Value::default(),
    }
}
