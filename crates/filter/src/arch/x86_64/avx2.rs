//! Kernels for AVX2.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_blendv_ps, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_movemask_ps,
    _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_permutevar8x32_epi32, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_shuffle_ps,
    _mm256_slli_epi32, _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_storeu_si256, _mm256_sub_epi32,
    _mm256_testc_si256, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use sstkit_coding::prefetch::prefetch;

use super::super::scalar::{self, GOLDEN};
use super::super::{BloomBlock, Probes, Segment, block_index, contains_each};

/// Proof that the machine has AVX2, BMI1, BMI2 and POPCNT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn is_available() -> bool {
        has_feature!("avx2")
            && has_feature!("bmi1")
            && has_feature!("bmi2")
            && has_feature!("popcnt")
    }

    pub(crate) fn new() -> Option<Self> {
        // SAFETY: all of these features were just detected.
        Self::is_available().then(|| unsafe { Self::new_unchecked() })
    }

    /// # Safety
    ///
    /// The machine must have AVX2, BMI1, BMI2 and POPCNT.
    unsafe fn new_unchecked() -> Self {
        Self(())
    }

    /// Runs `work` compiled with BMI and POPCNT but without AVX2: the compiler's vector code for
    /// counting bits is slower than the instruction.
    #[inline]
    pub(crate) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: `self` proves that the enabled features are available.
        unsafe { run(work) }
    }

    /// [`scalar::contains`] with up to eight probes, one for each 1 in `ones`.
    #[inline]
    pub(crate) fn contains_eight(self, block: &BloomBlock, x: u32, ones: &[u32; 8]) -> bool {
        // SAFETY: `self` proves that AVX2 is available.
        unsafe { contains_eight(block, x, ones) }
    }

    /// [`scalar::contains`], eight probes at a time.
    pub(crate) fn contains(self, block: &BloomBlock, x: u32, num_probes: u8) -> bool {
        // SAFETY: `self` proves that AVX2 is available.
        unsafe { contains(block, x, num_probes) }
    }

    #[inline]
    pub(crate) fn contains_batch(
        self,
        blocks: &[BloomBlock],
        hashes: &[u64],
        probes: Probes,
        answers: &mut [bool],
    ) {
        // SAFETY: `self` proves that AVX2 is available.
        unsafe { contains_batch(blocks, hashes, probes, answers) }
    }

    /// [`scalar::ribbon_holds`], eight columns at a time.
    #[inline]
    pub(crate) fn ribbon_holds(
        self,
        segments: &[Segment],
        columns: usize,
        row: u128,
        shift: u32,
        result: u32,
    ) -> bool {
        // SAFETY: `self` proves that AVX2 and BMI2 are available.
        unsafe { ribbon_holds(segments, columns, row, shift, result) }
    }

    /// [`scalar::insert`] for each hash, eight at a time. There must be at least one block.
    pub(crate) fn insert_all(
        self,
        blocks: &mut [BloomBlock],
        hashes: &[u64],
        num_probes: u8,
        far: bool,
    ) {
        // SAFETY: `self` proves that AVX2 is available.
        unsafe { insert_all(blocks, hashes, num_probes, far) }
    }
}

#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn run<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[target_feature(enable = "avx2")]
fn contains_batch(blocks: &[BloomBlock], hashes: &[u64], probes: Probes, answers: &mut [bool]) {
    match probes.up_to_eight() {
        Some(ones) => {
            contains_each(blocks, hashes, answers, |block, x| contains_eight(block, x, ones));
        }
        None => {
            contains_each(blocks, hashes, answers, |block, x| contains(block, x, probes.count()));
        }
    }
}

/// Makes all probes even after one fails, because a branch on it would be unpredictable.
#[target_feature(enable = "avx2")]
#[inline]
fn contains(block: &BloomBlock, mut x: u32, num_probes: u8) -> bool {
    let mut all = true;
    let mut remaining = num_probes;
    while remaining > 8 {
        all &= contains_eight(block, x, &[1; 8]);
        x = x.wrapping_mul(NEXT_EIGHT);
        remaining -= 8;
    }
    all & Probes::new(remaining).up_to_eight().is_some_and(|ones| contains_eight(block, x, ones))
}

