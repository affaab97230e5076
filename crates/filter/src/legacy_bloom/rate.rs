//! False-positive rates: of given bits, and of filters that are yet to be built.
//!
//! Of few lines, the rate follows from all pairs of a first bit and a step
//! ([`constant_step`](crate::constant_step)). Of many lines, these pairs are not equally frequent. The
//! hashes of a line differ by multiples of the number of lines *m*:
//!
//! ```text
//! h, h + tm                        two hashes of a line
//! t = 512p                         the same first bit: m is odd
//! pm close to a multiple of 2^17   the same step: its 9 bits are bits 17 to 25 of h
//!
//! m = 8595, p = 61                 61 · 8595 = 4 · 2^17 + 7
//! ```
//!
//! With 8595 lines, the hashes of a line with the same first bit have about 61 different steps instead
//! of 512, so that keys often have exactly the bits of another key. Most numbers of lines have no such *p*
//! that is small:
//!
//! | keys, 22 bits per key | 199,000 | 200,000 | 200,100 |
//! |---|---|---|---|
//! | lines | 8551 | 8595 | 8599 |
//! | rate | 0.27 % | 0.32 % | 0.27 % |
//!
//! The worst are those of which a small multiple is almost 2^17: 0.82 % with 13,107 lines (10 · 13,107 =
//! 2^17 - 2). With many lines, random hashes are therefore probed: of all lines of a filter, or of some
//! lines of one with as many.

use alloc::vec;

use crate::constant_step::{
    RANDOM_PROBES, RandomHashes, excess_of_lines, memoized, rate_of_random_hashes,
};
use crate::math;
use crate::trailer::TRAILER_LENGTH;

use super::builder::LegacyBloomBuilder;
use super::reader::LegacyBloomReader;
use super::{may_contain_in_line, num_probes, set_bits_of_line};

/// Up to this many lines, all pairs of a first bit and a step are almost equally frequent.
const EVEN_LINES: u32 = 1024;
/// Lines of a filter that is simulated.
const SIMULATED_LINES: usize = 256;
/// Random hashes that are probed: rates above 0.2 % have a deviation of less than 3 %, in a filter of
/// less than 2 %.
const SIMULATED_PROBES: usize = 2 * RANDOM_PROBES;
const PROBES_OF_FILTER: usize = 4 * RANDOM_PROBES;

/// With this many probes of each bit, all but one bit in nine million are set: everything passes. More keys
/// need not be simulated.
const PROBES_OF_FULL_BIT: f64 = 16.0;

/// Hashes of 32 bits.
const HASHES: u64 = 1 << 32;

/// The rate of these bits. `independent` is that of independent probes, `keys` their estimated number.
pub(crate) fn rate_of_bits(
    reader: LegacyBloomReader,
    data: &[u8],
    independent: f64,
    keys: u64,
) -> f64 {
    if reader.num_lines() > EVEN_LINES {
        // Whole hashes collide here, too.
        let mut random = RandomHashes::new();
        return rate_of_random_hashes(PROBES_OF_FILTER, &mut random, |hash| {
            reader.may_contain(data, hash)
        });
    }
    let excess = excess_of_lines(data, reader.line_length(), reader.num_probes());
    with_collisions(independent + excess, keys)
}

