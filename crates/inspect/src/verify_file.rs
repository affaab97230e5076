//! The files of a database that are no tables, each verified as what it is.
//!
//! | file | what is checked |
//! |---|---|
//! | log | checksums of all records, write batches, and values that have a form of their own |
//! | MANIFEST | checksums of all records, version edits, and what they add up to |
//! | CURRENT | names a MANIFEST, which is there |
//! | OPTIONS | has the sections of an OPTIONS file |
//! | IDENTITY | is a line of text |
//! | blob file | header, footer, checksums of all records, and their number |
//!
//! The end of a log or MANIFEST may be torn: the engines tolerate it, so it is a note.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use sstkit_db::raw::{
    BlobFile, FileName, LogEvent, LogLimit, LogProblem, LogProblemKind, LogReader, ManifestState,
    OptionsFile, Reaction, RecoveryMode, WriteBatch, WriteRecord, parse_current,
};
use sstkit_db::{Error, ErrorKind, Result};
use sstkit_table::raw::{BlobIndex, Engine, EntryKind, decode_wide_columns, regular_file};

use crate::file_kind::FileKind;
use crate::verify::{Problem, VerifyReport, VerifyStatus};

/// The largest files that are read whole: CURRENT and IDENTITY, OPTIONS.
const MAX_LINE: u64 = 4 << 10;
const MAX_OPTIONS: u64 = 16 << 20;

/// Verifies a file of a database. Tables have [`VerifyReport::of_table`].
///
/// `max_log_memory` is how many bytes a log may expand to; `None` for the default of
/// [`max_log_memory`](sstkit_db::DatabaseOptions::max_log_memory).
pub fn verify_file(path: &Path, kind: FileKind, max_log_memory: Option<u64>) -> VerifyReport {
    let mut report = VerifyReport::new(path.display().to_string(), kind.name());
    let checked = match kind {
        FileKind::Log => {
            report = of_either_engine(path, report, |path, engine, report| {
                log(path, engine, LogLimit::new(max_log_memory), report);
            });
            Ok(())
        }
        FileKind::Manifest => {
            report = of_either_engine(path, report, manifest);
            Ok(())
        }
        FileKind::Current => current(path, &mut report),
        FileKind::Options => options(path, &mut report),
        FileKind::Identity => identity(path, &mut report),
        FileKind::BlobFile => blob_file(path, None).map(|(entries, _)| report.entries = entries),
        FileKind::Unknown => {
            let what = "not a table or another database file";
            let message = format!("{}: {what}", path.display());
            report.add(Problem::with_status(message, VerifyStatus::Unsupported));
            Ok(())
        }
        FileKind::InfoLog | FileKind::Other => {
            let note = "not verified: this kind of file has no contents to verify";
            report.note(format!("{}: {note}", path.display()));
            Ok(())
        }
        FileKind::Table => {
            let message = format!("{}: this is a table", path.display());
            report.add(Problem::with_status(message, VerifyStatus::Unsupported));
            Ok(())
        }
    };
    if let Err(error) = checked {
        report.add(Problem::from(&error.in_file(path)));
    }
    report
}

/// Checks a file whose form depends on the engine: the one that its folder tells of, or else the
/// one that finds less wrong.
fn of_either_engine(
    path: &Path,
    report: VerifyReport,
    check: impl Fn(&Path, Engine, &mut VerifyReport),
) -> VerifyReport {
    let as_of = |engine| {
        let mut report = report.clone();
        check(path, engine, &mut report);
        report
    };
    if is_in_rocksdb_folder(path) {
        return as_of(Engine::RocksDb);
    }
    let leveldb = as_of(Engine::LevelDb);
    if leveldb.sound {
        return leveldb;
    }
    let rocksdb = as_of(Engine::RocksDb);
    if rocksdb.problem_count < leveldb.problem_count { rocksdb } else { leveldb }
}