/// Up to eight probes:
///
/// ```text
/// lanes  = x · [g^0, g^1, … g^7]           the states of eight consecutive probes
/// word   = lanes >> 28                     selects one of 16 words of 32 bits
/// wanted = 1 << (lanes >> 23 & 31)         selects a bit in it; 0 if there is no probe
/// found  = block[word] has wanted
/// x     *= g^8                             for the next eight
/// ```
///
/// AVX2 has no shuffle of 16 words. Both halves of the block are shuffled by the low three bits of
/// `word`, and its top bit, which is the sign of the lane, selects one of them.
#[target_feature(enable = "avx2")]
#[inline]
fn contains_eight(block: &BloomBlock, x: u32, ones: &[u32; 8]) -> bool {
    let [low, high] = halves(block);
    let lanes = _mm256_mullo_epi32(_mm256_set1_epi32(x as i32), load(&POWERS));
    let word = _mm256_srli_epi32::<28>(lanes);
    let value = _mm256_castps_si256(_mm256_blendv_ps(
        _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, word)),
        _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, word)),
        _mm256_castsi256_ps(lanes),
    ));
    let bit = _mm256_and_si256(_mm256_srli_epi32::<23>(lanes), _mm256_set1_epi32(31));
    let wanted = _mm256_sllv_epi32(load(ones), bit);
    _mm256_testc_si256(value, wanted) == 1
}

/// g^0 to g^7, and g^8, for g = 0x9e3779b9.
pub(super) const POWERS: [u32; 8] =
    [1, 0x9e37_79b9, 0xe35e_67b1, 0x7342_97e9, 0x35fb_e861, 0xdeb7_c719, 0x0448_b211, 0x3459_b749];
const NEXT_EIGHT: u32 = 0xab25_f4c1;

#[target_feature(enable = "avx2")]
#[inline]
fn halves(block: &BloomBlock) -> [__m256i; 2] {
    let [low, high] = block.as_chunks::<32>().0 else { unreachable!("64 bytes are two halves") };
    // SAFETY: each reference is valid for reads of 32 bytes. The load needs no alignment.
    let low = unsafe { _mm256_loadu_si256(low.as_ptr().cast()) };
    // SAFETY: as above.
    let high = unsafe { _mm256_loadu_si256(high.as_ptr().cast()) };
    [low, high]
}

/// Hashes whose bits are set together. Their blocks fit into the L1 cache.
const BATCH: usize = 64;

const MAX_BLOCKS: usize = 1 << 26;

/// One probe of eight hashes: the indices of 32-bit words in the filter, and a bit in each.
#[derive(Clone, Copy, Default)]
struct ProbesOfEight {
    words: [u32; 8],
    bits: [u32; 8],
}

/// The state from which the next probes of eight hashes are computed.
#[derive(Clone, Copy, Default)]
struct States {
    /// The indices of the first words of their blocks.
    blocks: [u32; 8],
    x: [u32; 8],
}

/// Sets bits in two steps: computing one probe of eight hashes takes no longer than of one hash, and
/// setting a computed bit takes three instructions. For each probe, for all hashes of a batch:
///
/// ```text
/// words = blocks + (x >> 28)               16 words in a block
/// bits  = 1 << (x >> 23 & 31)
/// x    *= g
///
/// filter[word] |= bit                      for each of them
/// ```
///
/// This takes 0.55 times as long as inserting one hash after another.
#[target_feature(enable = "avx2")]
fn insert_all(blocks: &mut [BloomBlock], hashes: &[u64], num_probes: u8, far: bool) {
    assert!((1..=MAX_BLOCKS).contains(&blocks.len()), "the index of a word must fit 32 bits");
    let mut states = [States::default(); BATCH / 8];
    let mut probes = [ProbesOfEight::default(); BATCH / 8];
    for hashes in hashes.chunks(BATCH) {
        let (eights, rest) = hashes.as_chunks::<8>();
        let states = &mut states[..eights.len()];
        let probes = &mut probes[..eights.len()];
        for (state, eight) in states.iter_mut().zip(eights) {
            *state = first_states(blocks, eight, far);
        }
        for _ in 0..num_probes {
            for (probe, state) in probes.iter_mut().zip(&mut *states) {
                *probe = next_probes(state);
            }
            // SAFETY: a word is one of the sixteen of a block. The index of a block is
            // `hash · blocks >> 32`, which is below the number of blocks for any 32-bit hash, since
            // there is at least one block.
            unsafe { set_bits(blocks, probes) };
        }
        for &hash in rest {
            let index = block_index(blocks, hash);
            scalar::insert(&mut blocks[index], (hash >> 32) as u32, num_probes);
        }
    }
}

