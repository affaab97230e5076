//! Where two tables differ, found by comparing the stored bytes of their data blocks.
//!
//! ```text
//! a   | … c | … f | … k | … p | … t |       blocks with their separators
//! b   | … c | … f | … k'| … p | … t |
//!        =     =           =     =          same separator, same stored bytes
//!               [f, k]                      the keys that may differ
//! ```
//!
//! Both indexes are walked side by side. Where blocks with the same separator are stored with the same
//! bytes, they have the same entries, and are not decompressed. Everything between the separators
//! around other blocks is one range of keys that may differ. The separators belong to it: a block may
//! end, and the next one begin, among the entries of one user key.
//!
//! Offsets do not matter: blocks behind a longer value are found again. Checksums are verified; of two
//! blocks with the same bytes and the same checksum, once.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::Result;
use crate::index::index_cursor::IndexCursor;
use crate::raw::{BlockHandle, BlockKind, Dictionary, Trailer};
use crate::reader::KeyRange;
use crate::reader::block::read_ahead::ReadAhead;
use crate::reader::open::core::Core;

/// Bytes of the checksum at the end of a stored block.
const CHECKSUM_LENGTH: usize = Trailer::LENGTH - 1;

/// Whether equal bytes of data blocks are equal entries in both tables.
pub(crate) fn are_comparable(a: &Core, b: &Core) -> Result<bool> {
    let is_same_format = a.engine == b.engine
        && a.footer.version == b.footer.version
        && a.index_format.user_keys == b.index_format.user_keys;
    let is_same_keys = a.keys.internal == b.keys.internal
        && a.keys.is_ordered()
        && b.keys.is_ordered()
        && a.keys.user_keys().comparator().name() == b.keys.user_keys().comparator().name()
        && a.keys.timestamp_size() == b.keys.timestamp_size();
    // References to embedded blobs are offsets in the file of the entry.
    let has_blobs = |core: &Core| core.properties.embedded_blobs().is_some();
    if !is_same_format || !is_same_keys || has_blobs(a) || has_blobs(b) {
        return Ok(false);
    }
    let dictionaries = (a.blocks.dictionary()?, b.blocks.dictionary()?);
    Ok(dictionaries.0.map(Dictionary::bytes) == dictionaries.1.map(Dictionary::bytes))
}

/// Walks through the ranges of keys in which two tables may differ, in their order. Outside of them
/// their data blocks have the same entries. The ranges do not overlap.
pub struct UnequalRanges {
    a: Blocks,
    b: Blocks,
    upper: Bound<Vec<u8>>,
    /// Both tables have been compared up to this key. Included: the key itself is not yet.
    next: Bound<Vec<u8>>,
    /// The current blocks have been compared, and are the same.
    is_same: bool,
    has_ended: bool,
    skipped: u64,
}

/// The data blocks of one table.
struct Blocks {
    core: Arc<Core>,
    index: IndexCursor,
    is_valid: bool,
    ahead: ReadAhead,
}

impl Blocks {
    fn new(core: &Arc<Core>, lower: &Bound<Vec<u8>>) -> Result<Self> {
        let mut index = IndexCursor::new(core)?;
        let is_valid = match lower {
            Bound::Included(key) | Bound::Excluded(key) => {
                index.seek(&core.keys.newest(key).before())?
            }
            Bound::Unbounded => index.first()?,
        };
        let ahead = core.blocks.new_read_ahead(0);
        Ok(Self { core: Arc::clone(core), index, is_valid, ahead })
    }

    fn advance(&mut self) -> Result<()> {
        self.is_valid = self.index.next()?;
        Ok(())
    }

    /// The user key of the separator, without timestamp.
    fn separator(&self) -> &[u8] {
        let keys = &self.core.keys;
        keys.bare(keys.stored_user_key(self.index.key(), self.core.index_format.user_keys))
    }

    fn handle(&self) -> BlockHandle {
        self.index.handle()
    }

    /// The stored bytes of the current block, trailer included.
    fn read(&mut self) -> Result<Bytes> {
        self.core.blocks.raw_ahead(self.index.handle(), &mut self.ahead)
    }

    fn verify(&self, stored: &[u8]) -> Result<()> {
        let (blocks, handle) = (&self.core.blocks, self.handle());
        match blocks.decoder.verify(BlockKind::Data, handle, stored) {
            Ok(_) => Ok(()),
            Err(error) => Err(blocks.in_file(error)),
        }
    }
}

