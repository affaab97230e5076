//! Kernels for AVX-512: inserting many hashes, and solving eight columns of a Ribbon filter at once.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512, _mm512_andnot_si512,
    _mm512_loadu_si512, _mm512_mul_epu32, _mm512_mullo_epi32, _mm512_or_si512,
    _mm512_permutex2var_epi32, _mm512_popcnt_epi64, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setr_epi32, _mm512_setr_epi64, _mm512_setzero_si512, _mm512_slli_epi32,
    _mm512_sllv_epi64, _mm512_srli_epi32, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_xor_si512,
};

use sstkit_coding::prefetch::prefetch;

use super::super::scalar::{self, GOLDEN};
use super::super::{BloomBlock, Probes, Row};
use super::{Avx2, avx512_probes};

/// Proof that the machine has AVX-512F, AVX-512VPOPCNTDQ and BMI2. Processors with AVX-512F but without
/// VPOPCNTDQ reduce their clock rate when AVX-512 is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(Avx2);

impl Avx512 {
    pub(crate) fn is_available() -> bool {
        has_feature!("avx512f") && has_feature!("avx512vpopcntdq") && has_feature!("bmi2")
    }

    pub(crate) fn new() -> Option<Self> {
        let avx2 = Avx2::new()?;
        // SAFETY: all of these features were just detected.
        Self::is_available().then(|| unsafe { Self::new_unchecked(avx2) })
    }

    /// # Safety
    ///
    /// The machine must have AVX-512F, AVX-512VPOPCNTDQ and BMI2.
    unsafe fn new_unchecked(avx2: Avx2) -> Self {
        Self(avx2)
    }

    /// The AVX2 kernel, for everything that AVX-512 does not make faster.
    #[inline]
    pub(crate) fn avx2(self) -> Avx2 {
        self.0
    }

    /// [`scalar::insert`] for each hash, up to 128 at a time. There must be at least one block.
    pub(crate) fn insert_all(
        self,
        blocks: &mut [BloomBlock],
        hashes: &[u64],
        num_probes: u8,
        far: bool,
    ) {
        if blocks.len() > MAX_BLOCKS {
            return self.0.insert_all(blocks, hashes, num_probes, far);
        }
        if far {
            // SAFETY: `self` proves that AVX-512F and BMI2 are available.
            unsafe { insert_all::<FAR_VECTORS, true>(blocks, hashes, num_probes) }
        } else {
            // SAFETY: as above.
            unsafe { insert_all::<NEAR_VECTORS, false>(blocks, hashes, num_probes) }
        }
    }

    /// [`scalar::contains`] for each hash.
    #[inline]
    pub(crate) fn contains_batch(
        self,
        blocks: &[BloomBlock],
        hashes: &[u64],
        probes: Probes,
        answers: &mut [bool],
    ) {
        let Some(ones) = probes.up_to_eight() else {
            return self.0.contains_batch(blocks, hashes, probes, answers);
        };
        let (eights, rest) = hashes.as_chunks();
        let (answers, more_answers) = answers.as_chunks_mut();
        // SAFETY: `self` proves that AVX-512F is available.
        unsafe { avx512_probes::contains_eights(blocks, eights, ones, answers) };
        self.0.contains_batch(blocks, rest, probes, more_answers);
    }

    /// [`scalar::ribbon_solve`], eight columns at a time.
    pub(crate) fn ribbon_solve(
        self,
        rows: &[Row],
        results: &[u32],
        here: &mut [u64],
        behind: &[u64],
    ) {
        // SAFETY: `self` proves that AVX-512F, VPOPCNTDQ and BMI2 are available.
        unsafe { ribbon_solve(rows, results, here, behind) }
    }
}

/// Vectors of sixteen hashes in a batch: as many as fit into registers. Fewer if the blocks of the next
/// batch are prefetched, because the number of outstanding misses is limited.
const NEAR_VECTORS: usize = 8;
const FAR_VECTORS: usize = 4;

