//! Prints the description of a single database file.

use std::io;

use sstkit_inspect::{LogInfo, SingleFileInfo};

use crate::output::page::{BAD, HEADING};
use crate::output::plain::plain;
use crate::output::{Grid, Page, units};

/// Column families that are listed.
const MAX_FAMILIES: usize = 20;

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
    if let Some(log) = &info.log {
        add_log(&mut grid, log);
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

fn add_log(grid: &mut Grid, log: &LogInfo) {
    let listed = |items: Vec<String>| (!items.is_empty()).then(|| items.join(", "));
    let records = units::counted(log.fragments, "physical record");
    grid.pair("batches", format!("{} in {records}", units::count(log.batches)));
    let kinds = log.entries_by_kind.iter();
    grid.pair_if(
        "by type",
        listed(kinds.map(|(kind, &count)| format!("{} {kind}", units::count(count))).collect()),
    );
    let families = log.column_families.iter().take(MAX_FAMILIES);
    let mut families: Vec<String> =
        families.map(|(id, &count)| format!("{id}: {}", units::count(count))).collect();
    if log.column_families.len() > MAX_FAMILIES {
        families.push(format!("{} more", log.column_families.len() - MAX_FAMILIES));
    }
    grid.pair_if("by column family id", listed(families));
    if log.prepared + log.committed + log.rolled_back > 0 {
        let counts = [
            (log.prepared, "prepared"),
            (log.committed, "committed"),
            (log.rolled_back, "rolled back"),
        ];
        let counts = counts.map(|(count, what)| format!("{} {what}", units::count(count)));
        grid.pair("transactions", counts.join(", "));
    }
    let properties = [(log.recycled, "recycled"), (log.compressed, "compressed")];
    let properties = properties.into_iter().filter(|(has, _)| *has).map(|(_, it)| it.to_owned());
    grid.pair_if("records", listed(properties.collect()));
    grid.pair_if("log before", log.predecessor.map(|number| format!("{number:06}.log")));
}
