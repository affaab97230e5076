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

use super::Block;
use super::builder::common_prefix;
use super::lengths::Lengths;

/// Of all processors that matter; where it is longer, nothing is lost.
const CACHE_LINE: usize = 64;

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

    let (mut offset, mut length) = (start, 0);
    // How many bytes the last entry has in common with what is sought; whether it is less by the
    // byte after them, or by its end.
    let (mut same, mut by_byte) = (0, false);
    while offset < end {
        let entry = &entries[offset..];
        let Lengths { shared, non_shared, value, header } = Lengths::decode(entry)?;
        let suffix = entry.get(header..)?.get(..non_shared)?;
        if shared > length || (shared > same && !by_byte) {
            return None;
        }
        length = shared + non_shared;
        let key_length = length.checked_sub(tail)?;
        if shared <= same && key_length >= shared {
            let (suffix, rest) = (&suffix[..key_length - shared], &sought[shared..]);
            let more = match (suffix, rest) {
                // Mostly the first byte that is not shared is another.
                ([byte, ..], [sought, ..]) if byte != sought => 0,
                _ => common_prefix(suffix, rest),
            };
            let is_less = match (suffix.get(more), rest.get(more)) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(byte), Some(sought)) => byte < sought,
            };
            if !is_less {
                return (offset > start).then_some(Skipped::Entries { offset, shared });
            }
            (same, by_byte) = (shared + more, more < suffix.len());
        } else if key_length <= same {
            // Its key is what the one before has in common with what is sought, or less of it.
            (same, by_byte) = (key_length, false);
        }
        offset = (offset + header + non_shared).saturating_add(value);
    }
    match offset == end {
        true if is_last => Some(Skipped::Entries { offset, shared: 0 }),
        true => Some(Skipped::Interval),
        // An entry goes beyond the interval.
        false => None,
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