impl UnequalRanges {
    /// Of two [comparable](are_comparable) tables, within a range.
    pub(crate) fn new(a: &Arc<Core>, b: &Arc<Core>, (lower, upper): KeyRange) -> Result<Self> {
        Ok(Self {
            a: Blocks::new(a, &lower)?,
            b: Blocks::new(b, &lower)?,
            upper,
            next: lower,
            is_same: false,
            has_ended: false,
            skipped: 0,
        })
    }

    /// The next range; `None` if there are no more.
    pub fn next_range(&mut self) -> Result<Option<KeyRange>> {
        while !self.has_ended {
            if self.is_same_block()? {
                self.skipped += 1;
                self.pass_boundary()?;
                continue;
            }
            if !self.a.is_valid && !self.b.is_valid {
                break;
            }
            let lower = self.next.clone();
            self.pass_unequal_blocks()?;
            if self.has_ended {
                return Ok(Some((lower, self.upper.clone())));
            }
            // Otherwise all of it is versions of a key that the range before has.
            if let Bound::Included(last) = &self.next {
                let upper = Bound::Included(last.clone());
                self.next = Bound::Excluded(last.clone());
                return Ok(Some((lower, upper)));
            }
        }
        self.has_ended = true;
        Ok(None)
    }

    /// Moves on to the next blocks that are the same, behind the same separator.
    fn pass_unequal_blocks(&mut self) -> Result<()> {
        loop {
            self.align()?;
            if self.has_ended {
                return Ok(());
            }
            self.pass_boundary()?;
            if self.has_ended || self.is_same_block()? {
                return Ok(());
            }
        }
    }

    /// Pairs of data blocks that were found to be the same.
    pub fn skipped_blocks(&self) -> u64 {
        self.skipped
    }

    /// Moves on to blocks with the same separator. There are none if a table ends before.
    fn align(&mut self) -> Result<()> {
        while self.a.is_valid && self.b.is_valid {
            match self.compare_separators() {
                Ordering::Less => self.a.advance()?,
                Ordering::Greater => self.b.advance()?,
                Ordering::Equal => return Ok(()),
            }
        }
        self.has_ended = true;
        Ok(())
    }

    /// From blocks with the same separator to the ones behind it.
    fn pass_boundary(&mut self) -> Result<()> {
        let separator = self.a.separator();
        let compare = |bound: &[u8]| self.a.core.keys.compare(separator, bound);
        let is_past = match &self.upper {
            Bound::Included(bound) => compare(bound).is_gt(),
            Bound::Excluded(bound) => compare(bound).is_ge(),
            Bound::Unbounded => false,
        };
        // Versions of a key may be in several blocks: it is compared once.
        if !matches!(&self.next, Bound::Excluded(done) if compare(done).is_eq()) {
            self.next = Bound::Included(separator.to_vec());
        }
        self.is_same = false;
        self.a.advance()?;
        self.b.advance()?;
        self.has_ended = is_past;
        Ok(())
    }

    fn compare_separators(&self) -> Ordering {
        let (a, b) = (&self.a, &self.b);
        if a.core.index_format.user_keys {
            a.core.keys.compare_stored(a.index.key(), b.index.key())
        } else {
            a.core.keys.compare_entries(a.index.key(), b.index.key())
        }
    }

    /// Whether the current blocks are stored with the same bytes behind the same separator.
    fn is_same_block(&mut self) -> Result<bool> {
        if self.is_same {
            return Ok(true);
        }
        if !self.a.is_valid
            || !self.b.is_valid
            || self.a.handle().size != self.b.handle().size
            || self.a.index.key() != self.b.index.key()
        {
            return Ok(false);
        }
        let (a, b) = (self.a.read()?, self.b.read()?);
        let contents = a.len().saturating_sub(CHECKSUM_LENGTH);
        if a.len() != b.len() || a[..contents] != b[..contents] {
            // They will be decoded, and verified by that.
            return Ok(false);
        }
        self.a.verify(&a)?;
        if a[contents..] != b[contents..] || !self.has_same_checksum() {
            self.b.verify(&b)?;
        }
        self.is_same = true;
        Ok(true)
    }

    /// Whether the checksums of the same bytes in the current blocks must be the same.
    fn has_same_checksum(&self) -> bool {
        let of = |blocks: &Blocks| {
            let footer = &blocks.core.footer;
            (footer.checksum, footer.context_modifier(blocks.handle().offset))
        };
        of(&self.a) == of(&self.b)
    }
}

impl fmt::Debug for UnequalRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnequalRanges")
            .field("next", &self.next)
            .field("skipped", &self.skipped)
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}
