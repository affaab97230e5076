//! XXPH3, the 64-bit hash of RocksDB's cache-local Bloom and Ribbon filters.
//!
//! RocksDB took XXH3 from xxHash 0.7.2, when it was a preview, changed the result for empty input,
//! and froze it because filters on disk depend on it. The released XXH3 (0.8) is a **different
//! function**: for 17 to 240 bytes it differs in one hexadecimal digit of the avalanche constant,
//! for shorter and longer inputs in structure. Block checksums use the released version
//! ([`crate::checksum`]), filters use this one.
//!
//! | length | algorithm |
//! |---|---|
//! | 0 | one folded product of the secret |
//! | 1..=3 | the bytes and the length in one word |
//! | 4..=8 | first and last four bytes |
//! | 9..=16 | first and last eight bytes, folded |
//! | 17..=128 | 16-byte pieces from both ends towards the middle |
//! | 129..=240 | 16-byte pieces from the front, and the last 16 bytes |
//! | 241.. | stripes of 64 bytes into eight lanes, scrambled every 1024 bytes |
//!
//! ```
//! use sstkit_coding::xxph3::xxph3;
//! assert_eq!(xxph3(b"hello"), 0xa0bb_c238_c976_57b5);
//! ```

use crate::arch;

const PRIME32_1: u64 = 0x9E37_79B1;
const PRIME32_2: u64 = 0x85EB_CA77;
const PRIME32_3: u64 = 0xC2B2_AE3D;
pub(crate) const PRIME64_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
pub(crate) const PRIME64_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME64_4: u64 = 0x85EB_CA77_C2B2_AE63;
const PRIME64_5: u64 = 0x27D4_EB2F_1656_67C5;

const SECRET_LENGTH: usize = 192;

/// The default secret, identical to that of the released XXH3.
#[rustfmt::skip]
pub(crate) const SECRET: [u8; SECRET_LENGTH] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// The hash with seed 0, which all filters use.
///
/// Keys of 9 to 32 bytes are the common case and are hashed inline. Other lengths go through a
/// function marked as cold, so that the compiler does not reserve registers for the call.
#[inline]
pub fn xxph3(data: &[u8]) -> u64 {
    match data.len() {
        9..=16 => hash_9_to_16(data, 0),
        17..=32 => hash_17_to_32(data, 0),
        _ => xxph3_unusual_length(data),
    }
}

/// [`xxph3`] of each key. Eight keys of the same length, of 9 to 32 bytes, are hashed at once if the
/// machine has AVX-512, which takes 0.5 to 0.6 times as long.
///
/// # Panics
///
/// If the numbers of keys and hashes differ.
pub fn xxph3_each<K: AsRef<[u8]>>(keys: &[K], hashes: &mut [u64]) {
    assert_eq!(keys.len(), hashes.len(), "the numbers of keys and hashes must be equal");
    let (eights, keys) = keys.as_chunks::<8>();
    let (slots, hashes) = hashes.as_chunks_mut::<8>();
    for (eight, slots) in eights.iter().zip(slots) {
        let eight = eight.each_ref().map(AsRef::as_ref);
        *slots = arch::xxph3_eight(eight).unwrap_or_else(|| eight.map(xxph3));
    }
    for (key, hash) in keys.iter().zip(hashes) {
        *hash = xxph3(key.as_ref());
    }
}

#[cold]
fn xxph3_unusual_length(data: &[u8]) -> u64 {
    xxph3_seeded(data, 0)
}

/// The hash with a seed. Filters always use seed 0.
#[inline]
pub fn xxph3_seeded(data: &[u8], seed: u64) -> u64 {
    match data.len() {
        0 => fold(seed.wrapping_add(word(&SECRET, 0)), PRIME64_2),
        1..=3 => hash_1_to_3(data, seed),
        4..=8 => hash_4_to_8(data, seed),
        9..=16 => hash_9_to_16(data, seed),
        17..=32 => hash_17_to_32(data, seed),
        33..=128 => hash_33_to_128(data, seed),
        129..=240 => hash_129_to_240(data, seed),
        _ => hash_long(data, seed),
    }
}

#[inline]
fn hash_1_to_3(data: &[u8], seed: u64) -> u64 {
    let length = data.len();
    let combined = u32::from_le_bytes([data[0], data[length >> 1], data[length - 1], length as u8]);
    let secret = (word(&SECRET, 0) & 0xffff_ffff).wrapping_add(seed);
    avalanche((u64::from(combined) ^ secret).wrapping_mul(PRIME64_1))
}

