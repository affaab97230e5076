//! Compares keys by a number first.
//!
//! ```text
//! user-000017-a    all keys start with "user-0000"; the next eight bytes as a number:
//! user-000093-b    "17-a" 00 00 00 00 < "93-b" 00 00 00 00
//! '-------'
//!   common
//! ```
//!
//! If the numbers differ, they determine the order of the keys. If they are equal (one key may be
//! longer, or end in zeros), the keys are compared.

use std::cmp::Ordering;

use sstkit_table::Comparator;

use crate::output::without_timestamp;

/// Maps keys to numbers in comparator order.
#[derive(Clone, Debug)]
pub(super) struct KeyPrefix {
    comparator: Comparator,
    /// The common prefix of all keys, without timestamps.
    common: Option<Vec<u8>>,
}

impl KeyPrefix {
    pub(super) fn new(comparator: Comparator) -> Self {
        Self { comparator, common: None }
    }

    pub(super) fn comparator(&self) -> &Comparator {
        &self.comparator
    }

    /// Adds a key. Numbers from before cannot be compared with later ones.
    #[inline]
    pub(super) fn note(&mut self, key: &[u8]) {
        match &mut self.common {
            Some(common) if key.starts_with(common) => {
                // The timestamp is not part of the prefix.
                common.truncate(key.len().saturating_sub(self.comparator.timestamp_size()));
            }
            Some(common) => {
                let same = common.iter().zip(key).take_while(|(a, b)| a == b).count();
                let bare = key.len().saturating_sub(self.comparator.timestamp_size());
                common.truncate(same.min(bare));
            }
            None => {
                let bare = without_timestamp(key, self.comparator.timestamp_size());
                self.common = Some(bare.to_vec());
            }
        }
    }

    /// The number of a key that was added.
    #[inline]
    pub(super) fn of(&self, key: &[u8]) -> u64 {
        let bare = without_timestamp(key, self.comparator.timestamp_size());
        let rest = bare.get(self.common.as_ref().map_or(0, Vec::len)..).unwrap_or_default();
        let number = match rest.first_chunk::<8>() {
            Some(chunk) => u64::from_be_bytes(*chunk),
            None => {
                let mut chunk = [0; 8];
                chunk[..rest.len()].copy_from_slice(rest);
                u64::from_be_bytes(chunk)
            }
        };
        match self.comparator.order() {
            Comparator::Bytewise | Comparator::BytewiseWithTimestamp => number,
            Comparator::ReverseBytewise | Comparator::ReverseBytewiseWithTimestamp => !number,
            _ => 0,
        }
    }

    /// Compares two keys, given with their numbers.
    #[inline]
    pub(super) fn compare(&self, a: (u64, &[u8]), b: (u64, &[u8])) -> Ordering {
        a.0.cmp(&b.0).then_with(|| self.comparator.compare(a.1, b.1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_agree_with_keys(
            common in vec(any::<u8>(), 0..20),
            ends in vec(vec(0u8..3, 0..12), 1..20),
        ) {
            for comparator in [
                Comparator::Bytewise,
                Comparator::ReverseBytewise,
                Comparator::BytewiseWithTimestamp,
                Comparator::ReverseBytewiseWithTimestamp,
            ] {
                let stamp = vec![1; comparator.timestamp_size()];
                let keys: Vec<_> =
                    ends.iter().map(|end| [&common[..], end, &stamp].concat()).collect();
                let mut prefix = KeyPrefix::new(comparator.clone());
                keys.iter().for_each(|key| prefix.note(key));
                for a in &keys {
                    for b in &keys {
                        let order = prefix.compare((prefix.of(a), a), (prefix.of(b), b));
                        prop_assert_eq!(order, comparator.compare(a, b));
                    }
                }
            }
        }
    }
}