/// The states before the first probe. If `far` is set, prefetches the blocks.
///
/// A hash consists of two words: the low one selects the block, the high one is the state. Taking
/// every other word of two vectors permutes the lanes in the same way for both.
#[target_feature(enable = "avx2")]
#[inline]
fn first_states(blocks: &[BloomBlock], hashes: &[u64; 8], far: bool) -> States {
    let num_blocks = _mm256_set1_epi64x(blocks.len() as i64);
    let (a, b) = load_hashes(hashes);
    let (block_a, block_b) = (_mm256_mul_epu32(a, num_blocks), _mm256_mul_epu32(b, num_blocks));
    let indices = odd_words(block_a, block_b);
    if far {
        for index in store(indices) {
            prefetch(&blocks[index as usize]);
        }
    }
    States { blocks: store(_mm256_slli_epi32::<4>(indices)), x: store(odd_words(a, b)) }
}

/// Computes one probe of each hash and advances the states.
#[target_feature(enable = "avx2")]
#[inline]
fn next_probes(states: &mut States) -> ProbesOfEight {
    let x = load(&states.x);
    states.x = store(_mm256_mullo_epi32(x, _mm256_set1_epi32(GOLDEN as i32)));
    let number = _mm256_and_si256(_mm256_srli_epi32::<23>(x), _mm256_set1_epi32(31));
    ProbesOfEight {
        words: store(_mm256_add_epi32(load(&states.blocks), _mm256_srli_epi32::<28>(x))),
        bits: store(_mm256_sllv_epi32(_mm256_set1_epi32(1), number)),
    }
}

/// Sets bits without bounds checks, which would take a third of the total time.
///
/// # Safety
///
/// All words must be within the blocks.
#[inline]
unsafe fn set_bits(blocks: &mut [BloomBlock], probes: &[ProbesOfEight]) {
    let filter: *mut u32 = blocks.as_mut_ptr().cast();
    for probe in probes {
        for (&word, &bit) in probe.words.iter().zip(&probe.bits) {
            // SAFETY: the caller guarantees that the word is within the blocks.
            let address = unsafe { filter.add(word as usize) };
            // SAFETY: as above; `blocks` is borrowed mutably.
            let before = unsafe { address.read_unaligned() };
            // SAFETY: as above.
            unsafe { address.write_unaligned(before | bit) };
        }
    }
}

