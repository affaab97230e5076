//! The key of the entries before, to compare the next one with.
//!
//! ```text
//! end of the part   user7/          common with the last key: 5 bytes
//! last key          user3/item41
//! next key          user3/item42    common with the last key: 11 bytes, more than 5: it is on the
//!                                   same side of the end, and need not be compared with it
//! ```

use std::cmp::Ordering;
use std::ops::Bound;

use sstkit_table::Comparator;
use sstkit_table::raw::common_prefix;
use sstkit_table::visibility::UserKeys;

/// How keys are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyComparison {
    /// By bytes.
    Forward,
    /// By bytes, backwards.
    Reverse,
    /// As a user-made comparator does.
    UserMade,
    /// Only for equality: the order is not known.
    Unordered,
}

/// How a key compares with the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextKey {
    /// It is the same.
    Same,
    /// It is after it, within the range, and has this number of bytes in common with it.
    New(usize),
    /// It is after the range.
    Behind,
    /// It should have been before it.
    OutOfOrder,
}

/// The last key of a part of the key range, without timestamp.
pub(super) struct LastKey<'a> {
    keys: &'a UserKeys,
    comparison: KeyComparison,
    end: Bound<&'a [u8]>,
    key: Vec<u8>,
    /// Bytes that the last key and the end have in common; `None` if there is no last key.
    common_with_end: Option<usize>,
}

impl<'a> LastKey<'a> {
    pub(super) fn new(keys: &'a UserKeys, is_ordered: bool, end: Bound<&'a [u8]>) -> Self {
        let comparison = match keys.comparator() {
            _ if !is_ordered => KeyComparison::Unordered,
            Comparator::Bytewise | Comparator::BytewiseWithTimestamp => KeyComparison::Forward,
            Comparator::ReverseBytewise | Comparator::ReverseBytewiseWithTimestamp => {
                KeyComparison::Reverse
            }
            _ => KeyComparison::UserMade,
        };
        Self { keys, comparison, end, key: Vec::new(), common_with_end: None }
    }

    /// Whether each key is greater than the one before, by its bytes.
    pub(super) fn is_forward(&self) -> bool {
        self.comparison == KeyComparison::Forward
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Compares the key of the next entry with the last one.
    #[inline]
    pub(super) fn compare(&self, key: &[u8]) -> NextKey {
        let Some(common_with_end) = self.common_with_end else { return self.compare_first(key) };
        if !matches!(self.comparison, KeyComparison::Forward | KeyComparison::Reverse) {
            return self.compare_by_comparator(key);
        }
        let common = common_prefix(&self.key, key);
        let order = match (self.key.get(common), key.get(common)) {
            (None, None) => return NextKey::Same,
            (last, next) => last.cmp(&next),
        };
        if order == self.wrong_order() {
            return NextKey::OutOfOrder;
        }
        if common <= common_with_end && self.is_behind(key) {
            return NextKey::Behind;
        }
        NextKey::New(common)
    }

    /// Makes a key the last one, which has this number of bytes in common with it.
    #[inline]
    pub(super) fn replace(&mut self, key: &[u8], common: usize) {
        self.key.truncate(common);
        self.key.extend_from_slice(&key[common..]);
        if self.common_with_end.is_none_or(|with_end| common <= with_end) {
            self.common_with_end = Some(match self.end {
                Bound::Included(end) | Bound::Excluded(end) => common_prefix(&self.key, end),
                Bound::Unbounded => 0,
            });
        }
    }

    fn wrong_order(&self) -> Ordering {
        match self.comparison {
            KeyComparison::Reverse => Ordering::Less,
            _ => Ordering::Greater,
        }
    }

    #[cold]
    fn compare_first(&self, key: &[u8]) -> NextKey {
        if self.is_behind(key) { NextKey::Behind } else { NextKey::New(0) }
    }

    #[cold]
    fn compare_by_comparator(&self, key: &[u8]) -> NextKey {
        let order = match self.comparison {
            KeyComparison::Unordered if self.key == key => Ordering::Equal,
            KeyComparison::Unordered => Ordering::Less,
            _ => self.keys.compare(&self.key, key),
        };
        match order {
            Ordering::Equal => NextKey::Same,
            Ordering::Greater => NextKey::OutOfOrder,
            Ordering::Less if self.is_behind(key) => NextKey::Behind,
            Ordering::Less => NextKey::New(0),
        }
    }

    fn is_behind(&self, key: &[u8]) -> bool {
        match self.end {
            _ if self.comparison == KeyComparison::Unordered => false,
            Bound::Included(end) => self.keys.compare(key, end).is_gt(),
            Bound::Excluded(end) => self.keys.compare(key, end).is_ge(),
            Bound::Unbounded => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_are_compared_as_by_the_comparator(
            mut keys in prop::collection::vec("[ab]{0,10}", 0..30),
            swapped in 0usize..30,
            is_reverse: bool,
            end in prop::option::of("[ab]{0,10}"),
            is_included: bool,
        ) {
            let order =
                if is_reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise };
            keys.sort_by(|a, b| order.compare(a.as_bytes(), b.as_bytes()));
            if swapped + 1 < keys.len() {
                keys.swap(swapped, swapped + 1);
            }
            let user_keys = UserKeys::new(order.clone());
            let bound = match &end {
                Some(end) if is_included => Bound::Included(end.as_bytes()),
                Some(end) => Bound::Excluded(end.as_bytes()),
                None => Bound::Unbounded,
            };
            let mut last = LastKey::new(&user_keys, true, bound);
            let mut before: Option<&str> = None;
            for key in &keys {
                let is_behind = end.as_ref().is_some_and(|end| {
                    let order = order.compare(key.as_bytes(), end.as_bytes());
                    order.is_gt() || order.is_eq() && !is_included
                });
                let expected = match before {
                    Some(before) if before == key => NextKey::Same,
                    Some(before) if order.compare(before.as_bytes(), key.as_bytes()).is_gt() => {
                        NextKey::OutOfOrder
                    }
                    _ if is_behind => NextKey::Behind,
                    _ => NextKey::New(common_prefix(last.key(), key.as_bytes())),
                };
                prop_assert_eq!(last.compare(key.as_bytes()), expected, "{} after {:?}", key, before);
                match expected {
                    NextKey::New(common) => last.replace(key.as_bytes(), common),
                    NextKey::Same => {}
                    NextKey::Behind | NextKey::OutOfOrder => break,
                }
                prop_assert_eq!(last.key(), key.as_bytes());
                before = Some(key);
            }
        }
    }
}
