//! Whether a range deletion covers an entry, while iterating.
//!
//! ```text
//! level 1   [ a@9 ....... f@5 ]         its range deletion  c ======= z @7
//! level 2       [ d@3 ......... h@2 ]   d@3 is deleted; h@2 is not: h is outside of the file above
//! ```
//!
//! A file's range deletions act within the bounds of that file only: the rest of a deletion that
//! was cut is in the files beside it, or was compacted away with what it deleted. They hide
//! smaller sequence numbers in their own run, and everything in older ones: see [`Recency`].
//!
//! RocksDB cuts at internal keys: of the last user key of a file older entries are left to the next
//! file. User keys do as well, and are what lookups go by: whatever there is of a key that is in the
//! file, in the files beside it or below, is older than what is above, and no newer entry of it can
//! have been compacted past this file.

use std::sync::{Arc, OnceLock};

use sstkit_table::Table;

use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::keys::Keys;
use crate::range_deletions::{Fragment, Fragments, Range};
use crate::read_view::ReadView;
use crate::recency::Recency;
use crate::version::{Run, TableFile};

/// All range deletions of a column family that a view sees.
pub(super) struct RangeTombstoneAggregator {
    family: Arc<ColumnFamilyData>,
    view: ReadView,
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
    /// As the table has them; those that the view sees once it turns out that it does not see all.
    Plain(Table, OnceLock<Fragments>),
    /// Those that the view sees.
    Seen(Fragments),
}

impl RangeTombstoneAggregator {
    pub(super) fn new(family: &Arc<ColumnFamilyData>, view: &ReadView) -> Self {
        let runs = family.version.runs.iter();
        Self {
            view: view.clone(),
            memtable: Fragments::seen(family.memtable.ranges(), view, &family.keys),
            runs: runs.map(|run| RunCovering { run: Arc::clone(run), last: None }).collect(),
            family: Arc::clone(family),
        }
    }

