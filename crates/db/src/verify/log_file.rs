//! Verifying files in the format of logs: write-ahead logs and MANIFESTs.
//!
//! The end of one may be torn. The engines tolerate it, so it is a note and not a problem.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use sstkit_table::raw::{BlobIndex, Engine, EntryKind, decode_wide_columns};

use super::report::FileVerification;
use crate::error::{Error, ErrorKind, Result};
use crate::raw::{
    FileName, LogEvent, LogLimit, LogProblem, LogProblemKind, LogReader, ManifestState, Reaction,
    RecoveryMode, WriteBatch, WriteRecord,
};
use crate::regular_file;

/// Opens a file up to its current size: a running engine may append to it.
fn open(path: &Path) -> Result<BufReader<io::Take<File>>> {
    let file = regular_file::open(path)?;
    let size = file.metadata()?.len();
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

/// Verifies all records of a write-ahead log and the write batches in them. Returns the smallest and
/// largest sequence number.
pub(super) fn verify_log(
    path: &Path,
    engine: Engine,
    limit: LogLimit,
    report: &mut FileVerification,
) -> Option<(u64, u64)> {
    let mut sequences: Option<(u64, u64)> = None;
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
                    let verified = verify_batch(record.payload, engine, report, &mut sequences);
                    if let Err(error) = verified {
                        report.add(&error.at_offset(record.offset).in_file(path));
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
        report.add(&error.in_file(path));
    }
    sequences
}

fn verify_batch(
    payload: &[u8],
    engine: Engine,
    report: &mut FileVerification,
    sequences: &mut Option<(u64, u64)>,
) -> Result<()> {
    let batch = WriteBatch::decode_from(payload, engine)?;
    if let Some(further) = u64::from(batch.count()).checked_sub(1) {
        let (first, last) = (batch.sequence(), batch.sequence().saturating_add(further));
        let (smallest, largest) = sequences.unwrap_or((first, last));
        *sequences = Some((smallest.min(first), largest.max(last)));
    }
    let mut verified = Ok(());
    for record in batch.records() {
        let WriteRecord::Write(write) = record else { continue };
        report.entries += 1;
        if verified.is_ok() {
            verified = match write.kind {
                EntryKind::BlobIndex => BlobIndex::decode_from(write.value).map(drop),
                EntryKind::WideColumnEntity => decode_wide_columns(write.value).map(drop),
                _ => Ok(()),
            };
        }
    }
    verified
}

/// Verifies all records of a MANIFEST and the edits in them. Returns the state that they add up to,
/// if they do.
pub(super) fn verify_manifest(
    path: &Path,
    engine: Engine,
    report: &mut FileVerification,
) -> Option<ManifestState> {
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
        Ok(())
    };
    if let Err(error) = read() {
        report.add(&error.in_file(path));
    }
    match open(path).and_then(|file| ManifestState::replay(file, engine)) {
        Ok(state) => Some(state),
        Err(error) => {
            // Damage to records has been reported already.
            if report.is_sound() {
                report.add(&error.in_file(path));
            }
            None
        }
    }
}

/// Where the valid part of a log or MANIFEST seems to end, until a valid record behind it proves
/// otherwise. Stale bytes of a recycled log have the number of another log, so no record in them is
/// valid in this one.
struct LogEnd<'p> {
    path: &'p Path,
    /// The first problem that the engines take for the end.
    pending: Option<LogProblem>,
}

impl<'p> LogEnd<'p> {
    fn new(path: &'p Path) -> Self {
        Self { path, pending: None }
    }

    /// A problem is either damage or, as far as is known, the end.
    fn problem(&mut self, problem: LogProblem, is_recycled: bool, report: &mut FileVerification) {
        let reaction = RecoveryMode::TolerateCorruptedTailRecords.react(&problem, is_recycled);
        if reaction == Reaction::End {
            self.pending.get_or_insert(problem);
        } else {
            self.refute(report);
            report.add(&Error::from(problem).in_file(self.path));
        }
    }

    /// Something valid follows: the supposed end is damage.
    fn refute(&mut self, report: &mut FileVerification) {
        if let Some(problem) = self.pending.take() {
            report.add(&Error::from(problem).in_file(self.path));
        }
    }

    /// Nothing valid follows. Sound recycled logs also end in a stale record.
    fn note(self, report: &mut FileVerification) {
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
