//! Probing the filter.

use alloc::vec::Vec;

use sstkit_coding::prefetch::prefetch;

use crate::trace::{Probe, ProbePlace, bit_probe, until_failure};

use super::{delta, may_contain_in_line};

/// The parameters of a filter. Its bytes are passed to each call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegacyBloomReader {
    num_probes: u8,
    num_lines: u32,
    log2_line_length: u32,
}

impl LegacyBloomReader {
    /// A reader of `data`. `None` if its length is not a power of two times the number of lines.
    pub(crate) fn new(num_probes: u8, num_lines: u32, data: &[u8]) -> Option<Self> {
        let lines = usize::try_from(num_lines).ok()?;
        let line_length = data.len().checked_div(lines)?;
        let exact = data.len().is_multiple_of(lines) && line_length.is_power_of_two();
        exact.then(|| Self { num_probes, num_lines, log2_line_length: line_length.ilog2() })
    }

    pub(crate) fn num_probes(self) -> u8 {
        self.num_probes
    }

    pub(super) fn num_lines(self) -> u32 {
        self.num_lines
    }

    pub(crate) fn line_length(self) -> usize {
        1 << self.log2_line_length
    }

    #[inline]
    pub(crate) fn may_contain(self, data: &[u8], hash: u32) -> bool {
        let Some(line) = self.line(data, hash) else { return true };
        may_contain_in_line(line, hash, self.num_probes)
    }

    /// The probes of [`may_contain`](Self::may_contain).
    pub(crate) fn trace(self, data: &[u8], hash: u32) -> (ProbePlace, Vec<Probe>) {
        let place = ProbePlace::Line {
            index: u64::from(hash % self.num_lines),
            count: u64::from(self.num_lines),
            length: self.line_length(),
            num_probes: self.num_probes,
        };
        let line = self.line(data, hash).unwrap_or_default();
        let bit_mask = (8 * line.len() as u64).wrapping_sub(1) as u32;
        let hashes = (0..u32::from(self.num_probes))
            .map(|step| hash.wrapping_add(delta(hash).wrapping_mul(step)));
        let probes = hashes.map(|hash| bit_probe(line, (hash & bit_mask) as usize));
        (place, until_failure(probes))
    }

    #[inline]
    pub(crate) fn prefetch(self, data: &[u8], hash: u32) {
        if let Some(byte) = self.line(data, hash).and_then(<[u8]>::first) {
            prefetch(byte);
        }
    }

    #[inline]
    fn line(self, data: &[u8], hash: u32) -> Option<&[u8]> {
        let start = ((hash % self.num_lines) as usize) << self.log2_line_length;
        data.get(start..start + self.line_length())
    }
}
