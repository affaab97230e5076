//! What write-ahead logs contain, and where they are damaged: before anything of them is used.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use sstkit_table::raw::{Engine, EntryKind};

use super::manifest_choice::without_path;
use super::salvage_report::LogLoss;
use crate::error::{Error, Result};
use crate::raw::{LogEvent, LogLimit, LogProblem, LogReader, WriteBatch, WriteRecord};
use crate::regular_file;

/// What is between two records of a log and neither damaged nor a record.
const UNREADABLE: &str = "no record of this log";

/// What a log contains.
#[derive(Debug, Default)]
pub(super) struct LogScan {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    pub(super) size: u64,
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
    /// Writes after the first damaged part.
    pub(super) behind_damage: u64,
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
        let file = regular_file::open(path).map_err(|error| Error::from(error).in_file(path))?;
        let size = file.metadata().map_err(|error| Error::from(error).in_file(path))?.len();
        let mut scan = Self { number, path: path.to_path_buf(), size, ..Self::default() };
        let limit = LogLimit::new(max_memory);
        let mut log = LogReader::new(BufReader::new(file.take(size)), engine, number).past_damage();
        // Damage, or the end: zeros, and in a recycled log the rest of the log before it.
        let mut stale: Vec<(u64, u64)> = Vec::new();
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
                    for (offset, length) in std::mem::take(&mut stale) {
                        scan.damaged(offset, length, UNREADABLE.into());
                    }
                    if let Err(error) = scan.record(record.payload, engine) {
                        let (offset, length) = (record.offset, record.payload.len() as u64);
                        scan.damaged(offset, length, without_path(&error));
                    }
                }
                LogEvent::Problem(problem) if problem.kind.may_be_end() => {
                    stale.push((problem.offset, problem.dropped));
                }
                LogEvent::Problem(LogProblem { kind, offset, dropped }) => {
                    scan.damaged(offset, dropped, kind.to_string());
                }
            }
        }
        scan.is_recycled = log.is_recycled();
        Ok(scan)
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
                self.behind_damage += u64::from(!self.damage.is_empty());
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
            _ => self.damage.push(LogLoss { offset, length, writes: None, reason }),
        }
    }

    fn fail(&mut self, error: Error) {
        let offset = error.offset().unwrap_or(0).min(self.size);
        self.damaged(offset, self.size - offset, without_path(&error));
        self.error = Some(error);
    }
}