#[inline]
fn hash_4_to_8(data: &[u8], seed: u64) -> u64 {
    let low = u32::from_le_bytes(*data.first_chunk().expect("at least 4 bytes"));
    let high = u32::from_le_bytes(*data.last_chunk().expect("at least 4 bytes"));
    let both = u64::from(low) | u64::from(high) << 32;
    let keyed = both ^ word(&SECRET, 0).wrapping_add(seed);
    let mixed = (data.len() as u64).wrapping_add((keyed ^ (keyed >> 51)).wrapping_mul(PRIME32_1));
    avalanche((mixed ^ (mixed >> 47)).wrapping_mul(PRIME64_2))
}

#[inline(always)]
fn hash_9_to_16(data: &[u8], seed: u64) -> u64 {
    let low = u64::from_le_bytes(*data.first_chunk().expect("at least 8 bytes"))
        ^ word(&SECRET, 0).wrapping_add(seed);
    let high = u64::from_le_bytes(*data.last_chunk().expect("at least 8 bytes"))
        ^ word(&SECRET, 8).wrapping_sub(seed);
    avalanche(
        (data.len() as u64).wrapping_add(low).wrapping_add(high).wrapping_add(fold(low, high)),
    )
}

/// [`hash_33_to_128`] for inputs with one piece from each end.
#[inline(always)]
fn hash_17_to_32(data: &[u8], seed: u64) -> u64 {
    let front = data.first_chunk().expect("at least 16 bytes");
    let back = data.last_chunk().expect("at least 16 bytes");
    avalanche(
        (data.len() as u64)
            .wrapping_mul(PRIME64_1)
            .wrapping_add(mix(front, 0, seed))
            .wrapping_add(mix(back, 16, seed)),
    )
}

#[inline]
fn hash_33_to_128(data: &[u8], seed: u64) -> u64 {
    let length = data.len();
    let mut sum = (length as u64).wrapping_mul(PRIME64_1);
    for i in 0..length.div_ceil(32) {
        let front = piece(data, 16 * i);
        let back = piece(data, length - 16 * (i + 1));
        sum = sum.wrapping_add(mix(front, 32 * i, seed)).wrapping_add(mix(back, 32 * i + 16, seed));
    }
    avalanche(sum)
}

fn hash_129_to_240(data: &[u8], seed: u64) -> u64 {
    /// Pieces of the first round. The second round uses the secret from an odd offset.
    const FIRST_ROUND: usize = 8;
    const SECOND_ROUND_OFFSET: usize = 3;
    const LAST_OFFSET: usize = 119;

    let (pieces, _) = data.as_chunks::<16>();
    let mut sum = (data.len() as u64).wrapping_mul(PRIME64_1);
    for (i, piece) in pieces[..FIRST_ROUND].iter().enumerate() {
        sum = sum.wrapping_add(mix(piece, 16 * i, seed));
    }
    sum = avalanche(sum);
    for (i, piece) in pieces[FIRST_ROUND..].iter().enumerate() {
        sum = sum.wrapping_add(mix(piece, 16 * i + SECOND_ROUND_OFFSET, seed));
    }
    let last = data.last_chunk().expect("at least 129 bytes");
    avalanche(sum.wrapping_add(mix(last, LAST_OFFSET, seed)))
}

