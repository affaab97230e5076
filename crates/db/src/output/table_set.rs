//! Entries in order, into one table after the other.
//!
//! ```text
//! entry --- large enough, and another user key? ---> end the table: range deletions up to that
//!   |                                                key, tail, sync; begin the next
//!   '------> TableWriter ---> ChecksummedFile
//! ```

use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{Comparator, TableOptions, TableWriter};
use tempfile::TempPath;

use super::checksummed_file::ChecksummedFile;
use super::manifest::{ManifestFile, checksum_text};
use super::output_target::TempFiles;
use super::pending_tombstones::{PendingTombstone, PendingTombstones};
use super::{shown, without_timestamp};
use crate::error::{Error, Result};

/// What all tables of a set have in common.
#[derive(Clone, Debug)]
pub(crate) struct SetOptions {
    /// With the comparator set to the one below.
    pub(crate) table: TableOptions,
    pub(crate) comparator: Comparator,
    /// About where a table ends; `None` for one table.
    pub(crate) max_file_size: Option<u64>,
}

/// A table that is written and synced, still under its temporary name.
#[derive(Debug)]
pub(crate) struct FinishedTable {
    pub(crate) path: TempPath,
    /// Nameless yet.
    pub(crate) file: ManifestFile,
}

/// Tables in the making, one after the other.
#[derive(Debug)]
pub(crate) struct TableSet {
    workshop: TempFiles,
    options: SetOptions,
    numbers: FileNumbers,
    ranges: PendingTombstones,
    current: Option<OpenTable>,
    finished: Vec<FinishedTable>,
}

/// The numbers of the tables of a set, all different from those of the other sets of the build:
/// with three sets 0, 3, 6, …, then 1, 4, 7, …, then 2, 5, 8, …
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileNumbers {
    pub(crate) set: u64,
    pub(crate) sets: u64,
}

impl FileNumbers {
    /// For a build of one set.
    pub(crate) const ALL: Self = Self { set: 0, sets: 1 };

    /// That of the table after so many.
    fn nth(self, before: usize) -> u64 {
        self.set + self.sets * before as u64
    }
}

struct OpenTable {
    writer: TableWriter<'static>,
    file: ChecksummedFile,
    path: TempPath,
    /// The size when it last grew, and bytes of entries since.
    seen: u64,
    since: u64,
    bounds: Bounds,
}

/// The keys of a table, without timestamps.
#[derive(Debug, Default)]
struct Bounds {
    points: bool,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    exclusive: bool,
}

impl TableSet {
    /// Range deletions go to the tables whose keys they are about.
    pub(crate) fn new(
        workshop: TempFiles,
        options: SetOptions,
        numbers: FileNumbers,
        ranges: PendingTombstones,
    ) -> Self {
        Self { workshop, options, numbers, ranges, current: None, finished: Vec::new() }
    }

    /// The number of the next table, or of the open one.
    fn next_number(&self) -> u64 {
        self.numbers.nth(self.finished.len())
    }

    pub(crate) fn comparator(&self) -> &Comparator {
        &self.options.comparator
    }

    /// Adds a range deletion. It must not be about keys of tables that are finished.
    pub(crate) fn add_range(&mut self, range: PendingTombstone) -> Result<()> {
        let first = self.current.as_ref().map(|table| &table.bounds.smallest);
        if let Some(first) = first.filter(|_| !self.finished.is_empty())
            && self.options.comparator.compare_without_timestamp(&range.start, first).is_lt()
        {
            return Err(Error::invalid_input(format!(
                "the range tombstone at {} belongs in a table that is already finished",
                shown(&range.start)
            )));
        }
        self.ranges.insert(range, &self.options.comparator);
        Ok(())
    }

