//! Probing a cache-local Bloom filter for eight hashes, with AVX-512.
//!
//! A block of 16 words fits into one vector, and so do the probes of two hashes:
//!
//! ```text
//! lanes  = x · [g^0, … g^7] | y · [g^0, … g^7]    x and y: the states of two hashes
//! word   = lanes >> 28                            one of 16 words of 32 bits
//! value  = words of x's block | of y's block      two shuffles
//! wanted = 1 rotated left by lanes >> 23          a bit in it; 0 if there is no probe
//! absent = lanes where value does not have wanted
//! ```

use core::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_mask_permutexvar_epi32, _mm512_mul_epu32,
    _mm512_mullo_epi32, _mm512_permutexvar_epi32, _mm512_rolv_epi32, _mm512_set1_epi64,
    _mm512_srli_epi32, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_testn_epi32_mask,
};

use sstkit_coding::prefetch::prefetch;

use super::super::BloomBlock;
use super::avx2::POWERS;
use crate::batch::BATCH;

/// Probes for hashes in eights: up to eight for each, one for each 1 in `ones`. Prefetches the blocks of
/// a batch, then probes them.
#[target_feature(enable = "avx512f")]
pub(super) fn contains_eights(
    blocks: &[BloomBlock],
    eights: &[[u64; 8]],
    ones: &[u32; 8],
    answers: &mut [[bool; 8]],
) {
    if blocks.is_empty() {
        return answers.fill([true; 8]);
    }
    let settings = Settings::new(ones);
    let mut indices = [[0; 8]; BATCH / 8];
    for (eights, answers) in eights.chunks(BATCH / 8).zip(answers.chunks_mut(BATCH / 8)) {
        let indices = &mut indices[..eights.len()];
        for (indices, hashes) in indices.iter_mut().zip(eights) {
            *indices = block_indices(blocks, hashes);
        }
        for &index in indices.as_flattened() {
            // SAFETY: `block_indices` returns indices of blocks.
            prefetch(unsafe { blocks.get_unchecked(index as usize) });
        }
        for ((answers, hashes), indices) in answers.iter_mut().zip(eights).zip(indices) {
            // SAFETY: as above.
            *answers = unsafe { contains_eight(blocks, hashes, indices, &settings) };
        }
    }
}

/// The indices of the blocks of eight hashes: `hash · blocks >> 32`, which is below the number of blocks
/// for any 32-bit hash, since there is at least one block.
#[target_feature(enable = "avx512f")]
#[inline]
fn block_indices(blocks: &[BloomBlock], hashes: &[u64; 8]) -> [u64; 8] {
    let count = _mm512_set1_epi64(blocks.len() as i64);
    let mut indices = [0; 8];
    let vector = _mm512_srli_epi64::<32>(_mm512_mul_epu32(load(hashes), count));
    // SAFETY: the reference is valid for writes of 64 bytes. The store needs no alignment.
    unsafe { _mm512_storeu_si512(indices.as_mut_ptr().cast(), vector) };
    indices
}

/// What is the same for all hashes.
struct Settings {
    powers: __m512i,
    ones: __m512i,
    /// The lanes with a probe: those of the first hash in the low byte.
    active: u16,
    /// For each pair of hashes, eight times the high word of the first, and of the second.
    states: [__m512i; 4],
}

impl Settings {
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn new(ones: &[u32; 8]) -> Self {
        const STATES: [[u32; 16]; 4] = {
            let mut lanes = [[0; 16]; 4];
            let mut i = 0;
            while i < 64 {
                lanes[i / 16][i % 16] = (4 * (i / 16) + 2 * (i % 16 / 8) + 1) as u32;
                i += 1;
            }
            lanes
        };
        let active = 0xff_u16.unbounded_shr(8 - ones.iter().sum::<u32>());
        Self {
            powers: twice(&POWERS),
            ones: twice(ones),
            active: active << 8 | active,
            states: [words(&STATES[0]), words(&STATES[1]), words(&STATES[2]), words(&STATES[3])],
        }
    }
}

/// # Safety
///
/// The indices must be below the number of blocks.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn contains_eight(
    blocks: &[BloomBlock],
    hashes: &[u64; 8],
    indices: &[u64; 8],
    settings: &Settings,
) -> [bool; 8] {
    let mut answers = [false; 8];
    let hashes = load(hashes);
    for (pair, answers) in answers.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        // SAFETY: the caller guarantees that these are indices of blocks.
        let first = unsafe { line(blocks, indices[2 * pair]) };
        // SAFETY: as above.
        let second = unsafe { line(blocks, indices[2 * pair + 1]) };
        let x = _mm512_permutexvar_epi32(settings.states[pair], hashes);
        let lanes = _mm512_mullo_epi32(x, settings.powers);
        let word = _mm512_srli_epi32::<28>(lanes);
        let value = _mm512_permutexvar_epi32(word, first);
        let value = _mm512_mask_permutexvar_epi32(value, 0xff00, word, second);
        let wanted = _mm512_rolv_epi32(settings.ones, _mm512_srli_epi32::<23>(lanes));
        let absent = _mm512_testn_epi32_mask(value, wanted) & settings.active;
        *answers = [absent & 0xff == 0, absent >> 8 == 0];
    }
    answers
}

/// # Safety
///
/// The index must be below the number of blocks.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn line(blocks: &[BloomBlock], index: u64) -> __m512i {
    // SAFETY: guaranteed by the caller.
    let block = unsafe { blocks.get_unchecked(index as usize) };
    // SAFETY: the reference is valid for reads of 64 bytes. The load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn twice(words: &[u32; 8]) -> __m512i {
    let mut both = [0; 16];
    both[..8].copy_from_slice(words);
    both[8..].copy_from_slice(words);
    self::words(&both)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn words(words: &[u32; 16]) -> __m512i {
    // SAFETY: the reference is valid for reads of 64 bytes. The load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: the reference is valid for reads of 64 bytes. The load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}