/// In a filter with more blocks (512 MiB), the index of a bit does not fit 32 bits.
const MAX_BLOCKS: usize = 1 << 23;

/// Sets bits in two steps, because computing one probe of sixteen hashes takes no longer than of one
/// hash. For each probe, for all hashes of a batch:
///
/// ```text
/// bits = 512 · block + (x >> 23)           indices from the start of the filter
/// x   *= g
///
/// filter[bit / 32] |= 1 << bit % 32        for each of them
/// ```
///
/// The loads and stores of the second step dominate. All state of the first step stays in registers, to
/// avoid further loads and stores. The probes of one hash are a whole batch apart. At half the distance
/// it takes 1.07 times as long, if the filter is in the cache.
#[target_feature(enable = "avx512f,bmi2")]
fn insert_all<const VECTORS: usize, const AHEAD: bool>(
    blocks: &mut [BloomBlock],
    hashes: &[u64],
    num_probes: u8,
) {
    let (vectors, rest) = hashes.as_chunks();
    let (batches, more) = vectors.as_chunks::<VECTORS>();
    for (i, batch) in batches.iter().enumerate() {
        if AHEAD && let Some(next) = batches.get(i + 1) {
            next.iter().for_each(|vector| prefetch_blocks(blocks, vector));
        }
        insert_batch(blocks, batch, num_probes);
    }
    more.iter().for_each(|vector| insert_batch(blocks, &[*vector], num_probes));
    if let Some(&last) = rest.last() {
        // Padded with copies of the last hash: setting its bits again changes nothing.
        let mut vector = [last; 16];
        vector[..rest.len()].copy_from_slice(rest);
        insert_batch(blocks, &[vector], num_probes);
    }
}

/// Prefetches the blocks of sixteen hashes.
#[target_feature(enable = "avx512f,bmi2")]
#[inline]
fn prefetch_blocks(blocks: &[BloomBlock], hashes: &[u64; 16]) {
    let (indices, _) = blocks_and_states(hashes, blocks.len());
    store(indices).iter().for_each(|&index| prefetch(&blocks[index as usize]));
}

/// There must be 1 to [`MAX_BLOCKS`] blocks, because the index of a bit has 32 bits.
#[target_feature(enable = "avx512f,bmi2")]
#[inline]
fn insert_batch<const VECTORS: usize>(
    blocks: &mut [BloomBlock],
    batch: &[[u64; 16]; VECTORS],
    num_probes: u8,
) {
    assert!((1..=MAX_BLOCKS).contains(&blocks.len()), "the index of a bit must fit 32 bits");
    let mut bits = [Line([0; 16]); VECTORS];
    let [mut first_bits, mut x] = [[_mm512_setzero_si512(); VECTORS]; 2];
    for i in 0..VECTORS {
        let indices;
        (indices, x[i]) = blocks_and_states(&batch[i], blocks.len());
        first_bits[i] = _mm512_slli_epi32::<9>(indices);
    }
    for _ in 0..num_probes {
        for i in 0..VECTORS {
            bits[i].0 = store(_mm512_add_epi32(first_bits[i], _mm512_srli_epi32::<23>(x[i])));
            x[i] = _mm512_mullo_epi32(x[i], _mm512_set1_epi32(GOLDEN as i32));
        }
        // SAFETY: `x >> 23` is below 512. The index of a block is `hash · blocks >> 32`, which is below
        // the number of blocks for any 32-bit hash, since there is at least one block.
        unsafe { set_bits(blocks, &bits) };
    }
}

/// A vector in memory, aligned so that a store touches one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u32; 16]);

/// The blocks of sixteen hashes, and their states before the first probe.
///
/// A hash consists of two words: the low one selects the block, the high one is the state.
#[target_feature(enable = "avx512f")]
#[inline]
fn blocks_and_states(hashes: &[u64; 16], num_blocks: usize) -> (__m512i, __m512i) {
    let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    let num_blocks = _mm512_set1_epi64(num_blocks as i64);
    let [a, b] = load_hashes(hashes);
    let [block_a, block_b] = [a, b].map(|hashes| _mm512_mul_epu32(hashes, num_blocks));
    (_mm512_permutex2var_epi32(block_a, odd, block_b), _mm512_permutex2var_epi32(a, odd, b))
}