/// Only RocksDB has files of some kinds.
fn is_in_rocksdb_folder(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_str().map_or(FileName::Other, FileName::parse);
        matches!(name, FileName::Options(_) | FileName::Identity | FileName::Blob(_))
    })
}

/// Up to its size right now: a running engine may go on writing.
fn open(path: &Path) -> Result<BufReader<io::Take<File>>> {
    let file = regular_file::open(path)?;
    let size = file.metadata()?.len();
    Ok(BufReader::new(file.take(size)))
}

/// A write-ahead log: all records and the batches in them.
pub(crate) fn log(path: &Path, engine: Engine, limit: LogLimit, report: &mut VerifyReport) {
    let mut read = || -> Result<()> {
        let mut reader = LogReader::new(open(path)?, engine, log_number(path)?);
        let mut end = LogEnd::new(path);
        let mut expanded = 0;
        loop {
            let left = limit.after(reader.offset()).saturating_sub(expanded);
            reader.set_max_record_size(left);
            let offset = reader.offset();
            let event = reader.next_record().map_err(|error| match error.kind() {
                ErrorKind::Unsupported => limit.exceeded(offset),
                _ => error,
            })?;
            match event {
                None => {
                    end.note(report);
                    return Ok(());
                }
                Some(LogEvent::Record(record)) => {
                    end.refute(report);
                    expanded += record.payload.len() as u64;
                    if let Err(error) = batch(record.payload, engine, report) {
                        let error = error.at_offset(record.offset).in_file(path);
                        report.add(Problem::from(&error));
                    }
                }
                Some(LogEvent::Problem(problem)) => {
                    end.problem(problem, reader.is_recycled(), report);
                    if reader.has_record_behind(&problem) {
                        end.refute(report);
                    }
                }
            }
        }
    };
    if let Err(error) = read() {
        report.add(Problem::from(&error.in_file(path)));
    }
}

/// Where the valid part of a log or MANIFEST seems to end, until a valid record behind it proves the
/// opposite. Stale bytes of a recycled log carry the number of another log, so nothing in them is a
/// valid record of this one.
struct LogEnd<'p> {
    path: &'p Path,
    /// The first problem that the engines take for the end.
    pending: Option<LogProblem>,
}

impl<'p> LogEnd<'p> {
    fn new(path: &'p Path) -> Self {
        Self { path, pending: None }
    }

    /// A problem is the end, as far as is known, or damage.
    fn problem(&mut self, problem: LogProblem, is_recycled: bool, report: &mut VerifyReport) {
        let reaction = RecoveryMode::TolerateCorruptedTailRecords.react(&problem, is_recycled);
        if reaction == Reaction::End {
            self.pending.get_or_insert(problem);
        } else {
            self.refute(report);
            report.add(Problem::from(&Error::from(problem).in_file(self.path)));
        }
    }

    /// Something valid follows: what was taken for the end is damage.
    fn refute(&mut self, report: &mut VerifyReport) {
        if let Some(problem) = self.pending.take() {
            report.add(Problem::from(&Error::from(problem).in_file(self.path)));
        }
    }

    /// Nothing valid follows. Recycled logs that are whole end in a stale record, too.
    fn note(self, report: &mut VerifyReport) {
        let Some(LogProblem { kind, offset, .. }) = self.pending else { return };
        let path = self.path.display();
        if kind.is_torn_tail() {
            report
                .note(format!("{path}: torn tail at offset {offset}: {kind}; the rest is ignored"));
        } else if kind != LogProblemKind::StaleRecord {
            report.note(format!(
                "{path}: ends at offset {offset}: {kind}; no valid records of this log follow"
            ));
        }
    }
}

fn batch(payload: &[u8], engine: Engine, report: &mut VerifyReport) -> Result<()> {
    let batch = WriteBatch::decode_from(payload, engine)?;
    let mut checked = Ok(());
    for record in batch.records() {
        let WriteRecord::Write(write) = record else { continue };
        report.entries += 1;
        if checked.is_ok() {
            checked = value(write.kind, write.value);
        }
    }
    Ok(checked?)
}

