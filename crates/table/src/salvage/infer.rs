//! The checksums of a file whose footer is lost: those that its blocks agree on.
//!
//! ```text
//! no context      each type is tried; one that fits the first block of the file is it
//! with context    blocks are found by their contents; each of them, and each type, gives a base:
//!
//!                            CRC-32C   XXH3
//!                 block 0    9d21…     50ef9fb7
//!                 block 1    7702…     50ef9fb7   <-- what two agree on is no accident
//! ```

use std::ops::Range;

use bytes::Bytes;
use sstkit_coding::checksum::ChecksumType;

use super::carver::{Carver, Found};
use super::checksum_scheme::ChecksumScheme;
use super::effort::Effort;
use super::end_search::EndSearch;
use super::extent::{Codecs, Extent, Extents};
use super::reading::Reading;
use super::window::Window;
use crate::raw::{BlockHandle, Trailer};

/// Blocks that have to agree, at most.
const WITNESSES: usize = 4;

/// Blocks found by their contents that may disagree.
const MAX_VOTERS: usize = 256;

/// Schemes that are tried with the beginning of the file.
const MAX_CHAINS: usize = 32;

/// How far a block found by its contents may reach.
const MAX_REACH: u64 = 256 << 10;

/// What was found out.
pub(super) enum Inferred {
    Scheme(ChecksumScheme),
    /// One block that nothing confirms.
    Unconfirmed(Found),
    Nothing,
}

/// Finds out which checksums the blocks of a region have.
pub(super) fn infer(window: &mut Window<'_>, reading: &Reading, region: Range<u64>) -> Inferred {
    // A checksum that can be wrong says more than none.
    for checksum in ChecksumType::ALL.iter().copied().rev() {
        let scheme = ChecksumScheme { checksum, base: 0 };
        let found = chain(window, reading, scheme, region.clone(), WITNESSES);
        let evident = found.iter().filter(|it| it.contents.is_evident()).count();
        // Blocks that cannot be read agree by their number.
        if found.len() > 1 || evident > 0 && checksum != ChecksumType::None {
            return Inferred::Scheme(scheme);
        }
    }
    let mut inference = Inference::new(reading, region.clone());
    // The tail of a whole table is not compressed: properties and metaindex.
    let tail = region.end.saturating_sub(MAX_REACH).max(region.start);
    inference
        .run(window, tail..region.end, true)
        .or_else(|| inference.run(window, region, false))
        .map_or_else(|| inference.decide(window), Inferred::Scheme)
}

/// The first blocks of a region, each where the one before ends.
fn chain(
    window: &mut Window<'_>,
    reading: &Reading,
    scheme: ChecksumScheme,
    region: Range<u64>,
    count: usize,
) -> Vec<Found> {
    let mut carver = Carver::new(window, reading, scheme);
    (carver.max_blocks, carver.chain_only) = (count, true);
    carver.carve(region);
    carver.found
}

/// The scheme that blocks agree on, of those that only their contents show to be blocks.
///
/// Two that agree are not enough: the blocks of a table inside a value have a context of their own, and
/// some of them agree on a wrong base. The first block of the file has to agree, too.
struct Inference<'r> {
    reading: &'r Reading,
    region: Range<u64>,
    effort: Effort,
    /// How many blocks speak for each scheme, in the order of the first of them.
    votes: Vec<(ChecksumScheme, usize)>,
    /// The first block that was found.
    first: Option<Found>,
    voters: usize,
}

impl<'r> Inference<'r> {
    fn new(reading: &'r Reading, region: Range<u64>) -> Self {
        let effort = Effort::for_region(region.end - region.start);
        Self { reading, region, effort, votes: Vec::new(), first: None, voters: 0 }
    }

    /// Looks at the blocks of a part of the region; returns a scheme that is certain.
    fn run(
        &mut self,
        window: &mut Window<'_>,
        part: Range<u64>,
        plain_only: bool,
    ) -> Option<ChecksumScheme> {
        let mut extents = self.reading.extents();
        let mut at = part.start;
        while at < part.end && !self.effort.is_spent() && self.voters < MAX_VOTERS {
            let limit = part.end.min(at + MAX_REACH);
            let Some((found, stored, trailer)) =
                self.block_at(window, at, limit, &mut extents, plain_only)
            else {
                at += 1;
                continue;
            };
            let certain = self.vote(window, found.handle.offset, &stored, trailer);
            if certain.is_some() {
                return certain;
            }
            at = found.end();
            self.first.get_or_insert(found);
        }
        None
    }

