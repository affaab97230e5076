//! The inner loops, with one version per instruction set. All `unsafe` code of this crate is in this
//! module.
//!
//! [`scalar`] is the readable reference, compiled on every target. The other versions must give the
//! same results and are tested against it. [`Kernel::best`] selects a version.
//!
//! Most loops work on blocks of a cache-local Bloom filter ([`crate::fast_local_bloom`]), passed as
//! `&[BloomBlock]`. The index of a block is computed and checked here. Kernels only work within a block.
//! The other loops probe and solve Ribbon filters ([`crate::ribbon`]).

/// Whether the processor has a feature: detected at run time, or without `std` as compiled for.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! has_feature {
    ($name:tt) => {{
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let has = std::arch::is_x86_feature_detected!($name);
        #[cfg(all(feature = "std", target_arch = "aarch64"))]
        let has = std::arch::is_aarch64_feature_detected!($name);
        #[cfg(not(feature = "std"))]
        let has = cfg!(target_feature = $name);
        has
    }};
}

mod scalar;

#[cfg(target_arch = "aarch64")]
#[expect(unsafe_code, reason = "vector instructions, behind safe functions")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions, behind safe functions")]
mod x86_64;

use sstkit_coding::prefetch::prefetch;
use sstkit_coding::range_map::fast_range32;

use crate::batch::{LOOK_AHEAD, answer_each};

/// A block of a cache-local Bloom filter.
pub(crate) type BloomBlock = [u8; 64];

/// One column of one block of a Ribbon filter.
pub(crate) type Segment = [u8; 16];

/// The coefficients of an equation of a Ribbon filter, low half first.
pub(crate) type Row = [u64; 2];

/// A number of probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probes(u8);

impl Probes {
    pub(crate) fn new(count: u8) -> Self {
        Self(count)
    }

    pub(crate) fn count(self) -> u8 {
        self.0
    }

    /// 1 for each of the first eight probes, 0 for the rest. `None` if there are more.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn up_to_eight(self) -> Option<&'static [u32; 8]> {
        // A table, because deriving the values for each probe would take 7 % of its time.
        const ONES: &[[u32; 8]; 9] = &{
            let (mut ones, mut at) = ([[0; 8]; 9], 0);
            while at < 72 {
                ones[at / 8][at % 8] = (at % 8 < at / 8) as u32;
                at += 1;
            }
            ones
        };
        ONES.get(usize::from(self.0))
    }
}

/// The version of the inner loops for this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kernel {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86_64::Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(aarch64::Neon),
}

impl Kernel {
    /// The fastest version that this machine supports.
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = x86_64::Avx512::new() {
            return Self::Avx512(avx512);
        }
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

