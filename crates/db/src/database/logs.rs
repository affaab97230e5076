//! From the write-ahead logs to the memtables.
//!
//! ```text
//! 000029.log   batch @101: put a, delete b     batch @103: begin prepare, put c, end prepare "t1"
//! 000031.log   batch @103: commit "t1"         batch @104: put d to a column family dropped since
//!
//! memtable     a@101 put   b@102 delete   c@103 put
//! ```
//!
//! A write of a transaction takes effect at its commit, which determines its sequence number.
//! Writes that were never committed are not visible.

mod notes;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use sstkit_table::RangeTombstone;
use sstkit_table::raw::{Engine, EntryKind};
use sstkit_table::visibility::UserKeys;

use super::applied_writes::AppliedWrites;
use super::flushed_writes::FlushedWrites;
use super::logged_key::{stamped, with_timestamp_size};
use crate::caveat::{Caveat, CaveatKind};
use crate::column_family_data::LeftOut;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system;
use crate::log_records::{LogRecords, WritePosition};
use crate::memtable::{ENTRY_SIZE, Memtable, MemtableBuilder};
use crate::raw::{
    LogEvent, LogLimit, LogProblem, LogReader, Reaction, RecoveryMode, WriteBatch, WriteOperation,
    WriteRecord,
};

/// Replays logs, in the order of their numbers.
pub(crate) struct Logs<'a> {
    engine: Engine,
    mode: RecoveryMode,
    families: BTreeMap<u32, FamilyLog<'a>>,
    records: LogRecords,
    /// The memory limit for all logs, if one was given.
    max_memory: LogLimit,
    /// The bytes of logs read so far.
    bytes_read: u64,
    /// The memory of memtable entries and prepared transactions.
    taken: u64,
    /// Prepared transactions, by id.
    prepared: HashMap<Vec<u8>, Vec<Write>>,
    /// The sequence number after the last write, if there was any.
    next_sequence: Option<u64>,
    /// The log in which reading stopped early.
    stopped_in: Option<u64>,
    /// A log exceeded the memory limit.
    is_over_limit: bool,
    /// A log has transactions whose commits are not all in the logs.
    has_unknown_commits: bool,
    goes_past_damage: bool,
    applied: AppliedWrites,
    /// Writes that were left out, since they are in tables.
    flushed: u64,
    /// Logs that do not continue the one before them, which is damaged.
    ignored: BTreeSet<u64>,
    /// Why records are missing, if a crash of the writer does not explain it.
    lost: Vec<LeftOut>,
    caveats: Vec<Caveat>,
}

struct FamilyLog<'a> {
    keys: &'a UserKeys,
    /// Logs with smaller numbers have no writes for it.
    log_number: u64,
    /// Writes that are in tables, as far as is known without a MANIFEST.
    flushed: Option<FlushedWrites>,
    memtable: MemtableBuilder,
}

#[derive(Clone, Copy)]
struct Write {
    column_family: u32,
    kind: EntryKind,
    position: WritePosition,
}

/// An event of a log that does not borrow from the reader.
enum OwnedEvent {
    /// Offset and payload.
    Record(u64, Vec<u8>),
    Problem(LogProblem),
}

impl From<LogEvent<'_>> for OwnedEvent {
    fn from(event: LogEvent<'_>) -> Self {
        match event {
            LogEvent::Record(record) => Self::Record(record.offset, record.payload.to_vec()),
            LogEvent::Problem(problem) => Self::Problem(problem),
        }
    }
}

/// The approximate memory of a prepared transaction, without its writes.
const TRANSACTION_SIZE: u64 = 128;

/// The result of replaying the logs.
pub(crate) struct Replayed {
    pub(crate) memtables: BTreeMap<u32, Memtable>,
    /// The largest sequence number in the logs, if any.
    pub(crate) last_sequence: Option<u64>,
    pub(crate) applied: AppliedWrites,
    /// Writes that were left out, since they are in tables.
    pub(crate) flushed: u64,
    /// Logs that do not continue the one before them, which is damaged.
    pub(crate) ignored: BTreeSet<u64>,
    /// Why records are missing, if a crash of the writer does not explain it.
    pub(crate) lost: Vec<LeftOut>,
    pub(crate) caveats: Vec<Caveat>,
}

