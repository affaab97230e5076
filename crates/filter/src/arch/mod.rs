//! The inner loops, one version for each kind of machine. All `unsafe` of this crate is below here.
//!
//! [`scalar`] is the readable definition, compiled everywhere; the others must give the same
//! answers and are tested against it. The choice is made once, in [`Kernel::best`].
//!
//! Most loops work on blocks of a cache-local Bloom filter ([`crate::fast_local_bloom`]) and take
//! them as `&[Block]`: which block is asked is computed and checked here, what lies in it is the
//! kernels' business. One works on segments of a Ribbon filter ([`crate::ribbon`]).

mod scalar;

#[cfg(target_arch = "aarch64")]
#[expect(unsafe_code, reason = "vector instructions and prefetches, behind safe functions")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions and prefetches, behind safe functions")]
mod x86_64;

use sstkit_coding::range_map::fast_range32;

use crate::batch::{LOOK_AHEAD, answer_each};

/// A block of a cache-local Bloom filter.
pub(crate) type Block = [u8; 64];

/// A column of a block of a Ribbon filter.
pub(crate) type Segment = [u8; 16];

/// The version to use on this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kernel {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(aarch64::Neon),
}

impl Kernel {
    /// The fastest version that this machine has.
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = x86_64::Avx2::new() {
            return Self::Avx2(avx2);
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(neon) = aarch64::Neon::new() {
            return Self::Neon(neon);
        }
        Self::Scalar
    }

    /// Runs `work`, compiled with the instructions on bits that this machine has. What is to be
    /// compiled so must be inlined into the closure.
    #[inline]
    pub(crate) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.run(work),
            _ => work(),
        }
    }

    /// Whether all bits of `hash` are set in its block. `true` if there are no blocks.
    #[inline]
    pub(crate) fn bloom_contains(self, blocks: &[Block], hash: u64, num_probes: u8) -> bool {
        let Some(block) = blocks.get(block_index(blocks, hash)) else { return true };
        let x = (hash >> 32) as u32;
        match self {
            Self::Scalar => scalar::contains(block, x, num_probes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.contains(block, x, num_probes),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(neon) => neon.contains(block, x, num_probes),
        }
    }

    /// [`Kernel::bloom_contains`] of each hash.
    #[inline]
    pub(crate) fn bloom_contains_batch(
        self,
        blocks: &[Block],
        hashes: &[u64],
        num_probes: u8,
        answers: &mut [bool],
    ) {
        match self {
            Self::Scalar => {
                contains_each(blocks, hashes, answers, |block, x| {
                    scalar::contains(block, x, num_probes)
                });
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.contains_batch(blocks, hashes, num_probes, answers),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(neon) => {
                contains_each(blocks, hashes, answers, |block, x| {
                    neon.contains(block, x, num_probes)
                });
            }
        }
    }

    /// Whether the equation of a row that starts at slot `shift` of a Ribbon's block holds in every
    /// column. The first `columns` of the segments are those of the block, as many after them those
    /// of the next. What is not there counts as zero.
    #[inline]
    pub(crate) fn ribbon_holds(
        self,
        segments: &[Segment],
        columns: usize,
        row: u128,
        shift: u32,
        result: u32,
    ) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.ribbon_holds(segments, columns, row, shift, result),
            _ => scalar::ribbon_holds(segments, columns, row, shift, result),
        }
    }

    /// Sets the bits of all `hashes` in their blocks, fetching blocks ahead of their use.
    pub(crate) fn bloom_insert_all(self, blocks: &mut [Block], hashes: &[u64], num_probes: u8) {
        if blocks.is_empty() {
            return;
        }
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.insert_all(blocks, hashes, num_probes),
            _ => insert_all_ahead(blocks, hashes, num_probes),
        }
    }
}

fn insert_all_ahead(blocks: &mut [Block], hashes: &[u64], num_probes: u8) {
    for (i, &hash) in hashes.iter().enumerate() {
        if let Some(&ahead) = hashes.get(i + LOOK_AHEAD) {
            bloom_prefetch(blocks, ahead);
        }
        let index = block_index(blocks, hash);
        scalar::insert(&mut blocks[index], (hash >> 32) as u32, num_probes);
    }
}

/// Asks for the block of `hash` to be brought near.
#[inline]
pub(crate) fn bloom_prefetch(blocks: &[Block], hash: u64) {
    if let Some(block) = blocks.get(block_index(blocks, hash)) {
        prefetch_block(block);
    }
}

/// Asks for a block to be brought near. Filters lie anywhere in memory, so it may be in two cache
/// lines.
#[inline(always)]
fn prefetch_block(block: &Block) {
    prefetch(block);
    prefetch(&block[block.len() - 1..]);
}

/// Asks for the cache line at the start of `bytes` to be brought near.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    x86_64::prefetch(bytes);
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    aarch64::prefetch(bytes);
    #[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri))]
    let _ = bytes;
}

/// The bits of a block that `hash` leads to, in their order.
pub(crate) fn bloom_bits(hash: u64, num_probes: u8) -> impl Iterator<Item = usize> {
    scalar::bits((hash >> 32) as u32, num_probes)
}

/// Which block `hash` leads to.
#[inline(always)]
pub(crate) fn block_index(blocks: &[Block], hash: u64) -> usize {
    // Data is below 4 GiB, so the number of blocks fits; of larger ones the rest is never used.
    fast_range32(hash as u32, blocks.len() as u32) as usize
}

/// [`Kernel::bloom_contains`] of each hash by one kernel. Always inlined, so that the loop is
/// compiled for the kernel's instruction set.
#[inline(always)]
fn contains_each(
    blocks: &[Block],
    hashes: &[u64],
    answers: &mut [bool],
    contains: impl Fn(&Block, u32) -> bool,
) {
    answer_each(hashes, answers, |hash| match blocks.get(block_index(blocks, hash)) {
        Some(block) => contains(block, (hash >> 32) as u32),
        None => true,
    });
}

#[cfg(test)]
mod tests;
