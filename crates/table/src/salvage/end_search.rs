//! Where a block that starts at a known place ends: where a trailer fits.
//!
//! ```text
//! start                        ?      ?           ?
//! | contents …                 | codec | checksum |
//!   running checksum ------------------^ compared at each byte that can be a codec
//! ```
//!
//! The checksum of every length is that of the length before and a few bytes more, so a search costs
//! about as much as reading the bytes once.

use sstkit_coding::checksum::RunningChecksum;
use sstkit_coding::fixed::decode_fixed32;

use super::checksum_scheme::ChecksumScheme;
use super::extent::Codecs;
use super::window::Window;
use crate::raw::{Block, BlockHandle, Trailer};

/// Bytes looked at before more are read.
const STEP: usize = 64 << 10;

/// A search for the end of a block.
pub(super) struct EndSearch {
    start: u64,
    /// The block, with its trailer, ends here at the latest.
    limit: u64,
    /// Without one, every byte that can be a codec is a possible end.
    checksum: Option<(ChecksumScheme, RunningChecksum)>,
    /// Blocks that are not compressed must end like a block of entries.
    entries_only: bool,
    /// The codecs that the block may have.
    codecs: Codecs,
    /// All before this is in the checksum.
    covered: u64,
    /// The next end to be looked at.
    next: u64,
}

impl EndSearch {
    pub(super) fn new(
        start: u64,
        limit: u64,
        scheme: Option<ChecksumScheme>,
        entries_only: bool,
        codecs: Codecs,
    ) -> Self {
        let checksum = scheme.map(|scheme| (scheme, RunningChecksum::new(scheme.checksum)));
        Self { start, limit, checksum, entries_only, codecs, covered: start, next: start }
    }

    /// The next possible end: the block up to there, and its trailer.
    pub(super) fn next(&mut self, window: &mut Window<'_>) -> Option<(BlockHandle, Trailer)> {
        while self.covered + Trailer::LENGTH as u64 <= self.limit {
            let chunk = window.range(self.covered..self.limit.min(self.covered + STEP as u64));
            let ends = chunk.len().checked_sub(Trailer::LENGTH - 1).filter(|&it| it > 0)?;
            let mut fed = 0;
            for at in (self.next - self.covered) as usize..ends {
                let end = self.covered + at as u64;
                let size = end - self.start;
                if !self.codecs.has(chunk[at])
                    || (size as usize) < Block::<&[u8]>::MIN_LENGTH
                    || self.entries_only && chunk[at] == 0 && !ends_like_entries(&chunk[..at], size)
                {
                    continue;
                }
                let Some((_, trailer)) = Trailer::split(&chunk[..at + Trailer::LENGTH]) else {
                    continue;
                };
                if let Some((scheme, running)) = &mut self.checksum {
                    running.update(&chunk[fed..at]);
                    fed = at;
                    if scheme.stored(running.value(trailer.codec), self.start) != trailer.checksum {
                        continue;
                    }
                }
                (self.covered, self.next) = (self.covered + fed as u64, end + 1);
                return Some((BlockHandle::new(self.start, size), trailer));
            }
            if let Some((_, running)) = &mut self.checksum {
                running.update(&chunk[fed..ends]);
            }
            self.covered += ends as u64;
            self.next = self.covered;
        }
        None
    }
}

/// Whether contents of `size` bytes, of which `tail` are the last, may end in an array of restart
/// points. What is too far back to see is not held against it.
fn ends_like_entries(tail: &[u8], size: u64) -> bool {
    let Some((rest, packed)) = tail.split_last_chunk::<4>() else { return true };
    let packed = decode_fixed32(*packed);
    let count = u64::from(packed & 0x0fff_ffff);
    if count == 0 || packed & 1 << 30 != 0 || count * 4 + 4 > size {
        return false;
    }
    if packed >> 28 != 0 {
        return true;
    }
    // The first restart point is at 0.
    let Some(first) = rest.len().checked_sub(count as usize * 4) else { return true };
    rest[first..].starts_with(&[0; 4])
}
