//! x86-64: AVX2 for queries, and prefetching.

use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_and_si256, _mm256_blendv_ps, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_mullo_epi32,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_slli_epi32,
    _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_testc_si256,
};

use super::{Block, contains_ahead};

/// Asks for the cache line at the start of `bytes` to be brought into the first-level cache.
#[inline(always)]
pub(super) fn prefetch(bytes: &[u8]) {
    // SAFETY: a prefetch is a hint; it reads nothing and faults on no address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().cast()) }
}

/// Proof that AVX2 is here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(super) fn is_available() -> bool {
        is_x86_feature_detected!("avx2")
    }

    pub(super) fn new() -> Option<Self> {
        // SAFETY: AVX2 was just detected.
        Self::is_available().then(|| unsafe { Self::new_unchecked() })
    }

    /// # Safety
    ///
    /// The machine must have AVX2.
    unsafe fn new_unchecked() -> Self {
        Self(())
    }

    /// [`super::scalar::contains`], eight probes at a time.
    #[inline]
    pub(super) fn contains(self, block: &Block, x: u32, num_probes: u8) -> bool {
        // SAFETY: `self` exists, so AVX2 does.
        unsafe { contains(block, x, num_probes) }
    }

    #[inline]
    pub(super) fn contains_batch(
        self,
        blocks: &[Block],
        hashes: &[u64],
        num_probes: u8,
        answers: &mut [bool],
    ) {
        // SAFETY: `self` exists, so AVX2 does.
        unsafe { contains_batch(blocks, hashes, num_probes, answers) }
    }
}

#[target_feature(enable = "avx2")]
fn contains_batch(blocks: &[Block], hashes: &[u64], num_probes: u8, answers: &mut [bool]) {
    contains_ahead(blocks, hashes, answers, |block, x| contains(block, x, num_probes));
}

/// Eight probes at a time:
///
/// ```text
/// lanes = x · [g^0, g^1, … g^7]            the states of eight consecutive probes
/// word  = lanes >> 28                      the block as 16 words of 32 bits: which one
/// bit   = 1 << (lanes >> 23 & 31)          and which bit of it
/// found = block[word] & bit == bit         in every lane below the number of probes
/// x    *= g^8
/// ```
///
/// There is no shuffle of 16 words, so both halves of the block are shuffled by the low three bits
/// of `word` and its top bit, which is the sign of the lane, chooses between them.
#[target_feature(enable = "avx2")]
#[inline]
fn contains(block: &Block, mut x: u32, num_probes: u8) -> bool {
    /// g^8 for g = 0x9e3779b9.
    const NEXT_EIGHT: u32 = 0xab25_f4c1;

    let (low, high) = halves(block);
    let powers = _mm256_setr_epi32(
        1,
        0x9e37_79b9_u32 as i32,
        0xe35e_67b1_u32 as i32,
        0x7342_97e9,
        0x35fb_e861,
        0xdeb7_c719_u32 as i32,
        0x0448_b211,
        0x3459_b749,
    );
    let lane_numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let mut remaining = i32::from(num_probes);
    while remaining > 0 {
        let lanes = _mm256_mullo_epi32(_mm256_set1_epi32(x as i32), powers);
        let word = _mm256_srli_epi32::<28>(lanes);
        let value = _mm256_castps_si256(_mm256_blendv_ps(
            _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, word)),
            _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, word)),
            _mm256_castsi256_ps(lanes),
        ));
        let number = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(lanes));
        // Lanes past the last probe ask for no bit.
        let active = _mm256_cmpgt_epi32(_mm256_set1_epi32(remaining), lane_numbers);
        let one = _mm256_and_si256(active, _mm256_set1_epi32(1));
        let bit = _mm256_sllv_epi32(one, number);
        // testc: no bit of `bit` is outside `value`.
        if _mm256_testc_si256(value, bit) == 0 {
            return false;
        }
        x = x.wrapping_mul(NEXT_EIGHT);
        remaining -= 8;
    }
    true
}

#[target_feature(enable = "avx2")]
#[inline]
fn halves(block: &Block) -> (__m256i, __m256i) {
    let [low, high] = block.as_chunks::<32>().0 else { unreachable!("64 bytes are two halves") };
    // SAFETY: 32 bytes are readable behind each reference; the load needs no alignment.
    let low = unsafe { _mm256_loadu_si256(low.as_ptr().cast()) };
    // SAFETY: as above.
    let high = unsafe { _mm256_loadu_si256(high.as_ptr().cast()) };
    (low, high)
}
