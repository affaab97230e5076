//! The entries of the tables, the keys to look up, and the expected answers.
//!
//! ```text
//! key    0000000000000246   sixteen digits of an even number; odd numbers are absent
//! value  r r r r … r r r r  fifty random bytes, and the same again: compresses to about half
//! ```
//!
//! Values are the pieces of a pool, one after the other and from the start again, so that making
//! and fetching them costs nobody anything. C++ has the same in `src/shim/shim.h`.

/// The bytes of a key.
pub(crate) type Key = [u8; 16];

pub(crate) const VALUE_SIZE: usize = 100;
/// Keys and values together, of one entry.
pub(crate) const ENTRY_SIZE: u64 = 16 + VALUE_SIZE as u64;
const POOL_BITS: u32 = 16;

/// A quick source of numbers that look random: SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to `limit`.
    #[inline]
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}

/// The entries of a table, in the order of the keys.
pub(crate) struct Entries {
    pub(crate) keys: Vec<Key>,
    pub(crate) pool: Vec<u8>,
}

impl Entries {
    pub(crate) fn new(count: u64) -> Self {
        let keys = (0..count).map(|number| key(2 * number)).collect();
        let mut random = Random::new(1);
        let mut pool = vec![0; VALUE_SIZE << POOL_BITS];
        for value in pool.chunks_exact_mut(VALUE_SIZE) {
            let (head, tail) = value.split_at_mut(VALUE_SIZE / 2);
            head.iter_mut().for_each(|byte| *byte = random.next() as u8);
            tail.copy_from_slice(head);
        }
        Self { keys, pool }
    }

    pub(crate) fn len(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Bytes of keys and values.
    pub(crate) fn raw_bytes(&self) -> u64 {
        self.len() * ENTRY_SIZE
    }

    #[inline]
    pub(crate) fn value(&self, entry: usize) -> &[u8] {
        let start = (entry % (1 << POOL_BITS)) * VALUE_SIZE;
        &self.pool[start..start + VALUE_SIZE]
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&Key, &[u8])> {
        self.keys.iter().enumerate().map(|(entry, key)| (key, self.value(entry)))
    }

    /// The numbers of the entries in an order that is not that of the keys.
    pub(crate) fn shuffled(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        let mut random = Random::new(2);
        for end in (1..order.len()).rev() {
            order.swap(end, random.below(end as u64 + 1) as usize);
        }
        order
    }

    /// What a scan must find.
    pub(crate) fn scanned(&self, backward: bool) -> Answer {
        let mut answer = Answer::default();
        let each = |(key, value): (&Key, &[u8])| answer.entry(key, value);
        match backward {
            true => self.iter().rev().for_each(each),
            false => self.iter().for_each(each),
        }
        answer
    }
}

/// Keys to look up, and their entries, if they exist.
pub(crate) struct Queries {
    pub(crate) keys: Vec<Key>,
    entries: Vec<u32>,
    present: bool,
}

impl Queries {
    /// Keys drawn at random, of those in the table or of those between them.
    pub(crate) fn new(entries: &Entries, count: u64, present: bool) -> Self {
        let mut random = Random::new(3);
        let drawn: Vec<u32> = (0..count).map(|_| random.below(entries.len()) as u32).collect();
        let odd = u64::from(!present);
        let keys = drawn.iter().map(|&entry| key(2 * u64::from(entry) + odd)).collect();
        Self { keys, entries: drawn, present }
    }

    /// No keys, for this number of threads.
    pub(crate) fn none(threads: usize) -> Vec<Self> {
        let none = || Self { keys: Vec::new(), entries: Vec::new(), present: true };
        std::iter::repeat_with(none).take(threads).collect()
    }

    /// What lookups must find.
    pub(crate) fn got(&self, table: &Entries) -> Answer {
        let mut answer = Answer::default();
        for &entry in &self.entries {
            match self.present {
                true => answer.got(table.value(entry as usize)),
                false => answer.missed(),
            }
        }
        answer
    }

    /// What seeks to present keys must find, with `next` more entries each.
    pub(crate) fn sought(&self, table: &Entries, next: usize) -> Answer {
        let mut answer = Answer::default();
        for &entry in &self.entries {
            let end = (entry as usize + next + 1).min(table.keys.len());
            for entry in entry as usize..end {
                answer.entry(&table.keys[entry], table.value(entry));
            }
        }
        answer
    }

