//! Keys for filters: 24 bytes, made a thousand at a time, so that probing one does not
//! wait for memory. Creating them is not measured.

use crate::data::Random;

/// The bytes of a key.
pub(crate) type FilterKey = [u8; 24];

/// The bytes of a key, as a slice of whose length the compiler knows nothing: C++ knows nothing of it,
/// either.
#[inline]
pub(super) fn slices(keys: &[FilterKey]) -> impl Iterator<Item = &[u8]> {
    let length = std::hint::black_box(size_of::<FilterKey>());
    keys.iter().map(move |key| &key[..length.min(size_of::<FilterKey>())])
}

/// Keys made at a time; together they fit into the first-level cache beside what else is needed.
pub(crate) const CHUNK: usize = 512;

/// The keys of one filter, by number; from [`OUTSIDE`] on, keys that are not in it.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) filter: u64,
}

/// Numbers from here on are of keys that are in no filter.
const OUTSIDE: u64 = 1 << 40;

impl Keys {
    #[inline]
    fn key(self, number: u64) -> FilterKey {
        let mut key = [0; 24];
        key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        key[8..16].copy_from_slice(&self.filter.to_le_bytes());
        key[16..].copy_from_slice(&number.to_be_bytes());
        key
    }

    /// Keys from a number on, in place of those in `chunk`.
    pub(crate) fn fill(self, first: u64, chunk: &mut Vec<FilterKey>, length: usize) {
        chunk.clear();
        chunk.extend((first..first + length as u64).map(|number| self.key(number)));
    }
}

/// Draws keys at random, half of them from those that were added.
pub(crate) struct Drawn {
    random: Random,
    keys: u64,
}

impl Drawn {
    /// For filters of this number of keys.
    pub(crate) fn new(keys: u64) -> Self {
        Self { random: Random::new(4), keys }
    }

    /// One key of a filter, and whether it was added.
    pub(crate) fn key(&mut self, filter: u64) -> (FilterKey, bool) {
        let number = self.random.below(self.keys);
        let present = self.random.next() >> 63 == 0;
        let outside = if present { 0 } else { OUTSIDE };
        (Keys { filter }.key(number + outside), present)
    }

    /// Replaces the keys in `chunk`. Returns how many of them were added.
    pub(crate) fn fill(&mut self, filter: u64, chunk: &mut Vec<FilterKey>, length: usize) -> u64 {
        chunk.clear();
        let mut added = 0;
        for _ in 0..length {
            let (key, present) = self.key(filter);
            chunk.push(key);
            added += u64::from(present);
        }
        added
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_distinct_and_half_of_the_drawn_ones_are_among_them() {
        let mut keys = Vec::new();
        Keys { filter: 3 }.fill(0, &mut keys, 1000);
        let known: HashSet<_> = keys.iter().copied().collect();
        assert_eq!(known.len(), 1000);
        let mut drawn = Drawn::new(1000);
        let added = drawn.fill(3, &mut keys, 1000);
        assert_eq!(keys.iter().filter(|key| known.contains(*key)).count() as u64, added);
        assert!((400..600).contains(&added));
        let (other, _) = drawn.key(4);
        assert!(!known.contains(&other));
    }
}
