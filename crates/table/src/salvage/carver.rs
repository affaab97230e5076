//! Finding blocks in the bytes of a file, without an index.
//!
//! ```text
//!  | block | block | damaged      | block | block | zeros | block | filter | …
//!  '------>'------>'--- no block starts here            ' . . .'------>'----->
//!                  ' . . . . . . .'------->'------>
//!                    every place is tried until one is a block
//! ```
//!
//! A block starts where the one before ends. Where none does, every place is tried: most bytes are no
//! beginning of a block, and those that are say where it ends (`extent.rs`), so that one checksum
//! decides. Blocks found that way must be blocks of entries. Sound blocks that do not say where they
//! end, such as filters, are found by comparing the checksum of every length with the field after it
//! (`end_search.rs`), but only from where the block before ends.
//!
//! A block inside the bytes of another is thus never seen while the outer one is sound.
//!
//! # Bounds
//!
//! The work is linear in the length of the region: see [`Effort`]. When it is spent, the search ends
//! and says so. Memory is that of one block, and of what is kept of each: about as much as an index.

use std::ops::Range;

use super::checksum_scheme::ChecksumScheme;
use super::contents::Contents;
use super::effort::Effort;
use super::end_search::EndSearch;
use super::extent::{Codecs, Extent, Extents};
use super::reading::{Dialect, Reading};
use super::window::Window;
use crate::raw::{Block, BlockHandle, Footer, TableKind, Trailer};

/// From where a block ends, one that does not say where it ends itself is searched for this far.
const CHAIN_REACH: u64 = 1 << 20;

/// A block that only may start somewhere ends within this many bytes, or twice the largest so far.
const RESYNC_REACH: u64 = 64 << 10;

/// What is kept of the blocks may take this much memory, or twice the region.
const MIN_MEMORY: u64 = 64 << 20;

/// A block that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) handle: BlockHandle,
    pub(super) codec: u8,
    pub(super) contents: Contents,
    /// How it was decoded.
    pub(super) dialect: Dialect,
}

impl Found {
    /// The offset after its trailer.
    pub(super) fn end(&self) -> u64 {
        self.handle.offset + self.handle.size + Trailer::LENGTH as u64
    }
}

/// Which blocks count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accept {
    /// All whose checksums fit.
    Any,
    /// Those whose contents show that they are blocks, too.
    Evident,
}

/// Finds blocks.
pub(super) struct Carver<'c, 's> {
    pub(super) window: &'c mut Window<'s>,
    pub(super) reading: &'c Reading,
    pub(super) scheme: ChecksumScheme,
    /// In file order.
    pub(super) found: Vec<Found>,
    /// A footer between the blocks: the table ends here, what follows is something else.
    pub(super) footer: Option<Footer>,
    /// Stops after this many blocks.
    pub(super) max_blocks: usize,
    /// The search was given up before the end of a region.
    pub(super) exhausted: bool,
    /// Places other than the end of the block before are not tried.
    pub(super) chain_only: bool,
    /// The size of the largest block so far.
    pub(super) largest: u64,
    extents: Extents,
    effort: Effort,
    memory: u64,
}

impl<'c, 's> Carver<'c, 's> {
    pub(super) fn new(
        window: &'c mut Window<'s>,
        reading: &'c Reading,
        scheme: ChecksumScheme,
    ) -> Self {
        Self {
            window,
            reading,
            scheme,
            found: Vec::new(),
            footer: None,
            max_blocks: usize::MAX,
            exhausted: false,
            chain_only: false,
            largest: 0,
            extents: reading.extents(),
            effort: Effort::for_region(0),
            memory: 0,
        }
    }

    /// Finds the blocks of a region that starts where a block starts.
    pub(super) fn carve(&mut self, region: Range<u64>) {
        let length = region.end.saturating_sub(region.start);
        self.effort = Effort::for_region(length);
        self.memory = MIN_MEMORY.max(length.saturating_mul(2));
        let mut at = region.start;
        while at < region.end && !self.is_done() {
            if let Some(found) = self.follow(at, region.end) {
                at = self.push(found);
                continue;
            }
            if self.chain_only {
                break;
            }
            let next = self.resync(at + 1, region.end);
            let gap = at..next.as_ref().map_or(region.end, |it| it.handle.offset);
            self.opaque(gap);
            match next {
                Some(found) if !self.is_done() => at = self.push(found),
                _ => break,
            }
        }
    }

