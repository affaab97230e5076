//! Physical records, one after the other, with one block of the file in memory.

use std::io::{self, Read};
use std::ops::Range;

use sstkit_coding::checksum::ChecksumType;
use sstkit_coding::fixed::{decode_fixed16, decode_fixed32};
use sstkit_table::raw::Engine;

use super::problem::LogProblemKind;
use super::record_type::RecordType;

pub(super) const BLOCK_SIZE: usize = 32 * 1024;

const LENGTH_OFFSET: usize = 4;
const TYPE_OFFSET: usize = LENGTH_OFFSET + 2;
/// Checksum, length, type.
pub(super) const HEADER_SIZE: usize = TYPE_OFFSET + 1;
/// … and log number.
const RECYCLABLE_HEADER_SIZE: usize = HEADER_SIZE + 4;

/// Checksums that a search for records computes, in blocks: candidate records may overlap.
const MAX_SEARCH: usize = 8;

pub(super) struct BlockReader<R> {
    reader: R,
    engine: Engine,
    /// What recyclable records must say.
    log_number: u32,
    /// The block in memory; shorter than [`BLOCK_SIZE`] only at the end of the file.
    block: Vec<u8>,
    /// How much of it has been read.
    position: usize,
    block_offset: u64,
    at_last_block: bool,
    is_recycled: bool,
    /// The file has had a whole record: its first one decides whether it is a recycled log.
    has_records: bool,
    /// Damage does not take the rest of its block with it, if a record follows.
    goes_past_damage: bool,
    /// Bytes of this block whose checksums a search for records may still compute.
    search_budget: usize,
}

/// A physical record: sound, or what is wrong with it.
pub(super) struct Physical {
    /// Where it starts in the file.
    pub(super) offset: u64,
    /// The number of bytes that it takes, or that are skipped.
    pub(super) length: usize,
    pub(super) contents: Contents,
}

pub(super) enum Contents {
    /// A valid record with its payload in the block.
    Record(RecordType, Range<usize>),
    /// The rest of the block is empty, although not filled as a writer would.
    EmptyRest,
    Problem(LogProblemKind),
}

impl<R: Read> BlockReader<R> {
    pub(super) fn new(reader: R, engine: Engine, log_number: u64) -> Self {
        Self {
            reader,
            engine,
            // The header has room for the low half.
            log_number: log_number as u32,
            block: Vec::new(),
            position: 0,
            block_offset: 0,
            at_last_block: false,
            is_recycled: false,
            has_records: false,
            goes_past_damage: false,
            search_budget: 0,
        }
    }

    pub(super) fn go_past_damage(&mut self) {
        self.goes_past_damage = true;
    }

    pub(super) fn is_recycled(&self) -> bool {
        self.is_recycled
    }

    /// The file offset of the next physical record.
    pub(super) fn offset(&self) -> u64 {
        self.block_offset + self.position as u64
    }

    pub(super) fn payload(&self, range: Range<usize>) -> &[u8] {
        &self.block[range]
    }

    /// The file has had a whole record.
    pub(super) fn set_has_records(&mut self) {
        self.has_records = true;
    }

