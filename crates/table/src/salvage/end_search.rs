//! Where a block that starts at a known place ends: at the first trailer that fits.
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

use super::sealing::Sealing;
use super::start::Codecs;
use super::window::Window;
use crate::raw::{Block, BlockHandle, Trailer};

/// Bytes looked at before more are read.
const STEP: usize = 64 << 10;

/// A search for the end of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndSearch {
    pub(super) start: u64,
    /// The block, with its trailer, ends here at the latest.
    pub(super) limit: u64,
    pub(super) sealing: Option<Sealing>,
    /// Blocks that are not compressed must end like a block of entries.
    pub(super) entries_only: bool,
    /// The codecs that the block may have.
    pub(super) codecs: Codecs,
}

impl EndSearch {
    /// Calls `accept` for each possible end, the nearest first, until it returns something. Without a
    /// sealing every byte that can be a codec is a possible end. Also returns the bytes searched.
    pub(super) fn run<T>(
        self,
        window: &mut Window<'_>,
        mut accept: impl FnMut(&mut Window<'_>, BlockHandle, Trailer) -> Option<T>,
    ) -> (Option<T>, u64) {
        let mut running = self.sealing.map(|sealing| RunningChecksum::new(sealing.checksum));
        // All before this is in the checksum.
        let mut covered = self.start;
        while covered + Trailer::LENGTH as u64 <= self.limit {
            let chunk = window.range(covered..self.limit.min(covered + STEP as u64));
            let Some(ends) = chunk.len().checked_sub(Trailer::LENGTH - 1).filter(|&it| it > 0)
            else {
                break;
            };
            let mut fed = 0;
            for at in 0..ends {
                if !self.codecs.has(chunk[at]) {
                    continue;
                }
                let end = covered + at as u64;
                let size = end - self.start;
                if (size as usize) < Block::<&[u8]>::MIN_LENGTH {
                    continue;
                }
                if self.entries_only && chunk[at] == 0 && !ends_like_entries(&chunk[..at], size) {
                    continue;
                }
                let Some((_, trailer)) = Trailer::split(&chunk[..at + Trailer::LENGTH]) else {
                    continue;
                };
                if let (Some(running), Some(sealing)) = (&mut running, self.sealing) {
                    running.update(&chunk[fed..at]);
                    fed = at;
                    let stored = sealing.stored(running.value(trailer.codec), self.start);
                    if stored != trailer.checksum {
                        continue;
                    }
                }
                let found = accept(window, BlockHandle::new(self.start, size), trailer);
                if found.is_some() {
                    return (found, end - self.start);
                }
            }
            if let Some(running) = &mut running {
                running.update(&chunk[fed..ends]);
            }
            covered += ends as u64;
        }
        (None, covered - self.start)
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
