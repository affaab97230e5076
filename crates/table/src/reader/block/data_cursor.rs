//! A cursor over one data block. Moving backward decodes a restart interval once.
//!
//! ```text
//! restart points   0               1               2
//!                  |   |   |   |   |   |   |   |   |   |   |
//! entries          a   b   c   d   e   f   g   h   i   j   k
//!                                  '-----------'
//! prev of i        e to h are decoded and kept, h is the current entry
//! prev of h, g, f  the kept g, f, e
//! prev of e        the previous interval, in the same way
//! ```
//!
//! Of an interval that is too long to be kept, the last part is kept, then the part before it.

use std::ops::Range;

use bytes::Bytes;
use sstkit_coding::prefetch::{CACHE_LINE, prefetch};

use crate::error::Result;
use crate::raw::{Block, BlockEntries};
use crate::reader::block::block_cursor::BlockCursor;
use crate::reader::open::key_space::{KeySpace, SeekTarget};

/// The most bytes of keys that are kept. The keys of sixteen entries take a few hundred; in a forged
/// block a few bytes can stand for a key as long as the block, many times.
const MAX_KEY_BYTES: usize = 64 << 10;

/// After the kept keys.
const ROOM: usize = 32;

/// The most entries that are kept. Intervals are much shorter, unless they are forged.
const MAX_ENTRIES: usize = 1024;

/// The most bytes of a block that are prefetched.
const MAX_PREFETCHED: usize = 8 << 10;

/// A cursor over a data block. All moves return whether there is a current entry; after an error there is
/// none.
#[derive(Debug)]
pub(crate) struct DataCursor {
    cursor: BlockCursor<BlockEntries<Bytes>>,
    prev_entries: PrevEntries,
}

/// Decoded entries of a restart interval, up to the one that the cursor came from.
#[derive(Debug, Default)]
struct PrevEntries {
    /// All keys, and room after them so that whole words can be copied.
    keys: Vec<u8>,
    /// Bytes of the keys.
    length: usize,
    entries: Vec<PrevEntry>,
    /// The index of the current entry, if it is one of them.
    current: Option<usize>,
}

#[derive(Debug)]
struct PrevEntry {
    /// In `keys`.
    key: Range<usize>,
    /// In the block, as are the offsets below.
    value: Range<usize>,
    start: usize,
    next: usize,
    /// See [`BlockEntries::changed_bytes`].
    changed_bytes: usize,
}

impl DataCursor {
    /// Before the first entry.
    pub(crate) fn new(block: Block<Bytes>) -> Self {
        Self {
            cursor: BlockCursor::new(block.into_entries()),
            prev_entries: PrevEntries::default(),
        }
    }

    /// Before the first entry of another block. Reuses allocations.
    pub(crate) fn reopen(&mut self, block: Block<Bytes>) {
        self.prev_entries.current = None;
        self.cursor.entries_anew().reopen(block);
    }

    /// Unpositioned.
    pub(crate) fn leave(&mut self) {
        self.cursor.leave();
    }

    #[inline]
    pub(crate) fn is_valid(&self) -> bool {
        self.cursor.is_valid()
    }

    /// The entries, at the current one.
    #[inline]
    pub(crate) fn entry(&self) -> &BlockEntries<Bytes> {
        self.cursor.entry()
    }

    /// Where the current entry starts in the block.
    pub(crate) fn offset(&self) -> usize {
        self.cursor.offset()
    }

    /// In how many last bytes the current key differs from the previous one, if that has been decoded
    /// already.
    #[inline(always)] // see `VisibleIterator::step_forward`
    pub(crate) fn changed_bytes(&self) -> Option<usize> {
        let current = self.prev_entries.current.filter(|&current| current > 0)?;
        Some(self.prev_entries.entries.get(current)?.changed_bytes)
    }

    #[inline(always)] // see `Cursor::next`
    pub(crate) fn next(&mut self) -> Result<bool> {
        self.prev_entries.current = None;
        self.cursor.next()
    }

    pub(crate) fn first(&mut self) -> Result<bool> {
        self.prev_entries.current = None;
        self.cursor.first()
    }

    /// The first entry that is not less than `target`.
    pub(crate) fn seek(&mut self, keys: &KeySpace, target: &SeekTarget<'_>) -> Result<bool> {
        self.prev_entries.current = None;
        seek(&mut self.cursor, keys, target)
    }

    pub(crate) fn last(&mut self) -> Result<bool> {
        self.prefetch();
        match self.cursor.last_interval() {
            Some((restart, end)) => self.go_back_to(restart, end),
            None => self.cursor.invalidate(),
        }
    }

