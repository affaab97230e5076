//! The columns of a scan.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{DataType, Field};

use super::BinaryLayout;
use crate::error::{Error, Result};

/// A column of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScanColumn {
    /// `key`: the user key without timestamp, or the columns that it was made of.
    Key,
    /// `value`: the value, or the default column of an entity.
    Value,
    /// `timestamp`: the timestamp of the version; null where keys have none.
    Timestamp,
    /// `columns`: the columns of an entity, as a map; null for other values.
    Columns,
    /// `merge`: operands without an operator to combine them, oldest first; `value` is then their
    /// base. Null if there are none. Without this column such a key is an error.
    Merge,
    /// `column_family`: the name of the column family; null for a single table.
    ColumnFamily,
    /// `sequence`: the sequence number. Only of versions.
    Sequence,
    /// `kind`: what the entry does, as `sst scan --internal` calls it. Only of versions.
    Kind,
    /// `file`: the name of the table; null in a write-ahead log. Only of versions.
    File,
}

impl ScanColumn {
    /// All columns.
    pub const ALL: &'static [Self] = &[
        Self::Key,
        Self::Value,
        Self::Timestamp,
        Self::Columns,
        Self::Merge,
        Self::ColumnFamily,
        Self::Sequence,
        Self::Kind,
        Self::File,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
            Self::Timestamp => "timestamp",
            Self::Columns => "columns",
            Self::Merge => "merge",
            Self::ColumnFamily => "column_family",
            Self::Sequence => "sequence",
            Self::Kind => "kind",
            Self::File => "file",
        }
    }

    /// Whether it belongs to a stored version rather than to a visible key.
    pub(super) const fn is_of_versions(self) -> bool {
        matches!(self, Self::Sequence | Self::Kind | Self::File)
    }

    pub(crate) fn field(self, layout: BinaryLayout) -> Field {
        let data_type = match self {
            Self::Key | Self::Value | Self::Timestamp => layout.data_type(),
            Self::Columns => map_type(),
            Self::Merge => list_type(),
            Self::ColumnFamily | Self::Kind | Self::File => DataType::Utf8,
            Self::Sequence => DataType::UInt64,
        };
        Field::new(self.name(), data_type, true)
    }
}

/// Of the columns of an entity, names to values.
fn map_type() -> DataType {
    let entries = vec![
        Field::new("key", DataType::Binary, false),
        Field::new("value", DataType::Binary, true),
    ];
    let entries = Field::new("entries", DataType::Struct(entries.into()), false);
    DataType::Map(Arc::new(entries), false)
}

/// Of merge operands.
fn list_type() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Binary, true)))
}

impl fmt::Display for ScanColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ScanColumn {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|column| column.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|column| column.name()).collect();
            let names = names.join(", ");
            Error::invalid(format!("no column {name:?} (found {names})"))
        })
    }
}
