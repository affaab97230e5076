//! The mathematics of false positives.
//!
//! Notation: *n* keys, *b* bits per key, *k* probes per key, *w* bits per block of a blocked
//! filter.
//!
//! # Standard Bloom filter
//!
//! After *kn* probes into *bn* bits a bit is still clear with probability *e^(-k/b)*, so an absent
//! key finds all its *k* bits set with probability
//!
//! ```text
//! standard(b, k) = (1 - e^(-k/b))^k            least at k = b ln 2, where it is 0.6185^b
//! ```
//!
//! # Blocked (cache-local) Bloom filter
//!
//! All probes of a key fall into one block of *w* bits: one cache miss instead of *k*. The price is
//! uneven filling. A block receives a Poisson-distributed number of keys of mean *w/b*, and its
//! rate is that of a standard filter with that many:
//!
//! ```text
//! sharded(b, k, w) = Σ_j Poisson(j; w/b) · standard(w/j, k)
//! ```
//!
//! RocksDB replaces the sum by two points, one standard deviation of the load to either side:
//!
//! ```text
//! q = w/b,  s = √q
//! cache_local(b, k, w) = ( standard(w/(q+s), k) + standard(w/(q-s), k) ) / 2
//! ```
//!
//! # Fingerprints
//!
//! Every filter here works on a hash of *h* bits; an absent key whose hash equals that of one of
//! *n* keys is always a false positive:
//!
//! ```text
//! fingerprint(n, h) = 1 - e^(-n/2^h)
//! ```
//!
//! With 64 bits that is nothing; with the 32 bits of legacy filters it is 0.1 % at 4.3 million
//! keys. Two independent ways to fail add up as *x + y - xy* ([`union`]).
//!
//! # The other way round
//!
//! Rates of each kind as built are with the kinds ([`fast_local_bloom::expected_fpr`],
//! [`legacy_bloom::expected_fpr`], [`ribbon::expected_fpr`], [`BlockBloom::expected_fpr`]), and
//! [`FilterPolicy::expected_fpr`] is the front of all. [`bits_per_key_for`] turns any of them round:
//!
//! ```
//! use sstkit_filter::math::bits_per_key_for;
//! use sstkit_filter::{BitsPerKey, BuildContext, FilterPolicy};
//!
//! // A Ribbon filter of a million keys that is wrong once in a thousand:
//! let context = BuildContext::default();
//! let bits = bits_per_key_for(0.001, |bits| {
//!     let policy = FilterPolicy::Standard128Ribbon(BitsPerKey::new(bits));
//!     policy.expected_fpr(1_000_000, &context).expect("a built-in policy")
//! });
//! assert_eq!(bits, Some(15.406)); // of which it takes 10.4
//! ```
//!
//! [`fast_local_bloom::expected_fpr`]: crate::fast_local_bloom::expected_fpr
//! [`legacy_bloom::expected_fpr`]: crate::legacy_bloom::expected_fpr
//! [`ribbon::expected_fpr`]: crate::ribbon::expected_fpr
//! [`BlockBloom::expected_fpr`]: crate::BlockBloom::expected_fpr
//! [`FilterPolicy::expected_fpr`]: crate::FilterPolicy::expected_fpr
//!
//! # What a bit buys
//!
//! Rates at 10 million keys as these formulas have them (LevelDB's filters have a few dozen keys
//! each, whatever the table); Ribbon's bits are those it takes, at one million keys, for the rate
//! that cache-local Bloom has at *b*. Measured, LevelDB's come out up to half as high again, since its probes are not
//! independent; legacy ones a tenth lower, since RocksDB's formula is cautious; the others within a
//! few percent. The tests state the bounds, and print this table.
#![doc = include_str!("math_table.md")]

/// Bits of a block of the cache-local Bloom filter.
pub const CACHE_LINE_BITS: u32 = 512;

/// Rate of a standard Bloom filter with `bits_per_key` and `num_probes`.
pub fn standard(bits_per_key: f64, num_probes: u32) -> f64 {
    let k = f64::from(num_probes);
    (1.0 - (-k / bits_per_key).exp()).powf(k)
}

