//! Assembling records from fragments.

use std::collections::BTreeMap;
use std::io::Read;

use sstkit_coding::fixed::{get_fixed16, get_fixed32, get_fixed64};
use sstkit_table::raw::Engine;

use super::block_reader::{BlockReader, Contents, Physical};
use super::decompressor::{BadFrame, DEFAULT_MAX_RECORD_SIZE, Decompressor};
use super::problem::{LogProblem, LogProblemKind};
use super::record_type::{Part, RecordType};
use crate::error::Result;

/// The records of a log file, in order, and what is wrong with them.
///
/// One block of the file and one record are in memory.
///
/// ```
/// use sstkit_db::raw::{LogEvent, LogReader};
/// use sstkit_table::raw::Engine;
///
/// // The record "hello", and a header that was not written completely.
/// let file = b"\x0b\xb9\x57\x58\x05\x00\x01hello\x00\x00";
/// let mut log = LogReader::new(file.as_slice(), Engine::LevelDb, 3);
/// while let Some(event) = log.next_record()? {
///     match event {
///         LogEvent::Record(record) => assert_eq!(record.payload, b"hello"),
///         LogEvent::Problem(problem) => assert!(problem.kind.is_torn_tail()),
///         _ => {}
///     }
/// }
/// # Ok::<(), sstkit_db::Error>(())
/// ```
pub struct LogReader<R> {
    blocks: BlockReader<R>,
    max_record_size: usize,
    /// The record being assembled, or the one returned last.
    record: Vec<u8>,
    /// Where the record being assembled starts in the file.
    unfinished: Option<u64>,
    /// Start of a complete record that is returned after a problem.
    ready: Option<u64>,
    /// Start of the record returned last.
    returned: u64,
    fragments: Fragments,
    has_records: bool,
    decompressor: Option<Decompressor>,
    timestamp_sizes: BTreeMap<u32, u16>,
    predecessor: Option<PredecessorWal>,
}

sstkit_coding::debug_opaque!([R] LogReader<R>);

/// What comes next in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogEvent<'a> {
    /// A record.
    Record(LogRecord<'a>),
    /// A problem. Reading can continue after it.
    Problem(LogProblem),
}

/// One record of a log, assembled and decompressed.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogRecord<'a> {
    /// The file offset of its first physical record.
    pub offset: u64,
    /// Its bytes.
    pub payload: &'a [u8],
    /// The physical records that it consists of; the first [`MAX_KEPT_FRAGMENTS`] of them.
    pub fragments: &'a [LogFragment],
    /// The number of physical records that it consists of.
    pub fragment_count: u64,
    /// The bytes that they take in the file, with their headers.
    pub stored_length: u64,
}

sstkit_coding::debug_struct!(LogRecord<'_> {
    offset, payload: bytes, fragments, fragment_count, stored_length,
});

/// A physical record of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogFragment {
    /// Its offset in the file.
    pub offset: u64,
    /// Its length, with its header.
    pub length: u32,
}

/// The fragments of a record that are kept: 2 MiB of data, unless they are smaller than a block.
pub const MAX_KEPT_FRAGMENTS: usize = 64;

/// The fragments of the record being assembled, or of the one returned last.
#[derive(Default)]
struct Fragments {
    kept: Vec<LogFragment>,
    count: u64,
    bytes: u64,
}

impl Fragments {
    fn clear(&mut self) {
        self.kept.clear();
        (self.count, self.bytes) = (0, 0);
    }

    fn add(&mut self, physical: &Physical) {
        self.count += 1;
        self.bytes += physical.length as u64;
        if self.kept.len() < MAX_KEPT_FRAGMENTS {
            // Not longer than a block.
            let length = physical.length as u32;
            self.kept.push(LogFragment { offset: physical.offset, length });
        }
    }
}

/// What a log says about the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PredecessorWal {
    /// The number in its name.
    pub log_number: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The last sequence number in it; 0 if it has no records.
    pub last_sequence: u64,
}

/// The effect of one physical record.
enum Step {
    /// Nothing to return yet.
    Continue,
    /// A record that starts here is complete.
    Record(u64),
    Problem(LogProblem),
}

impl<R: Read> LogReader<R> {
    /// Reads a log of this engine. `log_number` is the number in its name (0 for a MANIFEST):
    /// recycled logs repeat it in every record.
    pub fn new(reader: R, engine: Engine, log_number: u64) -> Self {
        Self {
            blocks: BlockReader::new(reader, engine, log_number),
            max_record_size: DEFAULT_MAX_RECORD_SIZE,
            record: Vec::new(),
            unfinished: None,
            ready: None,
            returned: 0,
            fragments: Fragments::default(),
            has_records: false,
            decompressor: None,
            timestamp_sizes: BTreeMap::new(),
            predecessor: None,
        }
    }

