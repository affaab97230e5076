//! Where the parts of the key range meet in each input.
//!
//! ```text
//! file      a  b  c  d | m  n  o  p        the second part starts at the key f
//! part 0    ---------->|                   stops at the first entry it meets that is not before f
//! part 1               |---------->        starts where a search for f leads
//! ```
//!
//! In a sorted file those two are one entry. Elsewhere a search may lead anywhere: what lies between
//! the two would be read by no part, or by both. Each part makes sure that what it reads is in order,
//! so where all of them meet, the whole file is.
//!
//! A memtable is sorted when it is made, in memory, and cannot be out of order.

use sstkit_table::EntryPosition;

use super::input::{Input, InputCursor};
use crate::error::{Error, Result};
use crate::output::shown;

/// Which file of an input, and where in it; `None` at the end of the input, and in memory.
pub(super) type InputPosition = Option<(usize, EntryPosition)>;

/// What a part has read of each input, the newest input first.
pub(super) struct Extent {
    /// Its first entry.
    pub(super) first: Vec<InputPosition>,
    /// The one at which it stopped, which is not its own any more.
    pub(super) stop: Vec<InputPosition>,
}

/// Where cursors are.
pub(super) fn positions(cursors: &[InputCursor]) -> Vec<InputPosition> {
    cursors.iter().map(InputCursor::position).collect()
}

/// Each part must start where the one before has stopped, in every input. `starts` has the keys at
/// which parts start, from the second one on.
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
        shown(start)
    ));
    match position.and_then(|(file, _)| input.path(file)) {
        Some(path) => error.in_file(path),
        None => error,
    }
}
