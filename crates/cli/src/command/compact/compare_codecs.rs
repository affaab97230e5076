//! `sst compact --compression all`: the size of tables with each codec, and how fast they are written
//! and read.
//!
//! Each table is written again for each codec, entry by entry, to a temporary file of which there is
//! one at a time. This is what RocksDB's `sst_dump --command=recompress` measures.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use sstkit_inspect::{InspectedTable, names};
use sstkit_table::raw::{BlockKind, Codec, Engine, EntryKind, InternalKey};
use sstkit_table::{Table, TableOptions, TableWriter};

use super::{Args, Source};
use crate::output::{Align, Grid, Page, ProgressBar, units};
use crate::status::Status;
use crate::{database, interrupt};
use sstkit_inspect::setting_names::Compression;

/// The codecs with the levels that are worth a comparison. LZ4HC is left out: there is one encoder for
/// LZ4, and only the label would differ.
const CANDIDATES: [(Codec, Option<i32>); 9] = [
    (Codec::None, None),
    (Codec::Snappy, None),
    (Codec::Lz4, None),
    (Codec::Zlib, None),
    (Codec::Bzip2, None),
    (Codec::Zstd, Some(1)),
    (Codec::Zstd, Some(3)),
    (Codec::Zstd, Some(9)),
    (Codec::Zstd, Some(15)),
];

/// Entries between checks for Ctrl-C.
const CHECK_INTERVAL: u64 = 4096;

/// What a codec makes of the tables, as JSON.
#[derive(Serialize)]
struct CodecReport {
    codec: String,
    level: Option<i32>,
    /// Of all files.
    bytes: u64,
    /// Keys and values, uncompressed.
    raw_bytes: u64,
    blocks: u64,
    /// Blocks that were stored uncompressed because they did not become small enough are not counted.
    compressed_blocks: u64,
    write_seconds: f64,
    read_seconds: f64,
}

impl Args {
    /// Prints a line for each codec.
    pub(super) fn compare_codecs(&self) -> Result<Status> {
        ensure!(!self.output.is_given(), "--compression all writes nothing: omit -o");
        let tables = self.tables()?;
        let size: u64 = tables.iter().map(Table::size).sum();
        let candidates: Vec<(Compression, TableOptions)> = CANDIDATES
            .into_iter()
            .map(|(codec, level)| Compression { codec, level })
            .filter_map(|it| Some((it, self.write.options_for(it).ok()?)))
            .collect();
        // If none is possible, the reason concerns all of them.
        if candidates.is_empty() {
            self.write.options_for(Compression { codec: Codec::None, level: None })?;
        }
        let folder = tempfile::tempdir().context("a directory for temporary files")?;
        let path = folder.path().join("table");
        interrupt::listen();
        let measure = || -> Result<Vec<CodecReport>> {
            let progress = ProgressBar::bytes("compressing", Some(size * candidates.len() as u64));
            let mut reports = Vec::new();
            for (compression, options) in &candidates {
                let mut report = CodecReport::new(*compression);
                for table in &tables {
                    report.add(table, options, &path)?;
                    progress.add(table.size());
                }
                reports.push(report);
            }
            Ok(reports)
        };
        let measured = measure();
        drop(folder);
        let reports = interrupt::outcome(measured)?;
        interrupt::done();
        let mut page = Page::stdout();
        match self.format.is_json() {
            true => reports.iter().try_for_each(|report| page.json(report))?,
            false => print(&mut page, &reports)?,
        }
        page.finish()?;
        Ok(Status::Fine)
    }

    /// All tables of the inputs.
    fn tables(&self) -> Result<Vec<Table>> {
        let mut tables = Vec::new();
        for path in &self.paths {
            match self.open(path)? {
                Source::Table(table) => tables.push(table),
                Source::Database(database) => {
                    let family = database::column_family(&database, self.database.name())?;
                    for file in family.levels().into_iter().flat_map(|level| level.files) {
                        tables.push(file.open()?);
                    }
                }
            }
        }
        ensure!(!tables.is_empty(), "there are no tables to compress");
        Ok(tables)
    }
}

