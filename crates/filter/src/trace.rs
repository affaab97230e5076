//! Traces of filter probes: which bits or columns are read for a key, and what they contain.
//!
//! ```text
//! Bloom    key -> hash -> line 3 of 41 -> bit 321 is 1, bit 77 is 1, bit 400 is 0   not found
//! Ribbon   key -> hash -> slot 1031, row of 128 coefficients
//!                      -> column 0 should be 1 and is, column 1 should be 0 and is 1   not found
//! ```
//!
//! A lookup ends at the first probe that fails, and so does its trace.

use alloc::vec::Vec;

use crate::reader::FilterKind;

/// A trace of the lookup of one key in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterTrace {
    /// The kind of filter.
    pub kind: FilterKind,
    /// The hash of the key. `None` if the filter is not probed.
    pub hash: Option<TracedHash>,
    /// The part of the filter that is probed.
    pub place: ProbePlace,
    /// The probes, up to the first that fails.
    pub probes: Vec<Probe>,
    /// The result.
    pub may_contain: bool,
}

/// A hash of 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TracedHash {
    /// The 32-bit Bloom hash of the older filters.
    Hash32(u32),
    /// XXPH3.
    Hash64(u64),
}

/// The part of a filter that is probed for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbePlace {
    /// None: the result is constant, or a custom policy computes it.
    Nowhere,
    /// A line of a Bloom filter, which contains all bits of a key.
    Line {
        /// Index of the line.
        index: u64,
        /// Number of lines. (In filter blocks each filter is a single line.)
        count: u64,
        /// Length of a line in bytes.
        length: usize,
        /// Number of bits probed if none of them is 0.
        num_probes: u8,
    },
    /// The slots of a Ribbon filter in a key's equation.
    Slots {
        /// The first of 128 slots.
        start: u32,
        /// Number of slots in the filter.
        count: u32,
        /// The coefficients. The lowest bit belongs to the first slot.
        row: u128,
        /// The right-hand side. The lowest bit belongs to column 0.
        result: u32,
        /// The first 16-byte segment that is read, which is that of column 0.
        first_segment: usize,
        /// Number of columns probed if the equation holds in all of them.
        columns: usize,
    },
}

/// One probe of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probe {
    /// The bit within the line, or the column.
    pub position: u64,
    /// The value if the key was added. Always 1 in Bloom filters.
    pub expected: bool,
    /// The value found.
    pub found: bool,
}

impl Probe {
    /// Whether this probe allows the key to be in the filter.
    pub fn passes(&self) -> bool {
        self.found == self.expected
    }
}

/// A trace of a lookup in a [`FilterBlock`](crate::FilterBlock).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterBlockTrace {
    /// Index of the filter for the data block.
    pub index: u64,
    /// Number of filters in the block.
    pub num_filters: usize,
    /// Bytes of the table file that each filter covers. `None` if 2^64 or more.
    pub span: Option<u64>,
    /// Length of the probed filter. `None` if it does not exist or its offsets are damaged.
    pub filter_length: Option<usize>,
    /// The probes of that filter.
    pub filter: FilterTrace,
}

impl FilterTrace {
    /// A trace without probes.
    pub(crate) fn opaque(kind: FilterKind, may_contain: bool) -> Self {
        Self { kind, hash: None, place: ProbePlace::Nowhere, probes: Vec::new(), may_contain }
    }
}

/// The probes up to and including the first that fails.
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

/// Probes one bit of a line of a Bloom filter.
pub(crate) fn bit_probe(line: &[u8], bit: usize) -> Probe {
    let found = line.get(bit / 8).is_none_or(|byte| byte & (1 << (bit % 8)) != 0);
    Probe { position: bit as u64, expected: true, found }
}
