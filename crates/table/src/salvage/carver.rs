//! Finding blocks in the bytes of a file, without an index.
//!
//! ```text
//!  | block | block | damaged      | block | block | zeros | block | …
//!  '------>'------>'--- no trailer fits ---.
//!                  ' . . . . . . .'------->'------>        next place where a block may start
//! ```
//!
//! A block starts where the one before ends, so the chain is followed first: one search per block for
//! its end, whatever its size. Only where that finds nothing are other places tried, and of those only
//! the ones whose first bytes are the beginning of a block (`start.rs`); they must turn out to be
//! blocks of entries. A block inside the bytes of another is thus never seen while the outer one is
//! sound.
//!
//! # Bounds
//!
//! Of n bytes, following the chain reads at most 2n bytes and, for searches that lead nowhere,
//! [`CHAIN_BUDGET`] times n more; trying places reads at most [`RESYNC_BUDGET`] times n. Memory is that
//! of one block, and of what is kept of each: about as much as an index.

use std::ops::Range;

use super::contents::Contents;
use super::end_search::EndSearch;
use super::reading::{Dialect, Reading};
use super::sealing::Sealing;
use super::start::{Codecs, Inflater, LOOKED_AT, StartRules};
use super::window::Window;
use crate::raw::{BlockHandle, Footer, TableKind, Trailer};

/// How often the bytes of a region are searched for ends of blocks that are not found.
const CHAIN_BUDGET: u64 = 4;

/// How often they are searched from places where a block only may start.
const RESYNC_BUDGET: u64 = 64;

/// A block is searched for this far, whatever the budget.
const MIN_REACH: u64 = 1 << 20;

/// A block that only may start somewhere is searched for this far, or twice the largest so far.
const MIN_RESYNC_REACH: u64 = 64 << 10;

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

/// Finds blocks.
pub(super) struct Carver<'c, 's> {
    pub(super) window: &'c mut Window<'s>,
    pub(super) reading: &'c Reading,
    pub(super) sealing: Sealing,
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
    inflater: Inflater,
    largest: u64,
    chain_budget: u64,
    resync_budget: u64,
}

impl<'c, 's> Carver<'c, 's> {
    pub(super) fn new(window: &'c mut Window<'s>, reading: &'c Reading, sealing: Sealing) -> Self {
        Self {
            window,
            reading,
            sealing,
            found: Vec::new(),
            footer: None,
            max_blocks: usize::MAX,
            exhausted: false,
            chain_only: false,
            inflater: Inflater::new(),
            largest: 0,
            chain_budget: 0,
            resync_budget: 0,
        }
    }

    /// Finds the blocks of a region that starts where a block starts.
    pub(super) fn carve(&mut self, region: Range<u64>) {
        let length = region.end.saturating_sub(region.start);
        self.chain_budget = length.saturating_mul(CHAIN_BUDGET);
        self.resync_budget = length.saturating_mul(RESYNC_BUDGET).max(64 << 20);
        let mut at = region.start;
        while at < region.end && self.found.len() < self.max_blocks && self.footer.is_none() {
            let next = match self.follow(at, region.end) {
                None if !self.chain_only => self.resync(at + 1, region.end),
                next => next,
            };
            let Some(found) = next else { break };
            at = found.end();
            self.largest = self.largest.max(found.handle.size);
            let may_be_last = !matches!(found.contents, Contents::Data(_));
            self.found.push(found);
            if may_be_last {
                self.footer = self.footer_at(at);
            }
        }
    }

    /// The block that starts at `at`, or after zeros there.
    fn follow(&mut self, at: u64, limit: u64) -> Option<Found> {
        let zeros = self.zeros(at, limit);
        if zeros > 1 {
            // A block that is not compressed starts with a zero.
            for start in [at + zeros - 1, at + zeros] {
                let limit = limit.min(start + self.resync_reach());
                let found = self.block_at(start, limit, Codecs::ALL, true);
                if found.is_some() {
                    return found;
                }
            }
        }
        let reach = (limit - at).min(self.chain_budget.max(MIN_REACH));
        let found = self.block_at(at, at + reach, Codecs::ALL, false);
        if found.is_none() {
            self.chain_budget = self.chain_budget.saturating_sub(reach);
        }
        found
    }

