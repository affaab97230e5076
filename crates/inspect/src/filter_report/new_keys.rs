//! Keys like those of a table.
//!
//! ```text
//! a key            user0042/post0017
//! by bytes         user0042/post0017\x9f\x02…    eight random bytes appended: right after it
//! in another       user00\x9f\x02/post0017       random bytes within it, so that it is valid and
//! order                                          between the keys before and after it
//! ```
//!
//! Appended bytes make no valid key in an order that decodes keys, such as `idb_cmp1`: such keys come
//! after all others, where no file has any. Eight bytes are more than any of the hashes has: the 32-bit
//! hash of the older filters distinguishes keys badly that differ in one or two bytes, which would
//! measure the hash instead of the filter. So as many bytes as possible are changed.

use sstkit_table::Comparator;

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of random bytes to append to a key.
const RANDOM_ENDING: usize = 8;
/// The numbers of bytes that are changed, and how many places are tried with each.
const CHANGED_BYTES: [usize; 7] = [8, 7, 6, 4, 3, 2, 1];
const PLACES: usize = 6;

/// Makes keys that are like others.
pub(crate) struct NewKeys {
    random: Random,
    /// An order that is not that of the bytes.
    order: Option<Comparator>,
}

impl NewKeys {
    /// In this order; without one, the keys are not searched for.
    pub(crate) fn new(order: Option<&Comparator>) -> Self {
        let order = order.map(Comparator::order).filter(|it| matches!(it, Comparator::User(_)));
        Self { random: Random::new(), order: order.cloned() }
    }

    /// Whether keys are not in the order of their bytes, so that they have to be between others.
    pub(crate) fn is_user_made(&self) -> bool {
        self.order.is_some()
    }

    /// Fills up to eight bytes.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }

    /// A key like this one, between its neighbours, which are needed if the order is user-made: at the
    /// ends it is its own. There may be none.
    pub(crate) fn like(&mut self, key: &[u8], neighbours: (&[u8], &[u8])) -> Option<Vec<u8>> {
        let Some(order) = &self.order else {
            let mut key = key.to_vec();
            let end = key.len();
            key.resize(end + RANDOM_ENDING, 0);
            self.random.fill(&mut key[end..]);
            return Some(key);
        };
        let (before, after) = neighbours;
        let is_between = |new: &[u8]| {
            order.compare_without_timestamp(before, new).is_lt()
                && order.compare_without_timestamp(new, after).is_lt()
                && order.compare_without_timestamp(new, key).is_ne()
        };
        for changed in CHANGED_BYTES {
            let Some(last) = key.len().checked_sub(changed) else { continue };
            for _ in 0..PLACES {
                let start = self.random.below(last + 1);
                let mut new = key.to_vec();
                self.random.fill(&mut new[start..start + changed]);
                if order.is_valid_key(&new) && is_between(&new) {
                    return Some(new);
                }
            }
        }
        None
    }
}

/// splitmix64, always the same numbers.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(SEED)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Fills up to eight bytes.
    fn fill(&mut self, bytes: &mut [u8]) {
        for (byte, random) in bytes.iter_mut().zip(self.next().to_le_bytes()) {
            *byte = random;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_indexeddb_is_valid_and_between_others() {
        let order: Comparator = "idb_cmp1".parse().unwrap();
        let key = |text: &str| {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            [&[0, 1, 2, 1, 1, text.len() as u8][..], &units].concat()
        };
        let (before, middle, after) = (key("user0000"), key("user0042"), key("user9999"));
        let mut keys = NewKeys::new(Some(&order));
        let new: Vec<_> = (0..100).filter_map(|_| keys.like(&middle, (&before, &after))).collect();
        assert!(new.len() > 50, "{}", new.len());
        for new in new {
            assert!(order.is_valid_key(&new) && new != middle, "{new:?}");
            assert!(order.compare(&before, &new).is_lt() && order.compare(&new, &after).is_lt());
        }
        assert_eq!(keys.like(&middle, (&middle, &middle)), None);
        let mut keys = NewKeys::new(Some(&Comparator::Bytewise));
        assert!(keys.like(b"a", (b"", b"")).unwrap().starts_with(b"a"));
    }
}
