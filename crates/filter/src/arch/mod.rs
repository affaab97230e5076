//! The inner loops, one version for each kind of machine. All `unsafe` of this crate is below here.
//!
//! [`scalar`] is the readable definition, compiled everywhere; the others must give the same
//! answers and are tested against it. The choice is made once, in [`Kernel::best`].
//!
//! Most loops work on blocks of a cache-local Bloom filter ([`crate::fast_local_bloom`]) and take
//! them as `&[Block]`: which block is asked is computed and checked here, what lies in it is the
//! kernels' business. The others ask and solve Ribbon filters ([`crate::ribbon`]).

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
pub(crate) type Block = [u8; 64];

/// A column of a block of a Ribbon filter.
pub(crate) type Segment = [u8; 16];

/// Coefficients of an equation of a Ribbon filter, low half and high half.
pub(crate) type Row = [u64; 2];

/// A number of probes, and what kernels want to know about it: worked out once, for it would be 7 %
/// of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probes {
    count: u8,
    /// 1 for each of the first eight that there is, 0 for the others.
    #[cfg(target_arch = "x86_64")]
    first_eight: [u32; 8],
}

impl Probes {
    pub(crate) fn new(count: u8) -> Self {
        Self {
            count,
            #[cfg(target_arch = "x86_64")]
            first_eight: std::array::from_fn(|i| u32::from(i < usize::from(count))),
        }
    }

    pub(crate) fn count(&self) -> u8 {
        self.count
    }
}

/// The version to use on this machine.
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
    /// The fastest version that this machine has.
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

    /// For what needs no more than AVX2.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn avx2(self) -> Option<x86_64::Avx2> {
        match self {
            Self::Scalar => None,
            Self::Avx2(avx2) => Some(avx2),
            Self::Avx512(avx512) => Some(avx512.avx2()),
        }
    }

    /// Runs `work`, compiled with the instructions on bits that this machine has. What is to be
    /// compiled so must be inlined into the closure.
    #[inline]
    pub(crate) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2() {
            return avx2.run(work);
        }
        work()
    }

    /// Whether all bits of `hash` are set in its block. `true` if there are no blocks.
    #[inline]
    pub(crate) fn bloom_contains(self, blocks: &[Block], hash: u64, probes: &Probes) -> bool {
        // Data is below 4 GiB, so the number of blocks fits; said once more, it takes one register.
        let blocks = &blocks[..blocks.len() as u32 as usize];
        let Some(block) = blocks.get(block_index(blocks, hash)) else { return true };
        let x = (hash >> 32) as u32;
        #[cfg(target_arch = "x86_64")]
        if let (Some(avx2), 0..=8) = (self.avx2(), probes.count) {
            return avx2.contains_eight(block, x, &probes.first_eight);
        }
        #[cfg(target_arch = "aarch64")]
        if let Self::Neon(neon) = self {
            return neon.contains(block, x, probes.count);
        }
        self.contains_otherwise(block, x, probes)
    }

    /// Out of line, and said to be rare, lest it takes the registers of what is common.
    #[cold]
    #[inline(never)]
    fn contains_otherwise(self, block: &Block, x: u32, probes: &Probes) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2() {
            return avx2.contains(block, x, probes.count);
        }
        scalar::contains(block, x, probes.count)
    }

    /// [`Kernel::bloom_contains`] of each hash.
    #[inline]
    pub(crate) fn bloom_contains_batch(
        self,
        blocks: &[Block],
        hashes: &[u64],
        probes: &Probes,
        answers: &mut [bool],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2() {
            return avx2.contains_batch(blocks, hashes, probes, answers);
        }
        #[cfg(target_arch = "aarch64")]
        if let Self::Neon(neon) = self {
            let contains = |block: &Block, x: u32| neon.contains(block, x, probes.count);
            return contains_each(blocks, hashes, answers, contains);
        }
        let contains = |block: &Block, x: u32| scalar::contains(block, x, probes.count);
        contains_each(blocks, hashes, answers, contains);
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
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2() {
            return avx2.ribbon_holds(segments, columns, row, shift, result);
        }
        scalar::ribbon_holds(segments, columns, row, shift, result)
    }

    /// Works out the unknowns of up to 64 slots of a Ribbon, the last one first: of each column a bit
    /// of `here`, in place of the unknown 128 slots later. `behind` has those of the other half of
    /// 128 slots. The first coefficient of a row is that of its slot; an empty slot has none, and no
    /// result.
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

    /// Sets the bits of all `hashes` in their blocks. If they are `far` they are fetched ahead of
    /// their use by their first bytes: blocks should be cache lines.
    pub(crate) fn bloom_insert_all(
        self,
        blocks: &mut [Block],
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

fn insert_all_ahead(blocks: &mut [Block], hashes: &[u64], num_probes: u8, far: bool) {
    let look_ahead = if far { LOOK_AHEAD } else { hashes.len() };
    for (i, &hash) in hashes.iter().enumerate() {
        if let Some(&ahead) = hashes.get(i + look_ahead) {
            prefetch(&blocks[block_index(blocks, ahead)]);
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
    prefetch(&block[0]);
    prefetch(&block[block.len() - 1]);
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
