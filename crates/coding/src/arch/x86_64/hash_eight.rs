//! [`xxph3`](crate::xxph3) of eight keys of one length at once, with AVX-512
//! (`docs/decisions/0015-eight-keys-at-once.md`).

use core::arch::asm;
use core::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm_set_epi64x, _mm512_add_epi64, _mm512_and_si512,
    _mm512_castsi128_si512, _mm512_inserti32x4, _mm512_mul_epu32, _mm512_mullo_epi64,
    _mm512_or_si512, _mm512_set1_epi64, _mm512_slli_epi64, _mm512_srli_epi64, _mm512_storeu_si512,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use crate::xxph3::{PRIME64_1, PRIME64_3, SECRET, word};

/// The hashes of eight keys. `None` if they differ in length, or are shorter than 9 or longer than 32
/// bytes, or if the machine lacks an instruction. Processors with AVX-512F but without VPOPCNTDQ reduce
/// their clock rate when AVX-512 is used.
#[inline]
pub(crate) fn xxph3_eight(keys: [&[u8]; 8]) -> Option<[u64; 8]> {
    let length = keys[0].len();
    let is_available = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vpopcntdq");
    if !is_available || keys.iter().any(|key| key.len() != length) {
        return None;
    }
    let keys = keys.map(<[u8]>::as_ptr);
    match length {
        // SAFETY: AVX-512F and AVX-512DQ were just detected. All keys have this length.
        9..=16 => Some(unsafe { hash_9_to_16(keys, length) }),
        // SAFETY: as above.
        17..=32 => Some(unsafe { hash_17_to_32(keys, length) }),
        _ => None,
    }
}

/// # Safety
///
/// Each key must be valid for reads of `length` bytes, which is from 9 to 16.
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn hash_9_to_16(keys: [*const u8; 8], length: usize) -> [u64; 8] {
    let [first, last] = words(|at| {
        // SAFETY: the first eight bytes are part of the key.
        let first: i64 = unsafe { keys[at].cast::<i64>().read_unaligned() };
        // SAFETY: and so are the last eight.
        let end = unsafe { keys[at].add(length - 8) };
        // SAFETY: as above.
        _mm_set_epi64x(unsafe { end.cast::<i64>().read_unaligned() }, first)
    });
    let (low, high) = (keyed(first, 0), keyed(last, 8));
    let sum = _mm512_add_epi64(_mm512_add_epi64(all(length as u64), low), high);
    avalanche(_mm512_add_epi64(sum, fold(low, high)))
}

/// # Safety
///
/// Each key must be valid for reads of `length` bytes, which is from 17 to 32.
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn hash_17_to_32(keys: [*const u8; 8], length: usize) -> [u64; 8] {
    // SAFETY: the first sixteen bytes are part of the key. The load needs no alignment.
    let front = words(|at| unsafe { _mm_loadu_si128(keys[at].cast()) });
    let back = words(|at| {
        // SAFETY: the last sixteen bytes are part of the key.
        let end = unsafe { keys[at].add(length - 16) };
        // SAFETY: as above. The load needs no alignment.
        unsafe { _mm_loadu_si128(end.cast()) }
    });
    let front = fold(keyed(front[0], 0), keyed(front[1], 8));
    let back = fold(keyed(back[0], 16), keyed(back[1], 24));
    let length = all((length as u64).wrapping_mul(PRIME64_1));
    avalanche(_mm512_add_epi64(_mm512_add_epi64(length, front), back))
}

/// The first and the second words of eight vectors, in their order:
///
/// ```text
/// even   a0 b0   a2 b2   a4 b4   a6 b6   --->   a0 a1   a2 a3   a4 a5   a6 a7
/// odd    a1 b1   a3 b3   a5 b5   a7 b7   --->   b0 b1   b2 b3   b4 b5   b6 b7
/// ```
#[target_feature(enable = "avx512f")]
#[inline]
fn words(pair: impl Fn(usize) -> __m128i) -> [__m512i; 2] {
    let even = four([pair(0), pair(2), pair(4), pair(6)]);
    let odd = four([pair(1), pair(3), pair(5), pair(7)]);
    [_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd)]
}

#[target_feature(enable = "avx512f")]
#[inline]
fn four([a, b, c, d]: [__m128i; 4]) -> __m512i {
    let vector = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
    _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(vector, c), d)
}

/// XORs a word of the secret.
#[target_feature(enable = "avx512f")]
#[inline]
fn keyed(words: __m512i, secret_offset: usize) -> __m512i {
    _mm512_xor_si512(words, all(word(&SECRET, secret_offset)))
}

/// The XOR of both halves of the 128-bit products, which are made of four products of 32-bit halves:
///
/// ```text
///               low · low
///        low · high            the middle 64 bits: both of these, and the top of low · low
///        high · low
/// high · high
/// ```
#[target_feature(enable = "avx512f")]
#[inline]
fn fold(a: __m512i, b: __m512i) -> __m512i {
    let low_half = all(0xffff_ffff);
    let (a_high, b_high) = (opaque(_mm512_srli_epi64::<32>(a)), opaque(_mm512_srli_epi64::<32>(b)));
    let low = _mm512_mul_epu32(a, b);
    let low_high = _mm512_mul_epu32(a, b_high);
    let high_low = _mm512_mul_epu32(a_high, b);
    let high = _mm512_mul_epu32(a_high, b_high);
    // Cannot overflow: (2^32 - 1)^2 + 2 · (2^32 - 1) < 2^64.
    let middle = _mm512_add_epi64(
        _mm512_add_epi64(high_low, _mm512_srli_epi64::<32>(low)),
        _mm512_and_si512(low_high, low_half),
    );
    let low = _mm512_or_si512(_mm512_slli_epi64::<32>(middle), _mm512_and_si512(low, low_half));
    let high = _mm512_add_epi64(
        _mm512_add_epi64(high, _mm512_srli_epi64::<32>(low_high)),
        _mm512_srli_epi64::<32>(middle),
    );
    _mm512_xor_si512(low, high)
}

/// The same vector, about which the compiler knows nothing: it would recognize the product of 64 bits,
/// for which there is no vector instruction, and multiply the words one by one.
#[target_feature(enable = "avx512f")]
#[inline]
fn opaque(mut vector: __m512i) -> __m512i {
    // SAFETY: there are no instructions.
    unsafe {
        asm!("/* {0} */", inout(zmm_reg) vector, options(pure, nomem, nostack, preserves_flags));
    }
    vector
}

#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn avalanche(hashes: __m512i) -> [u64; 8] {
    let hashes = _mm512_xor_si512(hashes, _mm512_srli_epi64::<37>(hashes));
    let hashes = _mm512_mullo_epi64(hashes, all(PRIME64_3));
    store(_mm512_xor_si512(hashes, _mm512_srli_epi64::<32>(hashes)))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn all(value: u64) -> __m512i {
    _mm512_set1_epi64(value as i64)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(vector: __m512i) -> [u64; 8] {
    let mut words = [0; 8];
    // SAFETY: the reference is valid for writes of 64 bytes. The store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}
