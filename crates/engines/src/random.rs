//! Random keys and values, the same for the same seed.

use std::collections::BTreeMap;

/// A small generator (SplitMix64).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "there is always a next one")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// So many bytes.
    pub fn bytes(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
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

/// The seeds of this run: `usual` of them or as many as `SSTKIT_CASES` says, from `SSTKIT_SEED` or 1
/// on. Each is printed, so that the last line of a test that fails, however it fails, says which.
pub fn seeds(usual: u64) -> impl Iterator<Item = u64> {
    let number = |variable, default| match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")),
        Err(_) => default,
    };
    let first = number("SSTKIT_SEED", 1);
    let seeds = (0..number("SSTKIT_CASES", usual)).map(move |i| first + i);
    seeds.inspect(|seed| println!("SSTKIT_SEED={seed}"))
}
