//! What can be wrong with a log.

use std::fmt;

use crate::error::Error;

/// A problem in a log, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogProblem {
    /// What it is.
    pub kind: LogProblemKind,
    /// The file offset of the physical record it was found at.
    pub offset: u64,
    /// The number of bytes that are skipped for it.
    pub dropped: u64,
}

impl LogProblem {
    /// A problem of this kind, found at a file offset, for which `dropped` bytes are skipped.
    pub fn new(kind: LogProblemKind, offset: u64, dropped: u64) -> Self {
        Self { kind, offset, dropped }
    }
}

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogProblemKind {
    /// The file ends inside of a physical record's header.
    TruncatedHeader,
    /// The file ends inside of a physical record's payload.
    TruncatedBody,
    /// The file, or what is valid of it, ends inside of a record of several fragments.
    UnfinishedRecord,
    /// The file ends inside of an atomic group of edits; only a MANIFEST has those.
    UnfinishedGroup,
    /// Stale bytes of a recycled file start here: the log number differs. The valid part ends.
    StaleRecord,
    /// A length that exceeds the block.
    BadLength,
    /// The checksum differs.
    BadChecksum,
    /// A middle or last fragment without a first one.
    MissingStart,
    /// A record of several fragments is followed by another before it ended.
    MissingEnd,
    /// A record of several fragments has something unreadable inside.
    Interrupted,
    /// A record type that is not known and must not be ignored.
    UnknownType(u8),
    /// Recyclable records in a file that did not start with them.
    UnexpectedRecyclable,
    /// A second compression record, one after the first data, or one with an unknown codec.
    BadCompressionRecord,
    /// Compressed bytes that cannot be read.
    BadCompression,
    /// A record of timestamp sizes that is not readable, or contradicts an earlier one.
    BadTimestampSizes,
    /// A record about the preceding log that is not readable.
    BadPredecessor,
    /// Zeros where a record should be. Only a reader that goes [past
    /// damage](super::LogReader::past_damage) reports it: files may end in zeros.
    Zeros,
}

impl LogProblemKind {
    /// Whether a crash of the writer explains it: the end of the file is missing.
    pub fn is_torn_tail(self) -> bool {
        matches!(
            self,
            Self::TruncatedHeader
                | Self::TruncatedBody
                | Self::UnfinishedRecord
                | Self::UnfinishedGroup
        )
    }

    /// Whether a log ends like this that was preallocated or recycled, if no record follows.
    pub(crate) fn may_be_end(self) -> bool {
        matches!(self, Self::Zeros | Self::StaleRecord)
    }
}

impl fmt::Display for LogProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TruncatedHeader => "the file ends inside a record header",
            Self::TruncatedBody => "the file ends inside a record",
            Self::UnfinishedRecord => "the last fragments of a record are missing",
            Self::UnfinishedGroup => "the last edits of an atomic group are missing",
            Self::StaleRecord => "records of the log that used this file before start here",
            Self::BadLength => "a record extends beyond its block",
            Self::BadChecksum => "the checksum does not match",
            Self::MissingStart => "a fragment without the start of its record",
            Self::MissingEnd => "a record without its end",
            Self::Interrupted => "a record with unreadable contents",
            Self::UnknownType(number) => return write!(f, "unknown record type {number}"),
            Self::UnexpectedRecyclable => "a recyclable record in a log that is not recycled",
            Self::BadCompressionRecord => "an invalid compression record",
            Self::BadCompression => "compressed data that cannot be decompressed",
            Self::BadTimestampSizes => "an invalid timestamp size record",
            Self::BadPredecessor => "an unreadable predecessor log record",
            Self::Zeros => "zeros instead of a record",
        })
    }
}

impl From<LogProblem> for Error {
    fn from(problem: LogProblem) -> Self {
        Self::corrupt(problem.kind.to_string()).at_offset(problem.offset)
    }
}
