//! XXPH3 with seed 0, implemented from the formulas of `hashes.md`.

use std::sync::LazyLock;

pub(super) const PRIME32_1: u64 = 0x9e37_79b1;
pub(super) const PRIME32_2: u64 = 0x85eb_ca77;
pub(super) const PRIME32_3: u64 = 0xc2b2_ae3d;
pub(super) const PRIME64_1: u64 = 0x9e37_79b1_85eb_ca87;
pub(super) const PRIME64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
pub(super) const PRIME64_3: u64 = 0x1656_67b1_9e37_79f9;
pub(super) const PRIME64_4: u64 = 0x85eb_ca77_c2b2_ae63;
pub(super) const PRIME64_5: u64 = 0x27d4_eb2f_1656_67c5;

const SECRET_WORDS: [u64; 24] = [
    0xbe4b_a423_396c_feb8,
    0x1cad_21f7_2c81_017c,
    0xdb97_9083_e96d_d4de,
    0x1f67_b3b7_a4a4_4072,
    0x78e5_c0cc_4ee6_79cb,
    0x2172_ffcc_7dd0_5a82,
    0x8e24_43f7_7446_08b8,
    0x4c26_3a81_e690_35e0,
    0xcb00_c391_bb52_283c,
    0xa32e_531b_8b65_d088,
    0x4ef9_0da2_9748_6471,
    0xd8ac_dea9_46ef_1938,
    0x3f34_9ce3_3f76_faa8,
    0x1d4f_0bc7_c7bb_dcf9,
    0x3159_b4cd_4be0_518a,
    0x6473_78d9_c97e_9fc8,
    0xc3eb_d334_83ac_c5ea,
    0xeb63_13fa_ffa0_81c5,
    0x49da_f0b7_51dd_0d17,
    0x9e68_d429_2655_16d3,
    0xfca1_477d_58be_162b,
    0xce31_d07a_d1b8_f88f,
    0x2804_1695_8f3a_cb45,
    0x7e40_4bbb_cafb_d7af,
];

static SECRET: LazyLock<Vec<u8>> =
    LazyLock::new(|| SECRET_WORDS.iter().flat_map(|word| word.to_le_bytes()).collect());

pub(super) fn secret() -> &'static [u8] {
    &SECRET
}

/// The word at a byte offset of the secret.
fn s(at: usize) -> u64 {
    word(&SECRET, at)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn half(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")))
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

fn avalanche(x: u64) -> u64 {
    let x = (x ^ (x >> 37)).wrapping_mul(PRIME64_3);
    x ^ (x >> 32)
}

fn total(terms: &[u64]) -> u64 {
    terms.iter().fold(0, |sum, &term| sum.wrapping_add(term))
}

pub(super) fn xxph3(b: &[u8]) -> u64 {
    let n = b.len();
    let length = n as u64;
    let mix = |at, o| fold(word(b, at) ^ s(o), word(b, at + 8) ^ s(o + 8));
    let start = length.wrapping_mul(PRIME64_1);
    match n {
        0 => fold(s(0), PRIME64_2),
        1..=3 => {
            let c = u64::from(b[0])
                | u64::from(b[n / 2]) << 8
                | u64::from(b[n - 1]) << 16
                | length << 24;
            avalanche((c ^ half(&SECRET, 0)).wrapping_mul(PRIME64_1))
        }
        4..=8 => {
            let x = (half(b, 0) | half(b, n - 4) << 32) ^ s(0);
            let y = length.wrapping_add((x ^ (x >> 51)).wrapping_mul(PRIME32_1));
            avalanche((y ^ (y >> 47)).wrapping_mul(PRIME64_2))
        }
        9..=16 => {
            let (x, y) = (word(b, 0) ^ s(0), word(b, n - 8) ^ s(8));
            avalanche(total(&[length, x, y, fold(x, y)]))
        }
        17..=128 => {
            let pairs = (0..n.div_ceil(32))
                .flat_map(|i| [mix(16 * i, 32 * i), mix(n - 16 * i - 16, 32 * i + 16)]);
            avalanche(pairs.fold(start, u64::wrapping_add))
        }
        129..=240 => {
            let first = (0..8).map(|i| mix(16 * i, 16 * i)).fold(start, u64::wrapping_add);
            let rest = (8..n / 16).map(|i| mix(16 * i, 16 * (i - 8) + 3));
            let sum = rest.fold(avalanche(first), u64::wrapping_add);
            avalanche(sum.wrapping_add(mix(n - 16, 119)))
        }
        _ => {
            let lanes = lanes(b);
            let folds = (0..4)
                .map(|i| fold(lanes[2 * i] ^ s(11 + 16 * i), lanes[2 * i + 1] ^ s(19 + 16 * i)));
            avalanche(folds.fold(start, u64::wrapping_add))
        }
    }
}

/// The eight lanes after the last stripe, for inputs of more than 240 bytes.
fn lanes(b: &[u8]) -> [u64; 8] {
    let n = b.len();
    let mut lanes =
        [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];
    let stripe = |lanes: &mut [u64; 8], at: usize, o: usize| {
        for (i, lane) in lanes.iter_mut().enumerate() {
            let v = word(b, at + 8 * i);
            let k = v ^ s(o + 8 * i);
            *lane = total(&[*lane, v, (k & 0xffff_ffff).wrapping_mul(k >> 32)]);
        }
    };
    for t in 0..n / 64 {
        stripe(&mut lanes, 64 * t, 8 * (t % 16));
        if t % 16 == 15 {
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane = (*lane ^ (*lane >> 47) ^ s(128 + 8 * i)).wrapping_mul(PRIME32_1);
            }
        }
    }
    if !n.is_multiple_of(64) {
        stripe(&mut lanes, n - 64, 121);
    }
    lanes
}