impl<'a> Logs<'a> {
    /// `max_memory` limits the memory for the logs, if given.
    pub(crate) fn new(engine: Engine, mode: RecoveryMode, max_memory: Option<u64>) -> Self {
        Self {
            records: LogRecords::default(),
            max_memory: LogLimit::new(max_memory),
            bytes_read: 0,
            taken: 0,
            engine,
            mode,
            families: BTreeMap::new(),
            prepared: HashMap::new(),
            next_sequence: None,
            stopped_in: None,
            is_over_limit: false,
            has_unknown_commits: false,
            goes_past_damage: false,
            applied: AppliedWrites::default(),
            flushed: 0,
            ignored: BTreeSet::new(),
            lost: Vec::new(),
            caveats: Vec::new(),
        }
    }

    /// Registers a column family. Writes to unregistered ones are skipped: those were dropped.
    pub(crate) fn add_family(&mut self, id: u32, keys: &'a UserKeys, log_number: u64) {
        let memtable = MemtableBuilder::default();
        self.families.insert(id, FamilyLog { keys, log_number, flushed: None, memtable });
    }

    /// Leaves out the writes of a column family that are in tables, as far as is known without a
    /// MANIFEST.
    pub(crate) fn set_flushed(&mut self, id: u32, flushed: FlushedWrites) {
        if let Some(family) = self.families.get_mut(&id) {
            family.flushed = Some(flushed);
        }
    }

    /// Finds damage that engines do not see, and loses as little as possible to it: see
    /// [`LogReader::past_damage`].
    pub(crate) fn go_past_damage(&mut self) {
        self.goes_past_damage = true;
    }

    pub(crate) fn read(&mut self, number: u64, path: &Path) -> Result<()> {
        self.read_unnamed(number, path).map_err(|error| error.in_file(path))
    }

    /// Replays a log as far as it can be read, and returns why it is not read to its end.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or needs more memory than allowed. Neither is a problem of
    /// the log itself.
    pub(crate) fn read_what_can_be(&mut self, number: u64, path: &Path) -> Result<Option<Error>> {
        let Err(error) = self.read(number, path) else { return Ok(None) };
        if matches!(error.kind(), ErrorKind::Io | ErrorKind::NotFound) || self.is_over_limit {
            return Err(error);
        }
        let message = format!("{error}; the rest of this log is ignored");
        self.caveats.push(Caveat::new(CaveatKind::LeftOut, message).about(path));
        self.lost.push(LeftOut::new(&error));
        Ok(Some(error))
    }

    fn read_unnamed(&mut self, number: u64, path: &Path) -> Result<()> {
        let file = file_system::open(path)?;
        // A running engine may append to the log: only its current size is read.
        let size = file.size()?;
        let mut reader = LogReader::new(BufReader::new(file.take(size)), self.engine, number);
        if self.goes_past_damage {
            reader = reader.past_damage();
        }
        let read_before = self.bytes_read;
        let mut has_gap = false;
        loop {
            let left = self.limit().saturating_sub(self.records.size() + self.taken);
            reader.set_max_record_size(left);
            let event = reader.next_record();
            let event = event.map(|event| event.map(OwnedEvent::from));
            self.bytes_read = read_before + reader.offset();
            let event = event.map_err(|error| match error.kind() {
                ErrorKind::Unsupported => self.too_large(),
                _ => error,
            })?;
            let (offset, payload) = match event {
                None => return Ok(()),
                // What looks like the end is not, if a record follows.
                Some(OwnedEvent::Record(..))
                    if has_gap && self.mode == RecoveryMode::PointInTimeRecovery =>
                {
                    self.stopped_in.get_or_insert(number);
                    return Ok(());
                }
                Some(OwnedEvent::Record(offset, payload)) => (offset, payload),
                Some(OwnedEvent::Problem(problem))
                    if self.goes_past_damage && problem.kind.may_be_end() =>
                {
                    has_gap = true;
                    continue;
                }
                Some(OwnedEvent::Problem(problem)) => {
                    let reaction = self.mode.react(&problem, reader.is_recycled());
                    self.note(path, &problem, reaction);
                    // A log may end with these.
                    let strict = RecoveryMode::TolerateCorruptedTailRecords;
                    if strict.react(&problem, reader.is_recycled()) == Reaction::Fail {
                        self.lost.push(LeftOut::new(&Error::from(problem).in_file(path)));
                    }
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
                    self.ignored.insert(number);
                    self.note_gap(path);
                    return Ok(());
                }
                Err(error) => {
                    // Records with valid checksums but invalid contents: treated like damaged
                    // records.
                    let error = error.at_offset(offset);
                    match self.mode {
                        _ if error.kind() != ErrorKind::Corrupt => return Err(error),
                        RecoveryMode::SkipAnyCorruptedRecords => {
                            self.note_nonsense(path, error, "skipped");
                        }
                        RecoveryMode::PointInTimeRecovery => {
                            self.note_nonsense(path, error, "ignoring it and everything after it");
                            self.stopped_in.get_or_insert(number);
                            return Ok(());
                        }
                        _ => return Err(error),
                    }
                }
            }
        }
    }

