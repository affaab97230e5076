//! Formulas for false-positive rates.
//!
//! Notation: *n* keys, *b* bits per key, *k* probes per key, *w* bits per block of a blocked
//! filter.
//!
//! # Standard Bloom filter
//!
//! After *kn* probes into *bn* bits, a bit is still clear with probability *e^(-k/b)*. All *k* bits
//! of a key that was not added are set with probability
//!
//! ```text
//! standard(b, k) = (1 - e^(-k/b))^k            minimal at k = b ln 2, where it is 0.6185^b
//! ```
//!
//! # Blocked (cache-local) Bloom filter
//!
//! All probes of a key are in one block of *w* bits, which costs one cache miss instead of *k*. In
//! return, blocks are filled unevenly. The number of keys in a block has a Poisson distribution with
//! mean *w/b*, and the rate of a block is that of a standard filter with its number of keys:
//!
//! ```text
//! sharded(b, k, w) = Σ_j Poisson(j; w/b) · standard(w/j, k)
//! ```
//!
//! RocksDB approximates the sum by two points, one standard deviation on either side of the mean:
//!
//! ```text
//! q = w/b,  s = √q
//! cache_local(b, k, w) = ( standard(w/(q+s), k) + standard(w/(q-s), k) ) / 2
//! ```
//!
//! # Fingerprints
//!
//! All filters work on a hash of *h* bits. A key that was not added but has the same hash as one of
//! the *n* keys is always a false positive:
//!
//! ```text
//! fingerprint(n, h) = 1 - e^(-n/2^h)
//! ```
//!
//! With 64 bits this is negligible. With the 32 bits of legacy filters it is 0.1 % at 4.3 million
//! keys. Two independent causes combine to *x + y - xy* ([`union`]).
//!
//! # Bits per key for a rate
//!
//! Each kind of filter has a function for its rate ([`fast_local_bloom::expected_fpr`],
//! [`legacy_bloom::expected_fpr`], [`ribbon::expected_fpr`], [`BlockBloom::expected_fpr`]).
//! [`FilterPolicy::expected_fpr`] covers all kinds. [`bits_per_key_for`] inverts any of them:
//!
//! ```
//! use sstkit_filter::math::bits_per_key_for;
//! use sstkit_filter::{BitsPerKey, BuildContext, FilterPolicy};
//!
//! // A Ribbon filter with a million keys and a rate of 1 in 1000:
//! let context = BuildContext::default();
//! let bits = bits_per_key_for(0.001, |bits| {
//!     let policy = FilterPolicy::Standard128Ribbon(BitsPerKey::new(bits));
//!     policy.expected_fpr(1_000_000, &context).expect("a built-in policy")
//! });
//! assert_eq!(bits, Some(15.406)); // of which it uses 10.4
//! ```
//!
//! [`fast_local_bloom::expected_fpr`]: crate::fast_local_bloom::expected_fpr
//! [`legacy_bloom::expected_fpr`]: crate::legacy_bloom::expected_fpr
//! [`ribbon::expected_fpr`]: crate::ribbon::expected_fpr
//! [`BlockBloom::expected_fpr`]: crate::BlockBloom::expected_fpr
//! [`FilterPolicy::expected_fpr`]: crate::FilterPolicy::expected_fpr
//!
//! # Rates by bits per key
//!
//! The table shows the results of these formulas for 10 million keys. (LevelDB's filters have a few
//! dozen keys each, for any size of table.) The last column has the bits per key that a Ribbon filter
//! of one million keys uses for the rate of the cache-local Bloom filter. Measured rates of LevelDB's
//! filters are up to 1.5 times as high, because the probes are not independent. Those of legacy
//! filters are a tenth lower, because RocksDB's formula is conservative. The others are within a few
//! percent. The tests check these bounds and print this table.
#![doc = include_str!("math_table.md")]

#[cfg(not(feature = "std"))]
use crate::float::Float as _;

/// Bits in a block of the cache-local Bloom filter.
pub const CACHE_LINE_BITS: u32 = 512;

/// The rate of a standard Bloom filter.
pub fn standard(bits_per_key: f64, num_probes: u32) -> f64 {
    let k = f64::from(num_probes);
    (1.0 - (-k / bits_per_key).exp()).powf(k)
}

