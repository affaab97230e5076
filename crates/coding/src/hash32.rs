//! The 32-bit hash of LevelDB and RocksDB, similar to MurmurHash1.
//!
//! ```text
//! h = seed ^ (n * M)                                 n = length, everything modulo 2^32
//! for each 4-byte group:   h += LE32;  h *= M;  h ^= h >> 16
//! tail t[0..1, 2 or 3]:    h += t[2] << 16 (if any) + t[1] << 8 (if any) + t[0]
//!                          h *= M;  h ^= h >> 24     (skipped if there is no tail)
//! ```
//!
//! The engines differ in one detail that affects files: **how a tail byte of 0x80 or more is
//! widened**. LevelDB zero-extends it (128..=255). RocksDB uses C's signed `char`, which
//! sign-extends it (-128..=-1) and borrows from the bits above. The two agree on ASCII tails and on
//! lengths that are multiples of four, so the difference is easy to miss.

/// Seed of every 32-bit Bloom filter, in both engines.
pub const BLOOM_HASH_SEED: u32 = 0xbc9f_1d34;
/// Seed of RocksDB's data-block hash index.
pub const SLICE_HASH_SEED: u32 = 397;

const M: u32 = 0xc6a4_a793;

/// LevelDB's variant: tail bytes are zero-extended.
#[inline]
pub fn hash32_leveldb(data: &[u8], seed: u32) -> u32 {
    hash32(data, seed, u32::from)
}

/// RocksDB's variant: tail bytes are sign-extended.
#[inline]
pub fn hash32_rocksdb(data: &[u8], seed: u32) -> u32 {
    hash32(data, seed, |byte| byte as i8 as u32)
}

#[inline]
fn hash32(data: &[u8], seed: u32, widen: impl Fn(u8) -> u32) -> u32 {
    let mut h = seed ^ (data.len() as u32).wrapping_mul(M);
    let (groups, tail) = data.as_chunks::<4>();
    for group in groups {
        h = h.wrapping_add(u32::from_le_bytes(*group)).wrapping_mul(M);
        h ^= h >> 16;
    }
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            h = h.wrapping_add(widen(byte) << (8 * i));
        }
        h = h.wrapping_mul(M);
        h ^= h >> 24;
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_rocksdb() {
        let vectors: [(&[u8], u32); 21] = [
            (b"", 3164544308),
            (b"\x17", 3168152998),
            (b"\x1c", 2651681383),
            (b"\x52\xd5", 3854228105),
            (b"\xd6\x27", 1806091603),
            (b"\x56\xdc\xd6", 2157698265),
            (b"\x6a\xb5\xf4", 2469105222),
            (b"\x69\xb8\xc0\x88", 3416318611),
            (b"\x46\xdc\x54\xbe", 447346355),
            (b"\x86\x83\xd5\xa4\xd8", 2390603402),
            (b"\x6c\xa8\xbc\xe5\x99", 2177978500),
            (b"\x08\x5d\x73\x1c\xe5\x2e", 229980482),
            (b"\x73\xe1\xff\x56\x9c\xce", 3502708029),
            (b"\x16\x82\x39\x49\x88\x2b\x36", 3056033698),
            (b"\xd3\xa5\x7c\x0e\xc0\x02\x07", 2030937252),
            (b"\x38\xd6\xf7\x28\x20\xb4\x8a\xe9", 3530274698),
            (b"\x80\xd4\x3b\x3b\xae\x22\xa2\x78", 3563570120),
            (b"\x8e\x4a\xc3\x18\x20\x2f\x06\xe6\x3c", 1534654151),
            (b"\x9a\x5f\x78\x0d\xaf\x50\xe1\x1f\x55", 1400800912),
            (b"\x32\x89\x2a\x75\x48\x3a\x4a\x02\x69\xdd", 3427803584),
            (b"\xbd\x2c\x63\x38\xbf\xe9\x78\xb7\xbf\x15", 3382479516),
        ];
        for (data, expected) in vectors {
            assert_eq!(hash32_rocksdb(data, BLOOM_HASH_SEED), expected, "{data:02x?}");
        }
        for (data, expected) in [
            (&b""[..], 0x0000_018d),
            (b"a", 0x5c84_73b1),
            (b"key049", 0x7125_ad40),
            (b"\xff\xfe\xfd", 0xfc8b_11b5),
        ] {
            assert_eq!(hash32_rocksdb(data, SLICE_HASH_SEED), expected, "{data:02x?}");
        }
    }

    #[test]
    fn published_values_leveldb() {
        for (data, expected) in [
            (&b""[..], 0xbc9f_1d34),
            (b"\x62", 0xef13_45c4),
            (b"\xe2\x99\xa5", 0x323c_078f),
            (b"\xff", 0xc20e_0a90),
        ] {
            assert_eq!(hash32_leveldb(data, BLOOM_HASH_SEED), expected, "{data:02x?}");
        }
        let long = [
            0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 4, 0, 0, 0,
            0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(hash32_leveldb(&long, 0x1234_5678), 0xf333_dabb);
    }

    #[test]
    fn variants_differ_only_on_high_tail_bytes() {
        assert_eq!(hash32_rocksdb(b"\xff", BLOOM_HASH_SEED), 0x1d66_774f);
        for data in [&b"\xff\xfe\xfd\xfc"[..], b"\xff\xff\xff\xffabc", b"plain"] {
            assert_eq!(hash32_leveldb(data, 1), hash32_rocksdb(data, 1), "{data:02x?}");
        }
    }
}