    pub(crate) fn prev(&mut self) -> Result<bool> {
        if !self.is_valid() {
            return Ok(false);
        }
        if let Some(previous) = self.prev_entries.current.and_then(|at| at.checked_sub(1))
            && let Some(entry) = self.prev_entries.entries.get(previous)
        {
            self.prev_entries.current = Some(previous);
            let key = (&self.prev_entries.keys[entry.key.start..], entry.key.len());
            self.cursor.go_back(key, entry.value.clone(), entry.start, entry.next);
            return Ok(true);
        }
        match self.cursor.interval_before() {
            Some((restart, end)) => self.go_back_to(restart, end),
            None => self.cursor.invalidate(),
        }
    }

    /// Prefetches the block. Intervals are read from the last to the first, each of them forward: a
    /// processor does not prefetch that pattern by itself.
    fn prefetch(&self) {
        let lines = self.entry().block().bytes().rchunks(CACHE_LINE);
        lines.take(MAX_PREFETCHED / CACHE_LINE).for_each(prefetch);
    }

    /// Moves to the entry that ends at `end`, from restart point `restart` on, and keeps the entries in
    /// between.
    fn go_back_to(&mut self, restart: usize, end: usize) -> Result<bool> {
        self.prev_entries.clear();
        let kept = &mut self.prev_entries;
        let more = self.cursor.walk_to(restart, end, |cursor| {
            // When full, start over: the entries closest to `end` are needed first.
            if !kept.add(cursor) {
                kept.clear();
                kept.add(cursor);
            }
        })?;
        kept.current = kept.entries.len().checked_sub(1).filter(|_| more);
        Ok(more)
    }
}

/// The first entry of a data block that is not less than `target`.
pub(crate) fn seek<B: AsRef<[u8]>>(
    block: &mut BlockCursor<BlockEntries<B>>,
    keys: &KeySpace,
    target: &SeekTarget<'_>,
) -> Result<bool> {
    block.seek(|stored: &[u8]| keys.compare_entry(stored, target))
}

impl PrevEntries {
    fn clear(&mut self) {
        self.length = 0;
        self.entries.clear();
        self.current = None;
    }

    /// Keeps the current entry; false if there is no room.
    fn add(&mut self, cursor: &BlockCursor<BlockEntries<Bytes>>) -> bool {
        let (entry, start) = (cursor.entry(), cursor.offset());
        let key = self.length..self.length + entry.key().len();
        if key.end > MAX_KEY_BYTES || self.entries.len() == MAX_ENTRIES {
            return false;
        }
        if self.keys.len() < key.end + ROOM {
            self.keys.resize(2 * key.end + ROOM, 0);
        }
        entry.copy_key_to(&mut self.keys[key.start..]);
        self.length = key.end;
        let (value, next) = (entry.value_range(), entry.next_offset());
        let changed_bytes = entry.changed_bytes();
        self.entries.push(PrevEntry { key, value, start, next, changed_bytes });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{BlockBuilder, BlockFormat};

    fn block(keys: &[Vec<u8>], restart_interval: usize) -> Block<Bytes> {
        let mut builder = BlockBuilder::new(BlockFormat::plain(restart_interval));
        for key in keys {
            builder.add(key, &key[key.len() / 2..]);
        }
        Block::parse(Bytes::from(builder.finish().unwrap().contents)).unwrap()
    }

    /// Moving backward gives the same entries as moving forward, and the direction may change anywhere,
    /// also in intervals that are too long to be kept.
    #[test]
    fn both_directions_give_the_same_entries() {
        let short: Vec<_> = (0..100u32).map(|i| format!("key{i:05}").into_bytes()).collect();
        let many: Vec<_> = (0..3000u32).map(|i| format!("{i:05}").into_bytes()).collect();
        let long: Vec<_> = (0..20u8).map(|i| [&[b'k'; 9000][..], &[i; 3000]].concat()).collect();
        for (keys, interval) in
            [(&short, 1), (&short, 16), (&short, 1000), (&many, 3000), (&long, 3), (&long, 20)]
        {
            let mut cursor = DataCursor::new(block(keys, interval));
            let mut more = cursor.last().unwrap();
            for (i, key) in keys.iter().enumerate().rev().step_by(7) {
                assert!(more);
                assert_eq!(cursor.entry().key(), key);
                assert_eq!(cursor.entry().value(), &key[key.len() / 2..]);
                if let Some(changed) = cursor.changed_bytes() {
                    let before = &keys[i - 1];
                    let equal = key.iter().zip(before).take_while(|(a, b)| a == b).count();
                    assert_eq!(changed, key.len() - equal, "all keys have the same length");
                }
                let turned = cursor.next().unwrap();
                assert_eq!(turned, i + 1 < keys.len());
                if turned {
                    assert_eq!(cursor.entry().key(), &keys[i + 1]);
                    assert!(cursor.prev().unwrap());
                } else {
                    assert!(!cursor.prev().unwrap(), "it is invalid");
                    assert!(cursor.last().unwrap());
                }
                for _ in 0..7 {
                    more = cursor.prev().unwrap();
                }
            }
            assert!(!more);
        }
    }
}
