//! What write-ahead logs contain, and where they are damaged: before anything of them is used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom, Take};
use std::path::{Path, PathBuf};

use sstkit_table::raw::{Engine, EntryKind};

use super::manifest_choice::without_path;
use super::salvage_report::LogLoss;
use crate::error::{Error, Result};
use crate::raw::{
    LogEvent, LogLimit, LogProblem, LogReader, WriteBatch, WriteOperation, WriteRecord,
};
use crate::regular_file;

/// What is between two records of a log and neither damaged nor a record.
const UNREADABLE: &str = "no record of this log";

/// What a log contains.
#[derive(Debug, Default)]
pub(super) struct LogScan {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    pub(super) size: u64,
    limit: LogLimit,
    /// Writes to each column family.
    pub(super) families: BTreeMap<u32, u64>,
    /// The column families with merge operands.
    pub(super) merges: BTreeSet<u32>,
    /// The smallest sequence number; `None` without writes.
    pub(super) first_sequence: Option<u64>,
    /// The largest one.
    pub(super) last_sequence: u64,
    /// It has writes of transactions, which get their sequence numbers later.
    pub(super) has_transactions: bool,
    /// RocksDB keeps it to use the file again, also after all of its writes are in tables.
    pub(super) is_recycled: bool,
    /// Damaged parts.
    pub(super) damage: Vec<LogLoss>,
    /// Zeros at the end, where a record would be.
    pub(super) zeros: u64,
    /// It cannot be used at all, or not to its end.
    pub(super) error: Option<Error>,
}

impl LogScan {
    /// All writes that can be read.
    pub(super) fn writes(&self) -> u64 {
        self.families.values().sum()
    }

    /// Reads a log to its end, past all damage.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened.
    pub(super) fn read(
        number: u64,
        path: &Path,
        engine: Engine,
        max_memory: Option<u64>,
    ) -> Result<Self> {
        let size = std::fs::metadata(path).map_err(|error| Error::from(error).in_file(path))?.len();
        let limit = LogLimit::new(max_memory);
        let mut scan = Self { number, path: path.to_path_buf(), size, limit, ..Self::default() };
        let mut log = scan.open(engine)?;
        // Damage, or the end: zeros, and in a recycled log the rest of the log before it.
        let mut stale: Vec<LogProblem> = Vec::new();
        loop {
            log.set_max_record_size(limit.after(log.offset()));
            let event = match log.next_record() {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    scan.fail(error);
                    break;
                }
            };
            match event {
                LogEvent::Record(record) => {
                    // What is followed by records of this log is not its end.
                    for LogProblem { offset, dropped, .. } in std::mem::take(&mut stale) {
                        scan.damaged(offset, dropped, UNREADABLE.into());
                    }
                    if let Err(error) = scan.record(record.payload, engine) {
                        let (offset, length) = (record.offset, record.payload.len() as u64);
                        scan.damaged(offset, length, without_path(&error));
                    }
                }
                LogEvent::Problem(problem) if problem.kind.may_be_end() => {
                    stale.push(problem);
                }
                LogEvent::Problem(LogProblem { kind, offset, dropped }) => {
                    scan.damaged(offset, dropped, kind.to_string());
                }
            }
        }
        scan.is_recycled = log.is_recycled();
        if let Some(first) = stale.first() {
            scan.zeros = scan.zeros_from(first.offset)?;
        }
        Ok(scan)
    }

    fn open(&self, engine: Engine) -> Result<LogReader<BufReader<Take<File>>>> {
        let in_file = |error| Error::from(error).in_file(&self.path);
        let file = regular_file::open(&self.path).map_err(in_file)?;
        let reader = BufReader::new(file.take(self.size));
        Ok(LogReader::new(reader, engine, self.number).past_damage())
    }

    /// How many bytes follow, if all of them are zeros: those of a recycled log need not be.
    fn zeros_from(&self, offset: u64) -> Result<u64> {
        let in_file = |error| Error::from(error).in_file(&self.path);
        let mut file = regular_file::open(&self.path).map_err(in_file)?;
        file.seek(SeekFrom::Start(offset)).map_err(in_file)?;
        let length = self.size.saturating_sub(offset);
        let mut bytes = BufReader::new(file.take(length)).bytes();
        let is_zeros = bytes.all(|byte| byte.is_ok_and(|byte| byte == 0));
        Ok(if is_zeros { length } else { 0 })
    }

    /// Calls `each` with all writes that can be read, and their sequence numbers, from the record at an
    /// offset on.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened any more.
    pub(super) fn each_write(
        &self,
        engine: Engine,
        from: u64,
        mut each: impl FnMut(&WriteOperation<'_>, u64),
    ) -> Result<()> {
        let mut log = self.open(engine)?;
        loop {
            log.set_max_record_size(self.limit.after(log.offset()));
            // What cannot be read has been found before.
            let Ok(Some(event)) = log.next_record() else { return Ok(()) };
            let LogEvent::Record(record) = event else { continue };
            if record.offset < from {
                continue;
            }
            let Ok(batch) = WriteBatch::decode_from(record.payload, engine) else { continue };
            let mut sequence = batch.sequence();
            for record in batch.records() {
                if let WriteRecord::Write(write) = record {
                    each(&write, sequence);
                    sequence = sequence.saturating_add(1);
                }
            }
        }
    }

    fn record(&mut self, payload: &[u8], engine: Engine) -> Result<()> {
        let batch = WriteBatch::decode_from(payload, engine)?;
        let mut sequence = batch.sequence();
        for record in batch.records() {
            self.has_transactions |= matches!(
                record,
                WriteRecord::BeginPrepare
                    | WriteRecord::BeginPersistedPrepare
                    | WriteRecord::BeginUnprepare
                    | WriteRecord::Commit(_)
                    | WriteRecord::CommitWithTimestamp { .. }
            );
            if let WriteRecord::Write(write) = record {
                *self.families.entry(write.column_family).or_default() += 1;
                if write.kind == EntryKind::Merge {
                    self.merges.insert(write.column_family);
                }
                let first = self.first_sequence.get_or_insert(sequence);
                *first = sequence.min(*first);
                self.last_sequence = self.last_sequence.max(sequence);
                sequence = sequence.saturating_add(1);
            }
        }
        Ok(())
    }

    fn damaged(&mut self, offset: u64, length: u64, reason: String) {
        // The fragments of one record are one loss.
        match self.damage.last_mut() {
            Some(last) if last.offset + last.length == offset => last.length += length,
            _ => self.damage.push(LogLoss {
                offset,
                length,
                writes: None,
                unused: Vec::new(),
                reason,
            }),
        }
    }

    fn fail(&mut self, error: Error) {
        let offset = error.offset().unwrap_or(0).min(self.size);
        self.damaged(offset, self.size - offset, without_path(&error));
        self.error = Some(error);
    }
}