/// Sets bits without bounds checks, because it takes nearly all of the time.
///
/// # Safety
///
/// All bits must be within the blocks.
#[inline(always)]
unsafe fn set_bits(blocks: &mut [BloomBlock], bits: &[Line]) {
    let filter: *mut u32 = blocks.as_mut_ptr().cast();
    for line in bits {
        for &bit in &line.0 {
            // SAFETY: the caller guarantees that the bit is within the blocks.
            let address = unsafe { filter.add(bit as usize / 32) };
            // SAFETY: as above; `blocks` is borrowed mutably.
            let before = unsafe { address.read_unaligned() };
            // SAFETY: as above.
            unsafe { address.write_unaligned(before | 1 << (bit % 32)) };
        }
    }
}

#[target_feature(enable = "avx512f,avx512vpopcntdq,bmi2")]
fn ribbon_solve(rows: &[Row], results: &[u32], here: &mut [u64], behind: &[u64]) {
    for (i, (here, behind)) in here.chunks_mut(8).zip(behind.chunks(8)).enumerate() {
        let [mut unknowns, mut others] = [[0; 8]; 2];
        unknowns[..here.len()].copy_from_slice(here);
        others[..behind.len()].copy_from_slice(behind);
        let solved = solve_eight(rows, results, 8 * i, &unknowns, &others);
        here.copy_from_slice(&solved[..here.len()]);
    }
}

/// For each slot, from the last to the first:
///
/// ```text
/// terms = here & row_here ^ behind & row_behind ^ result >> column & 1
/// here  = here with the bit of the slot set to the parity of terms
/// ```
///
/// The result can be added to the terms, because a single bit inverts the parity. Only `here` depends
/// on the previous slot. Everything else is computed independently.
#[target_feature(enable = "avx512f,avx512vpopcntdq,bmi2")]
#[inline]
fn solve_eight(
    rows: &[Row],
    results: &[u32],
    first_column: usize,
    here: &[u64; 8],
    behind: &[u64; 8],
) -> [u64; 8] {
    let (mut here, behind) = (load(here), load(behind));
    let columns = _mm512_add_epi64(
        _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
        _mm512_set1_epi64(first_column as i64),
    );
    for (slot, (row, &result)) in rows.iter().zip(results).enumerate().rev() {
        let bit = 1 << slot;
        let [row_here, row_behind] = scalar::rotated(row, slot as u32);
        let result = _mm512_srlv_epi64(_mm512_set1_epi64(i64::from(result)), columns);
        let known = _mm512_xor_si512(
            _mm512_and_si512(behind, _mm512_set1_epi64(row_behind as i64)),
            _mm512_and_si512(result, _mm512_set1_epi64(1)),
        );
        let row_here = _mm512_set1_epi64((row_here & !bit) as i64);
        let terms = _mm512_xor_si512(_mm512_and_si512(here, row_here), known);
        let parity = _mm512_sllv_epi64(_mm512_popcnt_epi64(terms), _mm512_set1_epi64(slot as i64));
        let bit = _mm512_set1_epi64(bit as i64);
        here = _mm512_or_si512(_mm512_andnot_si512(bit, here), _mm512_and_si512(bit, parity));
    }
    store_unknowns(here)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: the reference is valid for reads of 64 bytes. The load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store_unknowns(vector: __m512i) -> [u64; 8] {
    let mut words = [0; 8];
    // SAFETY: the reference is valid for writes of 64 bytes. The store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(vector: __m512i) -> [u32; 16] {
    let mut words = [0; 16];
    // SAFETY: the reference is valid for writes of 64 bytes. The store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_hashes(hashes: &[u64; 16]) -> [__m512i; 2] {
    let [first, second] = hashes.as_chunks().0 else { unreachable!("sixteen are two eights") };
    [load(first), load(second)]
}
