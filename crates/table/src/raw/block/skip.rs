//! Skipping entries that are less than a key, without rebuilding their keys.
//!
//! ```text
//! key            u s e r 7 / m
//! entries        u s e r 7 / a b    less, by the byte after six equal ones
//!                6 shared  | c      six equal bytes: compared from there on; less
//!                7 shared  | d      shares the byte that made the previous one less: less
//!                6 shared  | n      compared from there on: greater
//! ```
//!
//! Only for keys in bytewise order. This is how a search continues after a [fence](super::fences): the key of
//! the entry at a fence is not known in full. Anything irregular is left to
//! [`BlockEntries`](super::BlockEntries), which reports it.

use std::cmp::Ordering;

use super::common_prefix::common_prefix;
use super::lengths::Lengths;

/// A position among entries, after one that is less than the key.
pub(super) struct Skip<'a> {
    /// The block up to where the search ends.
    entries: &'a [u8],
    key: &'a [u8],
    tail: usize,
    /// Of the next entry.
    pub(super) offset: usize,
    /// Bytes of the previous key.
    length: usize,
    /// How many of them equal the start of `key`; whether it is less by the byte after them, or
    /// because it ends there.
    same: usize,
    by_byte: bool,
}

/// The next entry, compared with the key.
pub(super) struct SkipEntry {
    pub(super) lengths: Lengths,
    pub(super) order: Ordering,
    /// As in [`Skip`], if the entry is less.
    length: usize,
    same: usize,
    by_byte: bool,
}

impl<'a> Skip<'a> {
    /// Starts at an entry that shares nothing.
    pub(super) fn new(entries: &'a [u8], offset: usize, key: &'a [u8], tail: usize) -> Self {
        Self { entries, key, tail, offset, length: 0, same: 0, by_byte: false }
    }

    /// Starts after an entry that is known to be less, and to have `same` bytes in common with
    /// the key unless it is shorter.
    #[inline]
    pub(super) fn after_less(
        entries: &'a [u8],
        offset: usize,
        (key, same): (&'a [u8], usize),
        tail: usize,
    ) -> Option<Self> {
        let lengths = Lengths::decode(entries.get(offset..)?)?;
        let length = lengths.shared + lengths.non_shared;
        let key_length = length.checked_sub(tail)?;
        let (same, by_byte) = (same.min(key_length), same < key_length);
        let mut skip = Self { entries, key, tail, offset, length, same, by_byte };
        skip.offset = skip.end_of(&lengths);
        Some(skip)
    }

    /// The next entry, compared. `None` if that needs its whole key, or if it is corrupt.
    #[inline]
    pub(super) fn entry(&self) -> Option<SkipEntry> {
        let entry = self.entries.get(self.offset..)?;
        let lengths = Lengths::decode(entry)?;
        let Lengths { shared, non_shared, header, .. } = lengths;
        let suffix = entry.get(header..)?.get(..non_shared)?;
        if shared > self.length || (shared > self.same && !self.by_byte) {
            return None;
        }
        let length = shared + non_shared;
        let key_length = length.checked_sub(self.tail)?;
        let (mut order, mut same, mut by_byte) = (Ordering::Less, self.same, self.by_byte);
        if shared <= same && key_length >= shared {
            let (suffix, rest) = (&suffix[..key_length - shared], &self.key[shared..]);
            let more = match (suffix, rest) {
                // The common case: the first byte that is not shared differs.
                ([byte, ..], [other, ..]) if byte != other => 0,
                _ => common_prefix(suffix, rest),
            };
            // The one that ends first is less.
            order = suffix.get(more).cmp(&rest.get(more));
            (same, by_byte) = (shared + more, more < suffix.len());
        } else if key_length <= same {
            // The key is a prefix of what the previous key has in common with `key`.
            (same, by_byte) = (key_length, false);
        }
        Some(SkipEntry { lengths, order, length, same, by_byte })
    }

    /// Moves past the next entry, which is less.
    #[inline]
    pub(super) fn pass(&mut self, entry: &SkipEntry) {
        self.offset = self.end_of(&entry.lengths);
        (self.length, self.same, self.by_byte) = (entry.length, entry.same, entry.by_byte);
    }

    /// Where the next entry ends.
    fn end_of(&self, lengths: &Lengths) -> usize {
        (self.offset + lengths.header + lengths.non_shared).saturating_add(lengths.value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Block;
    use super::super::builder::{BlockBuilder, BlockFormat};
    use super::*;

    proptest! {
        /// Finds the entry that a linear search finds.
        #[test]
        fn skipped_entries_are_less(
            keys in prop::collection::btree_set("[ab]{0,6}", 1..40),
            tails in prop::collection::vec(prop_oneof![Just([b'a'; 2]), any::<[u8; 2]>()], 40),
            key in "[abc]{0,7}",
            tail in prop_oneof![Just(0usize), Just(2)],
            noise in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut builder = BlockBuilder::new(BlockFormat::plain(8));
            for (key, tails) in keys.iter().zip(&tails) {
                builder.add(&[key.as_bytes(), &tails[..tail]].concat(), b"v");
            }
            let mut bytes = builder.finish().unwrap().contents;
            if let Some((place, byte)) = noise {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            let Ok(block) = Block::parse(bytes) else { return Ok(()) };
            for restart in 0..block.restart_count() {
                let linear = || {
                    let mut entries = block.entries();
                    entries.seek_to_restart(restart);
                    loop {
                        let offset = entries.next_offset();
                        if !entries.advance().ok()? {
                            return None;
                        }
                        let stored = entries.key();
                        if stored[..stored.len().saturating_sub(tail)] >= *key.as_bytes() {
                            return Some(offset);
                        }
                    }
                };
                let skipping = || {
                    let start = block.restart(restart);
                    let mut skip = Skip::new(block.keys(), start, key.as_bytes(), tail);
                    while skip.offset < block.keys_end() {
                        let entry = skip.entry()?;
                        if entry.order.is_ge() {
                            return Some(skip.offset);
                        }
                        skip.pass(&entry);
                    }
                    None
                };
                // It may give up on keys that only `BlockEntries` can compare, but is never wrong.
                if let Some(offset) = skipping() && (noise.is_none() || linear().is_some()) {
                    prop_assert_eq!(Some(offset), linear());
                }
            }
        }
    }
}