    /// Adds a point, which comes after all before it.
    pub(crate) fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        let bare = without_timestamp(key.user_key, self.options.comparator.timestamp_size());
        if self.is_full() && self.is_another(bare) {
            self.end(Some(bare))?;
        }
        let number = self.next_number();
        let table = match &mut self.current {
            Some(table) => table,
            none => none.insert(OpenTable::create(&self.workshop, &self.options, number)?),
        };
        table.writer.add(key, value)?;
        table.since += (key.user_key.len() + InternalKey::TAIL_LENGTH + value.len()) as u64;
        table.bounds.point(bare);
        Ok(())
    }

    /// Whether the open table has come to its size. What has not come to the file yet counts as it
    /// is, not as small as compression may make it.
    fn is_full(&mut self) -> bool {
        let (Some(limit), Some(table)) = (self.options.max_file_size, &mut self.current) else {
            return false;
        };
        let size = table.file.size();
        if size != table.seen {
            (table.seen, table.since) = (size, 0);
        }
        size + table.since >= limit
    }

    /// Versions of one user key stay in one table.
    fn is_another(&self, bare: &[u8]) -> bool {
        let last = self.current.as_ref().map(|table| &table.bounds);
        last.is_some_and(|bounds| {
            self.options.comparator.compare_without_timestamp(&bounds.largest, bare).is_ne()
        })
    }

    /// Ends the open table before the key `next`.
    fn end(&mut self, next: Option<&[u8]>) -> Result<()> {
        let SetOptions { comparator, .. } = &self.options;
        let ranges = self.ranges.take_before(next, comparator);
        let current = match self.current.take() {
            Some(table) => Some(table),
            None if ranges.is_empty() => None,
            None => Some(OpenTable::create(&self.workshop, &self.options, self.next_number())?),
        };
        if let Some(mut table) = current {
            for range in &ranges {
                table.add_range(range, comparator)?;
            }
            self.finished.push(table.finish()?);
        }
        Ok(())
    }

    /// Writes what is left. Where one file is wanted, there is one, even without entries, if the
    /// engine has such.
    pub(crate) fn finish(mut self) -> Result<Vec<FinishedTable>> {
        let nothing = self.current.is_none() && self.ranges.is_empty();
        if nothing && self.finished.is_empty() && self.workshop.one_file {
            self.current =
                Some(OpenTable::create(&self.workshop, &self.options, self.next_number())?);
        }
        self.end(None)?;
        Ok(self.finished)
    }
}

impl OpenTable {
    fn create(workshop: &TempFiles, options: &SetOptions, number: u64) -> Result<Self> {
        let (file, path) = workshop.create()?;
        let file = ChecksummedFile::new(file);
        let writer = TableWriter::to_sink(file.clone(), &options.table.clone().numbered(number))?;
        Ok(Self { writer, file, path, seen: 0, since: 0, bounds: Bounds::default() })
    }

    fn add_range(&mut self, range: &PendingTombstone, comparator: &Comparator) -> Result<()> {
        let PendingTombstone { start, end, sequence, timestamp } = range;
        let (begin, until) = ([&start[..], timestamp].concat(), [&end[..], timestamp].concat());
        let kind = EntryKind::RangeDeletion;
        let key = InternalKey { user_key: &begin, sequence: *sequence, kind };
        self.writer.add(&key, &until)?;
        self.bounds.range(start, end, comparator);
        Ok(())
    }

    fn finish(self) -> Result<FinishedTable> {
        let summary = self.writer.finish()?;
        let failed = |error: std::io::Error| Error::from(error).in_file(self.path.to_path_buf());
        let crc = self.file.sync().map_err(failed)?;
        let file = ManifestFile {
            name: String::new(),
            smallest: self.bounds.smallest,
            largest: self.bounds.largest,
            largest_is_exclusive: self.bounds.exclusive,
            entries: summary.num_entries,
            range_deletions: summary.num_range_deletions,
            bytes: summary.file_size,
            checksum: checksum_text(crc),
        };
        Ok(FinishedTable { path: self.path, file })
    }
}

impl Bounds {
    /// Points come in order.
    fn point(&mut self, bare: &[u8]) {
        if !self.points {
            self.points = true;
            self.smallest = bare.to_vec();
        }
        self.largest.clear();
        self.largest.extend_from_slice(bare);
    }

    /// Range deletions come in any order, after the points.
    fn range(&mut self, start: &[u8], end: &[u8], comparator: &Comparator) {
        let compare = |a: &[u8], b: &[u8]| comparator.compare_without_timestamp(a, b);
        let first = !self.points && !self.exclusive;
        if first || compare(start, &self.smallest).is_lt() {
            self.smallest = start.to_vec();
        }
        if first || compare(end, &self.largest).is_gt() {
            self.largest = end.to_vec();
            self.exclusive = true;
        }
    }
}

impl std::fmt::Debug for OpenTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenTable").field("path", &self.path).finish_non_exhaustive()
    }
}