    /// The next physical record, or `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Physical>> {
        loop {
            let rest = &self.block[self.position..];
            let Some(header) = Header::decode_from(rest, self.engine) else {
                if self.at_last_block {
                    return Ok((!rest.is_empty())
                        .then(|| self.drop_block(LogProblemKind::TruncatedHeader)));
                }
                // Too short for a header: filled with zeros.
                self.read_block()?;
                continue;
            };
            return Ok(Some(self.check(&header)));
        }
    }

    /// Puts back the record that was read last.
    pub(super) fn unread(&mut self, record: &Physical) {
        self.position -= record.length;
    }

    fn check(&mut self, header: &Header) -> Physical {
        if header.is_recyclable() {
            if self.has_records && !self.is_recycled {
                return self.skip_damage(LogProblemKind::UnexpectedRecyclable);
            }
            // Damage may have made it look like that.
            let is_certain = !self.goes_past_damage || header.log_number == Some(self.log_number);
            self.is_recycled |= is_certain;
        }
        // The rest of the log before need not start with a record. It is damage if records of this log
        // follow.
        let is_stale =
            self.goes_past_damage && self.is_recycled && header.log_number != Some(self.log_number);
        let found = |problem| if is_stale { LogProblemKind::StaleRecord } else { problem };
        let record = &self.block[self.position..];
        let Some(record) = record.get(..header.size + header.length) else {
            let problem = match self.at_last_block {
                true => LogProblemKind::TruncatedBody,
                false => LogProblemKind::BadLength,
            };
            return self.skip_damage(found(problem));
        };
        let is_sound = checksum(&record[TYPE_OFFSET..]) == header.checksum;
        if is_stale && header.is_recyclable() && !is_sound {
            // It may be the number that is damaged, or the length.
            return self.skip_damage(LogProblemKind::StaleRecord);
        }
        if header.log_number.is_some_and(|number| number != self.log_number) {
            return self.take(header, Contents::Problem(LogProblemKind::StaleRecord));
        }
        if header.kind == RecordType::Zero && header.length == 0 {
            if self.goes_past_damage {
                return match is_stale {
                    true => self.skip_damage(LogProblemKind::StaleRecord),
                    false => self.skip_zeros(),
                };
            }
            let mut empty = self.drop_block(LogProblemKind::BadLength);
            empty.contents = Contents::EmptyRest;
            return empty;
        }
        if !is_sound {
            let next = self.position + header.size + header.length;
            if self.goes_past_damage && !is_stale && self.is_record(next) {
                return self.take(header, Contents::Problem(LogProblemKind::BadChecksum));
            }
            // The length may be what is wrong: nothing behind it in this block can be trusted.
            return self.skip_damage(found(LogProblemKind::BadChecksum));
        }
        let start = self.position + header.size;
        self.take(header, Contents::Record(header.kind, start..start + header.length))
    }

    /// Skips zeros up to the next record in the block, or all of the block. A file may end in zeros,
    /// but bytes behind them belong to a record whose header is lost.
    fn skip_zeros(&mut self) -> Physical {
        let start = self.position;
        let mut skipped = self.skip_damage(LogProblemKind::Zeros);
        if self.block[start..self.position].iter().any(|&byte| byte != 0) {
            skipped.contents = Contents::Problem(LogProblemKind::BadChecksum);
        }
        skipped
    }

    /// Skips the rest of the block, or what is in front of its next sound record, if reading goes past
    /// damage.
    fn skip_damage(&mut self, problem: LogProblemKind) -> Physical {
        let next = self.goes_past_damage.then(|| self.next_record()).flatten();
        let mut skipped = self.drop_block(problem);
        if let Some(next) = next {
            skipped.length -= self.position - next;
            self.position = next;
            if problem == LogProblemKind::TruncatedBody {
                // It is the length that is wrong.
                skipped.contents = Contents::Problem(LogProblemKind::BadLength);
            }
        }
        skipped
    }

    /// Where the next sound record of this log starts in the block, at any byte.
    fn next_record(&mut self) -> Option<usize> {
        for at in self.position + 1..self.block.len() {
            let rest = &self.block[at..];
            let Some(header) = Header::decode_from(rest, self.engine) else { break };
            let is_of_other = header.log_number.is_some_and(|it| it != self.log_number);
            let is_none = matches!(header.kind, RecordType::Zero | RecordType::Unknown(_));
            let is_other_kind = self.has_records && header.is_recyclable() != self.is_recycled;
            if is_of_other || is_none || is_other_kind {
                continue;
            }
            let Some(record) = rest.get(TYPE_OFFSET..header.size + header.length) else { continue };
            self.search_budget = self.search_budget.checked_sub(record.len())?;
            if checksum(record) == header.checksum {
                return Some(at);
            }
        }
        None
    }

    /// Whether a sound record starts here in the block.
    fn is_record(&self, at: usize) -> bool {
        let rest = self.block.get(at..).unwrap_or_default();
        Header::decode_from(rest, self.engine).is_some_and(|header| {
            let record = rest.get(TYPE_OFFSET..header.size + header.length);
            record.is_some_and(|it| checksum(it) == header.checksum)
        })
    }

    fn take(&mut self, header: &Header, contents: Contents) -> Physical {
        let (offset, length) = (self.offset(), header.size + header.length);
        self.position += length;
        Physical { offset, length, contents }
    }

    /// Skips the rest of the block.
    pub(super) fn drop_block(&mut self, problem: LogProblemKind) -> Physical {
        let (offset, length) = (self.offset(), self.block.len() - self.position);
        self.position = self.block.len();
        Physical { offset, length, contents: Contents::Problem(problem) }
    }

    /// Whether a sound record with the number of this log starts behind this file offset, at any byte
    /// of the block in memory.
    pub(super) fn has_record_behind(&self, offset: u64) -> bool {
        let start = usize::try_from(offset.saturating_sub(self.block_offset)).unwrap_or(usize::MAX);
        let mut budget = MAX_SEARCH * BLOCK_SIZE;
        (start.saturating_add(1)..self.block.len()).any(|at| {
            let rest = &self.block[at..];
            let Some(header) = Header::decode_from(rest, self.engine) else { return false };
            if header.log_number != Some(self.log_number) {
                return false;
            }
            let Some(record) = rest.get(..header.size + header.length) else { return false };
            let Some(left) = budget.checked_sub(record.len()) else { return false };
            budget = left;
            checksum(&record[TYPE_OFFSET..]) == header.checksum
        })
    }

    fn read_block(&mut self) -> io::Result<()> {
        self.block_offset += self.block.len() as u64;
        self.position = 0;
        self.block.clear();
        self.search_budget = MAX_SEARCH * BLOCK_SIZE;
        let limit = BLOCK_SIZE as u64;
        self.reader.by_ref().take(limit).read_to_end(&mut self.block)?;
        self.at_last_block = self.block.len() < BLOCK_SIZE;
        Ok(())
    }
}

struct Header {
    checksum: u32,
    length: usize,
    kind: RecordType,
    /// In recyclable records.
    log_number: Option<u32>,
    size: usize,
}

impl Header {
    fn decode_from(bytes: &[u8], engine: Engine) -> Option<Self> {
        let &[c0, c1, c2, c3, l0, l1, kind] = bytes.first_chunk::<HEADER_SIZE>()?;
        let (log_number, size) = match RecordType::is_recyclable(kind, engine) {
            true => {
                let number = bytes.first_chunk::<RECYCLABLE_HEADER_SIZE>()?.last_chunk()?;
                (Some(decode_fixed32(*number)), RECYCLABLE_HEADER_SIZE)
            }
            false => (None, HEADER_SIZE),
        };
        Some(Self {
            checksum: decode_fixed32([c0, c1, c2, c3]),
            length: usize::from(decode_fixed16([l0, l1])),
            kind: RecordType::of(kind, engine),
            log_number,
            size,
        })
    }

    fn is_recyclable(&self) -> bool {
        self.log_number.is_some()
    }
}

/// The masked checksum of what follows it: type, log number, payload.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    match bytes.split_last() {
        Some((&last, contents)) => ChecksumType::Crc32c.compute(contents, last),
        None => 0,
    }
}
