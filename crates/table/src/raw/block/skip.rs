//! Passing entries that are less than what is sought, without putting their keys together.
//!
//! ```text
//! sought         u s e r 7 / m
//! entries        u s e r 7 / a b    less, by the byte after the six that are the same
//!                6 shared  | c      six are the same: compared from there on; less
//!                7 shared  | d      shares the byte that made the one before less: less, too
//!                6 shared  | n      compared from there on: greater
//! ```
//!
//! Only for keys in the order of their bytes. A search in a data block passes half a restart
//! interval, without a key being put together. Whatever is not as it should be is left to the walk
//! through the entries, which names it.

use std::cmp::Ordering;

use sstkit_coding::prefetch::CACHE_LINE;

use super::Block;
use super::builder::common_prefix;
use super::lengths::Lengths;

/// What was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    /// All entries of the interval, and another interval follows.
    Interval,
    /// The entries before `offset`. The last of them starts with so many bytes of what is sought.
    Entries { offset: usize, shared: usize },
}

/// Passes the entries of a restart interval that are less than `sought`, by the bytes of their keys
/// without the last `tail`. `None` if it is better to walk.
pub(super) fn less_entries<B: AsRef<[u8]>>(
    block: &Block<B>,
    restart: usize,
    sought: &[u8],
    tail: usize,
) -> Option<Skipped> {
    if block.has_separated_values() || block.is_empty() {
        return None;
    }
    let start = block.restart(restart);
    let is_last = restart + 1 == block.restart_count();
    let end = if is_last { block.keys_end() } else { block.restart(restart + 1) };
    let entries = block.bytes().get(..end)?;
    fetch(&entries[start..]);

    let mut skip = Skip::new(entries, start, sought, tail);
    while skip.offset < end {
        let entry = skip.entry()?;
        if entry.order.is_ge() {
            let (offset, shared) = (skip.offset, entry.lengths.shared);
            return (offset > start).then_some(Skipped::Entries { offset, shared });
        }
        skip.pass(&entry);
    }
    match skip.offset == end {
        true if is_last => Some(Skipped::Entries { offset: skip.offset, shared: 0 }),
        true => Some(Skipped::Interval),
        // An entry goes beyond the interval.
        false => None,
    }
}

/// On the way through entries that are less than what is sought.
pub(super) struct Skip<'a> {
    /// All up to where the way ends.
    entries: &'a [u8],
    sought: &'a [u8],
    tail: usize,
    /// Where the next entry starts.
    pub(super) offset: usize,
    /// Bytes of the last key.
    length: usize,
    /// How many of them it has in common with what is sought; whether it is less by the byte after
    /// them, or by its end.
    same: usize,
    by_byte: bool,
}

/// An entry on the way.
pub(super) struct SkipEntry {
    pub(super) lengths: Lengths,
    /// How its key stands to what is sought.
    pub(super) order: Ordering,
    /// Of the key; and what is to be known of it if it is less.
    length: usize,
    same: usize,
    by_byte: bool,
}

impl<'a> Skip<'a> {
    /// From an entry whose key is whole.
    pub(super) fn new(entries: &'a [u8], offset: usize, sought: &'a [u8], tail: usize) -> Self {
        Self { entries, sought, tail, offset, length: 0, same: 0, by_byte: false }
    }

    /// From any entry that is known to be less, and to have `same` bytes in common with what is
    /// sought, unless it is shorter. It is passed.
    pub(super) fn after_less(
        entries: &'a [u8],
        offset: usize,
        (sought, same): (&'a [u8], usize),
        tail: usize,
    ) -> Option<Self> {
        let lengths = Lengths::decode(entries.get(offset..)?)?;
        let length = lengths.shared + lengths.non_shared;
        let key_length = length.checked_sub(tail)?;
        let (same, by_byte) = (same.min(key_length), same < key_length);
        let mut skip = Self { entries, sought, tail, offset, length, same, by_byte };
        skip.offset = skip.end_of(&lengths);
        Some(skip)
    }

    /// The next entry, compared. `None` if it is better to walk.
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
            let (suffix, rest) = (&suffix[..key_length - shared], &self.sought[shared..]);
            let more = match (suffix, rest) {
                // Mostly the first byte that is not shared is another.
                ([byte, ..], [sought, ..]) if byte != sought => 0,
                _ => common_prefix(suffix, rest),
            };
            // The one that has no more bytes is less.
            order = suffix.get(more).cmp(&rest.get(more));
            (same, by_byte) = (shared + more, more < suffix.len());
        } else if key_length <= same {
            // Its key is what the one before has in common with what is sought, or less of it.
            (same, by_byte) = (key_length, false);
        }
        Some(SkipEntry { lengths, order, length, same, by_byte })
    }

    /// Goes on behind the next entry, which is less.
    #[inline]
    pub(super) fn pass(&mut self, entry: &SkipEntry) {
        self.offset = self.end_of(&entry.lengths);
        (self.length, self.same, self.by_byte) = (entry.length, entry.same, entry.by_byte);
    }

    /// Where the next entry, of these lengths, ends.
    fn end_of(&self, lengths: &Lengths) -> usize {
        (self.offset + lengths.header + lengths.non_shared).saturating_add(lengths.value)
    }
}

/// Looks at each cache line. Where one entry starts is known only when the one before has been
/// looked at, so a walk would wait for memory at each; these loads wait for it together.
#[inline]
fn fetch(entries: &[u8]) {
    let mut seen = 0;
    for line in entries.chunks(CACHE_LINE) {
        seen ^= line[0];
    }
    std::hint::black_box(seen);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::builder::{BlockBuilder, BlockFormat};
    use super::*;

    proptest! {
        /// Wherever it leads, a walk from there finds what a walk from the restart point does.
        #[test]
        fn what_is_passed_is_less(
            keys in prop::collection::btree_set("[ab]{0,6}", 1..40),
            tails in prop::collection::vec(prop_oneof![Just([b'a'; 2]), any::<[u8; 2]>()], 40),
            sought in "[abc]{0,7}",
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
                let find = |skip: bool| {
                    let mut entries = block.entries();
                    entries.seek_to_restart(restart);
                    if skip {
                        entries.skip_less(restart, sought.as_bytes(), tail);
                    }
                    while entries.advance().ok()? {
                        let key = entries.key();
                        if key[..key.len().saturating_sub(tail)] >= *sought.as_bytes() {
                            return Some((key.to_vec(), entries.value_range(), entries.restart_index()));
                        }
                    }
                    None
                };
                // With noise a walk may come upon damage that is skipped otherwise.
                if noise.is_none() || find(false).is_some() {
                    prop_assert_eq!(find(true), find(false));
                }
            }
        }
    }
}
