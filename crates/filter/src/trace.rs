//! A query, written down: what a filter looks at for one key, and what it finds.
//!
//! ```text
//! Bloom    key -> hash -> line 3 of 41 -> bit 321 is 1, bit 77 is 1, bit 400 is 0   not here
//! Ribbon   key -> hash -> slot 1031, row of 128 coefficients
//!                      -> column 0 should be 1 and is, column 1 should be 0 and is 1   not here
//! ```
//!
//! A query ends with the first probe that finds something else than a key of the filter would have
//! left there, and so does its trace.

use crate::reader::FilterKind;

/// What a filter looks at for one key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterTrace {
    /// What the filter is.
    pub kind: FilterKind,
    /// The hash of the key that decides, 32 or 64 bits of it; none where nothing is looked at.
    pub hash: Option<TracedHash>,
    /// Where the filter looks.
    pub place: ProbePlace,
    /// What it finds there, up to the first probe that fails.
    pub probes: Vec<Probe>,
    /// The answer.
    pub may_contain: bool,
}

/// A hash, by its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TracedHash {
    /// One of the Bloom hashes of the older filters.
    Hash32(u32),
    /// XXPH3.
    Hash64(u64),
}

/// The part of a filter that a key is looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbePlace {
    /// None: the answer is always the same, or only a user-made policy knows.
    Nowhere,
    /// A line of a Bloom filter: all bits of a key lie in one.
    Line {
        /// Which.
        index: u64,
        /// Of how many. (In filter blocks the whole filter is one.)
        count: u64,
        /// Bytes of a line.
        length: usize,
        /// Bits looked at, if none of them is 0.
        num_probes: u8,
    },
    /// The slots of a Ribbon filter that a key's equation is about.
    Slots {
        /// The first of 128.
        start: u32,
        /// Of how many.
        count: u32,
        /// Its coefficients; the lowest bit is that of the first slot.
        row: u128,
        /// The right-hand side; the lowest bit is that of column 0.
        result: u32,
        /// The first of the 16-byte segments that are read: that of column 0.
        first_segment: usize,
        /// Columns looked at, if the equation holds in all of them.
        columns: usize,
    },
}

/// One look into a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probe {
    /// The bit within the line, or the column.
    pub position: u64,
    /// What a key that was added would have left there: 1 in Bloom filters.
    pub expected: bool,
    /// What is there.
    pub found: bool,
}

impl Probe {
    /// Whether the key may be in the filter, as far as this probe can tell.
    pub fn passes(&self) -> bool {
        self.found == self.expected
    }
}

/// A query of a [`FilterBlock`](crate::FilterBlock).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterBlockTrace {
    /// Which filter is responsible for the data block.
    pub index: u64,
    /// How many there are.
    pub num_filters: usize,
    /// Bytes of the table file that one filter is for; `None` from 2^64 on.
    pub span: Option<u64>,
    /// Bytes of the filter asked; `None` where it is missing or its offsets are damaged.
    pub filter_length: Option<usize>,
    /// What it looked at.
    pub filter: FilterTrace,
}

impl FilterTrace {
    /// The trace of an answer for which nothing is looked at, or nothing that can be told.
    pub(crate) fn opaque(kind: FilterKind, may_contain: bool) -> Self {
        Self { kind, hash: None, place: ProbePlace::Nowhere, probes: Vec::new(), may_contain }
    }
}

/// The probes up to the first that fails.
pub(crate) fn until_failure(probes: impl Iterator<Item = Probe>) -> Vec<Probe> {
    let mut seen = Vec::new();
    for probe in probes {
        seen.push(probe);
        if !probe.passes() {
            break;
        }
    }
    seen
}

/// Looks at one bit of a Bloom filter's line.
pub(crate) fn bit_probe(line: &[u8], bit: usize) -> Probe {
    let found = line.get(bit / 8).is_none_or(|byte| byte & (1 << (bit % 8)) != 0);
    Probe { position: bit as u64, expected: true, found }
}
