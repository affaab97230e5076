//! The Bloom filter inside a filter block: LevelDB's `BloomFilterPolicy` and RocksDB's variant.

use alloc::vec::Vec;

use crate::constant_step::{RANDOM_PROBES, RandomHashes, memoized, rate_of_random_hashes};
use crate::hashed_key::{HashedKey, bloom_hash, leveldb_bloom_hash};
use crate::legacy_bloom::{delta, num_probes};
use crate::math;
use crate::reader::FilterKind;
use crate::stats::FilterStats;
use crate::trace::{FilterTrace, ProbePlace, TracedHash, bit_probe, until_failure};

/// Larger values are reserved for future encodings.
const MAX_PROBES: u8 = 30;
const MIN_BITS: usize = 64;
/// Filters that are simulated for a rate, at least and at most, and the keys of all together.
const SIMULATED: (usize, usize) = (8, 256);
const SIMULATED_KEYS: usize = 8192;
/// With more keys, the probes of a filter are as good as independent.
const MAX_SIMULATED_KEYS: usize = 1 << 16;
/// Each filter of a filter block has an offset there.
const OFFSET_LENGTH: usize = 4;

/// The engine whose Bloom filters a filter block holds. They differ only in the hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockBloom {
    /// `leveldb.BuiltinBloomFilter2`
    LevelDb,
    /// `rocksdb.BuiltinBloomFilter` in a `filter.` block: RocksDB before 7.0.
    RocksDb,
}

impl BlockBloom {
    /// The policy name: in the metaindex it follows `filter.`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LevelDb => "leveldb.BuiltinBloomFilter2",
            Self::RocksDb => "rocksdb.BuiltinBloomFilter",
        }
    }

    /// The hash that determines a key's bits.
    pub fn hash(self, key: &[u8]) -> u32 {
        match self {
            Self::LevelDb => leveldb_bloom_hash(key),
            Self::RocksDb => bloom_hash(key),
        }
    }

    pub(super) fn hash_of(self, key: &HashedKey<'_>) -> u32 {
        match self {
            Self::LevelDb => key.leveldb_bloom_hash(),
            Self::RocksDb => key.bloom_hash(),
        }
    }

    /// Appends the filter of all `hashes` to `out`. Duplicate hashes count towards the size.
    pub fn create_filter(self, hashes: &[u32], bits_per_key: u32, out: &mut Vec<u8>) {
        let length = array_length(hashes.len(), bits_per_key);
        let num_probes = num_probes(bits_per_key);
        let start = out.len();
        out.resize(start + length, 0);
        let array = &mut out[start..];
        let num_bits = 8 * length as u64;
        for &hash in hashes {
            for bit in probes(hash, num_probes, num_bits) {
                array[bit / 8] |= 1 << (bit % 8);
            }
        }
        out.push(num_probes);
    }

    /// Expected false-positive rate of a filter with `keys` keys, assuming independent probes. They
    /// are not fully independent: measured rates are up to 1.5 times as high.
    pub fn expected_fpr(self, filter: &[u8], keys: usize) -> f64 {
        match filter.split_last() {
            None => 0.0,
            Some((&num_probes, _)) if num_probes > MAX_PROBES => 1.0,
            Some((&num_probes, array)) => rate(keys, array.len(), num_probes),
        }
    }

    /// The same for a filter that [`create_filter`](Self::create_filter) has yet to build.
    pub(crate) fn expected_fpr_of(keys: usize, bits_per_key: u32) -> f64 {
        rate(keys, array_length(keys, bits_per_key), num_probes(bits_per_key))
    }

    /// The rate of filters of about this many keys, of which only some are different: counted with
    /// random hashes, since probes are not independent ([`constant_step`](crate::constant_step)).
    pub(crate) fn simulated_fpr(distinct: usize, keys: usize, bits_per_key: u32) -> f64 {
        if distinct == 0 {
            return 0.0;
        }
        if keys > MAX_SIMULATED_KEYS {
            return Self::expected_fpr_of(distinct, bits_per_key);
        }
        memoized("block", [distinct, keys, bits_per_key as usize, 0], || {
            let filters = (SIMULATED_KEYS / distinct).clamp(SIMULATED.0, SIMULATED.1);
            let mut random = RandomHashes::new();
            let mut filter = Vec::new();
            let of_filter = |number: usize| {
                // Numbers of bits differ in their divisors, and blocks in their numbers of keys.
                let keys = (keys + number % 5).saturating_sub(2).max(1);
                let mut hashes = random.take(distinct.min(keys));
                hashes.resize(keys, hashes[0]);
                filter.clear();
                Self::LevelDb.create_filter(&hashes, bits_per_key, &mut filter);
                let may_contain = |hash| Self::LevelDb.may_contain(&filter, hash);
                rate_of_random_hashes(RANDOM_PROBES / filters, &mut random, may_contain)
            };
            (0..filters).map(of_filter).sum::<f64>() / filters as f64
        })
    }

    /// The size of such a filter and of its offset in the filter block.
    pub(crate) fn expected_size_of(keys: usize, bits_per_key: u32) -> usize {
        match keys {
            // No filter, its offset only.
            0 => OFFSET_LENGTH,
            _ => array_length(keys, bits_per_key) + size_of::<u8>() + OFFSET_LENGTH,
        }
    }

    /// Whether a filter built by [`create_filter`](Self::create_filter) may contain a key with this
    /// hash.
    pub fn may_contain(self, filter: &[u8], hash: u32) -> bool {
        let Some((&num_probes, array)) = filter.split_last() else { return false };
        if array.is_empty() {
            return false;
        }
        num_probes > MAX_PROBES
            || probes(hash, num_probes, 8 * array.len() as u64)
                .all(|bit| array[bit / 8] & (1 << (bit % 8)) != 0)
    }

    /// The kind of one filter: a Bloom filter of this engine, or a degenerate one.
    fn kind(self, filter: &[u8]) -> FilterKind {
        match filter.split_last() {
            None | Some((_, [])) => FilterKind::AlwaysFalse,
            Some((&num_probes, _)) if num_probes > MAX_PROBES => FilterKind::Unknown,
            Some((0, _)) => FilterKind::AlwaysTrue,
            Some(_) => match self {
                Self::LevelDb => FilterKind::LevelDbBloom,
                Self::RocksDb => FilterKind::BlockBasedBloom,
            },
        }
    }

    /// The probes of [`may_contain`](Self::may_contain).
    pub(super) fn trace(self, filter: &[u8], hash: u32) -> FilterTrace {
        let (kind, may_contain) = (self.kind(filter), self.may_contain(filter, hash));
        let (FilterKind::LevelDbBloom | FilterKind::BlockBasedBloom, Some((&num_probes, array))) =
            (kind, filter.split_last())
        else {
            return FilterTrace::opaque(kind, may_contain);
        };
        let bits = probes(hash, num_probes, 8 * array.len() as u64);
        let probes = until_failure(bits.map(|bit| bit_probe(array, bit)));
        let place = ProbePlace::Line { index: 0, count: 1, length: array.len(), num_probes };
        FilterTrace { kind, hash: Some(TracedHash::Hash32(hash)), place, probes, may_contain }
    }

    pub(super) fn stats(self, filter: &[u8]) -> FilterStats {
        let (kind, bytes) = (self.kind(filter), filter.len());
        match (kind, filter.split_last()) {
            (
                FilterKind::LevelDbBloom | FilterKind::BlockBasedBloom,
                Some((&num_probes, array)),
            ) => FilterStats::bloom(kind, bytes, array, array.len(), num_probes),
            _ => FilterStats::opaque(kind, bytes),
        }
    }
}

