//! Whether a range deletion covers an entry, while iterating.
//!
//! ```text
//! level 1   [ a@9 ....... f@5 ]         its range deletion  c ======= z @7
//! level 2       [ d@3 ......... h@2 ]   d@3 is deleted; h@2 is not: h is outside of the file above
//! ```
//!
//! A file's range deletions act within the bounds of that file only: the rest of a deletion that
//! was cut is in the files beside it, or was compacted away with what it deleted. They hide
//! smaller sequence numbers in their own run and in all older ones; newer runs have none.
//!
//! RocksDB cuts at internal keys: of the last user key of a file older entries are left to the next
//! file. User keys do as well, and are what lookups go by: whatever there is of a key that is in the
//! file, in the files beside it or below, is older than what is above, and no newer entry of it can
//! have been compacted past this file.

use std::sync::Arc;

use sstkit_table::Table;

use crate::error::Result;
use crate::family::Family;
use crate::range_deletions::{Fragments, Range};
use crate::version::{Run, TableFile};
use crate::view::View;

/// All range deletions of a column family that a view sees.
pub(super) struct Covering {
    family: Arc<Family>,
    view: View,
    memtable: Fragments,
    runs: Vec<RunCovering>,
}

/// The range deletions of a run.
struct RunCovering {
    run: Arc<Run>,
    /// The file that was last asked, with its number.
    last: Option<(usize, FileCovering)>,
}

/// The range deletions of a file.
enum FileCovering {
    Nothing,
    /// The view sees all of them, and the table has them in fragments.
    All(Table),
    Some(Fragments),
}

impl Covering {
    pub(super) fn new(family: &Arc<Family>, view: &View) -> Self {
        let runs = family.version.runs.iter();
        Self {
            view: view.clone(),
            memtable: Fragments::new(family.memtable.ranges(), view, &family.keys),
            runs: runs.map(|run| RunCovering { run: Arc::clone(run), last: None }).collect(),
            family: Arc::clone(family),
        }
    }

    /// Whether the entry of `key` (without timestamp) with this number is deleted.
    pub(super) fn covers(&mut self, key: &[u8], sequence: u64) -> Result<bool> {
        let keys = &self.family.keys;
        if !self.memtable.is_empty()
            && self.memtable.newest_over(key, keys).is_some_and(|newest| newest > sequence)
        {
            return Ok(true);
        }
        for run in &mut self.runs {
            if run.covers(key, sequence, &self.family, &self.view)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl RunCovering {
    fn covers(&mut self, key: &[u8], sequence: u64, family: &Family, view: &View) -> Result<bool> {
        let keys = &family.keys;
        let run = Arc::clone(&self.run);
        let mut at = match &self.last {
            // Well inside of the file, so that no other one can have the key.
            Some((at, _)) if is_inside(&run.files[*at], key, family) => *at,
            _ => run.first_at(key, keys),
        };
        while let Some(file) = run.files.get(at).filter(|file| !file.is_after(key, keys)) {
            let newest = self.file(at, file, family, view)?.newest_over(key, family)?;
            if newest.is_some_and(|newest| newest > sequence) {
                return Ok(true);
            }
            at += 1;
        }
        Ok(false)
    }

    fn file(
        &mut self,
        at: usize,
        file: &TableFile,
        family: &Family,
        view: &View,
    ) -> Result<&FileCovering> {
        let opened = match self.last.take() {
            Some((last, opened)) if last == at => opened,
            _ => FileCovering::open(file, family, view)?,
        };
        Ok(&self.last.insert((at, opened)).1)
    }
}

/// Whether `key` is in the range of the file, and not at one of its ends.
fn is_inside(file: &TableFile, key: &[u8], family: &Family) -> bool {
    family.keys.compare(file.smallest(), key).is_lt()
        && family.keys.compare(key, file.largest()).is_lt()
}

impl FileCovering {
    fn open(file: &TableFile, family: &Family, view: &View) -> Result<Self> {
        let table = family.table(file)?;
        if table.range_deletions().is_empty() {
            return Ok(Self::Nothing);
        }
        if family.keys.timestamp_size() == 0 && view.sees_all(file.meta.largest_sequence) {
            return Ok(Self::All(table));
        }
        let ranges = table.range_deletions().iter().map(Range::from);
        Ok(Self::Some(Fragments::new(ranges, view, &family.keys)))
    }

    fn newest_over(&self, key: &[u8], family: &Family) -> Result<Option<u64>> {
        match self {
            Self::Nothing => Ok(None),
            Self::All(table) => Ok(table.newest_range_deletion(key)?),
            Self::Some(fragments) => Ok(fragments.newest_over(key, &family.keys)),
        }
    }
}
