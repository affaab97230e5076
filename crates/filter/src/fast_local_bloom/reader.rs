//! Probing the filter.

use alloc::vec::Vec;

use sstkit_coding::range_map::fast_range32;

use crate::arch::{self, BloomBlock, Kernel, Probes};
use crate::trace::{Probe, ProbePlace, bit_probe, until_failure};

use super::BLOCK_LENGTH;

/// The parameters of a filter. Its bytes are passed to each call; they may be longer than its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastLocalBloomReader {
    num_blocks: u32,
    kernel: Kernel,
    probes: Probes,
}

impl FastLocalBloomReader {
    /// A reader of `data`. `None` if there is no whole block, which no engine writes.
    pub(crate) fn new(num_probes: u8, data: &[u8]) -> Option<Self> {
        // Bytes after the last whole block are ignored.
        let num_blocks = (data.len() / BLOCK_LENGTH).try_into().unwrap_or(u32::MAX);
        let (kernel, probes) = (Kernel::best(), Probes::new(num_probes));
        (num_blocks > 0).then_some(Self { num_blocks, kernel, probes })
    }

    pub(crate) fn num_probes(&self) -> u8 {
        self.probes.count()
    }

    #[inline]
    fn blocks<'d>(&self, data: &'d [u8]) -> &'d [BloomBlock] {
        data.as_chunks().0.get(..self.num_blocks as usize).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn may_contain(&self, data: &[u8], hash: u64) -> bool {
        // Without a slice of the blocks, which would take further instructions for its bounds.
        let index = fast_range32(hash as u32, self.num_blocks);
        match data.as_chunks().0.get(index as usize) {
            Some(block) => self.kernel.bloom_contains(block, (hash >> 32) as u32, self.probes),
            None => true,
        }
    }

    #[inline]
    pub(crate) fn may_contain_batch(&self, data: &[u8], hashes: &[u64], answers: &mut [bool]) {
        self.kernel.bloom_contains_batch(self.blocks(data), hashes, self.probes, answers);
    }

    /// The probes of [`may_contain`](Self::may_contain). (Vector kernels make several at once.)
    pub(crate) fn trace(&self, data: &[u8], hash: u64) -> (ProbePlace, Vec<Probe>) {
        let blocks = self.blocks(data);
        let index = arch::block_index(blocks, hash);
        let place = ProbePlace::Line {
            index: index as u64,
            count: blocks.len() as u64,
            length: BLOCK_LENGTH,
            num_probes: self.num_probes(),
        };
        let block = blocks.get(index).map_or(&[][..], |block| block);
        let bits = arch::bloom_bits(hash, self.num_probes());
        (place, until_failure(bits.map(|bit| bit_probe(block, bit))))
    }

    #[inline]
    pub(crate) fn prefetch(&self, data: &[u8], hash: u64) {
        arch::bloom_prefetch(self.blocks(data), hash);
    }
}