    /// The next block after `at`, wherever it starts.
    fn resync(&mut self, mut at: u64, limit: u64) -> Option<Found> {
        while at < limit {
            let zeros = self.zeros(at, limit);
            if zeros > 1 {
                at += zeros - 1;
            }
            let bytes = self.window.from(at, LOOKED_AT);
            let ahead = bytes.len().min(usize::try_from(limit - at).unwrap_or(usize::MAX));
            // As many places as can be looked at without reading again.
            let places = if ahead > LOOKED_AT { ahead - LOOKED_AT } else { ahead };
            let rules = self.start_rules();
            let inflater = &mut self.inflater;
            let admitted = |skip: usize| {
                let bytes = &bytes[skip..ahead.min(skip + LOOKED_AT)];
                let codecs = match bytes {
                    [0, 0, ..] => return None,
                    bytes => rules.codecs(bytes, inflater),
                };
                (!codecs.is_empty()).then_some((skip, codecs))
            };
            let Some((skip, codecs)) = (0..places.max(1)).find_map(admitted) else {
                at += places.max(1) as u64;
                continue;
            };
            at += skip as u64;
            if self.resync_budget == 0 {
                self.exhausted = true;
                return None;
            }
            let reach = limit.min(at + self.resync_reach());
            let found = self.block_at(at, reach, codecs, true);
            if found.is_some() {
                return found;
            }
            at += 1;
        }
        None
    }

    fn start_rules(&self) -> StartRules {
        let mut rules = self.reading.start_rules();
        rules.dictionary |= self.has_undecoded();
        rules
    }

    fn has_undecoded(&self) -> bool {
        self.found.iter().rev().take(8).any(|it| matches!(it.contents, Contents::Undecoded))
    }

    fn resync_reach(&self) -> u64 {
        MIN_RESYNC_REACH.max(self.largest * 2)
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

    /// The block that starts at `start`. `evident` ones show by their contents that they are blocks.
    fn block_at(&mut self, start: u64, limit: u64, codecs: Codecs, evident: bool) -> Option<Found> {
        let evident = evident || self.sealing.is_weak();
        let search =
            EndSearch { start, limit, sealing: Some(self.sealing), entries_only: evident, codecs };
        let has_undecoded = self.has_undecoded() && !self.sealing.is_weak();
        let (reading, found) = (self.reading, &self.found);
        let (block, searched) = search.run(self.window, |window, handle, trailer| {
            let (contents, dialect) = contents_of(window, reading, handle, trailer, found);
            let accepted = match contents {
                Contents::Undecoded => !evident || has_undecoded,
                _ => !evident || contents.is_evident(),
            };
            let codec = trailer.codec;
            accepted.then_some(Found { handle, codec, contents, dialect })
        });
        if evident {
            self.resync_budget = self.resync_budget.saturating_sub(searched);
        }
        block
    }

    /// The footer at `at`, if it is that of the blocks found.
    fn footer_at(&mut self, at: u64) -> Option<Footer> {
        let bytes = self.window.range(at..at + Footer::MAX_LENGTH as u64);
        [Footer::MIN_LENGTH, Footer::MAX_LENGTH].into_iter().find_map(|length| {
            let bytes = bytes.get(..length)?;
            TableKind::from_magic(*bytes.last_chunk()?)?;
            let footer = Footer::decode_from(bytes, at + length as u64).ok()?;
            let is_found = |handle: BlockHandle| self.found.iter().any(|it| it.handle == handle);
            is_found(footer.metaindex).then_some(footer)
        })
    }
}

/// What the block at `handle` is.
fn contents_of(
    window: &mut Window<'_>,
    reading: &Reading,
    handle: BlockHandle,
    trailer: Trailer,
    found: &[Found],
) -> (Contents, Dialect) {
    let stored = window.range(handle.offset..handle.offset + handle.size);
    reading.classify(&stored, handle.offset, trailer.codec, |other| contradicts(found, other))
}

/// Whether a handle overlaps a block that was found, and is not its handle.
fn contradicts(found: &[Found], handle: BlockHandle) -> bool {
    let end = handle.end().unwrap_or(u64::MAX);
    let first = found.partition_point(|it| it.end() <= handle.offset);
    found[first..].iter().take_while(|it| it.handle.offset < end).any(|it| it.handle != handle)
}