impl LegacyBloomBuilder {
    /// The rate of a filter with `keys` keys without RocksDB's approximations, which are up to 14 %
    /// off, and more for some numbers of lines.
    pub(crate) fn simulated_fpr(&self, keys: usize) -> f64 {
        let (num_probes, line_length) = (num_probes(self.bits_per_key()), self.line_length());
        let num_lines = self.num_lines(keys);
        if num_lines > EVEN_LINES {
            let keys_of_line = keys as f64 / f64::from(num_lines);
            let probes_of_bit = f64::from(num_probes) * keys_of_line / (8 * line_length) as f64;
            if probes_of_bit >= PROBES_OF_FULL_BIT {
                return 1.0;
            }
            // The number of lines is limited, that of keys is not. Below the limit, one follows from the
            // other.
            let crowd = match self.is_limited(keys) {
                true => (keys_of_line * SIMULATED_LINES as f64) as usize,
                false => 0,
            };
            let simulated = [num_lines as usize, line_length, self.bits_per_key() as usize, crowd];
            return memoized("legacy", simulated, || {
                rate_of_some_lines(keys, num_lines, line_length, num_probes)
            });
        }
        let simulated = [0, line_length, self.bits_per_key() as usize, 0];
        let excess = memoized("legacy", simulated, || {
            let bits = 8 * line_length * SIMULATED_LINES;
            let hashes = RandomHashes::new().take(bits / self.bits_per_key().max(1) as usize);
            let filter = self.filter_of(hashes.len(), hashes.into_iter());
            excess_of_lines(&filter[..filter.len() - TRAILER_LENGTH], line_length, num_probes)
        });
        let bits_per_key = 8.0 * (self.size(keys) - TRAILER_LENGTH) as f64 / keys as f64;
        let rate = math::sharded(bits_per_key, num_probes.into(), 8 * line_length as u32);
        with_collisions(rate + excess, keys as u64)
    }
}

/// The rate of [`SIMULATED_LINES`] lines of a filter, counted with random hashes of these.
fn rate_of_some_lines(keys: usize, num_lines: u32, line_length: usize, num_probes: u8) -> f64 {
    let mut random = RandomHashes::new();
    // A number below `end`, all of them equally likely.
    let mut below = |end: u64| (u64::from(random.next()) * end) >> u32::BITS;
    let mut hash_of_line = || {
        let simulated = below(SIMULATED_LINES as u64);
        let number = simulated * u64::from(num_lines) / SIMULATED_LINES as u64;
        let hashes = (HASHES - number).div_ceil(u64::from(num_lines));
        (simulated as usize, (number + u64::from(num_lines) * below(hashes)) as u32)
    };
    let mut lines = vec![0; SIMULATED_LINES * line_length];
    // Of lines that are not overfull: see the caller.
    let keys = u128::from(keys as u64) * SIMULATED_LINES as u128 / u128::from(num_lines);
    for _ in 0..keys {
        let (simulated, hash) = hash_of_line();
        set_bits_of_line(&mut lines[simulated * line_length..][..line_length], hash, num_probes);
    }
    let passes = |_: &usize| {
        let (simulated, hash) = hash_of_line();
        may_contain_in_line(&lines[simulated * line_length..][..line_length], hash, num_probes)
    };
    (0..SIMULATED_PROBES).filter(passes).count() as f64 / SIMULATED_PROBES as f64
}

fn with_collisions(rate: f64, keys: u64) -> f64 {
    math::union(rate.clamp(0.0, 1.0), math::fingerprint(keys, u32::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legacy_bloom::CacheLine;

    /// The number of lines is limited, so that more keys only fill them up.
    #[test]
    #[cfg_attr(miri, ignore = "hundreds of simulations")]
    fn rates_rise_to_one_for_any_number_of_keys() {
        let mut last = 0.0;
        let builder = LegacyBloomBuilder::new(10, CacheLine::Bytes64);
        for keys in [1 << 28, 1 << 29, 1 << 30, 1 << 31, 1 << 32, 1 << 40, 1 << 63, u64::MAX] {
            let Ok(keys) = usize::try_from(keys) else { break };
            let rate = builder.simulated_fpr(keys);
            assert!(rate <= 1.0 && rate >= last, "{keys}: {rate}, {last}");
            last = rate;
        }
        assert_eq!(last, 1.0);
        for bits_per_key in [1, 2, 6, 24, 100] {
            for line in [CacheLine::Bytes64, CacheLine::Bytes128, CacheLine::Bytes256] {
                let builder = LegacyBloomBuilder::new(bits_per_key, line);
                assert_eq!(builder.simulated_fpr(usize::MAX), 1.0, "{bits_per_key} {line:?}");
                let rate = builder.simulated_fpr(1);
                assert!(rate > 0.0 && rate < 1.0, "{bits_per_key} {line:?}: {rate}");
            }
        }
    }
}