#[cold]
fn hash_long(data: &[u8], seed: u64) -> u64 {
    /// Each stripe uses the secret 8 bytes further on.
    const STRIPES_PER_BLOCK: usize = (SECRET_LENGTH - 64) / 8;
    const SCRAMBLE_OFFSET: usize = SECRET_LENGTH - 64;
    const LAST_STRIPE_OFFSET: usize = SECRET_LENGTH - 64 - 7;
    const MERGE_OFFSET: usize = 11;

    let secret = if seed == 0 { SECRET } else { derive_secret(seed) };
    let mut lanes =
        [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];
    let (stripes, rest) = data.as_chunks::<64>();
    for block in stripes.chunks(STRIPES_PER_BLOCK) {
        for (i, stripe) in block.iter().enumerate() {
            accumulate(&mut lanes, stripe, &secret, 8 * i);
        }
        if block.len() == STRIPES_PER_BLOCK {
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane = (*lane ^ (*lane >> 47) ^ word(&secret, SCRAMBLE_OFFSET + 8 * i))
                    .wrapping_mul(PRIME32_1);
            }
        }
    }
    if !rest.is_empty() {
        // The last 64 bytes, which overlap the previous stripe.
        let last = data.last_chunk().expect("at least 241 bytes");
        accumulate(&mut lanes, last, &secret, LAST_STRIPE_OFFSET);
    }
    let mut sum = (data.len() as u64).wrapping_mul(PRIME64_1);
    for (i, pair) in lanes.as_chunks::<2>().0.iter().enumerate() {
        let offset = MERGE_OFFSET + 16 * i;
        sum = sum.wrapping_add(fold(
            pair[0] ^ word(&secret, offset),
            pair[1] ^ word(&secret, offset + 8),
        ));
    }
    avalanche(sum)
}

/// Accumulates one stripe into the eight lanes. Each word is added to its own lane; the released
/// XXH3 adds it to the neighboring lane.
#[inline]
fn accumulate(
    lanes: &mut [u64; 8],
    stripe: &[u8; 64],
    secret: &[u8; SECRET_LENGTH],
    offset: usize,
) {
    for (i, (lane, bytes)) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0).enumerate() {
        let value = u64::from_le_bytes(*bytes);
        let keyed = value ^ word(secret, offset + 8 * i);
        *lane =
            lane.wrapping_add(value).wrapping_add((keyed & 0xffff_ffff).wrapping_mul(keyed >> 32));
    }
}

/// The secret for a seed, which is added to even words and subtracted from odd ones.
fn derive_secret(seed: u64) -> [u8; SECRET_LENGTH] {
    let mut secret = SECRET;
    for pair in secret.as_chunks_mut::<16>().0 {
        let (low, high) = (word(pair, 0).wrapping_add(seed), word(pair, 8).wrapping_sub(seed));
        pair[..8].copy_from_slice(&low.to_le_bytes());
        pair[8..].copy_from_slice(&high.to_le_bytes());
    }
    secret
}

/// Mixes sixteen bytes with sixteen bytes of the secret.
#[inline(always)]
fn mix(piece: &[u8; 16], secret_offset: usize, seed: u64) -> u64 {
    fold(
        word(piece, 0) ^ word(&SECRET, secret_offset).wrapping_add(seed),
        word(piece, 8) ^ word(&SECRET, secret_offset + 8).wrapping_sub(seed),
    )
}

/// The XOR of both halves of the 128-bit product.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

#[inline]
const fn avalanche(mut hash: u64) -> u64 {
    hash ^= hash >> 37;
    hash = hash.wrapping_mul(PRIME64_3);
    hash ^ (hash >> 32)
}

