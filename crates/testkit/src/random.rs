//! Random numbers, keys and values, the same for the same seed.

use std::collections::BTreeMap;

use crate::number_from_environment;

/// The SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// A permutation of all 64-bit numbers whose results look random: one step of SplitMix64.
#[inline]
pub fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// A generator that yields the same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        number
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64() % limit
    }

    /// An index into a slice of `length` elements, which must not be 0.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// One element of a slice, which must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// Random bytes.
    pub fn bytes(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.next_u64() as u8).collect()
    }

    /// Sorted entries: keys that share prefixes and keys that do not, of all lengths up to 300
    /// bytes, high bytes included.
    pub fn entries(&mut self, count: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
        (0..count)
            .map(|i| {
                let key = match self.below(8) {
                    0 => {
                        let length = 1 + self.below(20);
                        self.bytes(length)
                    }
                    1 => {
                        let length = 1 + self.below(300);
                        self.bytes(length)
                    }
                    2 | 3 => format!("user{:04}\u{e9}{:05}", i / 9, 3 * i).into_bytes(),
                    _ => format!("key{:08}", self.below(100 * count)).into_bytes(),
                };
                let length = self.below(60);
                (key, self.bytes(length))
            })
            .collect()
    }
}

/// The seeds of this run, starting at `SSTKIT_SEED` or 1: `SSTKIT_CASES` of them, or `usual`. Each
/// one is printed, so that the last line of a failing test names its seed.
pub fn seeds(usual: u64) -> impl Iterator<Item = u64> {
    let first = number_from_environment("SSTKIT_SEED", 1);
    let count = number_from_environment("SSTKIT_CASES", usual);
    (0..count).map(move |i| first + i).inspect(|seed| println!("SSTKIT_SEED={seed}"))
}
