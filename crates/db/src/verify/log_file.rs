//! A file in the format of logs, read record by record: a write-ahead log or a MANIFEST.
//!
//! The end of one may be torn. The engines tolerate it, so it is a note and not a problem.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use sstkit_table::raw::Engine;

use super::report::{FileVerification, VerifyProblem};
use crate::error::{Error, ErrorKind, Result};
use crate::file_kind::FileKind;
use crate::file_system::{self, OpenedFile};
use crate::raw::{
    FileName, LogEvent, LogLimit, LogProblem, LogProblemKind, LogReader, LogRecord, Reaction,
    RecoveryMode,
};

/// Opens a file up to its current size: a running engine may append to it.
pub(super) fn open(path: &Path) -> Result<BufReader<io::Take<OpenedFile>>> {
    let file = file_system::open(path)?;
    let size = file.size()?;
    Ok(BufReader::new(file.take(size)))
}

/// The number in the name of a log. For a file with another name, the number in its first record, if
/// that is a recyclable one.
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

/// A write-ahead log or MANIFEST on its own: its records in order, and the verdict about it.
///
/// ```no_run
/// use sstkit_db::{FileKind, LogFile, LogStep};
/// use sstkit_table::raw::Engine;
///
/// let mut log = LogFile::open("000012.log".as_ref(), FileKind::Log, Engine::RocksDb, None)?;
/// while let Some(step) = log.advance()? {
///     match step {
///         LogStep::Record => println!("{}: {} bytes", log.record().offset, log.record().payload.len()),
///         LogStep::Problem(problem) => println!("{}: {}", problem.offset, problem.kind),
///         _ => {}
///     }
/// }
/// println!("{:?}", log.finish().status);
/// # Ok::<(), sstkit_db::Error>(())
/// ```
pub struct LogFile {
    reader: LogReader<BufReader<io::Take<OpenedFile>>>,
    limit: LogLimit,
    /// The bytes of all records so far.
    expanded: u64,
    is_manifest: bool,
    end: LogEnd,
    report: FileVerification,
}

sstkit_coding::debug_opaque!(LogFile);

/// What comes next in a [`LogFile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogStep {
    /// A record: see [`LogFile::record`].
    Record,
    /// A problem. Reading can continue after it.
    Problem(LogProblem),
}

impl LogFile {
    /// Opens a log, a MANIFEST or another log of edits up to its current size. `max_log_memory` limits the bytes that the
    /// records of a log may expand to: see [`verify_file`](crate::verify_file).
    pub fn open(
        path: &Path,
        kind: FileKind,
        engine: Engine,
        max_log_memory: Option<u64>,
    ) -> Result<Self> {
        let is_manifest = kind != FileKind::Log;
        let number = if is_manifest { 0 } else { log_number(path)? };
        Ok(Self {
            reader: LogReader::new(open(path)?, engine, number),
            limit: LogLimit::new(max_log_memory),
            expanded: 0,
            is_manifest,
            end: LogEnd { path: path.to_owned(), pending: None },
            report: FileVerification::new(path, kind),
        })
    }

    /// The next record or problem; `None` at the end. An error means that reading failed, or that
    /// the records are too large.
    pub fn advance(&mut self) -> Result<Option<LogStep>> {
        let offset = self.reader.offset();
        if !self.is_manifest {
            self.reader.set_max_record_size(self.limit.after(offset).saturating_sub(self.expanded));
        }
        let next = self.reader.next_record().map_err(|error| match error.kind() {
            ErrorKind::Unsupported if !self.is_manifest => self.limit.exceeded(offset),
            _ => error,
        })?;
        match next {
            None => Ok(None),
            Some(LogEvent::Record(record)) => {
                self.expanded += record.payload.len() as u64;
                self.end.refute(&mut self.report);
                Ok(Some(LogStep::Record))
            }
            Some(LogEvent::Problem(problem)) => {
                let is_recycled = !self.is_manifest && self.reader.is_recycled();
                self.end.problem(problem, is_recycled, &mut self.report);
                if !self.is_manifest && self.reader.has_record_behind(&problem) {
                    self.end.refute(&mut self.report);
                }
                Ok(Some(LogStep::Problem(problem)))
            }
        }
    }

    /// The last record.
    pub fn record(&self) -> LogRecord<'_> {
        self.reader.last_record()
    }

    /// The reader, for what it knows besides records: compression, timestamp sizes, the log before.
    pub fn reader(&self) -> &LogReader<BufReader<io::Take<OpenedFile>>> {
        &self.reader
    }

    /// Adds a problem of a record.
    pub fn add_problem(&mut self, problem: impl Into<VerifyProblem>) {
        self.report.add(problem);
    }

    /// Reads all records. An error of `see` is a problem of the record.
    pub(super) fn verify_records(&mut self, mut see: impl FnMut(LogRecord<'_>) -> Result<()>) {
        loop {
            let problem = match self.advance() {
                Ok(None) => return,
                Ok(Some(LogStep::Problem(_))) => continue,
                Ok(Some(LogStep::Record)) => match see(self.record()) {
                    Ok(()) => continue,
                    Err(error) => error.at_offset(self.record().offset),
                },
                Err(error) => {
                    self.add_problem(&error.in_file(&self.end.path));
                    return;
                }
            };
            self.add_problem(&problem.in_file(&self.end.path));
        }
    }

    /// What verification found, after all records have been read.
    pub fn finish(mut self) -> FileVerification {
        self.end.note(&mut self.report);
        self.report
    }
}

/// Where the valid part of a log or MANIFEST seems to end, until a valid record behind it proves
/// otherwise. Stale bytes of a recycled log have the number of another log, so no record in them is
/// valid in this one.
struct LogEnd {
    path: PathBuf,
    /// The first problem that the engines take for the end.
    pending: Option<LogProblem>,
}

impl LogEnd {
    /// A problem is either damage or, as far as is known, the end.
    fn problem(&mut self, problem: LogProblem, is_recycled: bool, report: &mut FileVerification) {
        let reaction = RecoveryMode::TolerateCorruptedTailRecords.react(&problem, is_recycled);
        if reaction == Reaction::End {
            self.pending.get_or_insert(problem);
        } else {
            self.refute(report);
            report.add(&Error::from(problem).in_file(&self.path));
        }
    }

    /// Something valid follows: the supposed end is damage.
    fn refute(&mut self, report: &mut FileVerification) {
        if let Some(problem) = self.pending.take() {
            report.add(&Error::from(problem).in_file(&self.path));
        }
    }

    /// Nothing valid follows. Sound recycled logs also end in a stale record.
    fn note(&mut self, report: &mut FileVerification) {
        let Some(LogProblem { kind, offset, .. }) = self.pending.take() else { return };
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
