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
            let simulated = [num_lines as usize, line_length, self.bits_per_key() as usize];
            return memoized("legacy", simulated, || {
                rate_of_some_lines(keys, num_lines, line_length, num_probes)
            });
        }
        let simulated = [0, line_length, self.bits_per_key() as usize];
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
    let keys = keys as u64 * SIMULATED_LINES as u64 / u64::from(num_lines);
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