    /// The AVX2 kernel, for loops that have no AVX-512 version.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn avx2(self) -> Option<x86_64::Avx2> {
        match self {
            Self::Scalar => None,
            Self::Avx2(avx2) => Some(avx2),
            Self::Avx512(avx512) => Some(avx512.avx2()),
        }
    }

    /// Runs `work` compiled with the bit manipulation instructions of this machine. Applies only to
    /// code that is inlined into the closure.
    #[inline]
    pub(crate) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2() {
            return avx2.run(work);
        }
        work()
    }

    /// Whether all bits of the high half of a hash are set in its block.
    #[inline]
    pub(crate) fn bloom_contains(self, block: &BloomBlock, x: u32, probes: Probes) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let (Some(avx2), Some(ones)) = (self.avx2(), probes.up_to_eight()) {
            return avx2.contains_eight(block, x, ones);
        }
        #[cfg(target_arch = "aarch64")]
        if let Self::Neon(neon) = self {
            return neon.contains(block, x, probes.0);
        }
        self.contains_otherwise(block, x, probes)
    }

    /// Cold and not inlined, so that it does not cost the common case registers.
    #[cold]
    #[inline(never)]
    fn contains_otherwise(self, block: &BloomBlock, x: u32, probes: Probes) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2() {
            return avx2.contains(block, x, probes.0);
        }
        scalar::contains(block, x, probes.0)
    }

    /// [`Kernel::bloom_contains`] for each hash, in the block that it selects. True if there are no
    /// blocks. Prefetches blocks before they are probed.
    #[inline]
    pub(crate) fn bloom_contains_batch(
        self,
        blocks: &[BloomBlock],
        hashes: &[u64],
        probes: Probes,
        answers: &mut [bool],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Self::Avx512(avx512) = self {
            return avx512.contains_batch(blocks, hashes, probes, answers);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2() {
            return avx2.contains_batch(blocks, hashes, probes, answers);
        }
        #[cfg(target_arch = "aarch64")]
        if let Self::Neon(neon) = self {
            let contains = |block: &BloomBlock, x: u32| neon.contains(block, x, probes.0);
            return contains_each(blocks, hashes, answers, contains);
        }
        let contains = |block: &BloomBlock, x: u32| scalar::contains(block, x, probes.0);
        contains_each(blocks, hashes, answers, contains);
    }

    /// Whether the equation of a row that starts at slot `shift` of a block holds in every column. The
    /// first `columns` segments are those of the block, the next `columns` those of the next block.
    /// Missing segments count as zero.
    #[inline]
    pub(crate) fn ribbon_holds(
        self,
        segments: &[Segment],
        columns: usize,
        row: u128,
        shift: u32,
        result: u32,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2() {
            return avx2.ribbon_holds(segments, columns, row, shift, result);
        }
        scalar::ribbon_holds(segments, columns, row, shift, result)
    }

    /// Computes the unknowns of up to 64 slots of a Ribbon filter, last slot first. In each column,
    /// bit *t* of `here` is replaced: it was the unknown 128 slots further on. `behind` has the
    /// unknowns of the other half of the 128 slots. The first coefficient of a row belongs to its
    /// slot. An empty slot has a zero row and a zero result.
    pub(crate) fn ribbon_solve(
        self,
        rows: &[Row],
        results: &[u32],
        here: &mut [u64],
        behind: &[u64],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Self::Avx512(avx512) = self {
            return avx512.ribbon_solve(rows, results, here, behind);
        }
        self.run(|| scalar::ribbon_solve(rows, results, here, behind));
    }

    /// Sets the bits of all `hashes` in their blocks. If `far` is set, prefetches the first byte of
    /// each block, so blocks should be aligned to cache lines.
    pub(crate) fn bloom_insert_all(
        self,
        blocks: &mut [BloomBlock],
        hashes: &[u64],
        num_probes: u8,
        far: bool,
    ) {
        if blocks.is_empty() {
            return;
        }
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.insert_all(blocks, hashes, num_probes, far),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx512) => avx512.insert_all(blocks, hashes, num_probes, far),
            _ => insert_all_ahead(blocks, hashes, num_probes, far),
        }
    }
}

fn insert_all_ahead(blocks: &mut [BloomBlock], hashes: &[u64], num_probes: u8, far: bool) {
    let look_ahead = if far { LOOK_AHEAD } else { hashes.len() };
    for (i, &hash) in hashes.iter().enumerate() {
        if let Some(&ahead) = hashes.get(i + look_ahead) {
            prefetch(&blocks[block_index(blocks, ahead)]);
        }
        let index = block_index(blocks, hash);
        scalar::insert(&mut blocks[index], (hash >> 32) as u32, num_probes);
    }
}

#[inline]
pub(crate) fn bloom_prefetch(blocks: &[BloomBlock], hash: u64) {
    if let Some(block) = blocks.get(block_index(blocks, hash)) {
        prefetch_block(block);
    }
}

/// Prefetches a block. Filters may have any alignment, so it may span two cache lines.
#[inline(always)]
fn prefetch_block(block: &BloomBlock) {
    prefetch(&block[0]);
    // Each prefetch may cost a walk of the page table.
    if !block.as_ptr().addr().is_multiple_of(block.len()) {
        prefetch(&block[block.len() - 1]);
    }
}

/// The bits of `hash` in its block, in probe order.
pub(crate) fn bloom_bits(hash: u64, num_probes: u8) -> impl Iterator<Item = usize> {
    scalar::bits((hash >> 32) as u32, num_probes)
}

#[inline(always)]
pub(crate) fn block_index(blocks: &[BloomBlock], hash: u64) -> usize {
    // Data is below 4 GiB, so the number of blocks fits.
    fast_range32(hash as u32, blocks.len() as u32) as usize
}

/// [`Kernel::bloom_contains`] for each hash with one kernel. Always inlined, so that the loop is
/// compiled for the instruction set of the kernel.
#[inline(always)]
fn contains_each(
    blocks: &[BloomBlock],
    hashes: &[u64],
    answers: &mut [bool],
    contains: impl Fn(&BloomBlock, u32) -> bool,
) {
    let may_contain = |hash| match blocks.get(block_index(blocks, hash)) {
        Some(block) => contains(block, (hash >> 32) as u32),
        None => true,
    };
    answer_each(hashes, answers, |hash| bloom_prefetch(blocks, hash), may_contain);
}

#[cfg(test)]
mod tests;
