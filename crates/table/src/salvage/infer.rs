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

use std::collections::HashMap;
use std::ops::Range;

use sstkit_coding::checksum::ChecksumType;

use super::carver::{Carver, Found};
use super::end_search::EndSearch;
use super::reading::Reading;
use super::sealing::Sealing;
use super::start::{Codecs, Inflater, LOOKED_AT};
use super::window::Window;
use crate::raw::{Block, Trailer};

/// Blocks that have to agree, at most.
const WITNESSES: usize = 4;

/// How far a block found by its contents may reach.
const MAX_REACH: u64 = 256 << 10;

/// Trailers that are tried while blocks are found by their contents.
const MAX_ATTEMPTS: usize = 1 << 16;

/// What was found out.
pub(super) enum Inferred {
    Sealing(Sealing),
    /// One block that nothing confirms.
    Unconfirmed(Found),
    Nothing,
}

/// Finds out how the blocks of a region are sealed.
pub(super) fn infer(window: &mut Window<'_>, reading: &Reading, region: Range<u64>) -> Inferred {
    // A checksum that can be wrong says more than none.
    for checksum in ChecksumType::ALL.into_iter().rev() {
        let sealing = Sealing { checksum, base: 0 };
        let mut carver = Carver::new(window, reading, sealing);
        carver.max_blocks = WITNESSES;
        carver.chain_only = true;
        carver.carve(region.clone());
        let evident = carver.found.iter().filter(|it| it.contents.is_evident()).count();
        // Blocks that cannot be read agree by their number.
        if carver.found.len() > 1 || evident > 0 && checksum != ChecksumType::None {
            return Inferred::Sealing(sealing);
        }
    }
    // The tail of a whole table is not compressed: properties and metaindex.
    let tail = region.end.saturating_sub(MAX_REACH).max(region.start)..region.end;
    match infer_from_contents(window, reading, tail, true) {
        Inferred::Sealing(sealing) => Inferred::Sealing(sealing),
        _ => infer_from_contents(window, reading, region, false),
    }
}

/// The sealing that two blocks agree on, of those that only their contents show to be blocks.
fn infer_from_contents(
    window: &mut Window<'_>,
    reading: &Reading,
    region: Range<u64>,
    plain_only: bool,
) -> Inferred {
    let mut bases: HashMap<Sealing, usize> = HashMap::new();
    let (mut first, mut attempts) = (None, 0);
    let mut at = region.start;
    let mut inflater = Inflater::new();
    let mut rules = reading.start_rules();
    // Names of properties are no internal keys.
    rules.internal &= !plain_only;
    while at < region.end && attempts < MAX_ATTEMPTS {
        let start = window.from(at, LOOKED_AT);
        let start = start.slice(..start.len().min(LOOKED_AT));
        let mut codecs = rules.codecs(&start, &mut inflater);
        if plain_only && codecs.has(0) {
            codecs = Codecs::PLAIN;
        }
        let is_short = start.len() < Block::<&[u8]>::MIN_LENGTH;
        if is_short || codecs.is_empty() || plain_only && codecs != Codecs::PLAIN {
            at += 1;
            continue;
        }
        let limit = region.end.min(at + MAX_REACH);
        let search = EndSearch { start: at, limit, sealing: None, entries_only: true, codecs };
        let (found, _) = search.run(window, |window, handle, trailer| {
            attempts += 1;
            if attempts > MAX_ATTEMPTS {
                return None;
            }
            let stored = window.range(handle.offset..handle.offset + handle.size);
            let codec = trailer.codec;
            let (contents, dialect) = reading.classify(&stored, handle.offset, codec, |_| false);
            let is_evident = contents.is_evident();
            let found = Found { handle, codec, contents, dialect };
            is_evident.then_some((found, stored, trailer))
        });
        let Some((found, stored, trailer)) = found else {
            at += 1;
            continue;
        };
        for checksum in ChecksumType::ALL {
            let plain = checksum.compute(&stored, trailer.codec);
            let offset = found.handle.offset;
            let sealing = Sealing::with_context(checksum, plain, trailer.checksum, offset);
            let count = bases.entry(sealing).or_default();
            *count += 1;
            // Without context there is nothing that could be made to fit.
            if *count > 1 || sealing.base == 0 && checksum != ChecksumType::None {
                return Inferred::Sealing(sealing);
            }
        }
        at = found.handle.offset + found.handle.size + Trailer::LENGTH as u64;
        first.get_or_insert(found);
    }
    // One block is no witness, but the chain of blocks from the beginning is, readable or not.
    for &sealing in bases.keys() {
        let mut carver = Carver::new(window, reading, sealing);
        (carver.max_blocks, carver.chain_only) = (2, true);
        carver.carve(region.clone());
        if carver.found.len() > 1 {
            return Inferred::Sealing(sealing);
        }
    }
    match first {
        Some(found) => Inferred::Unconfirmed(found),
        None => Inferred::Nothing,
    }
}