    /// The memory limit for the logs: as given, or as justified by the bytes read so far.
    fn limit(&self) -> u64 {
        self.max_memory.after(self.bytes_read)
    }

    /// The logs exceed the memory limit.
    fn too_large(&mut self) -> Error {
        self.is_over_limit = true;
        self.max_memory.exceeded(self.bytes_read)
    }

    /// Charges memory for a write or another object of this size.
    fn take(&mut self, bytes: u64) -> Result<()> {
        self.taken += bytes;
        if self.records.size() + self.taken > self.limit() { Err(self.too_large()) } else { Ok(()) }
    }

    /// Applies a batch. Returns `false` if it and the rest of its log are ignored.
    fn apply(
        &mut self,
        log: u64,
        payload: &[u8],
        timestamp_sizes: &BTreeMap<u32, u16>,
    ) -> Result<bool> {
        let batch = WriteBatch::decode_from(payload, self.engine)?;
        if self.stopped_in.is_some() {
            // A database that was opened after the damage continued writing from there.
            if self.next_sequence != Some(batch.sequence()) {
                return Ok(false);
            }
            self.stopped_in = None;
        }
        let mut sequence = batch.sequence();
        let mut preparing: Option<Vec<Write>> = None;
        let start = self.records.append(payload)?;
        self.take(0)?;
        let mut records = batch.records();
        loop {
            let position = start.plus(payload.len() - records.remaining());
            let Some(record) = records.next() else { break };
            match record {
                WriteRecord::Write(operation) => {
                    let write = self.write(position, &operation, timestamp_sizes)?;
                    match &mut preparing {
                        Some(writes) => {
                            writes.push(write);
                            self.take(size_of::<Write>() as u64)?;
                        }
                        None => {
                            self.insert(log, write, sequence)?;
                            sequence += 1;
                        }
                    }
                }
                WriteRecord::LogData(_) | WriteRecord::Noop => {}
                WriteRecord::BeginPrepare => preparing = Some(Vec::new()),
                WriteRecord::EndPrepare(id) => {
                    self.prepared.insert(id.to_vec(), preparing.take().unwrap_or_default());
                    self.take(TRANSACTION_SIZE + id.len() as u64)?;
                }
                WriteRecord::Commit(id) => self.commit(log, id, None, &mut sequence)?,
                WriteRecord::CommitWithTimestamp { timestamp, xid } => {
                    self.commit(log, xid, Some(timestamp), &mut sequence)?;
                }
                WriteRecord::Rollback(id) => {
                    self.prepared.remove(id);
                }
                WriteRecord::BeginPersistedPrepare | WriteRecord::BeginUnprepare => {
                    self.has_unknown_commits = true;
                    return Err(Error::unsupported(
                        "write-prepared or write-unprepared transactions; only RocksDB knows \
                         which of their writes are visible",
                    ));
                }
            }
        }
        self.next_sequence = Some(sequence.max(self.next_sequence.unwrap_or(0)));
        Ok(true)
    }

    /// The write at a position, with the timestamp size that its column family expects.
    fn write(
        &mut self,
        position: WritePosition,
        operation: &WriteOperation<'_>,
        timestamp_sizes: &BTreeMap<u32, u16>,
    ) -> Result<Write> {
        let &WriteOperation { column_family, kind, key, value } = operation;
        let mut write = Write { column_family, kind, position };
        let Some(family) = self.families.get(&column_family) else { return Ok(write) };
        // The log records the timestamp sizes it was written with; none means 0. LevelDB has no
        // timestamps.
        let (stored, wanted) = (
            usize::from(timestamp_sizes.get(&column_family).copied().unwrap_or(0)),
            family.keys.timestamp_size(),
        );
        if stored != wanted {
            let key = with_timestamp_size(key, stored, wanted)?;
            let value = match kind {
                EntryKind::RangeDeletion => with_timestamp_size(value, stored, wanted)?,
                _ => value.into(),
            };
            write.position = self.records.append_write(kind, &key, &value)?;
        }
        if wanted > 0 && kind == EntryKind::Deletion {
            write.kind = EntryKind::DeletionWithTimestamp;
        }
        Ok(write)
    }