    fn is_done(&self) -> bool {
        self.found.len() >= self.max_blocks || self.footer.is_some() || self.exhausted
    }

    /// Keeps a block, and returns where it ends.
    fn push(&mut self, found: Found) -> u64 {
        let at = found.end();
        self.largest = self.largest.max(found.handle.size);
        let memory = self.memory.checked_sub(found.contents.memory());
        (self.memory, self.exhausted) = (memory.unwrap_or(0), self.exhausted || memory.is_none());
        let may_be_last = !matches!(found.contents, Contents::Data(_));
        self.extents.dictionary |= matches!(found.contents, Contents::Undecoded);
        self.found.push(found);
        if may_be_last {
            self.footer = self.footer_at(at);
        }
        at
    }

    /// The block that starts at `at`, or after zeros there.
    fn follow(&mut self, at: u64, limit: u64) -> Option<Found> {
        let zeros = self.zeros(at, limit);
        if zeros > 1 {
            // A block that is not compressed starts with a zero.
            for start in [at + zeros - 1, at + zeros] {
                let found = self.block_at(start, limit, Accept::Evident);
                if found.is_some() {
                    return found;
                }
            }
        }
        let found = self.block_at(at, limit, Accept::Any);
        if found.is_some() || self.effort.is_spent() {
            return found;
        }
        let reach = CHAIN_REACH.max(self.largest.saturating_mul(2)).min(limit - at);
        self.search(at, at + reach, Codecs::ALL, Accept::Any)
    }

    /// The next block after `at`, wherever it starts.
    fn resync(&mut self, mut at: u64, limit: u64) -> Option<Found> {
        while at < limit {
            let zeros = self.zeros(at, limit);
            if zeros > 1 {
                at += zeros - 1;
            }
            if self.effort.is_spent() {
                self.exhausted = true;
                return None;
            }
            let found = self.block_at(at, limit, Accept::Evident);
            if found.is_some() {
                return found;
            }
            at += 1;
        }
        None
    }

    /// Sound blocks that do not show what they are: filters, dictionaries, blobs.
    fn opaque(&mut self, gap: Range<u64>) {
        let mut at = gap.start;
        while at < gap.end && !self.is_done() && !self.scheme.is_weak() {
            // After padding: at the last zero, with which a block may start, or behind it.
            let zeros = self.zeros(at, gap.end);
            let starts = [at, at + zeros.saturating_sub(1), at + zeros];
            let starts = if zeros > 1 { &starts[..] } else { &starts[..1] };
            let found = starts
                .iter()
                .filter(|&&start| start < gap.end)
                .find_map(|&start| self.search(start, gap.end, Codecs::ALL, Accept::Any));
            let Some(found) = found else { break };
            at = self.push(found);
        }
    }

    /// The block that starts at `start` and says where it ends.
    fn block_at(&mut self, start: u64, limit: u64, accept: Accept) -> Option<Found> {
        let mut reach = RESYNC_REACH.max(self.largest.saturating_mul(2)).min(limit - start);
        loop {
            let least = usize::try_from(reach).unwrap_or(usize::MAX);
            let bytes = self.window.from(start, least);
            let bytes = bytes.slice(..bytes.len().min(least));
            let mut extents = [None; Extents::KINDS];
            let mut next = extents.iter_mut();
            let mut is_beyond = false;
            self.extents.each(&bytes, |codecs, extent| {
                is_beyond |= extent == Extent::Beyond;
                if let Some(slot) = next.next() {
                    *slot = Some((codecs, extent));
                }
            });
            let work = self.extents.take_work();
            for (codecs, extent) in extents.into_iter().flatten() {
                let found = match extent {
                    Extent::Ends(size) => {
                        self.effort.spend(size as u64);
                        self.checked(BlockHandle::new(start, size as u64), codecs, limit, accept)
                    }
                    Extent::Unknown => self.search(start, start + reach, codecs, accept),
                    Extent::NoBlock | Extent::Beyond => None,
                };
                if found.is_some() {
                    return found;
                }
            }
            self.effort.spend(work);
            // Where a block surely starts, all of it is looked at.
            if !is_beyond || accept == Accept::Evident || reach >= limit - start {
                return None;
            }
            self.effort.spend(reach);
            reach = reach.saturating_mul(8).min(limit - start).min(self.effort.left());
            if self.effort.is_spent() {
                return None;
            }
        }
    }

