//! What a filter must do to be measured.

mod ours;
mod peers;

pub use ours::{FastLocalBloom, FullFilter, FullKind, LegacyBloom, LevelDbBloom, Ribbon128};
pub use peers::{BloomHasher, FastBloom, FoldHash, SipHash, XorFilter, XorKind};

use crate::keys::Keys;

/// Bits of filter per key, where a kind lets them be chosen.
pub const BITS_PER_KEY: u32 = 10;

/// A filter to be measured.
///
/// All start from the bytes of keys and end with a filter that answers: no candidate may leave work outside.
pub trait Candidate: Clone {
    /// What the tables call it.
    const NAME: &'static str;

    /// Whether it supports batches of probes.
    const BATCHES: bool = false;

    /// All that can be computed from a key before the filter is known.
    type Hashed<'k>;

    /// The filter of `keys`.
    fn build(keys: &Keys) -> Self;

    /// Whether `key` may be among the keys.
    fn may_contain(&self, key: &[u8]) -> bool;

    /// Hashes a key. The hash serves every filter of this kind.
    fn hash<'k>(&self, key: &'k [u8]) -> Self::Hashed<'k>;

    /// [`may_contain`](Self::may_contain) of a hashed key.
    fn may_contain_hashed(&self, key: &Self::Hashed<'_>) -> bool;

    /// [`may_contain`](Self::may_contain) of each key.
    fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = self.may_contain(key);
        }
    }

    /// Prefetches the memory that the query of a key will read.
    fn prefetch(&self, _key: &Self::Hashed<'_>) {}

    /// Its size in bytes.
    fn length(&self) -> usize;

    /// The rate of false positives that theory expects of it.
    fn expected_fpr(&self, keys: usize) -> f64;
}
