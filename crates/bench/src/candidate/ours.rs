//! The filters of sstkit.

use std::marker::PhantomData;

use sstkit_filter::{BlockBloom, BuildContext, Filter, FilterKind, FilterPolicy, HashedKey, math};

use super::{BITS_PER_KEY, Candidate};
use crate::keys::Keys;

/// A full filter of RocksDB's, of the kind `K`.
#[derive(Clone)]
pub struct FullFilter<K> {
    filter: Filter<Vec<u8>>,
    kind: PhantomData<K>,
}

/// Which full filter.
pub trait FullKind: Clone {
    /// What its bytes must turn out to be.
    const KIND: FilterKind;
    /// The policy that builds it, without its bits per key.
    const POLICY: &str;
}

/// RocksDB's Bloom filter of format versions below 5.
#[derive(Clone)]
pub struct LegacyBloom;

/// RocksDB's cache-local Bloom filter.
#[derive(Clone)]
pub struct FastLocalBloom;

/// RocksDB's Ribbon filter.
#[derive(Clone)]
pub struct Ribbon128;

impl FullKind for LegacyBloom {
    const KIND: FilterKind = FilterKind::LegacyBloom;
    const POLICY: &str = "rocksdb.internal.LegacyBloomFilter";
}

impl FullKind for FastLocalBloom {
    const KIND: FilterKind = FilterKind::FastLocalBloom;
    const POLICY: &str = "rocksdb.internal.FastLocalBloomFilter";
}

impl FullKind for Ribbon128 {
    const KIND: FilterKind = FilterKind::Ribbon128;
    const POLICY: &str = "rocksdb.internal.Standard128RibbonFilter";
}

impl<K: FullKind> Candidate for FullFilter<K> {
    const NAME: &'static str = K::KIND.name();
    const BATCHES: bool = true;

    type Hashed<'k> = HashedKey<'k>;

    fn build(keys: &Keys) -> Self {
        let policy: FilterPolicy =
            format!("{}:{BITS_PER_KEY}", K::POLICY).parse().expect("a policy of RocksDB's");
        let mut builder = policy.builder(&BuildContext::default()).expect("builds full filters");
        for key in keys.iter() {
            builder.add(key);
        }
        let filter = Filter::from_bytes(builder.finish().expect("cannot fail without checks"));
        assert_eq!(filter.kind(), K::KIND);
        Self { filter, kind: PhantomData }
    }

    #[inline]
    fn may_contain(&self, key: &[u8]) -> bool {
        self.filter.may_contain(key)
    }

    fn hash<'k>(&self, key: &'k [u8]) -> HashedKey<'k> {
        let hashed = HashedKey::new(key);
        if K::KIND == FilterKind::LegacyBloom {
            // Computed on first use.
            hashed.bloom_hash();
        }
        hashed
    }

    #[inline]
    fn may_contain_hashed(&self, key: &HashedKey<'_>) -> bool {
        self.filter.may_contain_hashed(key)
    }

    fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        self.filter.may_contain_batch(keys, answers);
    }

    #[inline]
    fn prefetch(&self, key: &HashedKey<'_>) {
        self.filter.prefetch(key);
    }

    fn length(&self) -> usize {
        self.filter.bytes().len()
    }

    fn expected_fpr(&self, keys: usize) -> f64 {
        self.filter.expected_fpr(keys).expect("known for filters that are not user-made")
    }
}

/// One Bloom filter of LevelDB's. A filter block holds many of them, each of a few dozen keys; here all keys are in
/// one, which is what the others have to do.
#[derive(Clone)]
pub struct LevelDbBloom(Vec<u8>);

const LEVELDB: BlockBloom = BlockBloom::LevelDb;

impl Candidate for LevelDbBloom {
    const NAME: &'static str = "leveldb_bloom";

    type Hashed<'k> = u32;

    fn build(keys: &Keys) -> Self {
        let hashes: Vec<u32> = keys.iter().map(|key| LEVELDB.hash(key)).collect();
        let mut filter = Vec::new();
        LEVELDB.create_filter(&hashes, BITS_PER_KEY, &mut filter);
        Self(filter)
    }

    #[inline]
    fn may_contain(&self, key: &[u8]) -> bool {
        LEVELDB.may_contain(&self.0, LEVELDB.hash(key))
    }

    fn hash(&self, key: &[u8]) -> u32 {
        LEVELDB.hash(key)
    }

    #[inline]
    fn may_contain_hashed(&self, &hash: &u32) -> bool {
        LEVELDB.may_contain(&self.0, hash)
    }

    fn length(&self) -> usize {
        self.0.len()
    }

    fn expected_fpr(&self, keys: usize) -> f64 {
        let num_probes = u32::from(*self.0.last().expect("the number of probes"));
        let bits_per_key = 8.0 * (self.length() - 1) as f64 / keys as f64;
        math::union(
            math::standard(bits_per_key, num_probes),
            math::fingerprint(keys as u64, u32::BITS),
        )
    }
}
