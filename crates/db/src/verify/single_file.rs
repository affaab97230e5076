//! Verifying one file of a database on its own.
//!
//! | file | what is checked |
//! |---|---|
//! | log | checksums of all records, write batches, and values with an encoding of their own |
//! | MANIFEST | checksums of all records, version edits, and the state they add up to |
//! | CURRENT | names a MANIFEST that exists |
//! | OPTIONS | has the sections of an OPTIONS file |
//! | IDENTITY | is a line of text |
//! | blob file | header, footer, checksums of all records, and their number |

use std::io;
use std::path::Path;

use sstkit_table::raw::{BlockKind, Engine};
use sstkit_table::{Comparator, Table, TableReadOptions, VerifyOptions, VerifyProgress};

use super::log_contents::{LogContents, verify_edits, verify_log, verify_manifest};
use super::report::{FileVerification, VerifyProblem, VerifyStatus};
use super::threads;
use crate::error::Result;
use crate::file_kind::FileKind;
use crate::file_system;
use crate::raw::{BlobFile, FileName, ManifestState, OptionsFile, parse_current};
use crate::table_order::{OrderSource, common_orders, open_table};

/// The largest CURRENT and IDENTITY files that are read, and the largest OPTIONS file.
const MAX_LINE: u64 = 4 << 10;
const MAX_OPTIONS: u64 = 16 << 20;

/// The contents that verification found in a file, if it could be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileContents {
    /// A log.
    Log(Box<LogContents>),
    /// A MANIFEST: the state that its edits add up to.
    Manifest(Box<ManifestState>),
    /// CURRENT: the number of the MANIFEST that it names.
    Current(u64),
    /// An OPTIONS file.
    Options(OptionsFile),
    /// IDENTITY: the id of the database.
    Identity(Vec<u8>),
}

/// Verifies a file of a database that is not a table, and returns what is in it. Tables have
/// [`verify_table`].
///
/// `max_log_memory` limits the bytes that a log may expand to; `None` for the default of
/// [`max_log_memory`](crate::DatabaseOptions::max_log_memory).
pub fn verify_file(
    path: &Path,
    kind: FileKind,
    max_log_memory: Option<u64>,
) -> (FileVerification, Option<FileContents>) {
    let mut report = FileVerification::new(path, kind);
    let unsupported = |what: &str| {
        let message = format!("{}: {what}", path.display());
        VerifyProblem::new(VerifyStatus::Unsupported, message)
    };
    let contents = match kind {
        FileKind::Log => {
            return of_either_engine(path, &report, |engine, report| {
                let contents = verify_log(path, engine, max_log_memory, report);
                Some(FileContents::Log(Box::new(contents)))
            });
        }
        FileKind::Manifest => {
            return of_either_engine(path, &report, |engine, report| {
                let state = verify_manifest(path, engine, report)?;
                Some(FileContents::Manifest(Box::new(state)))
            });
        }
        FileKind::CompactionProgress => {
            verify_edits(path, kind, Engine::RocksDb, &mut report);
            Ok(None)
        }
        FileKind::Current => current(path, &mut report),
        FileKind::Options => options(path, &mut report),
        FileKind::Identity => identity(path, &mut report),
        FileKind::BlobFile => verify_blobs(path, None).map(|(entries, _)| {
            report.entries = entries;
            None
        }),
        FileKind::InfoLog | FileKind::Other => {
            let note = "not verified: this kind of file has no contents to verify";
            report.note(format!("{}: {note}", path.display()));
            Ok(None)
        }
        FileKind::Table => {
            report.add(unsupported("this is a table"));
            Ok(None)
        }
        FileKind::Unknown | FileKind::Database | FileKind::BackupMeta => {
            report.add(unsupported("not a table or another database file"));
            Ok(None)
        }
    };
    let contents = contents.unwrap_or_else(|error| {
        report.add(&error.in_file(path));
        None
    });
    (report, contents)
}

/// Verifies a file whose format depends on the engine: with the engine that its folder belongs to, or
/// else with the one that finds fewer problems.
fn of_either_engine(
    path: &Path,
    empty: &FileVerification,
    verify: impl Fn(Engine, &mut FileVerification) -> Option<FileContents>,
) -> (FileVerification, Option<FileContents>) {
    let verify = |engine| {
        let mut report = empty.clone();
        let contents = verify(engine, &mut report);
        (report, contents)
    };
    if is_in_rocksdb_folder(path) {
        return verify(Engine::RocksDb);
    }
    let leveldb = verify(Engine::LevelDb);
    if leveldb.0.is_sound() {
        return leveldb;
    }
    let rocksdb = verify(Engine::RocksDb);
    if rocksdb.0.problem_count < leveldb.0.problem_count { rocksdb } else { leveldb }
}

