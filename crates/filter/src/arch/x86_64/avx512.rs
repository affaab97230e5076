//! AVX-512: setting the bits of many hashes, and solving eight columns of a Ribbon at once.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512, _mm512_andnot_si512,
    _mm512_loadu_si512, _mm512_mul_epu32, _mm512_mullo_epi32, _mm512_or_si512,
    _mm512_permutex2var_epi32, _mm512_popcnt_epi64, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setr_epi32, _mm512_setr_epi64, _mm512_setzero_si512, _mm512_slli_epi32,
    _mm512_sllv_epi64, _mm512_srli_epi32, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_xor_si512,
};

use sstkit_coding::prefetch::prefetch;

use super::super::scalar::{self, GOLDEN};
use super::super::{Block, Row};
use super::Avx2;

/// Proof that AVX-512 is here, with counting of bits. Processors that have the one without the other
/// slow down when it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(Avx2);

impl Avx512 {
    pub(crate) fn is_available() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("bmi2")
    }

    pub(crate) fn new() -> Option<Self> {
        let avx2 = Avx2::new()?;
        // SAFETY: all of them were just detected.
        Self::is_available().then(|| unsafe { Self::new_unchecked(avx2) })
    }

    /// # Safety
    ///
    /// The machine must have AVX-512F, AVX-512VPOPCNTDQ and BMI2.
    unsafe fn new_unchecked(avx2: Avx2) -> Self {
        Self(avx2)
    }

    /// What is here, too, and no slower.
    #[inline]
    pub(crate) fn avx2(self) -> Avx2 {
        self.0
    }

    /// [`scalar::insert`] of each hash, a hundred at a time. There must be a block.
    pub(crate) fn insert_all(
        self,
        blocks: &mut [Block],
        hashes: &[u64],
        num_probes: u8,
        far: bool,
    ) {
        if blocks.len() > MAX_BLOCKS {
            return self.0.insert_all(blocks, hashes, num_probes, far);
        }
        if far {
            // SAFETY: `self` exists, so AVX-512 and BMI2 do.
            unsafe { insert_all::<FAR_VECTORS, true>(blocks, hashes, num_probes) }
        } else {
            // SAFETY: as above.
            unsafe { insert_all::<NEAR_VECTORS, false>(blocks, hashes, num_probes) }
        }
    }

    /// [`scalar::ribbon_solve`], eight columns at a time.
    pub(crate) fn ribbon_solve(
        self,
        rows: &[Row],
        results: &[u32],
        here: &mut [u64],
        behind: &[u64],
    ) {
        // SAFETY: `self` exists, so AVX-512, counting and BMI2 do.
        unsafe { ribbon_solve(rows, results, here, behind) }
    }
}

/// Vectors of sixteen hashes in a batch: as many as registers hold; fewer where the blocks of the next
/// one are asked for before, since more cannot be on their way at one time.
const NEAR_VECTORS: usize = 8;
const FAR_VECTORS: usize = 4;

/// Bits of more blocks (512 MiB) have no numbers of 32 bits.
const MAX_BLOCKS: usize = 1 << 23;

/// Sets bits in two steps, since working out a probe of sixteen hashes takes no longer than of one.
/// For all hashes of a batch, as often as there are probes:
///
/// ```text
/// bits = 512 · block + (x >> 23)           by their numbers, counted from the first block
/// x   *= g
///
/// filter[bit / 32] |= 1 << bit % 32        for each of them
/// ```
///
/// The second step takes the time, loading and storing words. So what is loaded and stored besides is
/// as little as can be, and all that the first step goes on from stays in registers. The probes of one
/// hash are a whole batch apart; half as far it takes 1.07 times as long, in a filter that is near.
#[target_feature(enable = "avx512f,bmi2")]
fn insert_all<const VECTORS: usize, const AHEAD: bool>(
    blocks: &mut [Block],
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
        // Setting the bits of a hash once more changes nothing.
        let mut vector = [last; 16];
        vector[..rest.len()].copy_from_slice(rest);
        insert_batch(blocks, &[vector], num_probes);
    }
}

/// Asks for the blocks of sixteen hashes.
#[target_feature(enable = "avx512f,bmi2")]
#[inline]
fn prefetch_blocks(blocks: &[Block], hashes: &[u64; 16]) {
    let (indices, _) = blocks_and_states(hashes, blocks.len());
    store(indices).iter().for_each(|&index| prefetch(&blocks[index as usize]));
}

/// There must be a block, and no more than [`MAX_BLOCKS`]: bits have numbers of 32 bits.
#[target_feature(enable = "avx512f,bmi2")]
#[inline]
fn insert_batch<const VECTORS: usize>(
    blocks: &mut [Block],
    batch: &[[u64; 16]; VECTORS],
    num_probes: u8,
) {
    assert!((1..=MAX_BLOCKS).contains(&blocks.len()), "as many blocks as there may be");
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
        // SAFETY: `x >> 23` is below 512, and the number of a block below the number of
        // blocks, of which there is one, as `hash · blocks >> 32` is for any 32 bits of hash.
        unsafe { set_bits(blocks, &bits) };
    }
}

/// A vector in memory, where a store of it is within a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u32; 16]);

/// The blocks of sixteen hashes, and their states before the first probe.
///
/// Hashes come as pairs of words: the low one chooses the block, the high one is the state.
#[target_feature(enable = "avx512f")]
#[inline]
fn blocks_and_states(hashes: &[u64; 16], num_blocks: usize) -> (__m512i, __m512i) {
    let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    let num_blocks = _mm512_set1_epi64(num_blocks as i64);
    let [a, b] = load_hashes(hashes);
    let [block_a, block_b] = [a, b].map(|hashes| _mm512_mul_epu32(hashes, num_blocks));
    (_mm512_permutex2var_epi32(block_a, odd, block_b), _mm512_permutex2var_epi32(a, odd, b))
}

/// Without checks of bounds, as it is nearly all of the time.
///
/// # Safety
///
/// All bits must lie within the blocks.
#[inline(always)]
unsafe fn set_bits(blocks: &mut [Block], bits: &[Line]) {
    let filter: *mut u32 = blocks.as_mut_ptr().cast();
    for line in bits {
        for &bit in &line.0 {
            // SAFETY: the caller's promise.
            let place = unsafe { filter.add(bit as usize / 32) };
            // SAFETY: it is within the blocks, which are borrowed for writing.
            let before = unsafe { place.read_unaligned() };
            // SAFETY: as above.
            unsafe { place.write_unaligned(before | 1 << (bit % 32)) };
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
/// here  = its bit of the slot from the parity of terms, which is the lowest bit of their number
/// ```
///
/// The result may be added to the terms, as one bit of them anywhere turns the parity. Only `here`
/// has to wait for the slot before; all else is worked out meanwhile.
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
    // SAFETY: 64 bytes are readable behind the reference; the load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store_unknowns(vector: __m512i) -> [u64; 8] {
    let mut words = [0; 8];
    // SAFETY: 64 bytes are writable behind the reference; the store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(vector: __m512i) -> [u32; 16] {
    let mut words = [0; 16];
    // SAFETY: 64 bytes are writable behind the reference; the store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_hashes(hashes: &[u64; 16]) -> [__m512i; 2] {
    let [first, second] = hashes.as_chunks().0 else { unreachable!("sixteen are two eights") };
    [load(first), load(second)]
}
