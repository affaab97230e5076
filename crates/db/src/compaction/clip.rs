//! The keys that a compaction keeps, and range tombstones cut to them.
//!
//! ```text
//! keys              b ............. k            bounds [b, k)
//! range tombstones  [a ===== e)  [h ====== p)
//! become            [b ==== e)  [h == k)
//! ```
//!
//! A range tombstone has its first key and not its last one. In bytewise order so have all bounds
//! that occur. The keys of a prefix in reverse order are the other way round, `(c, b]` for `b`: no
//! range tombstone can be cut there, as there is no key right before or after another.

use std::ops::Bound;

use sstkit_table::{Comparator, KeyExcerpt, KeyRange, RangeTombstone, ReadOptions};

use super::compaction_options::CompactionOptions;
use crate::error::{Error, Result};

/// Bounds of keys without timestamps, in comparator order.
#[derive(Clone, Debug)]
pub(super) struct Clip {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

/// Bounds of a part of the key range.
pub(super) type PartBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

impl Clip {
    pub(super) fn new(options: &CompactionOptions, comparator: &Comparator) -> Result<Self> {
        let (lower, upper): KeyRange = match &options.prefix {
            None => options.range.clone(),
            Some(prefix) => {
                if matches!(comparator.order(), Comparator::User(_)) {
                    return Err(Error::unsupported(format!(
                        "the keys of a prefix may be anywhere in the order of {comparator}: use a \
                         range of keys"
                    )));
                }
                let scan = ReadOptions::default().prefix(prefix).in_order(Some(comparator));
                let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
                (owned(scan.lower_bound()), owned(scan.upper_bound()))
            }
        };
        Ok(Self { lower, upper })
    }

    pub(super) fn is_everything(&self) -> bool {
        matches!((&self.lower, &self.upper), (Bound::Unbounded, Bound::Unbounded))
    }

    /// The bounds of one of the parts that start at `starts`, from the second one on.
    pub(super) fn part<'a>(&'a self, part: usize, starts: &'a [Vec<u8>]) -> PartBounds<'a> {
        let lower = match part.checked_sub(1).and_then(|before| starts.get(before)) {
            Some(start) => Bound::Included(start.as_slice()),
            None => self.lower.as_ref().map(Vec::as_slice),
        };
        let upper = match starts.get(part) {
            Some(next) => Bound::Excluded(next.as_slice()),
            None => self.upper.as_ref().map(Vec::as_slice),
        };
        (lower, upper)
    }

    /// The first and the last key of a range that is cut to the bounds; `None` if nothing is left.
    pub(super) fn narrow(
        &self,
        (mut low, mut high): (Vec<u8>, Vec<u8>),
        comparator: &Comparator,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let less = |a: &[u8], b: &[u8]| comparator.compare_without_timestamp(a, b).is_lt();
        if let Bound::Included(key) | Bound::Excluded(key) = &self.lower
            && less(&low, key)
        {
            low.clone_from(key);
        }
        if let Bound::Included(key) | Bound::Excluded(key) = &self.upper
            && less(key, &high)
        {
            high.clone_from(key);
        }
        less(&low, &high).then_some((low, high))
    }

    /// What of range tombstones is within the bounds.
    pub(super) fn cut(
        &self,
        tombstones: Vec<RangeTombstone>,
        comparator: &Comparator,
    ) -> Result<Vec<RangeTombstone>> {
        let compare = |a: &[u8], b: &[u8]| comparator.compare_without_timestamp(a, b);
        let mut kept = Vec::with_capacity(tombstones.len());
        for mut tombstone in tombstones {
            match &self.lower {
                Bound::Included(key) if compare(&tombstone.start, key).is_lt() => {
                    tombstone.start.clone_from(key);
                }
                Bound::Excluded(key) if compare(&tombstone.start, key).is_le() => {
                    if compare(&tombstone.end, key).is_gt() {
                        return Err(not_cut(&tombstone, key));
                    }
                    continue;
                }
                _ => {}
            }
            match &self.upper {
                Bound::Excluded(key) if compare(&tombstone.end, key).is_gt() => {
                    tombstone.end.clone_from(key);
                }
                Bound::Included(key) if compare(&tombstone.end, key).is_gt() => {
                    if compare(&tombstone.start, key).is_le() {
                        return Err(not_cut(&tombstone, key));
                    }
                    continue;
                }
                _ => {}
            }
            if compare(&tombstone.start, &tombstone.end).is_lt() {
                kept.push(tombstone);
            }
        }
        Ok(kept)
    }
}

fn not_cut(tombstone: &RangeTombstone, key: &[u8]) -> Error {
    let [start, end, key] = [&tombstone.start[..], &tombstone.end, key].map(KeyExcerpt);
    Error::unsupported(format!(
        "the range tombstone from {start} to {end} cannot be cut at {key}: in this order the keys of a \
         prefix have no first and no last key; use a range of keys, or drop deletions"
    ))
}

#[cfg(test)]
mod tests {
    use sstkit_table::TableOptions;

    use super::*;

    fn tombstone(start: &str, end: &str) -> RangeTombstone {
        RangeTombstone::new(start, end, 7, [])
    }

    fn options() -> CompactionOptions {
        CompactionOptions::new(TableOptions::rocksdb())
    }

    #[test]
    fn the_drawn_example() {
        let order = Comparator::Bytewise;
        let clip = Clip::new(&options().range("b".."k"), &order).unwrap();
        let all = vec![tombstone("a", "e"), tombstone("h", "p"), tombstone("k", "l")];
        let cut = clip.cut(all, &order).unwrap();
        assert_eq!(cut, [tombstone("b", "e"), tombstone("h", "k")]);
        assert!(!clip.is_everything());
        assert!(Clip::new(&options(), &order).unwrap().is_everything());
    }

    #[test]
    fn the_keys_of_a_prefix_in_both_orders() {
        let order = Comparator::Bytewise;
        let clip = Clip::new(&options().prefix("b"), &order).unwrap();
        let cut = clip.cut(vec![tombstone("a", "z"), tombstone("ba", "bb")], &order).unwrap();
        assert_eq!(cut, [tombstone("b", "c"), tombstone("ba", "bb")]);

        let order = Comparator::ReverseBytewise;
        let clip = Clip::new(&options().prefix("b"), &order).unwrap();
        let within = vec![tombstone("bb", "ba"), tombstone("z", "c"), tombstone("az", "a")];
        assert_eq!(clip.cut(within, &order).unwrap(), [tombstone("bb", "ba")]);
        for over in [tombstone("z", "ba"), tombstone("bb", "a")] {
            assert!(clip.cut(vec![over], &order).is_err());
        }
    }

    #[test]
    fn parts_meet_within_the_bounds() {
        let order = Comparator::Bytewise;
        let clip = Clip::new(&options().range("b".."k"), &order).unwrap();
        let starts = [b"e".to_vec()];
        let key = |key: &'static str| key.as_bytes();
        assert_eq!(clip.part(0, &starts), (Bound::Included(key("b")), Bound::Excluded(key("e"))));
        assert_eq!(clip.part(1, &starts), (Bound::Included(key("e")), Bound::Excluded(key("k"))));
        let narrow = |low: &[u8], high: &[u8]| clip.narrow((low.into(), high.into()), &order);
        assert_eq!(narrow(b"a", b"c"), Some((b"b".into(), b"c".into())));
        assert_eq!(narrow(b"l", b"m"), None);
    }
}
