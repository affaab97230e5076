//! The key axis of a drawing: where the key ranges of files start and end.
//!
//! ```text
//! level 0        [b ------ k]                   files
//! level 1   [a -- c][d ------------ z]
//!
//! keys       a  b  c  d  k  z                   all bounds, in key order
//! slots      0  1  2  3  4  5                   slot i: from key i to the next one
//! bytes      …  …  …  …  …  …                   bytes of the files in each slot
//! ```
//!
//! A file takes the slots `first..=last` of its bounds, so neighbours in a level never overlap,
//! whatever the comparator. Drawn by rank, all slots are equally wide; by bytes, each is as wide as
//! the files in it are large, where the bytes of a file are spread evenly over its slots.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use serde::Serialize;
use sstkit_table::Comparator;

use crate::encoding::Encoding;

/// The bounds of the key ranges of files, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeyAxis {
    /// The keys; of a long one the first [`KeyAxis::MAX_KEY`] bytes and an ellipsis.
    pub keys: Vec<String>,
    /// The bytes of the files in each slot.
    pub bytes: Vec<u64>,
}

impl KeyAxis {
    /// Bytes of a key that are shown.
    pub const MAX_KEY: usize = 64;

    /// The axis of files with these bounds and sizes, and the slots of each. Without a comparator
    /// the bounds are in the order of their bytes.
    pub fn of(
        files: &[(&[u8], &[u8], u64)],
        order: Option<&Comparator>,
        encoding: Encoding,
    ) -> (Self, Vec<RangeInclusive<usize>>) {
        let compare = |a: &[u8], b: &[u8]| -> Ordering {
            order.map_or_else(|| a.cmp(b), |order| order.compare_without_timestamp(a, b))
        };
        let mut keys: Vec<&[u8]> = files.iter().flat_map(|file| [file.0, file.1]).collect();
        keys.sort_by(|a, b| compare(a, b));
        keys.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
        let slot = |key: &[u8]| keys.partition_point(|it| compare(it, key) == Ordering::Less);
        let mut bytes = vec![0u64; keys.len()];
        let mut slots = Vec::with_capacity(files.len());
        for &(smallest, largest, size) in files {
            let first = slot(smallest);
            // The bounds of a damaged MANIFEST may be the wrong way round.
            let last = slot(largest).max(first);
            spread(size, &mut bytes[first..=last]);
            slots.push(first..=last);
        }
        let keys = keys.into_iter().map(|key| Self::shorten(key, encoding)).collect();
        (Self { keys, bytes }, slots)
    }

    /// The slot of a key on the axis of files with these bounds: that of the largest bound that is
    /// not larger; `None` if all are.
    pub fn slot_of(
        mut bounds: Vec<&[u8]>,
        order: Option<&Comparator>,
        key: &[u8],
    ) -> Option<usize> {
        let compare = |a: &[u8], b: &[u8]| -> Ordering {
            order.map_or_else(|| a.cmp(b), |order| order.compare_without_timestamp(a, b))
        };
        bounds.retain(|bound| compare(bound, key) != Ordering::Greater);
        bounds.sort_by(|a, b| compare(a, b));
        bounds.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
        bounds.len().checked_sub(1)
    }

    /// A key as the axis shows it.
    pub fn shorten(key: &[u8], encoding: Encoding) -> String {
        match key.get(..Self::MAX_KEY) {
            Some(start) if key.len() > Self::MAX_KEY => encoding.encode(start) + "…",
            _ => encoding.encode(key),
        }
    }
}

/// Spreads the bytes of a file evenly over its slots. The first ones get the rest of the division.
fn spread(size: u64, slots: &mut [u64]) {
    let count = slots.len() as u64;
    for (slot, at) in slots.iter_mut().zip(0..) {
        let share = size / count + u64::from(at < size % count);
        *slot = slot.saturating_add(share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(order: &Comparator, files: &[(&[u8], &[u8], u64)]) -> (KeyAxis, Vec<(usize, usize)>) {
        let (axis, slots) = KeyAxis::of(files, Some(order), Encoding::Escape);
        (axis, slots.into_iter().map(std::ops::RangeInclusive::into_inner).collect())
    }

    #[test]
    fn the_drawing() {
        let files: [(&[u8], &[u8], u64); 3] = [(b"b", b"k", 40), (b"a", b"c", 30), (b"d", b"z", 7)];
        let (axis, slots) = axis(&Comparator::Bytewise, &files);
        assert_eq!(axis.keys, ["a", "b", "c", "d", "k", "z"]);
        assert_eq!(slots, [(1, 4), (0, 2), (3, 5)]);
        assert_eq!(axis.bytes, [10, 20, 20, 13, 12, 2]);
        assert_eq!(axis.bytes.iter().sum::<u64>(), 77);
        let bounds: Vec<&[u8]> = files.iter().flat_map(|file| [file.0, file.1]).collect();
        for (key, slot) in [(&b"c"[..], Some(2)), (b"cc", Some(2)), (b"zz", Some(5)), (b"", None)] {
            assert_eq!(KeyAxis::slot_of(bounds.clone(), Some(&Comparator::Bytewise), key), slot);
        }
    }

    #[test]
    fn other_orders_and_bounds_the_wrong_way_round() {
        let files: [(&[u8], &[u8], u64); 2] = [(b"z", b"m", 2), (b"l", b"a", 2)];
        let (backwards, slots) = axis(&Comparator::ReverseBytewise, &files);
        assert_eq!(backwards.keys, ["z", "m", "l", "a"]);
        assert_eq!(slots, [(0, 1), (2, 3)]);
        let (_, slots) = axis(&Comparator::Bytewise, &files);
        assert_eq!(slots, [(3, 3), (1, 1)]);
    }

    #[test]
    fn long_keys_are_shortened() {
        let long = [b'x'; KeyAxis::MAX_KEY + 1];
        let shown = KeyAxis::shorten(&long, Encoding::Escape);
        assert_eq!(shown.chars().count(), KeyAxis::MAX_KEY + 1);
        assert!(shown.ends_with('…'));
    }
}