    fn commit(
        &mut self,
        log: u64,
        id: &[u8],
        timestamp: Option<&[u8]>,
        sequence: &mut u64,
    ) -> Result<()> {
        // If the prepared writes of a transaction are in no log, all of them are in tables.
        for mut write in self.prepared.remove(id).unwrap_or_default() {
            if let (Some(timestamp), Some(family)) =
                (timestamp, self.families.get(&write.column_family))
                && family.keys.timestamp_size() == timestamp.len()
            {
                let (key, value) = self.records.key_and_value(write.position);
                let key = stamped(key, family.keys, timestamp);
                let value = match write.kind {
                    EntryKind::RangeDeletion => stamped(value, family.keys, timestamp),
                    _ => value.to_vec(),
                };
                write.position = self.records.append_write(write.kind, &key, &value)?;
            }
            self.insert(log, write, *sequence)?;
            *sequence += 1;
        }
        Ok(())
    }

    fn insert(&mut self, log: u64, write: Write, sequence: u64) -> Result<()> {
        let Write { column_family, kind, position } = write;
        let Some(family) = self.families.get_mut(&column_family) else { return Ok(()) };
        if family.log_number > log {
            return Ok(());
        }
        if let Some(flushed) = &family.flushed {
            let (key, _) = self.records.key_and_value(position);
            if flushed.contains(family.keys, (key, sequence, kind)) {
                self.flushed += 1;
                return Ok(());
            }
        }
        self.applied.count(log, column_family);
        if self.goes_past_damage {
            let (key, value) = self.records.key_and_value(position);
            let end = Some(value).filter(|_| kind == EntryKind::RangeDeletion);
            self.applied.include(log, column_family, [Some(key), end], family.keys);
        }
        let taken = match kind {
            EntryKind::RangeDeletion => {
                let (start, end) = self.records.key_and_value(position);
                family.memtable.delete_range(start, end, sequence, family.keys);
                (start.len() + end.len() + size_of::<RangeTombstone>()) as u64
            }
            _ => {
                family.memtable.add(position, sequence, kind);
                ENTRY_SIZE
            }
        };
        self.take(taken)
    }

    /// Whether reading stopped at a transaction whose commit only a running engine knows.
    pub(super) fn has_unknown_commits(&self) -> bool {
        self.has_unknown_commits
    }

    /// Forgets what was read of all logs.
    pub(super) fn clear(&mut self) {
        let families = self.families.iter();
        let families = families.map(|(&id, it)| {
            (
                id,
                FamilyLog {
                    keys: it.keys,
                    log_number: it.log_number,
                    flushed: it.flushed.clone(),
                    memtable: Default::default(),
                },
            )
        });
        let families = families.collect();
        let goes_past_damage = self.goes_past_damage;
        *self = Self { families, goes_past_damage, ..Self::new(self.engine, self.mode, None) };
    }

    /// Sorts the memtables.
    pub(crate) fn finish(mut self) -> Replayed {
        if let Some(stopped) = self.stopped_in
            && self.families.values().any(|family| family.log_number > stopped)
            && self.families.len() > 1
        {
            let message = format!(
                "{stopped:06}.log ends early, but other column families have newer tables: \
                 RocksDB would refuse to open this database"
            );
            self.caveats.push(Caveat::new(CaveatKind::DamagedLog, message));
        }
        let records = Arc::new(self.records.finish());
        let memtables = self
            .families
            .into_iter()
            .map(|(id, family)| (id, family.memtable.finish(family.keys, &records)))
            .collect();
        let last_sequence = self.next_sequence.and_then(|next| next.checked_sub(1));
        let Self { applied, flushed, ignored, lost, caveats, .. } = self;
        Replayed { memtables, last_sequence, applied, flushed, ignored, lost, caveats }
    }
}