/// Whether the folder has files that only RocksDB has.
fn is_in_rocksdb_folder(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let names = file_system::list(folder.unwrap_or(Path::new(".")));
    names.unwrap_or_default().iter().any(|name| {
        let name = name.to_str().map_or(FileName::Other, FileName::parse);
        matches!(name, FileName::Options(_) | FileName::Identity | FileName::Blob(_))
    })
}

/// The whole file, unless it is larger than files of its kind are.
fn read_whole(path: &Path, limit: u64, report: &mut FileVerification) -> Result<Option<Vec<u8>>> {
    let contents = file_system::read(path, limit)?;
    if contents.is_none() {
        report.damaged(path, format_args!("larger than {limit} bytes"));
    }
    Ok(contents)
}

fn current(path: &Path, report: &mut FileVerification) -> Result<Option<FileContents>> {
    let Some(contents) = read_whole(path, MAX_LINE, report)? else { return Ok(None) };
    let number = parse_current(&contents)?;
    let name = FileName::Manifest(number).to_string();
    let manifest = file_system::status(&path.with_file_name(&name));
    if manifest.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        report.damaged(path, format_args!("{name} does not exist"));
    }
    Ok(Some(FileContents::Current(number)))
}

fn options(path: &Path, report: &mut FileVerification) -> Result<Option<FileContents>> {
    let Some(contents) = read_whole(path, MAX_OPTIONS, report)? else { return Ok(None) };
    OptionsFile::parse(&String::from_utf8_lossy(&contents)).map(FileContents::Options).map(Some)
}

fn identity(path: &Path, report: &mut FileVerification) -> Result<Option<FileContents>> {
    let Some(contents) = read_whole(path, MAX_LINE, report)? else { return Ok(None) };
    let id = contents.trim_ascii();
    if id.is_empty() || !id.iter().all(u8::is_ascii_graphic) {
        report.damaged(path, "not a database id (expected one line of text)");
    }
    Ok(Some(FileContents::Identity(id.to_vec())))
}

/// Reads all values of a blob file. Returns their number and the bytes of their records. Without a
/// column family, the one that the file names is right.
pub(crate) fn verify_blobs(path: &Path, column_family: Option<u32>) -> Result<(u64, u64)> {
    let file = file_system::open(path)?.into_source();
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

/// Opens and verifies a table.
///
/// LevelDB's tables do not name their order: it is that of the MANIFEST beside them. Without one, if a
/// table has problems and no order was given, its keys may be in another order: of those with a name
/// here the one with the fewest problems counts, and a note says which one was assumed. If only the
/// order of the keys is wrong in all of them, the table has another one and is not supported without it.
#[cfg(any(unix, windows))]
pub fn verify_table(
    path: &Path,
    options: &TableReadOptions,
    progress: &VerifyProgress,
) -> sstkit_table::Result<FileVerification> {
    let how = VerifyOptions::default().threads(threads()).progress(progress);
    let verify = |table: &Table| FileVerification::of_table(path, &table.verify_with(&how));
    let (table, source) = open_table(path, options)?;
    let mut report = verify(&table);
    if let OrderSource::Manifest(name) = &source
        && *name != Comparator::Bytewise.name()
    {
        report.note(format!("in the order of the comparator {name:?} that the MANIFEST names"));
    }
    if report.is_sound() || source != OrderSource::Assumed {
        return Ok(report);
    }
    let mut assumed = Comparator::Bytewise;
    for other in common_orders().skip(1) {
        let options = options.clone().comparator(other.clone());
        let Ok(table) = file_system::open_table(path, &options) else { continue };
        let in_other = verify(&table);
        if in_other.problem_count < report.problem_count {
            (report, assumed) = (in_other, other);
        }
    }
    let is_about_filter = |problem: &VerifyProblem| problem.block == Some(BlockKind::Filter);
    if !report.is_sound() && !report.problems.iter().any(is_about_filter) {
        let unordered = options.clone().unknown_order("a custom comparator");
        let unordered = file_system::open_table(path, &unordered).map(|table| verify(&table));
        if let Ok(mut unordered) = unordered
            && unordered.is_sound()
        {
            let message = "unknown comparator (use --comparator)";
            let problem = VerifyProblem::new(VerifyStatus::Unsupported, message);
            unordered.add(problem.prefixed(path.display()));
            return Ok(unordered);
        }
    }
    report.note(format!(
        "the table names no comparator; assuming {} (use --comparator to choose another)",
        assumed.name()
    ));
    Ok(report)
}
