//! From the write-ahead logs to the memtables.
//!
//! ```text
//! 000029.log   batch @101: put a, delete b     batch @103: begin prepare, put c, end prepare "t1"
//! 000031.log   batch @103: commit "t1"         batch @104: put d to a column family dropped since
//!
//! memtable     a@101 put   b@102 delete   c@103 put
//! ```
//!
//! A write of a transaction counts from its commit on, and gets its number there. What never was
//! committed is not visible.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufReader, Read as _};
use std::path::Path;

use bytes::Bytes;
use sstkit_table::raw::{Engine, EntryKind};

use crate::caveat::{Caveat, CaveatKind};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::Keys;
use crate::memtable::{Memtable, MemtableBuilder};
use crate::raw::{
    LogEvent, LogProblem, LogProblemKind, LogReader, Reaction, RecoveryMode, WriteBatch,
    WriteOperation, WriteRecord,
};
use crate::regular_file;

/// Reads logs, in the order of their numbers.
pub(super) struct Logs<'a> {
    engine: Engine,
    mode: RecoveryMode,
    families: BTreeMap<u32, FamilyLog<'a>>,
    /// Transactions that are prepared, by id.
    prepared: HashMap<Vec<u8>, Vec<Write>>,
    /// The number of the next write, once there was one.
    next_sequence: Option<u64>,
    /// The log in which reading stopped early.
    stopped_in: Option<u64>,
    caveats: Vec<Caveat>,
}

/// One column family of the logs.
struct FamilyLog<'a> {
    keys: &'a Keys,
    /// Logs with smaller numbers hold nothing for it.
    log_number: u64,
    memtable: MemtableBuilder,
}

/// A write, as a handle into its record.
#[derive(Clone)]
struct Write {
    column_family: u32,
    kind: EntryKind,
    key: Bytes,
    value: Bytes,
}

/// What the logs came to.
pub(super) struct Replayed {
    pub(super) memtables: BTreeMap<u32, Memtable>,
    /// The largest sequence number in the logs, if there was one.
    pub(super) last_sequence: Option<u64>,
    pub(super) caveats: Vec<Caveat>,
}

impl<'a> Logs<'a> {
    pub(super) fn new(engine: Engine, mode: RecoveryMode) -> Self {
        Self {
            engine,
            mode,
            families: BTreeMap::new(),
            prepared: HashMap::new(),
            next_sequence: None,
            stopped_in: None,
            caveats: Vec::new(),
        }
    }

    /// Makes a column family known. Writes to others are passed over: they were dropped.
    pub(super) fn add_family(&mut self, id: u32, keys: &'a Keys, log_number: u64) {
        let memtable = MemtableBuilder::default();
        self.families.insert(id, FamilyLog { keys, log_number, memtable });
    }

    /// Reads one log.
    pub(super) fn read(&mut self, number: u64, path: &Path) -> Result<()> {
        self.read_unnamed(number, path).map_err(|error| error.in_file(path))
    }

    fn read_unnamed(&mut self, number: u64, path: &Path) -> Result<()> {
        let file = regular_file::open(path)?;
        // A running engine goes on writing: what is there now is what counts.
        let size = file.metadata()?.len();
        let mut reader = LogReader::new(BufReader::new(file.take(size)), self.engine, number);
        loop {
            let (offset, payload) = match reader.next_record()? {
                None => return Ok(()),
                Some(LogEvent::Record(record)) => {
                    (record.offset, Bytes::copy_from_slice(record.payload))
                }
                Some(LogEvent::Problem(problem)) => {
                    let reaction = self.mode.react(&problem, reader.is_recycled());
                    self.note(path, &problem, reaction);
                    match reaction {
                        Reaction::Skip => continue,
                        Reaction::End => return Ok(()),
                        Reaction::Stop => {
                            self.stopped_in.get_or_insert(number);
                            return Ok(());
                        }
                        Reaction::Fail => return Err(problem.into()),
                    }
                }
            };
            match self.apply(number, &payload, reader.timestamp_sizes()) {
                Ok(true) => {}
                Ok(false) => {
                    self.note_gap(path);
                    return Ok(());
                }
                Err(error) => {
                    // Sound records that make no sense: as bad as records that are not sound.
                    let error = error.at_offset(offset);
                    match self.mode {
                        _ if error.kind() != ErrorKind::Corrupt => return Err(error),
                        RecoveryMode::SkipAnyCorruptedRecords => {
                            self.note_nonsense(path, &error, "skipped");
                        }
                        RecoveryMode::PointInTimeRecovery => {
                            self.note_nonsense(path, &error, "it and what follows is left out");
                            self.stopped_in.get_or_insert(number);
                            return Ok(());
                        }
                        _ => return Err(error),
                    }
                }
            }
        }
    }