    /// What scans of all entries with the prefix of each key must find.
    pub(crate) fn with_prefix(&self, table: &Entries, length: usize) -> Answer {
        let mut answer = Answer::default();
        for key in &self.keys {
            let first = table.keys.partition_point(|it| it[..length] < key[..length]);
            for entry in first..table.keys.len() {
                if table.keys[entry][..length] != key[..length] {
                    break;
                }
                answer.entry(&table.keys[entry], table.value(entry));
            }
        }
        answer
    }

    /// In parts, one for each thread.
    pub(crate) fn split(&self, threads: usize) -> Vec<Self> {
        let length = self.keys.len().div_ceil(threads);
        let parts = self.keys.chunks(length).zip(self.entries.chunks(length));
        parts
            .map(|(keys, entries)| Self {
                keys: keys.to_vec(),
                entries: entries.to_vec(),
                present: self.present,
            })
            .collect()
    }
}

fn key(number: u64) -> Key {
    let mut key = [b'0'; 16];
    let mut rest = number;
    for digit in key.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

/// A result: the number of operations, the number of keys found, and a digest of the ends of keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Answer {
    pub(crate) count: u64,
    pub(crate) found: u64,
    pub(crate) digest: u64,
}

impl Answer {
    #[inline]
    fn add(&mut self, word: u64) {
        self.digest = self.digest.rotate_left(5).wrapping_add(word);
    }

    /// An entry of a scan.
    #[inline]
    pub(crate) fn entry(&mut self, key: &[u8], value: &[u8]) {
        self.count += 1;
        self.found += 1;
        self.add(last_word(key) ^ ends(value));
    }

    /// The value of a key that was looked up.
    #[inline]
    pub(crate) fn got(&mut self, value: &[u8]) {
        self.count += 1;
        self.found += 1;
        self.add(ends(value));
    }

    /// A key that is not found.
    #[inline]
    pub(crate) fn missed(&mut self) {
        self.count += 1;
        self.add(1);
    }

    /// Of several threads.
    pub(crate) fn sum(answers: impl IntoIterator<Item = Self>) -> Self {
        answers.into_iter().fold(Self::default(), |sum, it| Self {
            count: sum.count + it.count,
            found: sum.found + it.found,
            digest: sum.digest.wrapping_add(it.digest),
        })
    }
}

#[inline]
fn ends(value: &[u8]) -> u64 {
    first_word(value).rotate_left(21) ^ last_word(value) ^ value.len() as u64
}

#[inline]
fn first_word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[inline]
fn last_word(bytes: &[u8]) -> u64 {
    bytes.last_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_order_and_values_half_as_random_as_long() {
        let entries = Entries::new(1000);
        assert!(entries.keys.is_sorted());
        assert_eq!(entries.keys[123], *b"0000000000000246");
        let value = entries.value(7);
        assert_eq!(value[..50], value[50..]);
        assert_ne!(value, entries.value(8));
    }

    #[test]
    fn absent_keys_are_between_the_present_ones() {
        let entries = Entries::new(1000);
        let absent = Queries::new(&entries, 500, false);
        assert!(absent.keys.iter().all(|key| entries.keys.binary_search(key).is_err()));
        assert_eq!(absent.got(&entries).found, 0);
        let present = Queries::new(&entries, 500, true);
        assert!(present.keys.iter().all(|key| entries.keys.binary_search(key).is_ok()));
        assert_eq!(present.got(&entries).found, 500);
    }

    #[test]
    fn a_digest_knows_order_and_bytes() {
        let (mut one, mut other) = (Answer::default(), Answer::default());
        one.got(b"first value");
        one.got(b"other value");
        other.got(b"other value");
        other.got(b"first value");
        assert_ne!(one, other);
        assert_eq!(Entries::new(100).scanned(false), Entries::new(100).scanned(false));
        assert_ne!(Entries::new(100).scanned(false), Entries::new(100).scanned(true));
    }

    #[test]
    fn shuffling_loses_nothing() {
        let entries = Entries::new(100);
        let mut order = entries.shuffled();
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
