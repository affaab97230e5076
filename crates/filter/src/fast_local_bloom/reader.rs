//! Probing the filter.

use alloc::vec::Vec;

use crate::arch::{self, Kernel, Probes};
use crate::trace::{Probe, ProbePlace, bit_probe, until_failure};

use super::BLOCK_LENGTH;

/// The parameters of a filter. Its bytes are passed to each call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastLocalBloomReader {
    kernel: Kernel,
    probes: Probes,
}

impl FastLocalBloomReader {
    /// A reader of `data`. `None` if there is no whole block, which no engine writes.
    pub(crate) fn new(num_probes: u8, data: &[u8]) -> Option<Self> {
        (data.len() >= BLOCK_LENGTH)
            .then(|| Self { kernel: Kernel::best(), probes: Probes::new(num_probes) })
    }

    pub(crate) fn num_probes(&self) -> u8 {
        self.probes.count()
    }

    #[inline]
    pub(crate) fn may_contain(&self, data: &[u8], hash: u64) -> bool {
        // Bytes after the last whole block are ignored.
        self.kernel.bloom_contains(data.as_chunks().0, hash, &self.probes)
    }

    #[inline]
    pub(crate) fn may_contain_batch(&self, data: &[u8], hashes: &[u64], answers: &mut [bool]) {
        self.kernel.bloom_contains_batch(data.as_chunks().0, hashes, &self.probes, answers);
    }

    /// The probes of [`may_contain`](Self::may_contain). (Vector kernels make several at once.)
    pub(crate) fn trace(&self, data: &[u8], hash: u64) -> (ProbePlace, Vec<Probe>) {
        let (blocks, _) = data.as_chunks();
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
        arch::bloom_prefetch(data.as_chunks().0, hash);
    }
}