    /// Says what becomes of a log with a problem.
    fn note(&mut self, path: &Path, problem: &LogProblem, reaction: Reaction) {
        let outcome = match reaction {
            Reaction::Fail => return,
            // How logs end that are used again, unless the file lost the rest of a record.
            Reaction::End | Reaction::Stop if problem.kind == LogProblemKind::StaleRecord => return,
            Reaction::Skip => "skipped",
            Reaction::End | Reaction::Stop => "the log is taken to end there",
        };
        let kind = match problem.kind.is_torn_tail() {
            true => CaveatKind::TornTail,
            false => CaveatKind::DamagedLog,
        };
        let (name, what, offset) = (name(path), problem.kind, problem.offset);
        let message = format!("{name}: {what} at offset {offset}: {outcome}");
        self.caveats.push(Caveat::new(kind, message).about(path));
    }

    /// A log that does not go on where the one before stopped.
    fn note_gap(&mut self, path: &Path) {
        let stopped = self.stopped_in.unwrap_or(0);
        let message = format!(
            "{}: left out: {stopped:06}.log ends early, and this log does not continue from there",
            name(path)
        );
        self.caveats.push(Caveat::new(CaveatKind::DamagedLog, message).about(path));
    }

    /// A sound record that makes no sense.
    fn note_nonsense(&mut self, path: &Path, error: &Error, outcome: &str) {
        let message = format!("{}: {error}: {outcome}", name(path));
        self.caveats.push(Caveat::new(CaveatKind::DamagedLog, message).about(path));
    }

    /// Applies a batch; false if it does not count, nor what follows in its log.
    fn apply(
        &mut self,
        log: u64,
        payload: &Bytes,
        timestamp_sizes: &BTreeMap<u32, u16>,
    ) -> Result<bool> {
        let batch = WriteBatch::decode_from(payload, self.engine)?;
        if self.stopped_in.is_some() {
            // A database that was opened after the damage went on writing from there.
            if self.next_sequence != Some(batch.sequence()) {
                return Ok(false);
            }
            self.stopped_in = None;
        }
        let mut sequence = batch.sequence();
        let mut preparing: Option<Vec<Write>> = None;
        for record in batch.records() {
            match record {
                WriteRecord::Write(operation) => {
                    let write = self.write(payload, &operation, timestamp_sizes)?;
                    match &mut preparing {
                        Some(writes) => writes.push(write),
                        None => {
                            self.insert(log, write, sequence);
                            sequence += 1;
                        }
                    }
                }
                WriteRecord::LogData(_) | WriteRecord::Noop => {}
                WriteRecord::BeginPrepare => preparing = Some(Vec::new()),
                WriteRecord::EndPrepare(id) => {
                    self.prepared.insert(id.to_vec(), preparing.take().unwrap_or_default());
                }
                WriteRecord::Commit(id) => self.commit(log, id, None, &mut sequence),
                WriteRecord::CommitWithTimestamp { timestamp, xid } => {
                    self.commit(log, xid, Some(timestamp), &mut sequence);
                }
                WriteRecord::Rollback(id) => {
                    self.prepared.remove(id);
                }
                WriteRecord::BeginPersistedPrepare | WriteRecord::BeginUnprepare => {
                    return Err(Error::unsupported(
                        "transactions of the kind write-prepared or write-unprepared: what of them \
                         is visible only the engine knows",
                    ));
                }
            }
        }
        self.next_sequence = Some(sequence.max(self.next_sequence.unwrap_or(0)));
        Ok(true)
    }

