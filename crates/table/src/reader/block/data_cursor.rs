//! Moving about in one data block. Backwards, a restart interval is decoded once.
//!
//! ```text
//! restart points   0               1               2
//!                  |   |   |   |   |   |   |   |   |   |   |
//! entries          a   b   c   d   e   f   g   h   i   j   k
//!                                  '-----------'
//! prev of i        e to h are decoded and noted, h is the current entry
//! prev of h, g, f  what was noted of g, f, e
//! prev of e        the interval before, in the same way
//! ```
//!
//! Of an interval that is too long to be noted the last part is; then the part before it.

use std::ops::Range;

use bytes::Bytes;
use sstkit_coding::prefetch::{CACHE_LINE, prefetch};

use crate::error::Result;
use crate::raw::{Block, BlockEntries};
use crate::reader::block::cursor::BlockCursor;
use crate::reader::open::key_space::{KeySpace, Target};

/// The most bytes of keys that are noted. The keys of sixteen entries take a few hundred; in a
/// forged block a few bytes can stand for a key as long as the block, again and again.
const MAX_NOTED: usize = 64 << 10;

/// Behind the keys that are noted.
const ROOM: usize = 32;

/// The most entries that are noted: intervals are much shorter, unless they are forged.
const MAX_NOTES: usize = 1024;

/// The most bytes of a block that are asked for at once.
const MAX_PREFETCHED: usize = 8 << 10;

/// Moves about in a data block. All moves say whether there is an entry where they lead; after an
/// error there is none.
#[derive(Debug)]
pub(crate) struct DataCursor {
    cursor: BlockCursor<BlockEntries<Bytes>>,
    notes: Notes,
}

/// Entries of a restart interval, one after the other, up to one that the cursor came from.
#[derive(Debug, Default)]
struct Notes {
    /// All keys, one after the other, and room behind them, so that they can be copied by words.
    keys: Vec<u8>,
    /// Of the keys.
    length: usize,
    entries: Vec<Note>,
    /// How many of the entries lie before the current one, if that is among them.
    before: Option<usize>,
}

#[derive(Debug)]
struct Note {
    /// In the notes.
    key: Range<usize>,
    /// In the block, as is the rest.
    value: Range<usize>,
    start: usize,
    next: usize,
}

impl DataCursor {
    /// Before the first entry.
    pub(crate) fn new(block: Block<Bytes>) -> Self {
        Self { cursor: BlockCursor::new(block.into_entries()), notes: Notes::default() }
    }

    /// The same in another block. What has been allocated is used again.
    pub(crate) fn reopen(&mut self, block: Block<Bytes>) {
        self.notes.before = None;
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

    /// The key of the entry before the current one, if it has been decoded already.
    pub(crate) fn key_before(&self) -> Option<&[u8]> {
        let before = self.notes.before?.checked_sub(1)?;
        let note = self.notes.entries.get(before)?;
        Some(&self.notes.keys[note.key.clone()])
    }

    #[inline(always)] // see `Cursor::next`
    pub(crate) fn next(&mut self) -> Result<bool> {
        self.notes.before = None;
        self.cursor.next()
    }

    pub(crate) fn first(&mut self) -> Result<bool> {
        self.notes.before = None;
        self.cursor.first()
    }

    /// The first entry that is not less than `target`.
    pub(crate) fn seek(&mut self, keys: &KeySpace, target: &Target<'_>) -> Result<bool> {
        self.notes.before = None;
        seek(&mut self.cursor, keys, target)
    }

    pub(crate) fn last(&mut self) -> Result<bool> {
        self.prefetch();
        match self.cursor.last_interval() {
            Some((restart, end)) => self.go_back_to(restart, end),
            None => self.cursor.nowhere(),
        }
    }

    pub(crate) fn prev(&mut self) -> Result<bool> {
        if !self.is_valid() {
            return Ok(false);
        }
        if let Some(before) = self.notes.before.and_then(|before| before.checked_sub(1))
            && let Some(note) = self.notes.entries.get(before)
        {
            self.notes.before = Some(before);
            let key = (&self.notes.keys[note.key.start..], note.key.len());
            self.cursor.go_back(key, note.value.clone(), note.start, note.next);
            return Ok(true);
        }
        match self.cursor.interval_before() {
            Some((restart, end)) => self.go_back_to(restart, end),
            None => self.cursor.nowhere(),
        }
    }

    /// Asks for the memory of the block. Intervals from the last to the first, each of them forward:
    /// that is no order in which a processor asks for memory by itself.
    fn prefetch(&self) {
        let lines = self.entry().block().bytes().rchunks(CACHE_LINE);
        lines.take(MAX_PREFETCHED / CACHE_LINE).for_each(prefetch);
    }

    /// To the entry that ends at `end`, from restart point `restart` on, noting those on the way.
    fn go_back_to(&mut self, restart: usize, end: usize) -> Result<bool> {
        self.notes.clear();
        let notes = &mut self.notes;
        let more = self.cursor.walk_to(restart, end, |cursor| {
            // What is too much makes room: those before the last one count, down to where they start.
            if !notes.add(cursor) {
                notes.clear();
                notes.add(cursor);
            }
        })?;
        notes.before = notes.entries.len().checked_sub(1).filter(|_| more);
        Ok(more)
    }
}

/// The first entry of a data block that is not less than `target`.
pub(crate) fn seek<B: AsRef<[u8]>>(
    block: &mut BlockCursor<BlockEntries<B>>,
    keys: &KeySpace,
    target: &Target<'_>,
) -> Result<bool> {
    let compare = |stored: &[u8]| keys.compare_entry(stored, target);
    match keys.is_bytewise() {
        true => block.seek_by_bytes((target.user_key, keys.tail_length()), compare),
        false => block.seek(compare),
    }
}

impl Notes {
    fn clear(&mut self) {
        self.length = 0;
        self.entries.clear();
        self.before = None;
    }

    /// Notes the current entry; false if that is too much.
    fn add(&mut self, cursor: &BlockCursor<BlockEntries<Bytes>>) -> bool {
        let (entry, start) = (cursor.entry(), cursor.offset());
        let key = self.length..self.length + entry.key().len();
        if key.end > MAX_NOTED || self.entries.len() == MAX_NOTES {
            return false;
        }
        if self.keys.len() < key.end + ROOM {
            self.keys.resize(2 * key.end + ROOM, 0);
        }
        entry.copy_key_to(&mut self.keys[key.start..]);
        self.length = key.end;
        let (value, next) = (entry.value_range(), entry.next_offset());
        self.entries.push(Note { key, value, start, next });
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

    /// Backwards it is the same as forwards, and one may turn round anywhere: also where there is
    /// more than is noted.
    #[test]
    fn both_directions() {
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
                assert!(cursor.key_before().is_none_or(|before| before == keys[i - 1]));
                let turned = cursor.next().unwrap();
                assert_eq!(turned, i + 1 < keys.len());
                if turned {
                    assert_eq!(cursor.entry().key(), &keys[i + 1]);
                    assert!(cursor.prev().unwrap());
                } else {
                    assert!(!cursor.prev().unwrap(), "it is nowhere");
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