/// The second, fourth … of the words of `a` and `b`.
#[target_feature(enable = "avx2")]
#[inline]
fn odd_words(a: __m256i, b: __m256i) -> __m256i {
    _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(
        _mm256_castsi256_ps(a),
        _mm256_castsi256_ps(b),
    ))
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(words: &[u32; 8]) -> __m256i {
    // SAFETY: the reference is valid for reads of 32 bytes. The load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(vector: __m256i) -> [u32; 8] {
    let mut words = [0; 8];
    // SAFETY: the reference is valid for writes of 32 bytes. The store needs no alignment.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) };
    words
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_hashes(hashes: &[u64; 8]) -> (__m256i, __m256i) {
    // SAFETY: the array has four hashes from index 0. The load needs no alignment.
    let first = unsafe { _mm256_loadu_si256(hashes.as_ptr().cast()) };
    // SAFETY: the array has four hashes from index 4.
    let second = unsafe { _mm256_loadu_si256(hashes[4..].as_ptr().cast()) };
    (first, second)
}

/// Eight columns at a time. Computes all of them even if one does not match, because a branch on it
/// would be unpredictable:
///
/// ```text
/// terms = here & low ^ there & high        128 bits for each column
/// XOR the halves of terms down to 32 bits per column, one vector in all
/// continue until the top bit of each lane is the parity of the column
/// wrong = parity ^ result                  in every lane with a column
/// ```
///
/// Always reads eight columns. Excess columns are within the filter and are ignored. At the very end
/// of the filter there are none to read, and the scalar version is used.
#[target_feature(enable = "avx2,bmi2")]
fn ribbon_holds(segments: &[Segment], columns: usize, row: u128, shift: u32, result: u32) -> bool {
    let rows = scalar::halves(row, shift).map(|half| both_lanes(half));
    let mut first = 0;
    loop {
        let eight = |at: usize| segments.get(at..).and_then(<[Segment]>::first_chunk);
        let (Some(here), Some(there)) = (eight(first), eight(columns + first)) else {
            return at_the_end(segments, columns, row, shift, result);
        };
        // The order of columns in the lanes.
        let order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
        let parity = parities(fold_columns(here, there, rows));
        // Shifts bit `column` of the result to the top bit.
        let distance = _mm256_sub_epi32(_mm256_set1_epi32(31), order);
        let expected = _mm256_sllv_epi32(_mm256_set1_epi32((result >> first) as i32), distance);
        let active = _mm256_cmpgt_epi32(_mm256_set1_epi32((columns - first) as i32), order);
        let wrong = _mm256_and_si256(active, _mm256_xor_si256(parity, expected));
        let holds = _mm256_movemask_ps(_mm256_castsi256_ps(wrong)) == 0;
        first += 8;
        // With at most eight columns there is no branch on the result.
        if first >= columns || !holds {
            return holds;
        }
    }
}

#[cold]
fn at_the_end(segments: &[Segment], columns: usize, row: u128, shift: u32, result: u32) -> bool {
    scalar::ribbon_holds(segments, columns, row, shift, result)
}

/// The terms of eight columns, each folded to a lane of 32 bits. Even columns first, then odd ones.
#[target_feature(enable = "avx2")]
#[inline]
fn fold_columns(here: &[Segment; 8], there: &[Segment; 8], rows: [__m256i; 2]) -> __m256i {
    let terms = |pair: usize| {
        let here = _mm256_and_si256(load_pair(here, pair), rows[0]);
        _mm256_xor_si256(here, _mm256_and_si256(load_pair(there, pair), rows[1]))
    };
    // Columns (0, 1) and (2, 3) become 0, 2, 1, 3.
    let quarters = |a: __m256i, b: __m256i| {
        _mm256_xor_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
    };
    let (low, high) = (quarters(terms(0), terms(1)), quarters(terms(2), terms(3)));
    _mm256_xor_si256(odd_words(low, high), even_words(low, high))
}

/// Sets the top bit of each 32-bit lane to the parity of the lane.
#[target_feature(enable = "avx2")]
#[inline]
fn parities(mut lanes: __m256i) -> __m256i {
    lanes = _mm256_xor_si256(lanes, _mm256_slli_epi32::<16>(lanes));
    lanes = _mm256_xor_si256(lanes, _mm256_slli_epi32::<8>(lanes));
    lanes = _mm256_xor_si256(lanes, _mm256_slli_epi32::<4>(lanes));
    lanes = _mm256_xor_si256(lanes, _mm256_slli_epi32::<2>(lanes));
    _mm256_xor_si256(lanes, _mm256_slli_epi32::<1>(lanes))
}

#[target_feature(enable = "avx2")]
#[inline]
fn both_lanes(half: u128) -> __m256i {
    let (low, high) = (half as i64, (half >> 64) as i64);
    _mm256_setr_epi64x(low, high, low, high)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_pair(segments: &[Segment; 8], pair: usize) -> __m256i {
    let pair = &segments.as_chunks::<2>().0[pair];
    // SAFETY: the reference is valid for reads of 32 bytes. The load needs no alignment.
    unsafe { _mm256_loadu_si256(pair.as_ptr().cast()) }
}

/// The first, third … of the words of `a` and `b`.
#[target_feature(enable = "avx2")]
#[inline]
fn even_words(a: __m256i, b: __m256i) -> __m256i {
    _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(
        _mm256_castsi256_ps(a),
        _mm256_castsi256_ps(b),
    ))
}
