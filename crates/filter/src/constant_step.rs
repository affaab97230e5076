//! False-positive rates of filters whose probes advance by a constant step.
//!
//! The 32-bit filters (LevelDB's, and the two older ones of RocksDB) have one hash *h* per key. The
//! step *d* is *h* rotated:
//!
//! ```text
//! bit = h mod m,  h + d mod m,  h + 2d mod m,  …     k bits of m
//!
//! d mod m = 0                  one bit instead of k
//! the step of an added key     its bits, shifted: most of them are set
//! 3, 5 or 17 divides m         it divides 2^32 - 1 too, so h determines d modulo it
//! ```
//!
//! All of these let more keys pass than *k* independent probes would (*f^k* with *f* the fraction of
//! ones). The difference does not depend on the number of keys but on *m*, and has no closed form:
//!
//! | bits per key | 6 | 8 | 10 | 12 | 16 | 20 |
//! |---|---|---|---|---|---|---|
//! | LevelDB, 32 keys per filter | 1.14 | 1.16 | 1.26 | 1.7 | 6 | 11 |
//! | lines of 512 bits | 1.02 | 1.07 | 1.18 | 1.6 | 4 | 12 |
//!
//! It is counted instead. A cache line has few enough bits that all pairs of a first bit and a step can be
//! tried. For a filter of any length, and for one of many lines, random hashes are probed; numbers are
//! the same in each run.

use alloc::vec::Vec;

#[cfg(not(feature = "std"))]
use crate::float::Float as _;

/// Lines of one filter for which all probes are tried.
const TRIED_LINES: usize = 128;
/// The lines of which every pair of first bit and step is tried: those of real machines.
const TRIED_LINE_LENGTHS: core::ops::RangeInclusive<usize> = 8..=256;
/// Random hashes that are probed for a rate.
pub(crate) const RANDOM_PROBES: usize = 1 << 18;

/// By how much the rate of the lines of a filter exceeds that of independent probes: the mean of up to
/// [`TRIED_LINES`] of them.
pub(crate) fn excess_of_lines(data: &[u8], line_length: usize, num_probes: u8) -> f64 {
    if !line_length.is_power_of_two() || !TRIED_LINE_LENGTHS.contains(&line_length) {
        return 0.0;
    }
    let lines = data.len() / line_length;
    let tried = lines.min(TRIED_LINES);
    let excess = |number: usize| {
        let line = &data[number * lines / tried * line_length..][..line_length];
        let ones: u32 = line.iter().map(|byte| byte.count_ones()).sum();
        let fill = f64::from(ones) / (8 * line_length) as f64;
        rate_of_line(line, num_probes) - fill.powf(f64::from(num_probes))
    };
    (0..tried).map(excess).sum::<f64>() / tried.max(1) as f64
}

/// The rate of a line of 2^n bits, with all pairs of a first bit and a step.
fn rate_of_line(line: &[u8], num_probes: u8) -> f64 {
    let bits = 8 * line.len();
    // The line twice, so that a rotation is 64 bits from anywhere.
    let mut words: Vec<u64> = line.chunks_exact(8).map(word).collect();
    let length = words.len();
    words.extend_from_within(..);
    words.push(words[0]);
    let count = |step: usize| -> u64 {
        let of_word = |number: usize| {
            let rotated = |probe: usize| {
                let start = 64 * number + (probe * step) % bits;
                let (word, shift) = (start / 64, start % 64);
                // Two shifts: one by 64 bits would overflow.
                (words[word] >> shift) | (words[word + 1] << 1 << (63 - shift))
            };
            let passed = (0..usize::from(num_probes)).map(rotated).fold(u64::MAX, |a, b| a & b);
            u64::from(passed.count_ones())
        };
        (0..length).map(of_word).sum()
    };
    // The step -d has the same bits as d, from the other end.
    let half = bits / 2;
    let passed = count(0) + count(half) + 2 * (1..half).map(count).sum::<u64>();
    passed as f64 / (bits * bits) as f64
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("chunks of eight bytes"))
}

/// The share of `probes` random hashes that a filter lets pass.
pub(crate) fn rate_of_random_hashes(
    probes: usize,
    random: &mut RandomHashes,
    may_contain: impl Fn(u32) -> bool,
) -> f64 {
    let passed = (0..probes).filter(|_| may_contain(random.next())).count();
    passed as f64 / probes.max(1) as f64
}

/// Hashes of random keys: splitmix64, always the same.
pub(crate) struct RandomHashes(u64);

impl RandomHashes {
    pub(crate) fn new() -> Self {
        Self(0)
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// The parameters of a simulated filter.
pub(crate) type Simulated = [usize; 4];

/// The result of the simulation of a kind of filter, which takes about a millisecond and is wanted again
/// and again.
#[cfg(feature = "std")]
pub(crate) fn memoized(
    kind: &'static str,
    filter: Simulated,
    simulate: impl FnOnce() -> f64,
) -> f64 {
    use alloc::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};

    /// The most rates that are kept.
    const MOST: usize = 1 << 16;
    static KNOWN: Mutex<BTreeMap<(&str, Simulated), f64>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&rate) = known().get(&(kind, filter)) {
        return rate;
    }
    let rate = simulate();
    let mut known = known();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert((kind, filter), rate);
    rate
}

/// Without locks, nothing is kept.
#[cfg(not(feature = "std"))]
pub(crate) fn memoized(_: &str, _: Simulated, simulate: impl FnOnce() -> f64) -> f64 {
    simulate()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legacy_bloom::delta;

    #[test]
    fn all_probes_of_a_line_are_those_of_random_hashes() {
        let mut random = RandomHashes::new();
        for (num_probes, keys) in [(1_u8, 300), (6, 51), (11, 32), (30, 12)] {
            let mut line = [0_u8; 64];
            for mut hash in random.take(keys) {
                let step = delta(hash);
                for _ in 0..num_probes {
                    line[(hash % 512 / 8) as usize] |= 1 << (hash % 8);
                    hash = hash.wrapping_add(step);
                }
            }
            let may_contain = |hash: u32| {
                let bit = |probe: u8| hash.wrapping_add(delta(hash).wrapping_mul(probe.into()));
                (0..num_probes)
                    .map(bit)
                    .all(|bit| line[(bit % 512 / 8) as usize] & (1 << (bit % 8)) != 0)
            };
            let counted = rate_of_random_hashes(1 << 21, &mut random, may_contain);
            let rate = rate_of_line(&line, num_probes);
            assert!((counted / rate - 1.0).abs() < 0.05, "{num_probes}: {counted}, {rate}");
        }
    }

    #[test]
    fn full_and_empty_lines_have_no_excess() {
        for byte in [0, 0xff] {
            assert_eq!(excess_of_lines(&[byte; 640], 64, 6), 0.0);
        }
        // Lines that no machine has.
        assert_eq!(excess_of_lines(&[1; 640], 640, 6), 0.0);
        assert_eq!(excess_of_lines(&[], 64, 6), 0.0);
    }
}