/// Values that have a form of their own.
fn value(kind: EntryKind, value: &[u8]) -> sstkit_table::Result<()> {
    match kind {
        EntryKind::BlobIndex => BlobIndex::decode_from(value).map(drop),
        EntryKind::WideColumnEntity => decode_wide_columns(value).map(drop),
        _ => Ok(()),
    }
}

/// The number in the name of a log; of a file with another name, the one that its first record
/// repeats if it is a recyclable one.
pub(crate) fn log_number(path: &Path) -> Result<u64> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if let FileName::Log(number) = FileName::parse(name) {
        return Ok(number);
    }
    let mut header = Vec::new();
    open(path)?.take(11).read_to_end(&mut header)?;
    Ok(match header[..] {
        [_, _, _, _, _, _, 5..=8 | 11 | 131, a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        _ => 0,
    })
}

/// A MANIFEST: all records, the edits in them, and what they add up to.
pub(crate) fn manifest(path: &Path, engine: Engine, report: &mut VerifyReport) {
    let mut read = || -> Result<()> {
        let mut reader = LogReader::new(open(path)?, engine, 0);
        let mut end = LogEnd::new(path);
        while let Some(event) = reader.next_record()? {
            match event {
                LogEvent::Record(_) => {
                    end.refute(report);
                    report.entries += 1;
                }
                LogEvent::Problem(problem) => end.problem(problem, false, report),
            }
        }
        end.note(report);
        // Damage has been reported already.
        if report.sound {
            ManifestState::replay(open(path)?, engine)?;
        }
        Ok(())
    };
    if let Err(error) = read() {
        report.add(Problem::from(&error.in_file(path)));
    }
}

/// All of a file, unless it is larger than files of its kind are.
fn read_whole(path: &Path, limit: u64, report: &mut VerifyReport) -> Result<Option<Vec<u8>>> {
    let mut contents = Vec::new();
    regular_file::open(path)?.take(limit + 1).read_to_end(&mut contents)?;
    if contents.len() as u64 > limit {
        let message = format!("{}: larger than {limit} bytes", path.display());
        report.add(Problem::of_file(message));
        return Ok(None);
    }
    Ok(Some(contents))
}

fn current(path: &Path, report: &mut VerifyReport) -> Result<()> {
    let Some(contents) = read_whole(path, MAX_LINE, report)? else { return Ok(()) };
    let name = FileName::Manifest(parse_current(&contents)?).to_string();
    let manifest = fs::metadata(path.with_file_name(&name));
    if manifest.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        let message = format!("{}: {name} does not exist", path.display());
        report.add(Problem::of_file(message));
    }
    Ok(())
}

fn options(path: &Path, report: &mut VerifyReport) -> Result<()> {
    let Some(contents) = read_whole(path, MAX_OPTIONS, report)? else { return Ok(()) };
    OptionsFile::parse(&String::from_utf8_lossy(&contents)).map(drop)
}

fn identity(path: &Path, report: &mut VerifyReport) -> Result<()> {
    let Some(contents) = read_whole(path, MAX_LINE, report)? else { return Ok(()) };
    let id = contents.trim_ascii();
    if id.is_empty() || !id.iter().all(u8::is_ascii_graphic) {
        let message = format!("{}: not a database id (expected one line of text)", path.display());
        report.add(Problem::of_file(message));
    }
    Ok(())
}

/// Reads all values of a blob file; how many there are, and the bytes of their records. Of one that is given alone, the file itself
/// says which column family it belongs to.
pub(crate) fn blob_file(path: &Path, column_family: Option<u32>) -> Result<(u64, u64)> {
    let file = regular_file::open(path)?;
    let blobs = match column_family {
        Some(column_family) => BlobFile::open(file, column_family)?,
        None => BlobFile::open_any(file)?,
    };
    let mut entries = 0;
    for record in blobs.records() {
        record?;
        entries += 1;
    }
    Ok((entries, blobs.record_bytes()))
}
