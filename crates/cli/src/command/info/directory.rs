//! Prints the description of a database.

use sstkit_db::file_system;
use std::io;
use std::path::Path;

use sstkit_db::MANIFEST_NAME;
use sstkit_db::raw::FileName;
use sstkit_inspect::{ColumnFamilyInfo, DatabaseInfo, FileInfo};

use crate::output::page::{BAD, HEADING};
use crate::output::{Align, Grid, Page, units};

/// More tables than this are not listed, unless all are wanted.
const MAX_LISTED: usize = 20;

pub(super) fn print(page: &mut Page, info: &DatabaseInfo, all_files: bool) -> io::Result<()> {
    let title = page.paint(HEADING, &info.file);
    writeln!(page, "{title}  {}", units::size(info.size))?;
    let mut grid = Grid::pairs();
    grid.pair("kind", info.kind);
    grid.pair_if("id", info.db_id.as_ref());
    grid.pair("tables", tables(info));
    grid.pair("entries", units::count(info.entries));
    grid.pair_if("last sequence number", info.last_seq.map(|it| it.to_string()));
    let is_bulk = info.kind.ends_with("-tables");
    if is_bulk && file_system::is_file(&Path::new(&info.file).join(MANIFEST_NAME)) {
        grid.pair("manifest", MANIFEST_NAME);
    }
    grid.pair_if("manifest", info.manifest.map(|number| format!("MANIFEST-{number:06}")));
    grid.pair_if("next file number", info.next_file_number.map(|it| it.to_string()));
    grid.pair("filters", filters(info));
    grid.print(page)?;
    for family in &info.column_families {
        let title = match is_bulk {
            true => "tables".to_owned(),
            false => format!("column family {}", family.name),
        };
        writeln!(page)?;
        page.styled_line(HEADING, title)?;
        print_family(page, family)?;
        let number: usize = family.levels.iter().map(|level| level.files.len()).sum();
        match all_files || number <= MAX_LISTED {
            true => print_files(page, family, is_bulk)?,
            false => print_levels(page, family, is_bulk)?,
        }
    }
    info.problems.iter().try_for_each(|it| page.styled_line(BAD, &it.message))
}

/// The number of a table, as in its name; the name if that is another one.
fn file_name(file: &FileInfo) -> String {
    let name = Path::new(&file.file).file_name().unwrap_or_default().to_string_lossy();
    match FileName::parse(&name) {
        FileName::Table(_) => format!("{:06}", file.number),
        _ => name.into_owned(),
    }
}

fn tables(info: &DatabaseInfo) -> String {
    let levels = || info.column_families.iter().flat_map(|family| &family.levels);
    let mut text = units::count(levels().map(|level| level.files.len() as u64).sum());
    if let Some(version) = info.format_version {
        text.push_str(&format!(", format version {version}"));
    }
    if let Some(checksum) = info.checksum {
        text.push_str(&format!(", {checksum}"));
    }
    text
}

fn filters(info: &DatabaseInfo) -> String {
    let total = &info.filter;
    let mut text = units::size(total.bytes);
    if let Some(bits) = total.bits_per_key {
        text.push_str(&format!(", {bits:.2} bits per key"));
    }
    if total.without_filter > 0 {
        text.push_str(&format!(", {} without", units::counted(total.without_filter, "table")));
    }
    text
}

fn print_family(page: &mut Page, family: &ColumnFamilyInfo) -> io::Result<()> {
    let mut grid = Grid::pairs();
    for (name, value) in [
        ("comparator", &family.comparator),
        ("merge operator", &family.merge_operator),
        ("prefix extractor", &family.prefix_extractor),
        ("filter policy", &family.filter_policy),
    ] {
        grid.pair_if(name, value.as_ref());
    }
    if family.memtable_entries > 0 {
        grid.pair("only in the logs", units::counted(family.memtable_entries, "entry"));
    }
    for blob in &family.blob_files {
        let text = format!(
            "{} values, {}; garbage: {}, {}",
            units::count(blob.blobs),
            units::size(blob.bytes),
            units::count(blob.garbage_blobs),
            units::size(blob.garbage_bytes)
        );
        grid.pair(&format!("blob file {:06}", blob.number), text);
    }
    grid.print(page)
}

/// Prints the tables by level; those of a plain directory have no level.
fn print_files(page: &mut Page, family: &ColumnFamilyInfo, is_bulk: bool) -> io::Result<()> {
    let mut grid = Grid::new(&[
        ("level", Align::Right),
        ("file", Align::Right),
        ("size", Align::Right),
        ("entries", Align::Right),
        ("sequence numbers", Align::Shorten),
        ("filter", Align::Shorten),
        ("smallest key", Align::Shorten),
        ("largest key", Align::Shorten),
    ])
    .indent(2)
    .dispensable(&["sequence numbers", "filter", "entries"]);
    for level in &family.levels {
        for file in &level.files {
            let sequences = match (file.smallest_seq, file.largest_seq) {
                (Some(smallest), Some(largest)) => format!("{smallest} to {largest}"),
                _ => String::new(),
            };
            grid.row([
                if is_bulk { String::new() } else { level.level.to_string() },
                file_name(file),
                units::size(file.size),
                file.entries.map(units::count).unwrap_or_default(),
                sequences,
                file.filter.unwrap_or_default().replace('_', " "),
                file.smallest_key.clone(),
                file.largest_key.clone(),
            ]);
        }
    }
    if grid.is_empty() { writeln!(page, "  no tables") } else { grid.print(page) }
}

/// Prints a line for each level.
fn print_levels(page: &mut Page, family: &ColumnFamilyInfo, is_bulk: bool) -> io::Result<()> {
    let mut grid = Grid::new(&[
        ("level", Align::Right),
        ("files", Align::Right),
        ("size", Align::Right),
        ("entries", Align::Right),
        ("sequence numbers", Align::Shorten),
        ("filters", Align::Shorten),
    ])
    .indent(2)
    .dispensable(&["sequence numbers", "filters"]);
    for level in &family.levels {
        let files = || level.files.iter();
        let mut filters: Vec<String> =
            files().filter_map(|file| file.filter).map(|kind| kind.replace('_', " ")).collect();
        filters.sort();
        filters.dedup();
        let smallest = files().filter_map(|file| file.smallest_seq).min();
        let largest = files().filter_map(|file| file.largest_seq).max();
        let sequences = smallest.zip(largest).map(|(from, to)| format!("{from} to {to}"));
        grid.row([
            if is_bulk { String::new() } else { level.level.to_string() },
            units::count(level.files.len() as u64),
            units::size(level.size),
            units::count(level.entries),
            sequences.unwrap_or_default(),
            filters.join(", "),
        ]);
    }
    grid.print(page)?;
    let files = family.levels.iter().map(|level| level.files.len() as u64).sum();
    writeln!(page, "  {}; use --files to list them", units::counted(files, "table"))
}
