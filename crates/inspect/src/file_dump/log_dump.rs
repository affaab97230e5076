//! Dumps a write-ahead log, and scans its writes.

use std::io;
use std::path::Path;

use sstkit_db::raw::WriteBatch;
use sstkit_db::{FileKind, LogFile, LogStep};
use sstkit_table::raw::Engine;

use super::batch_record::{BatchOperation, BatchRecord, LogSettings};
use super::{FileDumpOptions, FileRecord, Visitor};
use crate::record::JsonRecord;
use crate::verify::VerifyReport;

/// RocksDB's dialect contains LevelDB's.
const DIALECT: Engine = Engine::RocksDb;

pub(super) fn dump_log(
    path: &Path,
    options: &FileDumpOptions,
    visit: Visitor<'_>,
) -> io::Result<VerifyReport> {
    let mut log = match LogFile::open(path, FileKind::Log, DIALECT, options.max_log_memory) {
        Ok(log) => log,
        Err(error) => {
            let error = error.in_file(path);
            visit(&FileRecord::Problem((&error).into()))?;
            return Ok(VerifyReport::of_error(path.display().to_string(), "log", &error));
        }
    };
    let mut settings = LogSettings::default();
    loop {
        let step = match log.advance() {
            Ok(Some(step)) => step,
            Ok(None) => break,
            Err(error) => {
                let error = error.in_file(path);
                visit(&FileRecord::Problem((&error).into()))?;
                log.add_problem(&error);
                break;
            }
        };
        let now = settings_of(&log);
        if now != settings {
            visit(&FileRecord::LogSettings(now.clone()))?;
            settings = now;
        }
        if let LogStep::Problem(problem) = step {
            visit(&FileRecord::Problem(problem.into()))?;
            continue;
        }
        let record = log.record();
        let (sizes, encoding) = (&settings.timestamp_sizes, options.encoding);
        match WriteBatch::decode_from(record.payload, DIALECT) {
            Ok(batch) => {
                visit(&FileRecord::Batch(BatchRecord::of(&record, batch, sizes, encoding)))?;
            }
            Err(error) => {
                let error = error.at_offset(record.offset).in_file(path);
                visit(&FileRecord::Problem((&error).into()))?;
                log.add_problem(&error);
            }
        }
    }
    Ok(log.finish().into())
}

fn settings_of(log: &LogFile) -> LogSettings {
    let reader = log.reader();
    let predecessor = reader.predecessor();
    LogSettings {
        compressed: reader.is_compressed(),
        recycled: reader.is_recycled(),
        timestamp_sizes: reader.timestamp_sizes().clone(),
        predecessor: predecessor.map(|it| it.log_number),
        predecessor_size: predecessor.map(|it| it.size),
        predecessor_last_seq: predecessor.map(|it| it.last_sequence),
    }
}

/// Shows each write of a log to `visit`, in file order, until it returns `false`. Returns what
/// verification found up to there. Writes of transactions that were not committed are included.
///
/// # Errors
///
/// Fails if `visit` does. Everything else is in the report.
pub fn scan_log<E>(
    path: &Path,
    options: &FileDumpOptions,
    mut visit: impl FnMut(JsonRecord) -> Result<bool, E>,
) -> Result<VerifyReport, E> {
    let mut stopped = Ok(true);
    let report = dump_log(path, options, &mut |record| {
        let FileRecord::Batch(batch) = record else { return Ok(()) };
        for operation in batch.operations.iter() {
            let BatchOperation::Write(write) = operation else { continue };
            stopped = visit(*write);
            if !matches!(stopped, Ok(true)) {
                // Ends the dump; the reason is in `stopped`.
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(())
    });
    stopped?;
    Ok(report.unwrap_or_default())
}