/// Rate of a Bloom filter whose probes for a key stay within one block of `block_bits`: RocksDB's
/// approximation by two points, which Ribbon filters are sized by.
pub fn cache_local(bits_per_key: f64, num_probes: u32, block_bits: u32) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let block_bits = f64::from(block_bits);
    let keys_per_block = block_bits / bits_per_key;
    let deviation = keys_per_block.sqrt();
    let crowded = standard(block_bits / (keys_per_block + deviation), num_probes);
    // With one key per block this divides by zero: infinitely many bits per key, rate 0.
    let sparse = standard(block_bits / (keys_per_block - deviation), num_probes);
    (crowded + sparse) / 2.0
}

/// Rate of a Bloom filter split into blocks of `block_bits`: the mixture over the
/// Poisson-distributed number of keys in a block. Slower than [`cache_local`], and nearer to what
/// is measured.
pub fn sharded(bits_per_key: f64, num_probes: u32, block_bits: u32) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let mean = f64::from(block_bits) / bits_per_key;
    // Ten deviations to either side hold all but 1e-20 of the distribution.
    let reach = 10.0 * mean.sqrt() + 10.0;
    let first = (mean - reach).max(1.0) as u32;
    let last = (mean + reach) as u32;
    let mut log_probability = f64::from(first) * mean.ln() - mean - ln_factorial(first);
    let mut rate = 0.0;
    for keys in first..=last {
        // Within a block, distinct probes may fall on one bit; the exact form matters for small w.
        let probes = f64::from(keys) * f64::from(num_probes);
        let clear = (1.0 - 1.0 / f64::from(block_bits)).powf(probes);
        rate += log_probability.exp() * (1.0 - clear).powf(f64::from(num_probes));
        log_probability += mean.ln() - f64::from(keys + 1).ln();
    }
    // Rounding errors of thousands of terms.
    rate.min(1.0)
}

fn ln_factorial(n: u32) -> f64 {
    (1..=n).map(|i| f64::from(i).ln()).sum()
}

/// Probability that the `hash_bits`-bit hash of an absent key equals that of one of `keys` keys.
pub fn fingerprint(keys: u64, hash_bits: u32) -> f64 {
    let expected = keys as f64 * 0.5f64.powf(f64::from(hash_bits));
    if expected > 0.0001 {
        1.0 - (-expected).exp()
    } else {
        // 1 - e^-x loses its digits for small x; two terms of its series do not.
        expected - 0.5 * expected * expected
    }
}

/// Probability that at least one of two independent events happens.
pub fn union(x: f64, y: f64) -> f64 {
    x + y - x * y
}

/// Number of probes that makes a standard Bloom filter best: *b* ln 2, to the nearer side.
pub fn best_num_probes(bits_per_key: f64) -> u32 {
    best_of(bits_per_key, |k| standard(bits_per_key, k))
}

/// Number of probes that makes a blocked Bloom filter best: fewer than for a standard one, since
/// crowded blocks dominate.
pub fn best_num_probes_cache_local(bits_per_key: f64, block_bits: u32) -> u32 {
    best_of(bits_per_key, |k| cache_local(bits_per_key, k, block_bits))
}

fn best_of(bits_per_key: f64, rate: impl Fn(u32) -> f64) -> u32 {
    let most = (bits_per_key.clamp(0.0, 1000.0) as u32 + 1).max(1);
    (1..=most).min_by(|&a, &b| rate(a).total_cmp(&rate(b))).unwrap_or(1)
}

/// The least bits per key at which `rate` falls to `wanted`, between 1 and 100, to a thousandth of
/// a bit, or `None` where even 100 bits are not enough. `rate` must not rise with the bits.
///
/// ```
/// use sstkit_filter::math::{bits_per_key_for, best_num_probes, standard};
///
/// // The textbook: 9.59 bits per key for one in a hundred.
/// let bits = bits_per_key_for(0.01, |bits| standard(bits, best_num_probes(bits))).unwrap();
/// assert!((bits - 9.59).abs() < 0.02);
/// ```
pub fn bits_per_key_for(wanted: f64, rate: impl Fn(f64) -> f64) -> Option<f64> {
    const MILLIBITS: std::ops::RangeInclusive<u32> = 1000..=100_000;
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