#[inline]
pub(crate) fn word<const N: usize>(bytes: &[u8; N], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

#[inline]
fn piece(data: &[u8], offset: usize) -> &[u8; 16] {
    data[offset..offset + 16].try_into().expect("sixteen bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        let vectors: [(&[u8], u64); 23] = [
            (b"", 5999572062939766020),
            (b"\x17", 16175549975585474943),
            (b"\x1c", 13269285487706833447),
            (b"\x52\xd5", 4919611532550636959),
            (b"\xd6\x27", 12292689282614532691),
            (b"\x56\xdc\xd6", 12404347133785524237),
            (b"\x6a\xb5\xf4", 16863488758399383382),
            (b"\x69\xb8\xc0\x88", 6611781377647041447),
            (b"\x46\xdc\x54\xbe", 7063754590279313623),
            (b"\x86\x83\xd5\xa4\xd8", 16874407254108011067),
            (b"\x6c\xa8\xbc\xe5\x99", 1249038833153141148),
            (b"\x08\x5d\x73\x1c\xe5\x2e", 4237646583134806322),
            (b"\x73\xe1\xff\x56\x9c\xce", 12012981210634596029),
            (b"\x16\x82\x39\x49\x88\x2b\x36", 15604531309862565013),
            (b"\xd3\xa5\x7c\x0e\xc0\x02\x07", 8088079329364056942),
            (b"\x38\xd6\xf7\x28\x20\xb4\x8a\xe9", 10973293517982163143),
            (b"\x80\xd4\x3b\x3b\xae\x22\xa2\x78", 1729303145008254458),
            (b"\x8e\x4a\xc3\x18\x20\x2f\x06\xe6\x3c", 7768754303876232188),
            (b"\x9a\x5f\x78\x0d\xaf\x50\xe1\x1f\x55", 10841838338450144690),
            (b"\x32\x89\x2a\x75\x48\x3a\x4a\x02\x69\xdd", 12692903507676842188),
            (b"\xbd\x2c\x63\x38\xbf\xe9\x78\xb7\xbf\x15", 10551812464348219044),
            (b"hello", 0xa0bb_c238_c976_57b5),
            (b"world", 0x53dd_d402_6a11_bd6c),
        ];
        for (data, expected) in vectors {
            assert_eq!(xxph3(data), expected, "{data:02x?}");
        }
    }

    /// From RocksDB's tests: one character for each length from 0 to 429.
    #[test]
    fn published_descriptor() {
        const ALPHABET: &[u8; 61] =
            b"abcdefghijklmnopqrstuvwxyz123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let input = b"foo".repeat(143);
        let descriptor: String = (0..430)
            .map(|length| char::from(ALPHABET[(xxph3(&input[..length]) % 61) as usize]))
            .collect();
        assert_eq!(
            descriptor,
            "cRhyWsY67B6klRA1udmOuiYuX7IthyGBKqbeosz2hzVglWCmQx8nEdnpkvPfYX56Up2OWOTVlTzfAoYwvtqKzjD8E9xttR2unelbXbIV67NU\
             e6bOO23BxaSFRcA3njGu5cUWfgwOqNoTsszpuPvKRP6qaUR5VdoBkJUCFIefd7edlNK5mv6JYWaGdwxehg65hTkTmjZoPKxTZo4PLyzbL9U4\
             xt12ITSfeP2MfBHuLI2z2pDlBb44UQKVMx27LEoAHsdLp3WfWfgH3sdRBRCHm33UxCM4QmE2xJ7gqSvNwTeH7v9GlC8zWbGroyD3UVNeShML\
             x29O7tH1biemLULwAHyIw8zdtLMDpEJ8m2icl6Lb4fDuuFNAs1GCVUthjK8CV8SWI8Rsz5THSwn5CGhpqUwSZcFknjwWIl5rNCvDxXJqYr"
        );
    }

    /// The boundaries of all length classes.
    #[test]
    fn published_lengths() {
        for (length, expected) in [
            (16, 11632787150000813225),
            (17, 4162137942022345431),
            (33, 16650575475513507867),
            (64, 12486625689957360609),
            (97, 14930230675252904053),
            (128, 14753832507507916267),
            (129, 3649077411384756152),
            (160, 8206904755707409049),
            (240, 8339710637030883073),
            (241, 13239121567624052486),
            (256, 16848813812980165689),
            (257, 406391643905489916),
            (512, 15769991617966986539),
            (1023, 7724047110856025516),
            (1024, 2132224192945843197),
            (1088, 17145840805513681896),
            (2048, 12247822772565044413),
            (4096, 15449013577727754122),
        ] {
            assert_eq!(xxph3(&pattern(length)), expected, "length {length}");
        }
    }

    #[test]
    fn published_seeded_values() {
        const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
        for (length, expected) in [
            (0, 18437094684040862898),
            (8, 464795034520687149),
            (200, 7629096025073541434),
            (1500, 14626048580462485996),
        ] {
            assert_eq!(xxph3_seeded(&pattern(length), SEED), expected, "length {length}");
        }
    }

    #[test]
    fn each_of_many_keys() {
        let bytes = pattern(5000);
        for length in 0..=40 {
            // Eight of one length, mixed lengths in the second eight, and four more.
            let keys: Vec<&[u8]> = (0..20)
                .map(|i| (i * 101 + length, length + usize::from(i == 11)))
                .map(|(start, length)| &bytes[start..start + length])
                .collect();
            let mut hashes = [0; 20];
            xxph3_each(&keys, &mut hashes);
            let expected: Vec<u64> = keys.iter().map(|key| xxph3(key)).collect();
            assert_eq!(hashes[..], expected, "length {length}");
        }
    }

    fn pattern(length: usize) -> Vec<u8> {
        (0..length).map(|j| (131 * j + 7 * (j >> 3) + (j >> 8)) as u8).collect()
    }
}
