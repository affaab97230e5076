//! The bits of one part of a filter.

use bytes::Bytes;
use serde::Serialize;
use sstkit_filter::{Filter, FilterParameters};
use sstkit_table::FilterPart;

use super::FilterPartSummary;
use super::distribution;
use crate::encoding::Encoding;

/// Bytes of a segment of a Ribbon filter: one column of 128 slots.
const SEGMENT: usize = 16;
/// The last bytes of a full filter.
const TRAILER: usize = 5;
/// Bytes of a line that are shown bit by bit.
const MAX_LINE: usize = 4 << 10;

/// The bits of one part of a filter, in cells of one or more lines each.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartBits {
    /// The index of the part.
    pub index: u64,
    /// The part.
    #[serde(flatten)]
    pub summary: FilterPartSummary,
    /// The last five bytes, decoded; `None` in a filter block.
    pub trailer: Option<DecodedTrailer>,
    /// The number of lines of a Bloom filter, or of segments of a Ribbon filter.
    pub lines: u64,
    /// The bits of a line or segment.
    pub line_bits: u64,
    /// Bits probed per key, for Bloom filters.
    pub probes: Option<u8>,
    /// Lines or segments in each cell; in the last one, perhaps fewer.
    pub lines_per_cell: u64,
    /// The mean number of set bits in a line, of each cell.
    pub cells: Vec<f64>,
    /// The number of lines with each number of set bits, `0..=line_bits`; empty if there is only one.
    pub histogram: Vec<u64>,
    /// The expected numbers, for Bloom filters with several lines, and for Ribbon filters without their last
    /// block, which is hardly used.
    pub expected: Option<Vec<f64>>,
    /// The columns of a Ribbon filter.
    pub ribbon: Option<RibbonColumns>,
    /// The bytes of the only line, if there is one.
    pub line: Option<String>,
}

/// The last five bytes of a filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DecodedTrailer {
    /// In hexadecimal digits.
    pub hex: String,
    /// What they say.
    pub meaning: String,
}

/// The columns of a Ribbon filter: the first blocks have one fewer than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RibbonColumns {
    /// The seed of the hash function.
    pub seed: u8,
    /// Blocks of 128 slots.
    pub blocks: u64,
    /// Columns of the later blocks.
    pub upper_columns: u64,
    /// The first block with that number of columns.
    pub upper_start_block: u64,
}

impl PartBits {
    /// A full filter or partition.
    pub(super) fn of_full(index: usize, part: &FilterPart, contents: Bytes, cells: usize) -> Self {
        let filter = Filter::from_bytes(&contents);
        let split = contents.len().saturating_sub(TRAILER);
        let (data, trailer) = contents.split_at(split);
        let empty = Self::empty(index, part);
        let empty = Self { trailer: Some(decode(&filter, trailer)), ..empty };
        match filter.parameters() {
            FilterParameters::Bloom { num_probes, block_length } => {
                let bits = Self { probes: Some(num_probes), ..empty };
                let mut bits = bits.count(data, block_length, cells);
                let keys = part.filter.estimated_keys.filter(|_| bits.lines > 1);
                bits.expected = keys.and_then(|keys| {
                    let lines = bits.lines as usize;
                    distribution::expected(keys, lines, 8 * block_length, num_probes)
                });
                bits
            }
            FilterParameters::Ribbon { seed, num_blocks, upper_columns, upper_start_block } => {
                let mut bits = empty.count(data, SEGMENT, cells);
                let segments = bits.lines.saturating_sub(u64::from(upper_columns));
                if segments > 0 && num_blocks > 1 {
                    let slots = f64::from(num_blocks - 1) * 8.0 * SEGMENT as f64;
                    let keys = part.filter.estimated_keys.unwrap_or(slots);
                    let expected =
                        distribution::expected_of_segments(segments, 8 * SEGMENT, keys / slots);
                    bits.expected = Some(expected);
                }
                bits.ribbon = Some(RibbonColumns {
                    seed,
                    blocks: u64::from(num_blocks),
                    upper_columns: u64::from(upper_columns),
                    upper_start_block: u64::from(upper_start_block),
                });
                bits
            }
            _ => empty,
        }
    }

    /// A filter of a filter block: its last byte is the number of probes, and all others are one line.
    pub(super) fn of_line(index: usize, part: &FilterPart, filter: &[u8]) -> Self {
        let empty = Self::empty(index, part);
        let Some((&probes, data)) = filter.split_last() else { return empty };
        Self { probes: Some(probes), ..empty }.count(data, data.len(), 1)
    }

    fn empty(index: usize, part: &FilterPart) -> Self {
        Self {
            index: index as u64,
            summary: FilterPartSummary::of(part),
            trailer: None,
            lines: 0,
            line_bits: 0,
            probes: None,
            lines_per_cell: 1,
            cells: Vec::new(),
            histogram: Vec::new(),
            expected: None,
            ribbon: None,
            line: None,
        }
    }

    /// Counts the set bits of each line, in `cells` cells or fewer.
    fn count(mut self, data: &[u8], line_length: usize, cells: usize) -> Self {
        if line_length == 0 || data.len() < line_length {
            return self;
        }
        let lines: Vec<u32> = data
            .chunks_exact(line_length)
            .map(|line| line.iter().map(|byte| byte.count_ones()).sum())
            .collect();
        let per_cell = lines.len().div_ceil(cells.max(1));
        let mean = |cell: &[u32]| {
            let set: u64 = cell.iter().map(|&set| u64::from(set)).sum();
            // A hundredth of a bit is enough for a colour.
            (100.0 * set as f64 / cell.len() as f64).round() / 100.0
        };
        self.cells = lines.chunks(per_cell).map(mean).collect();
        self.lines = lines.len() as u64;
        self.line_bits = 8 * line_length as u64;
        self.lines_per_cell = per_cell as u64;
        if lines.len() > 1 {
            self.histogram = vec![0; 8 * line_length + 1];
            for set in lines {
                self.histogram[set as usize] += 1;
            }
        } else if data.len() <= MAX_LINE {
            self.line = Some(Encoding::Hex.encode(&data[..line_length]));
        }
        self
    }
}

fn decode(filter: &Filter<&Bytes>, trailer: &[u8]) -> DecodedTrailer {
    let name = filter.kind().name();
    let meaning = match filter.parameters() {
        FilterParameters::Bloom { num_probes, block_length } => {
            format!("{name}, {num_probes} probes in a line of {block_length} bytes")
        }
        FilterParameters::Ribbon { seed, num_blocks, .. } => {
            format!("{name}, seed {seed}, {num_blocks} blocks of 128 slots")
        }
        _ => name.to_owned(),
    };
    DecodedTrailer { hex: Encoding::Hex.encode(trailer), meaning }
}
