//! The peers, each as its own documentation would have it used.

use std::hash::BuildHasher;
use std::marker::PhantomData;

use fastbloom::BloomFilter;
use foldhash::fast::FixedState;
use sstkit_coding::xxph3::xxph3;
use xorf::{BinaryFuse8, Filter, Xor8};

use super::{BITS_PER_KEY, Candidate};
use crate::keys::Keys;

/// What our Bloom filters take for ten bits per key. `fastbloom` itself would choose seven, which would cost it time.
const NUM_HASHES: u32 = 6;

/// Filters that share a seed share hashes.
const SEED: u128 = 0x5eed;

/// `fastbloom` with a hash of its choice or ours.
#[derive(Clone)]
pub struct FastBloom<H: BloomHasher>(BloomFilter<H::Hasher>, PhantomData<H>);

/// Which hash `fastbloom` uses.
pub trait BloomHasher: Clone {
    /// What the tables call it.
    const NAME: &'static str;
    /// The hash.
    type Hasher: BuildHasher + Clone;

    /// A filter without keys.
    fn empty(num_bits: usize) -> BloomFilter<Self::Hasher>;
}

/// SipHash-1-3, its default.
#[derive(Clone)]
pub struct SipHash;

/// The hash with which its authors publish their times.
#[derive(Clone)]
pub struct FoldHash;

impl BloomHasher for SipHash {
    const NAME: &'static str = "fastbloom";

    type Hasher = fastbloom::DefaultHasher;

    fn empty(num_bits: usize) -> BloomFilter<Self::Hasher> {
        BloomFilter::with_num_bits(num_bits).seed(&SEED).hashes(NUM_HASHES)
    }
}

impl BloomHasher for FoldHash {
    const NAME: &'static str = "fastbloom_foldhash";

    type Hasher = FixedState;

    fn empty(num_bits: usize) -> BloomFilter<Self::Hasher> {
        let hasher = FixedState::with_seed(SEED as u64);
        BloomFilter::with_num_bits(num_bits).hasher(hasher).hashes(NUM_HASHES)
    }
}

impl<H: BloomHasher> Candidate for FastBloom<H> {
    const NAME: &'static str = H::NAME;

    type Hashed<'k> = u64;

    fn build(keys: &Keys) -> Self {
        let mut filter = H::empty(keys.len() * BITS_PER_KEY as usize);
        for key in keys.iter() {
            filter.insert(key);
        }
        Self(filter, PhantomData)
    }

    #[inline]
    fn may_contain(&self, key: &[u8]) -> bool {
        self.0.contains(key)
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.0.source_hash(key)
    }

    #[inline]
    fn may_contain_hashed(&self, &hash: &u64) -> bool {
        self.0.contains_hash(hash)
    }

    fn length(&self) -> usize {
        self.0.num_bits() / 8
    }

    fn expected_fpr(&self, keys: usize) -> f64 {
        self.0.expected_false_pos(keys)
    }
}

/// A filter of `xorf`. These take numbers for keys, so keys are hashed by the hash that our filters use.
#[derive(Clone)]
pub struct XorFilter<F>(F);

/// Which filter of `xorf`.
pub trait XorKind: Filter<u64> + Clone {
    /// What the tables call it.
    const NAME: &'static str;

    /// The filter of these hashes.
    fn from_hashes(hashes: &[u64]) -> Self;
}

impl XorKind for BinaryFuse8 {
    const NAME: &'static str = "binary_fuse8";

    fn from_hashes(hashes: &[u64]) -> Self {
        hashes.try_into().expect("fails only for repeated keys")
    }
}

impl XorKind for Xor8 {
    const NAME: &'static str = "xor8";

    fn from_hashes(hashes: &[u64]) -> Self {
        hashes.into()
    }
}

impl<F: XorKind> Candidate for XorFilter<F> {
    const NAME: &'static str = F::NAME;

    type Hashed<'k> = u64;

    fn build(keys: &Keys) -> Self {
        let hashes: Vec<u64> = keys.iter().map(xxph3).collect();
        Self(F::from_hashes(&hashes))
    }

    #[inline]
    fn may_contain(&self, key: &[u8]) -> bool {
        self.0.contains(&xxph3(key))
    }

    fn hash(&self, key: &[u8]) -> u64 {
        xxph3(key)
    }

    #[inline]
    fn may_contain_hashed(&self, hash: &u64) -> bool {
        self.0.contains(hash)
    }

    fn length(&self) -> usize {
        self.0.len()
    }

    /// Fingerprints of eight bits.
    fn expected_fpr(&self, _keys: usize) -> f64 {
        1.0 / 256.0
    }
}