impl CodecReport {
    fn new(compression: Compression) -> Self {
        Self {
            codec: names::codec(Engine::RocksDb, compression.codec as u8),
            level: compression.level,
            bytes: 0,
            raw_bytes: 0,
            blocks: 0,
            compressed_blocks: 0,
            write_seconds: 0.0,
            read_seconds: 0.0,
        }
    }

    /// Writes a table with these options, and reads it again.
    fn add(&mut self, table: &Table, options: &TableOptions, path: &Path) -> Result<()> {
        let order = table.comparator()?.clone();
        let options = options.clone().comparator(order).external_file(false).threads(1);
        let start = Instant::now();
        self.raw_bytes += write(table, &options, path)?;
        self.write_seconds += start.elapsed().as_secs_f64();
        let written = InspectedTable::of_table(Table::open(path)?, path);
        let start = Instant::now();
        let mut cursor = written.table().entry_cursor();
        let mut more = cursor.seek_to_first()?;
        while more {
            more = cursor.next()?;
        }
        self.read_seconds += start.elapsed().as_secs_f64();
        self.bytes += written.table().size();
        for (_, handle) in
            written.block_handles()?.into_iter().filter(|(kind, _)| *kind == BlockKind::Data)
        {
            let codec = written.trailer(handle)?.map(|trailer| trailer.codec);
            self.blocks += 1;
            self.compressed_blocks +=
                u64::from(codec.is_some_and(|codec| codec != Codec::None as u8));
        }
        Ok(())
    }

    fn name(&self) -> String {
        match self.level {
            Some(level) => format!("{}:{level}", self.codec),
            None => self.codec.clone(),
        }
    }

    /// Bytes of keys and values per second.
    fn rate(&self, seconds: f64) -> String {
        match Duration::try_from_secs_f64(seconds) {
            Ok(time) if !time.is_zero() => {
                format!("{}/s", units::size((self.raw_bytes as f64 / seconds) as u64))
            }
            _ => String::new(),
        }
    }
}

/// Writes the entries of a table as they are, and returns the bytes of their keys and values.
fn write(table: &Table, options: &TableOptions, path: &Path) -> Result<u64> {
    let mut writer = TableWriter::create(path, options)?;
    let (mut raw_bytes, mut count) = (0, 0u64);
    let mut cursor = table.entry_cursor();
    let mut more = cursor.seek_to_first()?;
    while more {
        writer.add(&cursor.key(), cursor.value())?;
        raw_bytes += (cursor.user_key().len() + cursor.value().len()) as u64;
        count += 1;
        if count.is_multiple_of(CHECK_INTERVAL) {
            interrupt::check()?;
        }
        more = cursor.next()?;
    }
    for tombstone in table.range_deletions() {
        let user_key = [&tombstone.start[..], &tombstone.timestamp].concat();
        let end = [&tombstone.end[..], &tombstone.timestamp].concat();
        let (sequence, kind) = (tombstone.sequence, EntryKind::RangeDeletion);
        writer.add(&InternalKey { user_key: &user_key, sequence, kind }, &end)?;
    }
    writer.finish()?;
    Ok(raw_bytes)
}

fn print(page: &mut Page, reports: &[CodecReport]) -> std::io::Result<()> {
    let uncompressed = reports.iter().find(|it| it.codec == "none").map(|it| it.bytes);
    let mut grid = Grid::new(&[
        ("compression", Align::Left),
        ("size", Align::Right),
        ("of none", Align::Right),
        ("compressed blocks", Align::Right),
        ("write", Align::Right),
        ("read", Align::Right),
    ]);
    for report in reports {
        let share = uncompressed.map(|all| report.bytes as f64 / all.max(1) as f64);
        grid.row([
            report.name(),
            units::size(report.bytes),
            share.map(units::percent).unwrap_or_default(),
            format!(
                "{} of {}",
                units::count(report.compressed_blocks),
                units::count(report.blocks)
            ),
            report.rate(report.write_seconds),
            report.rate(report.read_seconds),
        ]);
    }
    grid.print(page)
}
