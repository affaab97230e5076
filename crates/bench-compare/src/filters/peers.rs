//! Filters of other crates, with about as many bits per key. Those that take hashes rather than
//! keys are given the hash of our own filters.

use anyhow::{Result, anyhow};
use fastbloom::BloomFilter;
use foldhash::fast::FixedState;
use sstkit::HashedKey;
use xorf::{BinaryFuse8, Filter as _};

use super::keys::slices;
use super::{FilterKey, FilterKind};
use crate::comparison::Family;

/// As many as ours have.
const BITS_PER_KEY: usize = 10;
const PROBES: u32 = 6;

/// A Bloom filter of the whole memory, not of a cache line of it.
pub(crate) struct Fastbloom;

impl FilterKind for Fastbloom {
    type Builder = BloomFilter<FixedState>;
    type Built = BloomFilter<FixedState>;
    type Filter = BloomFilter<FixedState>;

    fn name(&self) -> &'static str {
        "fastbloom"
    }

    fn family(&self) -> Family {
        Family::Other
    }

    fn builder(&self, keys: usize) -> Self::Builder {
        let bits = BloomFilter::with_num_bits(keys * BITS_PER_KEY);
        bits.hasher(FixedState::default()).hashes(PROBES)
    }

    fn add(&self, builder: &mut Self::Builder, keys: &[FilterKey]) {
        for key in slices(keys) {
            builder.insert(key);
        }
    }

    fn finish(&self, builder: Self::Builder) -> Result<Self::Filter> {
        Ok(builder)
    }

    fn size(&self, built: &Self::Filter) -> usize {
        built.num_bits() / 8
    }

    fn settle(&self, built: Self::Filter) -> Self::Filter {
        built
    }

    #[inline]
    fn may_contain(&self, filter: &Self::Filter, key: &[u8]) -> bool {
        filter.contains(key)
    }
}

/// A binary fuse filter: nine bits per key, fewer false positives, no adding afterwards.
pub(crate) struct Fuse;

impl FilterKind for Fuse {
    type Builder = Vec<u64>;
    type Built = BinaryFuse8;
    type Filter = BinaryFuse8;

    fn name(&self) -> &'static str {
        "xorf BinaryFuse8"
    }

    fn family(&self) -> Family {
        Family::Other
    }

    fn builder(&self, keys: usize) -> Vec<u64> {
        Vec::with_capacity(keys)
    }

    fn add(&self, builder: &mut Vec<u64>, keys: &[FilterKey]) {
        builder.extend(slices(keys).map(hash));
    }

    fn finish(&self, builder: Vec<u64>) -> Result<BinaryFuse8> {
        BinaryFuse8::try_from(builder).map_err(|error| anyhow!("{error}"))
    }

    fn size(&self, built: &BinaryFuse8) -> usize {
        built.fingerprints.len()
    }

    fn settle(&self, built: BinaryFuse8) -> BinaryFuse8 {
        built
    }

    #[inline]
    fn may_contain(&self, filter: &BinaryFuse8, key: &[u8]) -> bool {
        filter.contains(&hash(key))
    }
}

/// A split-block Bloom filter, as Parquet has: eight bits in 32 bytes.
pub(crate) struct Sbbf;

impl FilterKind for Sbbf {
    type Builder = sbbf_rs_safe::Filter;
    type Built = sbbf_rs_safe::Filter;
    type Filter = sbbf_rs_safe::Filter;

    fn name(&self) -> &'static str {
        "sbbf-rs-safe"
    }

    fn family(&self) -> Family {
        Family::Other
    }

    fn builder(&self, keys: usize) -> Self::Builder {
        sbbf_rs_safe::Filter::new(BITS_PER_KEY, keys)
    }

    fn add(&self, builder: &mut Self::Builder, keys: &[FilterKey]) {
        for key in slices(keys) {
            builder.insert_hash(hash(key));
        }
    }

    fn finish(&self, builder: Self::Builder) -> Result<Self::Filter> {
        Ok(builder)
    }

    fn size(&self, built: &Self::Filter) -> usize {
        built.as_bytes().len()
    }

    fn settle(&self, built: Self::Filter) -> Self::Filter {
        built
    }

    #[inline]
    fn may_contain(&self, filter: &Self::Filter, key: &[u8]) -> bool {
        filter.contains_hash(hash(key))
    }
}

#[inline]
fn hash(key: &[u8]) -> u64 {
    HashedKey::new(key).hash64()
}