    /// Sets the largest record that is decompressed, [`DEFAULT_MAX_RECORD_SIZE`] by default. A
    /// larger one is an error. Records that are not compressed are as large as the file makes them.
    #[must_use]
    pub fn with_max_record_size(mut self, bytes: usize) -> Self {
        self.max_record_size = bytes;
        self
    }

    /// Loses as little as possible to damage: after a record that is damaged, or zeros, reading
    /// continues with the next sound record in the block, wherever it starts. The engines, and this reader by default, skip the rest of the block.
    /// Zeros are reported as a [problem](LogProblemKind::Zeros), also at the end of the file, and so is
    /// everything in a recycled log that does not have its number
    /// ([stale records](LogProblemKind::StaleRecord)): these are the end of the log, unless a record
    /// follows.
    #[must_use]
    pub fn past_damage(mut self) -> Self {
        self.blocks.go_past_damage();
        self
    }

    /// How much of the file has been read.
    pub fn offset(&self) -> u64 {
        self.blocks.offset()
    }

    /// Sets the largest record that is decompressed from here on.
    pub fn set_max_record_size(&mut self, bytes: u64) {
        self.max_record_size = usize::try_from(bytes).unwrap_or(usize::MAX);
    }

    /// The next record or problem; `None` at the end.
    ///
    /// Problems are not errors: an error means that reading failed, or that a
    /// record is too large.
    pub fn next_record(&mut self) -> Result<Option<LogEvent<'_>>> {
        loop {
            if let Some(offset) = self.ready.take() {
                self.has_records = true;
                self.blocks.set_has_records();
                self.returned = offset;
                return Ok(Some(LogEvent::Record(self.last_record())));
            }
            let end = self.blocks.offset();
            let step = match self.blocks.next()? {
                Some(physical) => {
                    let offset = physical.offset;
                    self.accept(physical).map_err(|error| error.at_offset(offset))?
                }
                None if self.unfinished.is_some() => {
                    Step::Problem(self.problem(LogProblemKind::UnfinishedRecord, end, 0))
                }
                None => return Ok(None),
            };
            match step {
                Step::Continue => {}
                Step::Record(offset) => self.ready = Some(offset),
                Step::Problem(problem) => return Ok(Some(LogEvent::Problem(problem))),
            }
        }
    }

    /// The record that was returned last.
    pub(crate) fn last_record(&self) -> LogRecord<'_> {
        LogRecord {
            offset: self.returned,
            payload: &self.record,
            fragments: &self.fragments.kept,
            fragment_count: self.fragments.count,
            stored_length: self.fragments.bytes,
        }
    }

    /// Whether the bytes skipped for `problem`, the last one returned, contain a valid
    /// record of this log: then it is damage, and not stale bytes of a recycled log. Only recyclable
    /// records contain a log number.
    pub fn has_record_behind(&self, problem: &LogProblem) -> bool {
        self.blocks.has_record_behind(problem.offset)
    }

    /// Whether recyclable records have been seen.
    pub fn is_recycled(&self) -> bool {
        self.blocks.is_recycled()
    }

    /// Whether records are compressed from here on.
    pub fn is_compressed(&self) -> bool {
        self.decompressor.is_some()
    }

    /// The timestamp sizes of column families that were read.
    pub fn timestamp_sizes(&self) -> &BTreeMap<u32, u16> {
        &self.timestamp_sizes
    }

    /// What this log says about the one before it, if that has been read.
    pub fn predecessor(&self) -> Option<PredecessorWal> {
        self.predecessor
    }

    fn accept(&mut self, physical: Physical) -> Result<Step> {
        let (offset, length) = (physical.offset, physical.length);
        let (kind, range) = match physical.contents {
            Contents::Record(kind, ref range) => (kind, range.clone()),
            Contents::EmptyRest if self.unfinished.is_none() => return Ok(Step::Continue),
            Contents::EmptyRest => {
                return Ok(self.report(LogProblemKind::Interrupted, offset, length));
            }
            // What is valid ends before the stale record: tell of that first.
            Contents::Problem(LogProblemKind::StaleRecord) if self.unfinished.is_some() => {
                self.blocks.unread(&physical);
                return Ok(self.report(LogProblemKind::UnfinishedRecord, offset, 0));
            }
            Contents::Problem(problem) => return Ok(self.report(problem, offset, length)),
        };
        let problem = match kind {
            RecordType::Data(part) => return self.accept_fragment(part, &physical, range),
            RecordType::SetCompression => {
                let codec = get_fixed32(&mut self.blocks.payload(range));
                self.set_compression(codec)?
            }
            RecordType::TimestampSizes => self.add_timestamp_sizes(range),
            RecordType::Predecessor => {
                self.predecessor = decode_predecessor(self.blocks.payload(range));
                self.predecessor.is_none().then_some(LogProblemKind::BadPredecessor)
            }
            RecordType::Ignorable => None,
            RecordType::Zero => Some(LogProblemKind::UnknownType(0)),
            RecordType::Unknown(number) => Some(LogProblemKind::UnknownType(number)),
        };
        // None of these may be inside a record.
        let problem = problem.or(self.unfinished.map(|_| LogProblemKind::Interrupted));
        Ok(problem.map_or(Step::Continue, |problem| self.report(problem, offset, length)))
    }

    fn accept_fragment(
        &mut self,
        part: Part,
        physical: &Physical,
        range: std::ops::Range<usize>,
    ) -> Result<Step> {
        let (offset, length) = (physical.offset, physical.length);
        let begins = matches!(part, Part::Full | Part::First);
        if !begins && self.unfinished.is_none() {
            return Ok(self.report(LogProblemKind::MissingStart, offset, length));
        }
        // An empty first fragment at the end of a block was a bug of old writers, and harmless.
        if begins && self.unfinished.is_some() && !self.record.is_empty() {
            self.blocks.unread(physical);
            return Ok(self.report(LogProblemKind::MissingEnd, offset, 0));
        }
        if begins {
            self.begin_record(offset)?;
        }
        self.fragments.add(physical);
        let is_sound = self.append(range)?;
        let ends = matches!(part, Part::Full | Part::Last);
        let is_whole = self.decompressor.as_ref().is_none_or(Decompressor::is_complete);
        if is_sound.is_err() || (ends && !is_whole) {
            return Ok(self.report(LogProblemKind::BadCompression, offset, length));
        }
        match self.unfinished {
            Some(start) if ends => {
                self.unfinished = None;
                Ok(Step::Record(start))
            }
            _ => Ok(Step::Continue),
        }
    }

    fn begin_record(&mut self, offset: u64) -> Result<()> {
        self.record.clear();
        self.fragments.clear();
        self.unfinished = Some(offset);
        self.decompressor.as_mut().map_or(Ok(()), Decompressor::begin)
    }

    fn append(&mut self, range: std::ops::Range<usize>) -> Result<Result<(), BadFrame>> {
        let fragment = self.blocks.payload(range);
        match &mut self.decompressor {
            Some(zstd) => zstd.append(fragment, &mut self.record, self.max_record_size),
            None => {
                self.record.extend_from_slice(fragment);
                Ok(Ok(()))
            }
        }
    }

    /// Compression is set once, before there are records.
    fn set_compression(&mut self, codec: Option<u32>) -> Result<Option<LogProblemKind>> {
        let bad = Some(LogProblemKind::BadCompressionRecord);
        let (Some(codec), false, None) = (codec, self.has_records, &self.decompressor) else {
            return Ok(bad);
        };
        self.decompressor = Decompressor::new(codec)?;
        Ok(if self.decompressor.is_some() { None } else { bad })
    }

    /// Sizes are above zero and do not change within a file.
    fn add_timestamp_sizes(&mut self, range: std::ops::Range<usize>) -> Option<LogProblemKind> {
        let mut input = self.blocks.payload(range);
        while !input.is_empty() {
            let entry = get_fixed32(&mut input).zip(get_fixed16(&mut input));
            match entry {
                Some((family, size)) if size > 0 && !self.timestamp_sizes.contains_key(&family) => {
                    self.timestamp_sizes.insert(family, size);
                }
                _ => return Some(LogProblemKind::BadTimestampSizes),
            }
        }
        None
    }

    fn report(&mut self, kind: LogProblemKind, offset: u64, length: usize) -> Step {
        Step::Problem(self.problem(kind, offset, length))
    }

    /// A problem, because of which the unfinished record is dropped.
    fn problem(&mut self, kind: LogProblemKind, offset: u64, length: usize) -> LogProblem {
        let unfinished = self.unfinished.take().map_or(0, |start| offset - start);
        LogProblem { kind, offset, dropped: unfinished + length as u64 }
    }
}

fn decode_predecessor(mut input: &[u8]) -> Option<PredecessorWal> {
    let log_number = get_fixed64(&mut input)?;
    let size = get_fixed64(&mut input)?;
    let last_sequence = get_fixed64(&mut input)?;
    Some(PredecessorWal { log_number, size, last_sequence })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The option that raises the limit is not capped by the default.
    #[test]
    fn records_may_be_larger_than_the_default() {
        let mut reader = LogReader::new(&[][..], Engine::RocksDb, 1);
        reader.set_max_record_size(3 << 30);
        assert_eq!(reader.max_record_size as u64, 3 << 30);
    }
}
