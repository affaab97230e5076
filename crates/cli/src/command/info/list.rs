//! Describes several tables in one line each.

use sstkit_db::file_system;
use std::mem;

use anyhow::Result;
use sstkit_inspect::{FileKind, InspectedTable, TableInfo};
use sstkit_table::TableReadOptions;

use super::{Args, table};
use crate::output::page::BAD;
use crate::output::{Align, Grid, Page, ReadProgress, units};
use crate::status::Status;

impl Args {
    /// Whether there are several paths, and all of them are tables.
    pub(super) fn is_list(&self) -> bool {
        let is_table = |path: &std::path::PathBuf| {
            file_system::is_file(path)
                && FileKind::of(path).is_ok_and(|kind| kind == FileKind::Table)
        };
        !self.long
            && !self.print.format.is_json()
            && self.paths.len() > 1
            && self.paths.iter().all(is_table)
    }

    pub(super) fn list(&self, page: &mut Page) -> Result<Status> {
        let mut infos = Vec::new();
        let options = self.open.table_options();
        let status = Status::of_each(&self.paths, |path| {
            let info = self.table_info(path, &options)?;
            let status = Status::of(info.problems.is_empty());
            infos.push(info);
            Ok(status)
        })?;
        let mut grid = Grid::new(&[
            ("file", Align::Path),
            ("size", Align::Right),
            ("entries", Align::Right),
            ("format", Align::Left),
            ("sequence numbers", Align::Left),
            ("filter", Align::Shorten),
            ("smallest key", Align::Shorten),
            ("largest key", Align::Shorten),
        ])
        .dispensable(&["sequence numbers", "filter", "format"]);
        for info in &mut infos {
            grid.row([
                info.file.clone(),
                units::size(info.size),
                info.entries.map(units::count).unwrap_or_default(),
                format(info),
                table::sequence_numbers(info).unwrap_or_default(),
                info.filter.as_ref().map_or("none".into(), |it| it.kind.replace('_', " ")),
                mem::take(&mut info.smallest_key).unwrap_or_default(),
                mem::take(&mut info.largest_key).unwrap_or_default(),
            ]);
        }
        grid.print(page)?;
        for info in &infos {
            for problem in &info.problems {
                page.styled_line(BAD, format!("{}: {}", info.file, problem.message))?;
            }
        }
        Ok(status)
    }

    /// A description of a table.
    pub(super) fn table_info(
        &self,
        path: &std::path::Path,
        options: &TableReadOptions,
    ) -> Result<TableInfo> {
        let (name, encoding) = (path.display().to_string(), self.print.encoding());
        if !self.full {
            return Ok(TableInfo::of(name, &InspectedTable::open(path, options)?, encoding)?);
        }
        let progress = ReadProgress::default();
        let options = options.clone().count_bytes_read(progress.counter());
        let file = InspectedTable::open(path, &options)?;
        let _bar = progress.show("counting", file.table().size());
        Ok(TableInfo::full(name, &file, encoding)?)
    }
}

/// The engine and, for RocksDB, the format version.
fn format(info: &TableInfo) -> String {
    match info.kind.trim_end_matches("-table") {
        "leveldb" => "leveldb".into(),
        engine => format!("{engine} {}", info.format_version),
    }
}