fn array_length(keys: usize, bits_per_key: u32) -> usize {
    keys.saturating_mul(bits_per_key as usize).max(MIN_BITS).div_ceil(8)
}

fn rate(keys: usize, array_length: usize, num_probes: u8) -> f64 {
    if keys == 0 {
        return 0.0;
    }
    let bits_per_key = 8.0 * array_length as f64 / keys as f64;
    math::union(
        math::standard(bits_per_key, u32::from(num_probes)),
        math::fingerprint(keys as u64, u32::BITS),
    )
}

fn probes(hash: u32, num_probes: u8, num_bits: u64) -> impl Iterator<Item = usize> {
    let delta = delta(hash);
    (0..num_probes).scan(hash, move |hash, _| {
        let bit = u64::from(*hash) % num_bits;
        *hash = hash.wrapping_add(delta);
        Some(bit as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(bloom: BlockBloom, keys: &[&[u8]]) -> Vec<u8> {
        let hashes: Vec<u32> = keys.iter().map(|key| bloom.hash(key)).collect();
        let mut out = Vec::new();
        bloom.create_filter(&hashes, 10, &mut out);
        out
    }

    #[test]
    fn published_filters() {
        let bytes = filter(BlockBloom::LevelDb, &[b"hello", b"world"]);
        assert_eq!(bytes, [0x11, 0x40, 0x00, 0x41, 0x44, 0x10, 0x40, 0x10, 0x06]);
        for (key, expected) in [("hello", true), ("world", true), ("x", false), ("foo", false)] {
            let hash = BlockBloom::LevelDb.hash(key.as_bytes());
            assert_eq!(BlockBloom::LevelDb.may_contain(&bytes, hash), expected, "{key}");
        }
        // The hashes differ for tail bytes above 0x7f.
        let high: [&[u8]; 2] = [b"\xc3\x97", b"\xe2\x99\xa5"];
        assert_eq!(
            filter(BlockBloom::LevelDb, &high),
            [0x80, 0x88, 0x18, 0x00, 0x21, 0x22, 0x00, 0x04, 0x06]
        );
        assert_eq!(
            filter(BlockBloom::RocksDb, &high),
            [0x01, 0x00, 0x30, 0x00, 0x00, 0x46, 0x00, 0x80, 0x06]
        );
    }

    #[test]
    fn degenerate_filters() {
        let bloom = BlockBloom::LevelDb;
        assert!(!bloom.may_contain(b"", 7));
        assert!(!bloom.may_contain(b"\x06", 7));
        // Zero probes, or a reserved number: may contain anything.
        for num_probes in [0, 31, 127, 128, 255] {
            assert!(bloom.may_contain(&[0, num_probes], 7), "{num_probes}");
        }
        assert!(!bloom.may_contain(&[0, 30], 7));
    }
}
