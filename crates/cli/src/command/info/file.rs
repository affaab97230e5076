//! Prints the description of a single database file.

use std::io;

use sstkit_inspect::SingleFileInfo;

use crate::output::page::{BAD, HEADING};
use crate::output::plain::plain;
use crate::output::{Grid, Page, units};

pub(super) fn print(page: &mut Page, info: &SingleFileInfo) -> io::Result<()> {
    let title = page.paint(HEADING, &info.file);
    writeln!(page, "{title}  {}", units::size(info.size))?;
    let mut grid = Grid::pairs();
    grid.pair("kind", info.kind);
    let entries = match info.kind {
        "log" => Some("writes"),
        "manifest" => Some("edits"),
        "blob-file" => Some("values"),
        _ => None,
    };
    if let Some(name) = entries {
        grid.pair(name, units::count(info.entries));
    }
    if let (Some(smallest), Some(largest)) = (info.smallest_seq, info.largest_seq) {
        grid.pair("sequence numbers", format!("{smallest} to {largest}"));
    }
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    for (name, value) in [
        ("last sequence number", number(info.last_seq)),
        ("next file number", number(info.next_file_number)),
        ("tables", info.tables.map(units::count)),
        ("column families", info.column_family_names.as_ref().map(|names| names.join(", "))),
        ("manifest", info.manifest_name()),
        ("written by RocksDB", info.rocksdb_version.clone()),
        ("id", info.db_id.clone()),
        ("column family", info.column_family.map(|number| number.to_string())),
        ("compression", info.compression.clone()),
    ] {
        grid.pair_if(name, value);
    }
    grid.print(page)?;
    for note in &info.notes {
        writeln!(page, "{}", plain(note))?;
    }
    info.problems.iter().try_for_each(|it| page.styled_line(BAD, &it.message))
}
