//! Probing the filter.

use alloc::vec::Vec;

use sstkit_coding::prefetch::prefetch;

use crate::arch::Kernel;
use crate::trace::{Probe, ProbePlace, until_failure};

use super::hash::RibbonHasher;
use super::layout::Layout;
use super::size::num_entries;
use super::{BAND_WIDTH, SEGMENT_LENGTH};

/// The parameters of a filter. Its bytes are passed to each call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RibbonReader {
    kernel: Kernel,
    seed: u8,
    hasher: RibbonHasher,
    layout: Layout,
}

impl RibbonReader {
    /// A reader of `data` with at least two blocks.
    pub(crate) fn new(seed: u8, num_blocks: u32, data: &[u8]) -> Self {
        Self {
            kernel: Kernel::best(),
            seed,
            hasher: RibbonHasher::new(seed, num_blocks * BAND_WIDTH),
            layout: Layout::new(data.len(), num_blocks),
        }
    }

    pub(crate) fn seed(self) -> u8 {
        self.seed
    }

    pub(crate) fn num_blocks(self) -> u32 {
        self.layout.num_blocks()
    }

    pub(crate) fn upper_columns(self) -> u32 {
        self.layout.upper_columns()
    }

    pub(crate) fn upper_start_block(self) -> u32 {
        self.layout.upper_start_block()
    }

    pub(crate) fn expected_fpr(self) -> f64 {
        self.layout.expected_fpr()
    }

    /// The number of keys that it is sized for.
    pub(crate) fn capacity(self) -> usize {
        num_entries(self.num_blocks() * BAND_WIDTH)
    }

    /// The probes of [`may_contain`](Self::may_contain).
    pub(crate) fn trace(self, data: &[u8], hash: u64) -> (ProbePlace, Vec<Probe>) {
        let equation = self.hasher.equation(self.hasher.rehash(hash));
        let (start, row, result) = (equation.start, equation.row(), equation.result);
        let (first_segment, columns) = self.layout.block(start / BAND_WIDTH);
        let count = self.num_blocks() * BAND_WIDTH;
        let place = ProbePlace::Slots { start, count, row, result, first_segment, columns };

        let shift = start % BAND_WIDTH;
        let (segments, _) = data.as_chunks::<SEGMENT_LENGTH>();
        let reach = if shift == 0 { columns } else { 2 * columns };
        let Some(segments) = segments.get(first_segment..first_segment + reach) else {
            return (place, Vec::new());
        };
        // The 128 unknowns of a column from the start slot on, from this block and the next.
        let unknowns = |column: usize| match shift {
            0 => u128::from_le_bytes(segments[column]),
            _ => {
                let [here, there] = [column, columns + column].map(|at| segments[at]);
                u128::from_le_bytes(here) >> shift
                    | u128::from_le_bytes(there) << (BAND_WIDTH - shift)
            }
        };
        let probes = (0..columns).map(|column| Probe {
            position: column as u64,
            expected: result >> column & 1 == 1,
            found: parity(unknowns(column) & row) == 1,
        });
        (place, until_failure(probes))
    }

    /// Whether the equation of a key holds in every column.
    #[inline]
    pub(crate) fn may_contain(self, data: &[u8], hash: u64) -> bool {
        let equation = self.hasher.equation(self.hasher.rehash(hash));
        let (first, columns) = self.layout.block(equation.start / BAND_WIDTH);
        let shift = equation.start % BAND_WIDTH;
        let (segments, _) = data.as_chunks::<SEGMENT_LENGTH>();
        // A row that does not start at the start of a block reaches into the next one. The number
        // of columns is that of the first.
        let reach = if shift == 0 { columns } else { 2 * columns };
        let Some(segments) = segments.get(first..).filter(|rest| reach <= rest.len()) else {
            return true;
        };
        self.kernel.ribbon_holds(segments, columns, equation.row(), shift, equation.result)
    }

    #[inline]
    pub(crate) fn prefetch(self, data: &[u8], hash: u64) {
        let start = self.hasher.start(self.hasher.rehash(hash));
        let (first, columns) = self.layout.block(start / BAND_WIDTH);
        let bytes = data.get(first * SEGMENT_LENGTH..).unwrap_or_default();
        // The columns of two blocks are adjacent, usually in two to four cache lines.
        let length = (2 * columns * SEGMENT_LENGTH).min(bytes.len());
        bytes[..length].iter().step_by(64).for_each(prefetch);
        // Filters may have any alignment, so the last byte may be in another line.
        bytes[..length].last().into_iter().for_each(prefetch);
    }
}

/// 1 if the number of set bits is odd.
#[inline]
fn parity(bits: u128) -> u32 {
    (bits as u64 ^ (bits >> 64) as u64).count_ones() & 1
}