    /// A write as handles into its record, with the timestamp that its column family expects.
    fn write(
        &self,
        payload: &Bytes,
        operation: &WriteOperation<'_>,
        timestamp_sizes: &BTreeMap<u32, u16>,
    ) -> Result<Write> {
        let &WriteOperation { column_family, kind, key, value } = operation;
        let handle = |bytes: &[u8]| payload.slice_ref(bytes);
        let mut write = Write { column_family, kind, key: handle(key), value: handle(value) };
        let Some(family) = self.families.get(&column_family) else { return Ok(write) };
        // The log says which sizes it was written with; none is 0. LevelDB has no timestamps.
        let (stored, wanted) = (
            usize::from(timestamp_sizes.get(&column_family).copied().unwrap_or(0)),
            family.keys.timestamp_size(),
        );
        if stored != wanted {
            write.key = with_timestamp_size(&write.key, stored, wanted)?;
            if kind == EntryKind::RangeDeletion {
                write.value = with_timestamp_size(&write.value, stored, wanted)?;
            }
        }
        if wanted > 0 && kind == EntryKind::Deletion {
            write.kind = EntryKind::DeletionWithTimestamp;
        }
        Ok(write)
    }

    fn commit(&mut self, log: u64, id: &[u8], timestamp: Option<&[u8]>, sequence: &mut u64) {
        // Of a transaction whose prepared writes are in no log any more, all is in tables.
        for mut write in self.prepared.remove(id).unwrap_or_default() {
            if let (Some(timestamp), Some(family)) =
                (timestamp, self.families.get(&write.column_family))
                && family.keys.timestamp_size() == timestamp.len()
            {
                write.key = stamped(&write.key, family.keys, timestamp);
                if write.kind == EntryKind::RangeDeletion {
                    write.value = stamped(&write.value, family.keys, timestamp);
                }
            }
            self.insert(log, write, *sequence);
            *sequence += 1;
        }
    }

    fn insert(&mut self, log: u64, write: Write, sequence: u64) {
        let Write { column_family, kind, key, value } = write;
        let Some(family) = self.families.get_mut(&column_family) else { return };
        if family.log_number > log {
            return;
        }
        match kind {
            EntryKind::RangeDeletion => {
                family.memtable.delete_range(&key, &value, sequence, family.keys);
            }
            _ => family.memtable.add(key, sequence, kind, value),
        }
    }

    /// Sorts what was read.
    pub(super) fn finish(mut self) -> Replayed {
        if let Some(stopped) = self.stopped_in
            && self.families.values().any(|family| family.log_number > stopped)
            && self.families.len() > 1
        {
            let message = format!(
                "{stopped:06}.log ends early, but tables of other column families are newer: the \
                 engine would not open this database"
            );
            self.caveats.push(Caveat::new(CaveatKind::DamagedLog, message));
        }
        let memtables = self
            .families
            .into_iter()
            .map(|(id, family)| (id, family.memtable.finish(family.keys)))
            .collect();
        let last_sequence = self.next_sequence.and_then(|next| next.checked_sub(1));
        Replayed { memtables, last_sequence, caveats: self.caveats }
    }
}

/// A key that was logged with timestamps of another size: one is taken off, or the smallest added.
fn with_timestamp_size(key: &Bytes, stored: usize, wanted: usize) -> Result<Bytes> {
    match (stored, wanted) {
        (0, _) => {
            let mut key = key.to_vec();
            key.resize(key.len() + wanted, 0);
            Ok(key.into())
        }
        (_, 0) => match key.len().checked_sub(stored) {
            Some(length) => Ok(key.slice(..length)),
            None => Err(Error::corrupt("a key is too short for its timestamp")),
        },
        _ => Err(Error::mismatch("the timestamps in the log are of another size", wanted, stored)),
    }
}

/// The key with another timestamp.
fn stamped(key: &[u8], keys: &Keys, timestamp: &[u8]) -> Bytes {
    [keys.bare(key), timestamp].concat().into()
}

fn name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}
