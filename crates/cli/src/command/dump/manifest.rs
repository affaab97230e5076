//! Prints the edits of a MANIFEST, and the state that they add up to, as text.

use std::io;

use sstkit_inspect::{
    BlobFileAdditionRecord, BoundRecord, EditRecord, OutputFileRecord, OutputRecord, StateRecord,
    TableRecord, WalRecord,
};

use crate::output::page::{ADDED, HEADING, REMOVED};
use crate::output::{Grid, Page, units};

pub(super) fn print_edit(page: &mut Page, edit: &EditRecord) -> io::Result<()> {
    let title = page.paint(HEADING, format!("edit {} at {}", edit.index, edit.offset));
    writeln!(page, "{title}  column family {}, {} bytes", edit.column_family, edit.length)?;
    let mut grid = Grid::pairs();
    let number = |it: Option<u64>| it.map(|it| it.to_string());
    for (name, value) in [
        ("column family added", edit.column_family_add.clone()),
        ("column family dropped", edit.column_family_drop.then(String::new)),
        ("largest column family", edit.max_column_family.map(|it| it.to_string())),
        ("id of the database", edit.db_id.clone()),
        ("comparator", edit.comparator.clone()),
        ("persist timestamps", edit.persist_timestamps.map(|it| it.to_string())),
        ("log number", number(edit.log_number)),
        ("previous log number", number(edit.prev_log_number)),
        ("smallest log to keep", number(edit.min_log_number_to_keep)),
        ("next file number", number(edit.next_file_number)),
        ("last sequence number", number(edit.last_seq)),
        ("full history from timestamp", edit.full_history_timestamp_low.clone()),
        ("edits of the group that follow", edit.atomic_group_remaining.map(|it| it.to_string())),
        ("logs not tracked below", number(edit.wal_deletion)),
    ] {
        grid.pair_if(name, value);
    }
    for (level, key) in &edit.compact_cursors {
        grid.pair(&format!("compaction of level {level} from"), bound(key));
    }
    edit.wal_additions.iter().for_each(|wal| grid.pair("log", wal_text(wal)));
    if let Some(progress) = &edit.subcompaction_progress {
        grid.pair("entries read by the compaction", progress.input_records.to_string());
        grid.pair_if("it continues at", progress.next_key.as_ref().map(bound));
    }
    grid.print(page)?;
    if let Some(progress) = &edit.subcompaction_progress {
        print_output(page, "output level", &progress.output)?;
        print_output(page, "level above it", &progress.proximal_output)?;
    }
    for file in &edit.deleted_files {
        let text = format!("  - table {:06} of level {}", file.number, file.level);
        page.styled_line(REMOVED, text)?;
    }
    for file in &edit.new_files {
        page.styled_line(ADDED, format!("  + {}", table(file)))?;
    }
    for file in &edit.blob_file_additions {
        page.styled_line(ADDED, format!("  + {}", blob_file(file)))?;
    }
    for garbage in &edit.blob_file_garbage {
        let values = units::counted(garbage.blobs, "value");
        writeln!(
            page,
            "  garbage in {:06}.blob: {values}, {} bytes",
            garbage.number, garbage.bytes
        )?;
    }
    Ok(())
}

/// What a compaction has written to a level, if anything.
fn print_output(page: &mut Page, level: &str, output: &OutputRecord) -> io::Result<()> {
    if output.records > 0 {
        let entries = units::counted(output.records, "entry");
        writeln!(page, "  {level}: {entries} in all files so far")?;
    }
    for file in &output.new_files {
        let OutputFileRecord { number, size, smallest, largest, .. } = file;
        let range = format!("{} .. {}", bound(smallest), bound(largest));
        let text = format!("  + table {number:06} of the {level}, {size} bytes, {range}");
        page.styled_line(ADDED, text)?;
    }
    Ok(())
}

pub(super) fn print_state(page: &mut Page, state: &StateRecord) -> io::Result<()> {
    let title = format!("state after {}", units::counted(state.edits, "edit"));
    page.styled_line(HEADING, title)?;
    let mut grid = Grid::pairs();
    grid.pair_if("id of the database", state.db_id.as_ref());
    grid.pair("last sequence number", state.last_seq.to_string());
    grid.pair("next file number", state.next_file_number.to_string());
    grid.pair("smallest log to keep", state.min_log_number_to_keep.to_string());
    grid.pair("previous log number", state.prev_log_number.to_string());
    grid.pair("largest column family", state.max_column_family.to_string());
    state.wals.iter().for_each(|wal| grid.pair("log", wal_text(wal)));
    grid.print(page)?;
    for family in &state.column_families {
        page.styled_line(HEADING, format!("column family {} {}", family.id, family.name))?;
        let mut grid = Grid::pairs();
        grid.pair_if("comparator", family.comparator.as_ref());
        grid.pair("log number", family.log_number.to_string());
        grid.print(page)?;
        family.files.iter().try_for_each(|file| writeln!(page, "  {}", table(file)))?;
        family.blob_files.iter().try_for_each(|file| writeln!(page, "  {}", blob_file(file)))?;
    }
    Ok(())
}

fn table(file: &TableRecord) -> String {
    let mut text = format!(
        "table {:06} of level {}, {} bytes, {} .. {}",
        file.number,
        file.level,
        file.size,
        bound(&file.smallest),
        bound(&file.largest)
    );
    if let (Some(smallest), Some(largest)) = (file.smallest_seq, file.largest_seq) {
        text.push_str(&format!(", sequence numbers {smallest} to {largest}"));
    }
    if let Some(epoch) = file.epoch_number {
        text.push_str(&format!(", epoch {epoch}"));
    }
    if let Some(number) = file.oldest_blob_file {
        text.push_str(&format!(", oldest blob file {number:06}"));
    }
    if let Some(time) = file.file_creation_time {
        text.push_str(&format!(", created {time}"));
    }
    if let (Some(name), Some(checksum)) = (&file.file_checksum_func_name, &file.file_checksum) {
        text.push_str(&format!(", {name} {checksum}"));
    }
    if let Some(id) = &file.unique_id {
        text.push_str(&format!(", unique id {id}"));
    }
    text
}

fn bound(key: &BoundRecord) -> String {
    format!("{} @{} {}", key.key, key.seq, key.kind)
}

fn blob_file(file: &BlobFileAdditionRecord) -> String {
    let mut text = format!(
        "{:06}.blob, {}, {} bytes",
        file.number,
        units::counted(file.blobs, "value"),
        file.bytes
    );
    if file.garbage_blobs > 0 {
        let values = units::counted(file.garbage_blobs, "value");
        text.push_str(&format!("; garbage: {values}, {} bytes", file.garbage_bytes));
    }
    if let (Some(name), Some(checksum)) = (&file.file_checksum_func_name, &file.file_checksum) {
        text.push_str(&format!(", {name} {checksum}"));
    }
    text
}

fn wal_text(wal: &WalRecord) -> String {
    match wal.synced_size {
        Some(size) => format!("{:06}.log, {size} bytes synced", wal.number),
        None => format!("{:06}.log", wal.number),
    }
}
