//! Database directories: what they contain, and their filters.

mod file_tail;
mod history;
mod info;
mod map;

use sstkit_db::{ColumnFamily, LevelFile};
use sstkit_table::raw::property_names;

pub use self::file_tail::FileTail;
pub use self::history::{EditInfo, HistoryFile, ManifestHistory};
pub(crate) use self::info::database_kind;
pub use self::info::{BlobFileInfo, ColumnFamilyInfo, DatabaseInfo, FileInfo, LevelInfo};
pub use self::map::{DatabaseMap, FamilyOptions, FamilySummary, MapFile, MapLevel};
use crate::error::Result;
use crate::filter_report::{FilterReport, LookupSpace};
use crate::inspected_table::InspectedTable;

/// A table of a database, opened with what the database knows about it.
pub fn open_level_file(file: &LevelFile) -> Result<InspectedTable> {
    Ok(InspectedTable::of_table(file.open()?, file.path()))
}

/// The X-rays of all filters of a column family, the newest files first: see [`FilterReport::of`].
/// Each file is read when its turn has come.
pub fn filter_reports(
    family: &ColumnFamily,
    measure: u64,
) -> impl Iterator<Item = Result<FilterReport>> {
    let files = family.levels().into_iter().flat_map(|level| {
        let number = level.number;
        level.files.into_iter().map(move |file| (number, file))
    });
    let space = LookupSpace::of(family);
    files.map(move |(level, file)| {
        let name = file.path().display().to_string();
        let opened = open_level_file(&file)?;
        let entries = opened.table().properties().number(property_names::NUM_ENTRIES);
        let report = FilterReport::of(name, &opened, measure)?.at_level(level);
        Ok(report.in_run(&space, &file, &opened, entries))
    })
}
