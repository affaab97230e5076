//! The tables and databases that are inspected.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sstkit_db::{ColumnFamily, Database, LevelFile};
use sstkit_inspect::{InspectedTable, open_level_file};
use sstkit_table::TableReadOptions;

use crate::error::{PageError, Result};

/// A table or database, opened when it is first needed, and again when an engine has changed it.
pub struct InspectedSource {
    name: String,
    open: Box<dyn Fn() -> Opened + Send + Sync>,
    opened: Mutex<Option<Arc<Opened>>>,
}

/// A table or database that is open, or why it is not.
#[non_exhaustive]
pub enum Opened {
    /// A table file.
    Table(InspectedTable),
    /// A database directory, and why it could only be opened in part.
    Database(Database, Option<sstkit_db::Error>),
    /// It could not be opened: the reason.
    Failed(String),
}

impl Opened {
    /// Opens a table file.
    #[cfg(any(unix, windows))]
    pub fn table(path: impl AsRef<Path>, options: &TableReadOptions) -> Self {
        match InspectedTable::open(path, options) {
            Ok(file) => Self::Table(file),
            Err(error) => Self::Failed(error.to_string()),
        }
    }

    /// Opens a database directory.
    pub fn database(path: impl AsRef<Path>, options: &sstkit_db::DatabaseOptions) -> Self {
        match Database::open_with(path, options) {
            Ok(database) => Self::Database(database, None),
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

/// A table of a database: its place, and what the JSON calls it.
pub(crate) struct OpenTable {
    pub(crate) name: String,
    pub(crate) file: InspectedTable,
    pub(crate) place: LevelPlace,
}

/// The place of a table in a database.
#[derive(Clone, Debug)]
pub(crate) struct LevelPlace {
    pub(crate) column_family: String,
    pub(crate) level: u32,
    pub(crate) number: u64,
}

impl InspectedSource {
    /// A source that `open` opens.
    pub fn new(name: impl Into<String>, open: impl Fn() -> Opened + Send + Sync + 'static) -> Self {
        Self { name: name.into(), open: Box::new(open), opened: Mutex::new(None) }
    }

    /// The path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens it, unless it is open.
    pub fn opened(&self) -> Arc<Opened> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(opened.get_or_insert_with(|| Arc::new((self.open)())))
    }

    /// Opens it again the next time, unless that has happened since `seen` was returned.
    pub(crate) fn reopen(&self, seen: &Arc<Opened>) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.as_ref().is_some_and(|opened| Arc::ptr_eq(opened, seen)) {
            *opened = None;
        }
    }
}

impl Opened {
    /// The database; an error if it is none.
    pub(crate) fn as_database(&self) -> Result<&Database> {
        match self {
            Self::Database(database, _) => Ok(database),
            Self::Table(_) => Err(PageError::not_found("this is a table, not a database")),
            Self::Failed(why) => Err(PageError::not_found(why.clone())),
        }
    }

    /// The column family with this name; without one the default column family.
    pub(crate) fn column_family(&self, name: Option<&str>) -> Result<ColumnFamily> {
        let database = self.as_database()?;
        match name {
            Some(name) => database
                .column_family(name)
                .map_err(|error| PageError::not_found(error.to_string())),
            None => Ok(database.default_column_family()),
        }
    }

    /// The only table, or the table of a database with this number.
    pub(crate) fn find_table(&self, name: &str, number: Option<u64>) -> Result<TableRef<'_>> {
        match (self, number) {
            (Self::Table(file), _) => Ok(TableRef::Borrowed(name.to_owned(), file)),
            (Self::Failed(why), _) => Err(PageError::not_found(why.clone())),
            (Self::Database(..), None) => Err(PageError::bad_request("file: which table?")),
            (Self::Database(database, _), Some(number)) => {
                let (place, file) = level_file(database, number).ok_or_else(|| {
                    PageError::not_found(format!("no level has a table with the number {number}"))
                })?;
                Ok(TableRef::Owned(OpenTable {
                    name: file.path().display().to_string(),
                    file: open_level_file(&file)?,
                    place,
                }))
            }
        }
    }
}

/// A table that a source holds open, or one that was opened for a request.
pub(crate) enum TableRef<'o> {
    Borrowed(String, &'o InspectedTable),
    Owned(OpenTable),
}

impl TableRef<'_> {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Borrowed(name, _) => name,
            Self::Owned(table) => &table.name,
        }
    }

    pub(crate) fn file(&self) -> &InspectedTable {
        match self {
            Self::Borrowed(_, file) => file,
            Self::Owned(table) => &table.file,
        }
    }

    /// The place of a table of a database.
    pub(crate) fn place(&self) -> Option<&LevelPlace> {
        match self {
            Self::Borrowed(..) => None,
            Self::Owned(table) => Some(&table.place),
        }
    }
}

/// The table with this number, in whatever column family, and its place.
fn level_file(database: &Database, number: u64) -> Option<(LevelPlace, LevelFile)> {
    database.column_families().find_map(|family| {
        family.levels().into_iter().find_map(|level| {
            let file = level.files.into_iter().find(|file| file.number() == number)?;
            let column_family = family.name().to_owned();
            Some((LevelPlace { column_family, level: level.number, number }, file))
        })
    })
}
