//! Queries.

use crate::arch::{self, Kernel};

use super::BLOCK_LENGTH;

/// The parameters of a filter; its bytes are handed in with each query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastLocalBloomReader {
    kernel: Kernel,
    num_probes: u8,
}

impl FastLocalBloomReader {
    /// A reader over `data`, or `None` where there is not even one block (no writer makes that).
    pub(crate) fn new(num_probes: u8, data: &[u8]) -> Option<Self> {
        (data.len() >= BLOCK_LENGTH).then(|| Self { kernel: Kernel::best(), num_probes })
    }

    pub(crate) fn num_probes(self) -> u8 {
        self.num_probes
    }

    #[inline]
    pub(crate) fn may_contain(self, data: &[u8], hash: u64) -> bool {
        // Bytes beyond the last whole block are ignored.
        self.kernel.bloom_contains(data.as_chunks().0, hash, self.num_probes)
    }

    #[inline]
    pub(crate) fn may_contain_batch(self, data: &[u8], hashes: &[u64], answers: &mut [bool]) {
        self.kernel.bloom_contains_batch(data.as_chunks().0, hashes, self.num_probes, answers);
    }

    #[inline]
    pub(crate) fn prefetch(self, data: &[u8], hash: u64) {
        arch::bloom_prefetch(data.as_chunks().0, hash);
    }
}
