//! Finds the file of a run that may have a key, without touching the other files.
//!
//! ```text
//! last keys of the files   user0017 user0391 user0744     shared    "user0"
//!                                                         suffixes  "017" "391" "744" as numbers
//! ```
//!
//! The keys of a run are in many small allocations. Here the first eight bytes after their common
//! prefix are side by side, as numbers that compare like the bytes. Only files with the same number
//! as the key are compared by their whole keys.

use std::ops::Range;

/// The last keys of the files of a run, in bytewise order.
#[derive(Debug, Default)]
pub(super) struct RunBounds {
    /// The common prefix.
    shared: Vec<u8>,
    /// The following bytes of each key.
    suffixes: Vec<u64>,
}

impl RunBounds {
    /// Keys in bytewise order.
    pub(super) fn new<'k>(keys: impl Iterator<Item = &'k [u8]> + Clone) -> Self {
        let first = keys.clone().next().unwrap_or_default();
        let common = |key: &[u8]| first.iter().zip(key).take_while(|(a, b)| a == b).count();
        let shared = first[..keys.clone().map(common).min().unwrap_or(0)].to_vec();
        let suffixes = keys.map(|key| number(&key[shared.len()..])).collect();
        Self { shared, suffixes }
    }

    /// All keys before the range are less than `key`, and all keys after it are greater.
    #[inline]
    pub(super) fn candidates(&self, key: &[u8]) -> Range<usize> {
        let Some(suffix) = key.strip_prefix(&self.shared[..]) else {
            let at = if key < &self.shared[..] { 0 } else { self.suffixes.len() };
            return at..at;
        };
        let number = number(suffix);
        let first = self.suffixes.partition_point(|&it| it < number);
        let equal = self.suffixes[first..].iter().take_while(|&&it| it == number).count();
        first..first + equal
    }
}

/// The first eight bytes, as a number that compares like them. Shorter keys end with zeros, so keys
/// with the same number may differ.
#[inline]
fn number(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => bytes
            .iter()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
            .checked_shl(8 * (8 - bytes.len() as u32))
            .unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_all_keys_that_may_be_equal() {
        let keys: [&[u8]; 8] =
            [b"", b"a", b"a\0", b"ab", b"abcdefgh1", b"abcdefgh2", b"abcdefgh2", b"b\xFF"];
        for from in 0..keys.len() {
            let keys = &keys[from..];
            let bounds = RunBounds::new(keys.iter().copied());
            for key in keys.iter().copied().chain([&b"abcd"[..], b"abcdefgh", b"c", b"\0"]) {
                let range = bounds.candidates(key);
                assert!(keys[..range.start].iter().all(|it| *it < key), "{from} {key:?}");
                assert!(keys[range.end..].iter().all(|it| *it > key), "{from} {key:?}");
            }
        }
        assert_eq!(RunBounds::new([].into_iter()).candidates(b"key"), 0..0);
    }
}