    /// The block at `handle`, if it has one of these codecs and its checksum.
    fn checked(
        &mut self,
        handle: BlockHandle,
        codecs: Codecs,
        limit: u64,
        accept: Accept,
    ) -> Option<Found> {
        let end = handle.end().filter(|&end| end <= limit)?;
        if (handle.size as usize) < Block::<&[u8]>::MIN_LENGTH {
            return None;
        }
        let stored = self.window.range(handle.offset..end);
        let (contents, trailer) = Trailer::split(&stored)?;
        let fits = codecs.has(trailer.codec) && {
            let plain = self.scheme.checksum.compute(contents, trailer.codec);
            self.scheme.stored(plain, handle.offset) == trailer.checksum
        };
        fits.then(|| self.classified(handle, trailer, accept)).flatten()
    }

    /// The block that starts at `start` and ends before `limit`, wherever a trailer fits.
    fn search(&mut self, start: u64, limit: u64, codecs: Codecs, accept: Accept) -> Option<Found> {
        let entries_only = accept == Accept::Evident || self.scheme.is_weak();
        let limit = limit.min(start.saturating_add(self.effort.left()));
        let mut search = EndSearch::new(start, limit, Some(self.scheme), entries_only, codecs);
        let mut at = start;
        while let Some((handle, trailer)) = search.next(self.window) {
            self.effort.spend(handle.offset + handle.size - at);
            at = handle.offset + handle.size;
            let found = self.classified(handle, trailer, accept);
            if found.is_some() || self.effort.is_spent() {
                return found;
            }
        }
        self.effort.spend(limit.saturating_sub(at));
        None
    }

    /// What the block at `handle` is, whose checksum fits; `None` if that is not enough.
    fn classified(
        &mut self,
        handle: BlockHandle,
        trailer: Trailer,
        accept: Accept,
    ) -> Option<Found> {
        let stored = self.window.range(handle.offset..handle.offset + handle.size);
        let found = &self.found;
        let (contents, dialect, size) =
            self.reading
                .classify(&stored, handle.offset, trailer.codec, |other| contradicts(found, other));
        self.effort.spend(size);
        let is_accepted = match contents {
            // Without a dictionary that is all there is to see.
            Contents::Undecoded if !self.scheme.is_weak() => {
                accept == Accept::Any || self.has_undecoded()
            }
            _ => contents.is_evident() || accept == Accept::Any && !self.scheme.is_weak(),
        };
        is_accepted.then_some(Found { handle, codec: trailer.codec, contents, dialect })
    }

    fn has_undecoded(&self) -> bool {
        self.found.iter().rev().take(8).any(|it| matches!(it.contents, Contents::Undecoded))
    }

    /// The number of zeros at `at`, as far as they go.
    fn zeros(&mut self, at: u64, limit: u64) -> u64 {
        let mut end = at;
        while end < limit {
            let bytes = self.window.from(end, 1);
            let length = bytes.len().min(usize::try_from(limit - end).unwrap_or(usize::MAX));
            match bytes[..length].iter().position(|&byte| byte != 0) {
                Some(zeros) => return end + zeros as u64 - at,
                None if length == 0 => break,
                None => end += length as u64,
            }
        }
        end - at
    }

    /// The footer at `at`, if it is that of the blocks found.
    fn footer_at(&mut self, at: u64) -> Option<Footer> {
        let bytes = self.window.range(at..at + Footer::MAX_LENGTH as u64);
        [Footer::MIN_LENGTH, Footer::MAX_LENGTH].into_iter().find_map(|length| {
            let bytes = bytes.get(..length)?;
            TableKind::from_magic(*bytes.last_chunk()?)?;
            let footer = Footer::decode_from(bytes, at + length as u64).ok()?;
            let at =
                self.found.binary_search_by_key(&footer.metaindex.offset, |it| it.handle.offset);
            at.is_ok_and(|at| self.found[at].handle == footer.metaindex).then_some(footer)
        })
    }
}

/// Whether a handle overlaps a block that was found, and is not its handle.
fn contradicts(found: &[Found], handle: BlockHandle) -> bool {
    let end = handle.end().unwrap_or(u64::MAX);
    let first = found.partition_point(|it| it.end() <= handle.offset);
    found[first..].iter().take_while(|it| it.handle.offset < end).any(|it| it.handle != handle)
}
