//! Decides during a scan which entries are covered by range tombstones of a column family.
//!
//! ```text
//! level 1   [ a@9 ....... f@5 ]         its range tombstone  c ======= z @7
//! level 2       [ d@3 ......... h@2 ]   d@3 is covered; h@2 is not: h is outside the file above
//! ```
//!
//! The range tombstones of a file apply only within the bounds of the file: the rest of a truncated
//! tombstone is in adjacent files, or was compacted away with the entries it covered. They cover
//! smaller sequence numbers in their own run, and everything in older runs; see [`Recency`].
//!
//! RocksDB truncates at internal keys, so that older entries of the last user key are left to the
//! next file. Truncating at user keys is sufficient, and lookups do it, too: all entries of a key
//! that is in the file, in adjacent files or below, are older than those above, and no newer entry
//! of the key can have been compacted past this file.

use std::sync::Arc;

use sstkit_table::visibility::{Fragment, Fragments, ReadView, Recency, SeenTombstones, UserKeys};

use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::version::{Run, TableFile};

/// All range tombstones of a column family that are visible in a view.
pub(crate) struct RangeTombstoneAggregator {
    family: Arc<ColumnFamilyData>,
    view: ReadView,
    memtable: Fragments,
    runs: Vec<RunTombstones>,
    /// Keys that no tombstone of any source covers, around the last key searched.
    clear: Option<Gap>,
}

/// The keys between two keys, neither of them included. `None` is the end of all keys.
struct Gap {
    after: Option<Vec<u8>>,
    before: Option<Vec<u8>>,
}

struct RunTombstones {
    run: Arc<Run>,
    /// Number and tombstones of the file searched last.
    last: Option<(usize, SeenTombstones)>,
}

impl RangeTombstoneAggregator {
    pub(crate) fn new(family: &Arc<ColumnFamilyData>, view: &ReadView) -> Self {
        let runs = family.version.runs.iter();
        Self {
            view: view.clone(),
            memtable: Fragments::seen(family.memtable.range_deletions(), view, &family.keys),
            runs: runs.map(|run| RunTombstones { run: Arc::clone(run), last: None }).collect(),
            family: Arc::clone(family),
            clear: None,
        }
    }

