//! Keys to build filters from, and keys to probe for.
//!
//! As in RocksDB's own `filter_bench`: distinct, 24 bytes on average and up to two more or fewer, since a hash of
//! one fixed length would be predicted too well.
//!
//! ```text
//! +---------------------+-----------------------------------+
//! | mix(number), 8 bytes| what follows from it, 14..=18     |
//! +---------------------+-----------------------------------+
//! ```
//!
//! All keys are in one buffer, so that iterating over them costs almost nothing.

use sstkit_testkit::random::mix;

/// Numbers of keys that are in no filter start here.
const FIRST_ABSENT: u64 = 1 << 40;

const MIN_LENGTH: usize = 22;
const LENGTHS: u64 = 5;

/// Keys in one flat buffer.
#[derive(Clone, Debug)]
pub struct Keys {
    bytes: Vec<u8>,
    /// Where each key starts, and where the last one ends.
    starts: Vec<u32>,
}

impl Keys {
    /// Keys to build filters from.
    pub fn present(count: usize) -> Self {
        Self::numbered(0, count)
    }

    /// The `number`-th set of `count` keys to build filters from; sets have no key in common.
    pub fn present_set(number: usize, count: usize) -> Self {
        Self::numbered((number * count) as u64, count)
    }

    /// Keys that are in no filter.
    pub fn absent(count: usize) -> Self {
        Self::numbered(FIRST_ABSENT, count)
    }

    fn numbered(first: u64, count: usize) -> Self {
        let mut keys = Self::with_capacity(count);
        for number in first..first + count as u64 {
            // Mixing is invertible: the first eight bytes alone tell any two keys apart.
            let mixed = mix(number);
            let mut key = [0; 32];
            let mut word = mixed;
            for piece in key.as_chunks_mut::<8>().0 {
                *piece = word.to_le_bytes();
                word = mix(word);
            }
            keys.push(&key[..MIN_LENGTH + (mixed % LENGTHS) as usize]);
        }
        keys
    }

    fn with_capacity(count: usize) -> Self {
        let mut starts = Vec::with_capacity(count + 1);
        starts.push(0);
        Self { bytes: Vec::with_capacity(count * 25), starts }
    }

    fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.starts.push(u32::try_from(self.bytes.len()).expect("keys of less than 4 GiB"));
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key at `place`.
    #[inline]
    pub fn get(&self, place: usize) -> &[u8] {
        &self.bytes[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// All keys, in the order of their bytes in memory.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.starts.windows(2).map(|bounds| &self.bytes[bounds[0] as usize..bounds[1] as usize])
    }
}

impl<'k> FromIterator<&'k [u8]> for Keys {
    fn from_iter<I: IntoIterator<Item = &'k [u8]>>(iter: I) -> Self {
        let iter = iter.into_iter();
        let mut keys = Self::with_capacity(iter.size_hint().0);
        iter.for_each(|key| keys.push(key));
        keys
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_distinct_and_of_the_promised_length() {
        let sets = [Keys::present(10_000), Keys::present_set(1, 10_000), Keys::absent(10_000)];
        let all: HashSet<&[u8]> = sets.iter().flat_map(Keys::iter).collect();
        assert_eq!(all.len(), 30_000);
        assert!(all.iter().all(|key| (22..=26).contains(&key.len())));
        let total: usize = all.iter().map(|key| key.len()).sum();
        let average = total as f64 / all.len() as f64;
        assert!((23.9..24.1).contains(&average), "{average}");
    }

    #[test]
    fn one_by_one_or_in_order() {
        let keys = Keys::present(100);
        assert_eq!(keys.len(), 100);
        assert!(keys.iter().enumerate().all(|(place, key)| keys.get(place) == key));
        let every_second: Keys = keys.iter().step_by(2).collect();
        assert_eq!(every_second.len(), 50);
        assert_eq!(every_second.get(7), keys.get(14));
        assert!(Keys::present(0).is_empty());
    }
}
