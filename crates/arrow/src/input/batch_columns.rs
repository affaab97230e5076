//! Which columns of batches are written.

use arrow_schema::{DataType, Schema};
use sstkit_coding::setters;

use crate::scan::{BinaryLayout, ScanColumn};

/// Which columns make the key, the value and the rest of an entry.
///
/// ```
/// use sstkit_arrow::BatchColumns;
///
/// let columns = BatchColumns::new(["country", "id"], "payload").kind("op");
/// ```
#[derive(Clone, Debug)]
pub struct BatchColumns {
    pub(super) key: Vec<String>,
    pub(super) value: ValueNames,
    pub(super) kind: Option<String>,
    pub(super) timestamp: Option<String>,
    pub(super) sequence: Option<String>,
    pub(super) entities: Option<String>,
    pub(super) operands: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum ValueNames {
    One(String),
    Entity(Vec<String>),
    Json(Vec<String>),
}

impl BatchColumns {
    /// Key columns, which are [encoded](crate::KeyEncoding), and the value column: binary or string as
    /// it is, integers big-endian in two's complement.
    pub fn new<N: Into<String>>(
        key: impl IntoIterator<Item = N>,
        value: impl Into<String>,
    ) -> Self {
        Self {
            key: key.into_iter().map(N::into).collect(),
            value: ValueNames::One(value.into()),
            kind: None,
            timestamp: None,
            sequence: None,
            entities: None,
            operands: None,
        }
    }

    /// The names of all columns that are read.
    pub fn names(&self) -> Vec<&str> {
        let values = match &self.value {
            ValueNames::One(name) => std::slice::from_ref(name),
            ValueNames::Entity(names) | ValueNames::Json(names) => names,
        };
        let others = [&self.kind, &self.timestamp, &self.sequence, &self.entities, &self.operands];
        let others = others.into_iter().flatten();
        self.key.iter().chain(values).chain(others).map(String::as_str).collect()
    }

    /// The columns of a [`Scan`](crate::Scan), as far as the schema has them: the same entries are
    /// written again.
    pub fn of_scan(schema: &Schema) -> Self {
        let layouts = [BinaryLayout::Binary, BinaryLayout::LargeBinary, BinaryLayout::BinaryView];
        let has = |column: ScanColumn| {
            let field = schema.field_with_name(column.name()).ok()?;
            let is_type =
                |layout| is_same_type(column.field(layout).data_type(), field.data_type());
            layouts.into_iter().any(is_type).then(|| column.name().to_owned())
        };
        Self {
            kind: has(ScanColumn::Kind),
            timestamp: has(ScanColumn::Timestamp),
            sequence: has(ScanColumn::Sequence),
            entities: has(ScanColumn::Columns),
            operands: has(ScanColumn::Merge),
            ..Self::new([ScanColumn::Key.name()], ScanColumn::Value.name())
        }
    }
}

/// Whether types are the same but for the names of fields inside them, which files rename.
fn is_same_type(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::Map(..), DataType::Map(..)) | (DataType::List(_), DataType::List(_)) => true,
        (a, b) => a == b,
    }
}

setters! {
    impl BatchColumns:

    /// Writes entities: these columns under their names, with nulls left out. The one with the empty
    /// name is the default column.
    pub fn entity(mut self, columns: impl IntoIterator<Item = impl Into<String>>) {
        self.value = ValueNames::Entity(columns.into_iter().map(Into::into).collect());
    }

    /// Writes JSON objects: these columns under their names. Numbers, booleans and nulls are those of
    /// JSON; strings and binary columns, which must be UTF-8, are strings.
    pub fn json(mut self, columns: impl IntoIterator<Item = impl Into<String>>) {
        self.value = ValueNames::Json(columns.into_iter().map(Into::into).collect());
    }

    /// A string column that says what each row does: `put`, `delete`, `single_delete`, `merge` or
    /// `range_delete`, whose value is the end key. Default: all rows are put.
    pub fn kind(mut self, column: impl Into<String>) { self.kind = Some(column.into()); }

    /// A binary column with the timestamps of the keys, if the comparator has them. Default: none.
    pub fn timestamp(mut self, column: impl Into<String>) { self.timestamp = Some(column.into()); }

    /// A column of unsigned 64-bit sequence numbers. Default: all are 0, as in tables for ingestion.
    pub fn sequence(mut self, column: impl Into<String>) { self.sequence = Some(column.into()); }
}
