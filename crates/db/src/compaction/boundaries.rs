//! Checks that the parts of the key range meet in each input.
//!
//! ```text
//! file      a  b  c  d | m  n  o  p        the second part starts at the key f
//! part 0    ---------->|                   stops at the first entry that is not before f
//! part 1               |---------->        starts where a seek to f lands
//! ```
//!
//! In a sorted file both are the same entry. Otherwise a seek may land anywhere: the entries in
//! between would be read by no part, or by both. Each part checks that what it reads is sorted, so
//! if all parts meet, the whole file is sorted.
//!
//! A memtable is sorted in memory when it is built, and needs no check.

use sstkit_table::{EntryPosition, KeyExcerpt};

use super::input::{self, Input, InputCursor};
use crate::error::{Error, Result};

/// The file of an input, and the position in it; `None` at the end of the input, and in memory.
pub(super) type InputPosition = Option<(usize, EntryPosition)>;

/// The extent that a part has read of each input, newest input first.
pub(super) struct Extent {
    pub(super) first: Vec<InputPosition>,
    /// The entry where it stopped, which belongs to the next part.
    pub(super) stop: Vec<InputPosition>,
}

pub(super) fn positions(cursors: &[InputCursor]) -> Vec<InputPosition> {
    cursors.iter().map(input::position).collect()
}

/// Each part must start where the previous one stopped, in every input. `starts` has the start keys
/// of the parts, from the second one on.
pub(super) fn check(inputs: &[Input], starts: &[Vec<u8>], parts: &[Extent]) -> Result<()> {
    for (neighbours, start) in parts.windows(2).zip(starts) {
        let [before, after] = neighbours else { continue };
        let meeting = before.stop.iter().zip(&after.first);
        for (input, (stop, first)) in inputs.iter().rev().zip(meeting) {
            if stop != first {
                return Err(disorder(input, stop.or(*first), start));
            }
        }
    }
    Ok(())
}

fn disorder(input: &Input, position: InputPosition, start: &[u8]) -> Error {
    let error = Error::corrupt(format!(
        "entries are out of order: a seek to {} does not land after the previous entries",
        KeyExcerpt(start)
    ));
    match position.and_then(|(file, _)| input.path(file)) {
        Some(path) => error.in_file(path),
        None => error,
    }
}