    /// Whether the entry of `key` (without timestamp) with this number, of this source, is deleted.
    pub(super) fn covers(&mut self, key: &[u8], sequence: u64, source: usize) -> Result<bool> {
        let recency = self.family.version.recency;
        let deletes = |deletion, by| recency.covers((deletion, by), (sequence, source));
        let in_memory = self.memtable.over(key, &self.family.keys);
        if in_memory.is_some_and(|fragment| deletes(fragment.age, 0)) {
            return Ok(true);
        }
        let may_cover = |by: usize| recency.age(by) <= recency.age(source);
        for (run, by) in self.runs.iter_mut().zip(1..).take_while(|&(_, by)| may_cover(by)) {
            let is_wanted = |newest| deletes(newest, by);
            if run.find(key, &self.family, &self.view, is_wanted)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The newest source that has a deletion over `key`: what it deletes with it is deleted in all
    /// older ones. `None` also where nobody knows which source is older.
    pub(super) fn reach(&mut self, key: &[u8]) -> Result<Option<Reach>> {
        let (family, view) = (&self.family, &self.view);
        if family.version.recency == Recency::BySequence {
            return Ok(None);
        }
        if let Some(Fragment { start, end, .. }) = self.memtable.over(key, &family.keys) {
            return Ok(Some(Reach { source: 0, start: start.clone(), end: end.clone() }));
        }
        for (run, source) in self.runs.iter_mut().zip(1..) {
            if let Some((start, end)) = run.reach(key, family, view)? {
                return Ok(Some(Reach { source, start, end }));
            }
        }
        Ok(None)
    }
}

/// How far a deletion reaches.
pub(super) struct Reach {
    /// The number of its source: the memtable has 0, runs follow, the newest first.
    pub(super) source: usize,
    /// The first key deleted.
    pub(super) start: Vec<u8>,
    /// Up to this key all is deleted.
    pub(super) end: Vec<u8>,
}

impl RunCovering {
    /// What the newest deletion over `key` deletes within the bounds of its file.
    fn reach(
        &mut self,
        key: &[u8],
        family: &ColumnFamilyData,
        view: &ReadView,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Some(at) = self.find(key, family, view, |_| true)? else { return Ok(None) };
        let (run, keys) = (Arc::clone(&self.run), &family.keys);
        let file = &run.files[at];
        let fragment = self.file(at, file, family, view)?.over(key, keys, view);
        let Some((start, end, _)) = fragment else { return Ok(None) };
        let (smallest, largest) = (file.smallest(), file.largest());
        let start = if keys.compare(start, smallest).is_lt() { smallest } else { start };
        let end = if keys.compare(largest, end).is_lt() { largest } else { end };
        Ok(Some((start.to_vec(), end.to_vec())))
    }

    /// The number of the first file with a deletion over `key` whose number is wanted.
    fn find(
        &mut self,
        key: &[u8],
        family: &ColumnFamilyData,
        view: &ReadView,
        is_wanted: impl Fn(u64) -> bool,
    ) -> Result<Option<usize>> {
        let keys = &family.keys;
        let run = Arc::clone(&self.run);
        let mut at = match &self.last {
            // Well inside of the file, so that no other one can have the key.
            Some((at, _)) if is_inside(&run.files[*at], key, family) => *at,
            _ => run.first_at(key, keys),
        };
        while let Some(file) = run.files.get(at).filter(|file| !file.is_after(key, keys)) {
            let fragment = self.file(at, file, family, view)?.over(key, keys, view);
            if fragment.is_some_and(|(_, _, newest)| is_wanted(newest)) {
                return Ok(Some(at));
            }
            at += 1;
        }
        Ok(None)
    }

    fn file(
        &mut self,
        at: usize,
        file: &TableFile,
        family: &ColumnFamilyData,
        view: &ReadView,
    ) -> Result<&FileCovering> {
        let opened = match self.last.take() {
            Some((last, opened)) if last == at => opened,
            _ => FileCovering::open(file, family, view)?,
        };
        Ok(&self.last.insert((at, opened)).1)
    }
}

/// Whether `key` is in the range of the file, and not at one of its ends.
fn is_inside(file: &TableFile, key: &[u8], family: &ColumnFamilyData) -> bool {
    family.keys.compare(file.smallest(), key).is_lt()
        && family.keys.compare(key, file.largest()).is_lt()
}

impl FileCovering {
    fn open(file: &TableFile, family: &ColumnFamilyData, view: &ReadView) -> Result<Self> {
        let table = family.table(file)?;
        if table.range_deletions().is_empty() {
            return Ok(Self::Nothing);
        }
        if family.keys.timestamp_size() == 0 {
            return Ok(Self::Plain(table, OnceLock::new()));
        }
        Ok(Self::Seen(seen(&table, view, &family.keys)))
    }

    /// Start, end and number of the newest deletion over `key` that the view sees.
    fn over(&self, key: &[u8], keys: &Keys, view: &ReadView) -> Option<(&[u8], &[u8], u64)> {
        let fragments = match self {
            Self::Nothing => return None,
            Self::Seen(fragments) => fragments,
            Self::Plain(table, fragments) => {
                let all = table.range_deletion_fragments();
                let after = all.partition_point(|it| keys.compare(&it.start, key).is_le());
                let it = all.get(after.checked_sub(1)?)?;
                if keys.compare(key, &it.end).is_ge() {
                    return None;
                }
                if it.sequence <= view.sequence {
                    return Some((&it.start[..], &it.end[..], it.sequence));
                }
                fragments.get_or_init(|| seen(table, view, keys))
            }
        };
        let it = fragments.over(key, keys)?;
        Some((&it.start[..], &it.end[..], it.age))
    }
}

/// The range deletions of a table that a view sees.
fn seen(table: &Table, view: &ReadView, keys: &Keys) -> Fragments {
    Fragments::seen(table.range_deletions().iter().map(Range::from), view, keys)
}