    /// Whether no tombstone covers anything, as far as that is known.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.clear, Some(Gap { after: None, before: None }))
    }

    /// Whether the entry of `key` (without timestamp) with this sequence number and source is
    /// covered.
    #[inline]
    pub(crate) fn covers(&mut self, key: &[u8], sequence: u64, source: usize) -> Result<bool> {
        if self.clear.as_ref().is_some_and(|gap| gap.contains(key, &self.family.keys)) {
            return Ok(false);
        }
        let is_covered = self.search(key, sequence, source)?;
        self.clear = if is_covered { None } else { self.gap_around(key) };
        Ok(is_covered)
    }

    /// The slow path of [`covers`](Self::covers): searches each source that may cover the entry.
    fn search(&mut self, key: &[u8], sequence: u64, source: usize) -> Result<bool> {
        let Self { family, view, memtable, runs, .. } = self;
        let recency = family.version.recency;
        let covers = |tombstone, by| recency.covers((tombstone, by), (sequence, source));
        if !memtable.is_empty()
            && memtable.over(key, &family.keys).is_some_and(|fragment| covers(fragment.age, 0))
        {
            return Ok(true);
        }
        let may_cover = |by: usize| recency.age(by) <= recency.age(source);
        for (run, by) in runs.iter_mut().zip(1..).take_while(|&(_, by)| may_cover(by)) {
            if run.find(key, family, view, |newest| covers(newest, by))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The keys around `key` that no tombstone of any source covers. `None` if one covers `key`.
    fn gap_around(&mut self, key: &[u8]) -> Option<Gap> {
        let Self { family, view, memtable, runs, .. } = self;
        let mut gap = Gap { after: None, before: None };
        let uncovered = memtable.gap(key, &family.keys)?;
        gap.narrow(uncovered.start, uncovered.end, &family.keys);
        for run in runs {
            run.narrow(&mut gap, key, family, view)?;
        }
        Some(gap)
    }

    /// The newest source with a tombstone over `key`, which covers the same keys in all older
    /// sources. `None` if the order of the sources is unknown.
    pub(super) fn reach(&mut self, key: &[u8]) -> Result<Option<Reach>> {
        let Self { family, view, memtable, runs, .. } = self;
        if family.version.recency == Recency::BySequence {
            return Ok(None);
        }
        if let Some(Fragment { start, end, .. }) = memtable.over(key, &family.keys) {
            return Ok(Some(Reach { source: 0, start: start.clone(), end: end.clone() }));
        }
        for (run, source) in runs.iter_mut().zip(1..) {
            if let Some((start, end)) = run.reach(key, family, view)? {
                return Ok(Some(Reach { source, start, end }));
            }
        }
        Ok(None)
    }
}

/// The keys that a tombstone covers.
pub(super) struct Reach {
    /// The index of its source: 0 is the memtable, followed by the runs, newest first.
    pub(super) source: usize,
    /// The first key covered.
    pub(super) start: Vec<u8>,
    /// The end of the covered range.
    pub(super) end: Vec<u8>,
}

impl Gap {
    #[inline]
    fn contains(&self, key: &[u8], keys: &UserKeys) -> bool {
        self.before.as_ref().is_none_or(|before| keys.compare(key, before).is_lt())
            && self.after.as_ref().is_none_or(|after| keys.compare(after, key).is_lt())
    }

    /// Excludes the keys up to `after` and from `before` on.
    fn narrow(&mut self, after: Option<&[u8]>, before: Option<&[u8]>, keys: &UserKeys) {
        if let Some(after) = after
            && self.after.as_ref().is_none_or(|now| keys.compare(now, after).is_lt())
        {
            self.after = Some(after.to_vec());
        }
        if let Some(before) = before
            && self.before.as_ref().is_none_or(|now| keys.compare(before, now).is_lt())
        {
            self.before = Some(before.to_vec());
        }
    }
}

impl RunTombstones {
    /// Narrows the gap to keys around `key` that no tombstone of the run covers. `None` if one covers
    /// `key`, or if that is unknown.
    fn narrow(
        &mut self,
        gap: &mut Gap,
        key: &[u8],
        family: &ColumnFamilyData,
        view: &ReadView,
    ) -> Option<()> {
        let (run, keys) = (Arc::clone(&self.run), &family.keys);
        match run.first_with_tombstones() {
            None => return Some(()),
            Some(first) if first.is_after(key, keys) => {
                gap.narrow(None, Some(first.smallest()), keys);
                return Some(());
            }
            Some(_) => {}
        }
        let at = run.first_at(key, keys);
        let file = run.files.get(at);
        match file.filter(|file| !file.is_after(key, keys)) {
            // Between two files.
            None => {
                let previous = at.checked_sub(1).map(|at| run.files[at].largest());
                gap.narrow(previous, file.map(|file| file.smallest()), keys);
                Some(())
            }
            // At a bound, the adjacent file may have the key, too.
            Some(file) if is_inside(file, key, family) => {
                // A file that cannot be opened is reported by the search.
                self.open(at, file, family, view).ok()?;
                gap.narrow(Some(file.smallest()), Some(file.largest()), keys);
                let uncovered = self.last.as_ref()?.1.fragments().gap(key, keys)?;
                gap.narrow(uncovered.start, uncovered.end, keys);
                Some(())
            }
            Some(_) => None,
        }
    }

    /// The range that the newest tombstone over `key` covers within the bounds of its file.
    fn reach(
        &mut self,
        key: &[u8],
        family: &ColumnFamilyData,
        view: &ReadView,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Some((at, fragment)) = self.find(key, family, view, |_| true)? else {
            return Ok(None);
        };
        let (start, end, keys) = (fragment.start.clone(), fragment.end.clone(), &family.keys);
        let file = &self.run.files[at];
        let (smallest, largest) = (file.smallest(), file.largest());
        let start = if keys.compare(&start, smallest).is_lt() { smallest.to_vec() } else { start };
        let end = if keys.compare(largest, &end).is_lt() { largest.to_vec() } else { end };
        Ok(Some((start, end)))
    }

    /// The first fragment over `key` that `wanted` accepts, and the number of its file.
    fn find(
        &mut self,
        key: &[u8],
        family: &ColumnFamilyData,
        view: &ReadView,
        is_wanted: impl Fn(u64) -> bool,
    ) -> Result<Option<(usize, &Fragment)>> {
        let (run, keys) = (Arc::clone(&self.run), &family.keys);
        if run.first_with_tombstones().is_none_or(|first| first.is_after(key, keys)) {
            return Ok(None);
        }
        let mut at = match &self.last {
            // Inside the bounds of the file, so that no other file can have the key.
            Some((at, _)) if is_inside(&run.files[*at], key, family) => *at,
            _ => run.first_at(key, keys),
        };
        while let Some(file) = run.files.get(at).filter(|file| !file.is_after(key, keys)) {
            self.open(at, file, family, view)?;
            let over = |tombstones: &SeenTombstones| {
                tombstones.over(key).is_some_and(|fragment| is_wanted(fragment.age))
            };
            if self.last.as_ref().is_some_and(|(_, tombstones)| over(tombstones)) {
                let found = self.last.as_ref().and_then(|(_, tombstones)| tombstones.over(key));
                return Ok(found.map(|fragment| (at, fragment)));
            }
            at += 1;
        }
        Ok(None)
    }

    /// Loads the tombstones of the file at `at`.
    fn open(
        &mut self,
        at: usize,
        file: &TableFile,
        family: &ColumnFamilyData,
        view: &ReadView,
    ) -> Result<()> {
        if self.last.as_ref().is_none_or(|&(last, _)| last != at) {
            let tombstones = family.table(file)?.range_tombstones_at(view);
            self.last = Some((at, tombstones));
        }
        Ok(())
    }
}

/// Whether `key` is within the bounds of the file, but not equal to one of them.
fn is_inside(file: &TableFile, key: &[u8], family: &ColumnFamilyData) -> bool {
    family.keys.compare(file.smallest(), key).is_lt()
        && family.keys.compare(key, file.largest()).is_lt()
}