/// The rate of a blocked Bloom filter with blocks of `block_bits`. This is RocksDB's two-point
/// approximation, which determines the size of Ribbon filters.
pub fn cache_local(bits_per_key: f64, num_probes: u32, block_bits: u32) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let block_bits = f64::from(block_bits);
    let keys_per_block = block_bits / bits_per_key;
    let deviation = keys_per_block.sqrt();
    let crowded = standard(block_bits / (keys_per_block + deviation), num_probes);
    // With one key per block this divides by zero: the bits per key are infinite and the rate is 0.
    let sparse = standard(block_bits / (keys_per_block - deviation), num_probes);
    (crowded + sparse) / 2.0
}

/// The rate of a blocked Bloom filter with blocks of `block_bits`, summed over the Poisson
/// distribution of the keys per block. Slower than [`cache_local`], but closer to measured rates.
pub fn sharded(bits_per_key: f64, num_probes: u32, block_bits: u32) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let mean = f64::from(block_bits) / bits_per_key;
    if mean > EVEN_KEYS_PER_BLOCK {
        return standard(bits_per_key, num_probes);
    }
    // Ten deviations on either side cover all but 1e-20 of the distribution.
    let reach = 10.0 * mean.sqrt() + 10.0;
    let first = (mean - reach).max(1.0) as u32;
    let last = (mean + reach) as u32;
    // The exact form instead of e^(-k/b): the difference matters for small blocks.
    let clear_of_one_key = (1.0 - 1.0 / f64::from(block_bits)).powf(f64::from(num_probes));
    let mut clear = clear_of_one_key.powf(f64::from(first));
    let mut probability = (f64::from(first) * mean.ln() - mean - ln_factorial(first)).exp();
    let mut rate = 0.0;
    for keys in first..=last {
        rate += probability * (1.0 - clear).powi(num_probes as i32);
        probability *= mean / f64::from(keys + 1);
        clear *= clear_of_one_key;
    }
    // Rounding errors of thousands of terms can add up to more than 1.
    rate.min(1.0)
}

/// With more keys per block, blocks are filled evenly.
const EVEN_KEYS_PER_BLOCK: f64 = 65_536.0;

fn ln_factorial(n: u32) -> f64 {
    (1..=n).map(|i| f64::from(i).ln()).sum()
}

/// The probability that a key that was not added has the same `hash_bits`-bit hash as one of `keys`
/// keys.
pub fn fingerprint(keys: u64, hash_bits: u32) -> f64 {
    let expected = keys as f64 * 0.5f64.powf(f64::from(hash_bits));
    if expected > 0.0001 {
        1.0 - (-expected).exp()
    } else {
        // 1 - e^-x loses precision for small x. Two terms of its series do not.
        expected - 0.5 * expected * expected
    }
}

/// The probability that at least one of two independent events occurs.
pub fn union(x: f64, y: f64) -> f64 {
    x + y - x * y
}

/// The number of probes with the lowest rate for a standard Bloom filter, about *b* ln 2.
pub fn best_num_probes(bits_per_key: f64) -> u32 {
    best_of(bits_per_key, |k| standard(bits_per_key, k))
}

/// The number of probes with the lowest rate for a blocked Bloom filter. Lower than for a standard
/// one, because crowded blocks dominate the rate.
pub fn best_num_probes_cache_local(bits_per_key: f64, block_bits: u32) -> u32 {
    best_of(bits_per_key, |k| cache_local(bits_per_key, k, block_bits))
}

fn best_of(bits_per_key: f64, rate: impl Fn(u32) -> f64) -> u32 {
    let most = (bits_per_key.clamp(0.0, 1000.0) as u32 + 1).max(1);
    (1..=most).min_by(|&a, &b| rate(a).total_cmp(&rate(b))).unwrap_or(1)
}

/// The smallest number of bits per key from 1 to 100, in steps of a thousandth, at which `rate` is at
/// most `wanted`. `None` if 100 bits are not enough. `rate` must not increase with the bits.
///
/// ```
/// use sstkit_filter::math::{bits_per_key_for, best_num_probes, standard};
///
/// // In theory, 9.59 bits per key for 1 in 100.
/// let bits = bits_per_key_for(0.01, |bits| standard(bits, best_num_probes(bits))).unwrap();
/// assert!((bits - 9.59).abs() < 0.02);
/// ```
pub fn bits_per_key_for(wanted: f64, rate: impl Fn(f64) -> f64) -> Option<f64> {
    const MILLIBITS: core::ops::RangeInclusive<u32> = 1000..=100_000;
    let reaches = |millibits: u32| rate(f64::from(millibits) / 1000.0) <= wanted;
    let (mut low, mut high) = MILLIBITS.into_inner();
    if !reaches(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if reaches(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(f64::from(high) / 1000.0)
}
