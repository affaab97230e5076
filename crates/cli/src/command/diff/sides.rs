//! The two paths, and what of them is compared with what.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use sstkit_db::{ColumnFamily, Database, DatabaseEntry, DatabaseOptions, DiffSide, Difference};
use sstkit_inspect::{Encoding, InspectedTable, JsonRecord};
use sstkit_table::{Comparator, TableReadOptions};

use crate::database;
use crate::status::Status;
use crate::target::Target;

/// What is at a path.
pub(super) enum Side {
    Table(Arc<InspectedTable>),
    Database(Database),
}

impl Side {
    pub(super) fn open(
        path: &Path,
        table: &TableReadOptions,
        database: &DatabaseOptions,
    ) -> Result<(Self, Status)> {
        Ok(match Target::of(path)? {
            Target::Table(path) => {
                (Self::Table(Arc::new(InspectedTable::open(&path, table)?)), Status::Fine)
            }
            Target::Database(path) => {
                let (database, opened) = database::open(&path, database)?;
                (Self::Database(database), opened)
            }
        })
    }

    /// The size of its tables.
    pub(super) fn table_bytes(&self) -> u64 {
        match self {
            Self::Table(file) => file.table().size(),
            Self::Database(database) => {
                database::table_bytes(&database.column_families().collect::<Vec<_>>())
            }
        }
    }

    fn database(&self) -> Option<&Database> {
        match self {
            Self::Table(_) => None,
            Self::Database(database) => Some(database),
        }
    }

    /// What is compared under the name of a column family. A table has any name.
    fn part(&self, name: &str) -> Part {
        match self {
            Self::Table(file) => Part::Table(Arc::clone(file)),
            Self::Database(database) => {
                database.column_family(name).map_or(Part::Nothing, Part::ColumnFamily)
            }
        }
    }
}

/// A side of a comparison.
pub(super) enum Part {
    Table(Arc<InspectedTable>),
    ColumnFamily(ColumnFamily),
    /// The database has no such column family.
    Nothing,
}

impl Part {
    /// The order of its keys, if it is known.
    pub(super) fn comparator(&self) -> Option<&Comparator> {
        match self {
            Self::Table(file) => file.table().comparator().ok(),
            Self::ColumnFamily(family) => family.comparator().ok(),
            Self::Nothing => None,
        }
    }

    pub(super) fn side(&self) -> DiffSide {
        match self {
            Self::Table(file) => file.table().clone().into(),
            Self::ColumnFamily(family) => family.clone().into(),
            Self::Nothing => DiffSide::Empty,
        }
    }

    /// An entry of this side as stored, with its value resolved.
    pub(super) fn record(&self, entry: &DatabaseEntry, encoding: Encoding) -> Result<JsonRecord> {
        match self {
            Self::Table(file) => Ok(JsonRecord::of_table_entry(file, entry, encoding)?),
            Self::ColumnFamily(family) => {
                Ok(JsonRecord::of_database_entry(family, entry, encoding)?)
            }
            Self::Nothing => Ok(JsonRecord::of_key(&entry.key, encoding)),
        }
    }
}

/// Two sides that are compared.
pub(super) struct Pair {
    /// If a side is a database.
    pub(super) column_family: Option<String>,
    pub(super) a: Part,
    pub(super) b: Part,
}

impl Pair {
    /// Whether only one database has the column family.
    pub(super) fn only_in(&self) -> Option<Difference<()>> {
        match (&self.a, &self.b) {
            (_, Part::Nothing) => Some(Difference::Removed(())),
            (Part::Nothing, _) => Some(Difference::Added(())),
            _ => None,
        }
    }
}

/// Two tables; a table and a column family; or all column families of two databases, by name.
pub(super) fn pairs(a: &Side, b: &Side, given: Option<&str>) -> Result<Vec<Pair>> {
    let databases: Vec<&Database> = [a, b].into_iter().filter_map(Side::database).collect();
    let pair = |name: &str| {
        let column_family = (!databases.is_empty()).then(|| name.to_owned());
        Pair { column_family, a: a.part(name), b: b.part(name) }
    };
    let has = |database: &Database, name: &str| database.column_family(name).is_ok();
    match (&databases[..], given) {
        ([], _) => Ok(vec![pair("default")]),
        ([database], _) => {
            let name = given.unwrap_or("default");
            database::column_family(database, name)?;
            Ok(vec![pair(name)])
        }
        ([first, others @ ..], Some(name)) => {
            if !others.iter().any(|database| has(database, name)) {
                database::column_family(first, name)?;
            }
            Ok(vec![pair(name)])
        }
        (_, None) => {
            let families = databases.iter().flat_map(|database| database.column_families());
            let names: BTreeSet<String> = families.map(|family| family.name().to_owned()).collect();
            Ok(names.iter().map(|name| pair(name)).collect())
        }
    }
}