    /// The best guess, if nothing is certain.
    fn decide(mut self, window: &mut Window<'_>) -> Inferred {
        self.votes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for &(scheme, _) in self.votes.iter().take(MAX_CHAINS) {
            if self.is_confirmed(window, scheme) {
                return Inferred::Scheme(scheme);
            }
        }
        match (self.votes.first(), self.first) {
            // The beginning of the file is damaged.
            (Some(&(scheme, 2..)), _) => Inferred::Scheme(scheme),
            (_, Some(found)) => Inferred::Unconfirmed(found),
            (_, None) => Inferred::Nothing,
        }
    }

    /// Whether the file starts with blocks that have these checksums, readable or not.
    fn is_confirmed(&self, window: &mut Window<'_>, scheme: ChecksumScheme) -> bool {
        chain(window, self.reading, scheme, self.region.clone(), 2).len() > 1
    }

    /// The block that starts at `at`, by its contents alone.
    fn block_at(
        &mut self,
        window: &mut Window<'_>,
        at: u64,
        limit: u64,
        extents: &mut Extents,
        plain_only: bool,
    ) -> Option<(Found, Bytes, Trailer)> {
        let bytes = window.from(at, (limit - at) as usize);
        let bytes = bytes.slice(..bytes.len().min((limit - at) as usize));
        let mut candidates: Vec<(Codecs, Extent)> = Vec::new();
        match plain_only {
            true => {
                let plain = [extents.uncompressed(&bytes), extents.delta_index(&bytes)];
                candidates.extend(plain.map(|extent| (Codecs::PLAIN, extent)));
            }
            false => extents.each(&bytes, |codecs, extent| candidates.push((codecs, extent))),
        }
        self.effort.spend(extents.take_work());
        for (codecs, extent) in candidates {
            match extent {
                Extent::Ends(size) => {
                    let stored = bytes.get(..size + Trailer::LENGTH);
                    let trailer = stored.and_then(Trailer::split).map(|(_, trailer)| trailer);
                    if let Some(trailer) = trailer.filter(|it| codecs.has(it.codec))
                        && let Some(found) = self.evident(at, &bytes[..size], trailer)
                    {
                        return Some((found, bytes.slice(..size), trailer));
                    }
                }
                Extent::Unknown => {
                    let mut search = EndSearch::new(at, limit, None, true, codecs);
                    while let Some((handle, trailer)) = search.next(window) {
                        let stored = bytes.slice(..handle.size as usize);
                        if let Some(found) = self.evident(at, &stored, trailer) {
                            return Some((found, stored, trailer));
                        }
                        if self.effort.is_spent() {
                            return None;
                        }
                    }
                    self.effort.spend(limit - at);
                }
                Extent::NoBlock | Extent::Beyond => {}
            }
        }
        None
    }

    fn evident(&mut self, offset: u64, stored: &[u8], trailer: Trailer) -> Option<Found> {
        let codec = trailer.codec;
        let (contents, dialect, size) = self.reading.classify(stored, offset, codec, |_| false);
        self.effort.spend(size);
        let handle = BlockHandle::new(offset, stored.len() as u64);
        contents.is_evident().then_some(Found { handle, codec, contents, dialect })
    }

    /// Counts what speaks for each scheme; returns one that is certain.
    fn vote(
        &mut self,
        window: &mut Window<'_>,
        offset: u64,
        stored: &[u8],
        trailer: Trailer,
    ) -> Option<ChecksumScheme> {
        self.voters += 1;
        for &checksum in ChecksumType::ALL {
            let plain = checksum.compute(stored, trailer.codec);
            let scheme = ChecksumScheme::with_context(checksum, plain, trailer.checksum, offset);
            // Without context there is nothing that could be made to fit.
            if scheme.base == 0 && checksum != ChecksumType::None {
                return Some(scheme);
            }
            let votes = match self.votes.iter_mut().find(|(it, _)| *it == scheme) {
                Some((_, votes)) => {
                    *votes += 1;
                    *votes
                }
                None => {
                    self.votes.push((scheme, 1));
                    1
                }
            };
            if votes == 2 && self.is_confirmed(window, scheme) {
                return Some(scheme);
            }
        }
        None
    }
}
