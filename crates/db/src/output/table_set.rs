//! Sorted entries, written to one table after the other.
//!
//! ```text
//! entry --- table full, and a new user key? ---> finish the table: range tombstones up to that
//!   |       or the next key to split at?         key, tail, sync; start the next
//!   '------> TableWriter ---> OutputFile
//! ```

use std::collections::VecDeque;

use sstkit_table::output::FinishedFile;
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{Comparator, KeyExcerpt, RangeTombstone, TableOptions, TableWriter};

use super::output_target::TempFiles;
use super::pending_tombstones::PendingTombstones;
use super::without_timestamp;
use crate::bulk_manifest::{ManifestFile, checksum_text};
use crate::database_writer::{LiveBlobs, TableBounds};
use crate::error::{Error, Result};
use crate::raw::FileMetaData;

/// The settings that all tables of a set share.
#[derive(Clone, Debug)]
pub(crate) struct SetOptions {
    /// With the comparator set to the one below.
    pub(crate) table: TableOptions,
    pub(crate) comparator: Comparator,
    /// Approximate size of a table; `None` for one table.
    pub(crate) max_file_size: Option<u64>,
    /// Keys without timestamps, in order, at which tables begin.
    pub(crate) split_at: Vec<Vec<u8>>,
}

/// A table that is written and synced, still under its temporary name.
#[derive(Debug)]
pub(crate) struct FinishedTable {
    pub(crate) file: FinishedFile,
    /// Its name is still empty.
    pub(crate) entry: ManifestFile,
    /// Its number is still 0. `None` for a table without entries.
    pub(crate) metadata: Option<FileMetaData>,
    pub(crate) live_blobs: LiveBlobs,
}

/// Writes tables, one after the other.
#[derive(Debug)]
pub(crate) struct TableSet {
    temp_files: TempFiles,
    options: SetOptions,
    numbers: FileNumbers,
    ranges: PendingTombstones,
    /// Keys to split at, from the next one on.
    splits: VecDeque<Vec<u8>>,
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

    /// The number of the table after `before` others.
    fn nth(self, before: usize) -> u64 {
        self.set + self.sets * before as u64
    }
}

struct OpenTable {
    writer: TableWriter<'static>,
    /// The size of the file when it last grew, and the bytes of entries added since.
    seen: u64,
    since: u64,
    bounds: Bounds,
    /// The last entries were [`put`](Self::put), and are not in the bounds yet.
    bounds_lag: bool,
}

/// The keys of a table, without timestamps.
#[derive(Debug, Default)]
struct Bounds {
    internal: TableBounds,
    points: bool,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    exclusive: bool,
}

impl TableSet {
    /// Range tombstones go to the tables whose keys they cover.
    pub(crate) fn new(
        temp_files: TempFiles,
        options: SetOptions,
        numbers: FileNumbers,
        ranges: PendingTombstones,
    ) -> Self {
        let splits = options.split_at.clone().into();
        Self { temp_files, options, numbers, ranges, splits, current: None, finished: Vec::new() }
    }

    /// The number of the open table, or of the next one.
    fn next_number(&self) -> u64 {
        self.numbers.nth(self.finished.len())
    }

    pub(crate) fn comparator(&self) -> &Comparator {
        &self.options.comparator
    }

    /// Adds a range tombstone. It must not cover keys of tables that are finished.
    pub(crate) fn add_range(&mut self, range: RangeTombstone) -> Result<()> {
        let first = self.current.as_ref().map(|table| &table.bounds.smallest);
        if let Some(first) = first.filter(|_| !self.finished.is_empty())
            && self.options.comparator.compare_without_timestamp(&range.start, first).is_lt()
        {
            return Err(Error::invalid_input(format!(
                "the range tombstone at {} belongs in a table that is already finished",
                KeyExcerpt(&range.start)
            )));
        }
        self.ranges.insert(range, &self.options.comparator);
        Ok(())
    }

    /// Sets a key without a timestamp to a value, in order, with sequence number 0.
    #[inline]
    pub(crate) fn put(&mut self, user_key: &[u8], value: &[u8]) -> Result<()> {
        let limit = self.options.max_file_size;
        if let Some(table) = self.current.as_mut().filter(|_| self.splits.is_empty())
            && !table.is_full(limit)
        {
            return table.put(user_key, value).map_err(|error| self.temp_files.failed(error));
        }
        self.add(&InternalKey { user_key, sequence: 0, kind: EntryKind::Value }, value)
    }

    /// Adds a point entry, in order.
    pub(crate) fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        if let Some(table) = &mut self.current {
            table.update_bounds();
        }
        let bare = without_timestamp(key.user_key, self.options.comparator.timestamp_size());
        while let Some(split) = self.next_split(bare) {
            self.end(Some(&split))?;
        }
        let limit = self.options.max_file_size;
        if self.current.as_mut().is_some_and(|table| table.is_full(limit)) && self.is_another(bare)
        {
            self.end(Some(bare))?;
        }
        let number = self.next_number();
        let table = match &mut self.current {
            Some(table) => table,
            none => none.insert(OpenTable::create(&self.temp_files, &self.options, number)?),
        };
        table.writer.add(key, value).map_err(|error| self.temp_files.failed(error))?;
        table.since += (key.user_key.len() + InternalKey::TAIL_LENGTH + value.len()) as u64;
        table.bounds.point(key, bare);
        table.bounds.internal.blobs(key, value)
    }

    /// The next key to split at, if `bare` is not before it.
    fn next_split(&mut self, bare: &[u8]) -> Option<Vec<u8>> {
        let split = self.splits.front()?;
        match self.options.comparator.compare_without_timestamp(split, bare).is_le() {
            true => self.splits.pop_front(),
            false => None,
        }
    }

    /// Whether `bare` is a new user key: versions of one key stay in one table.
    fn is_another(&self, bare: &[u8]) -> bool {
        let last = self.current.as_ref().map(|table| &table.bounds);
        last.is_some_and(|bounds| {
            self.options.comparator.compare_without_timestamp(&bounds.largest, bare).is_ne()
        })
    }

    /// Finishes the open table before the key `next`.
    fn end(&mut self, next: Option<&[u8]>) -> Result<()> {
        let SetOptions { comparator, .. } = &self.options;
        let ranges = self.ranges.take_before(next, comparator);
        let current = match self.current.take() {
            Some(table) => Some(table),
            None if ranges.is_empty() => None,
            None => Some(OpenTable::create(&self.temp_files, &self.options, self.next_number())?),
        };
        if let Some(mut table) = current {
            table.update_bounds();
            for range in &ranges {
                table.add_range(range, comparator)?;
            }
            let finished = table.finish().map_err(|error| self.temp_files.failed(error))?;
            self.finished.push(finished);
        }
        Ok(())
    }

    /// Finishes the last table. Where one file is wanted, there is one even without entries, if the
    /// engine allows such a table.
    pub(crate) fn finish(mut self) -> Result<Vec<FinishedTable>> {
        let nothing = self.current.is_none() && self.ranges.is_empty();
        if nothing && self.finished.is_empty() && self.temp_files.one_file {
            self.current =
                Some(OpenTable::create(&self.temp_files, &self.options, self.next_number())?);
        }
        // Range tombstones may reach over them.
        while let Some(split) = self.splits.pop_front() {
            self.end(Some(&split))?;
        }
        self.end(None)?;
        Ok(self.finished)
    }
}

impl OpenTable {
    fn create(temp_files: &TempFiles, options: &SetOptions, number: u64) -> Result<Self> {
        let options = options.table.clone().numbered(number);
        let writer = TableWriter::to_output_file(temp_files.create()?, &options)?;
        Ok(Self { writer, seen: 0, since: 0, bounds: Bounds::default(), bounds_lag: false })
    }

    /// Whether the table has reached its size. Entries that are not in the file yet count
    /// uncompressed.
    #[inline]
    fn is_full(&mut self, limit: Option<u64>) -> bool {
        let Some(limit) = limit else { return false };
        let size = self.writer.bytes_written();
        if size != self.seen {
            (self.seen, self.since) = (size, 0);
        }
        size + self.since >= limit
    }

    /// Sets a key to a value. The bounds follow when they are needed: two copies of each key cost as
    /// much as checking its order.
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.writer.put(key, value)?;
        self.since += (key.len() + InternalKey::TAIL_LENGTH + value.len()) as u64;
        self.bounds_lag = true;
        Ok(())
    }

    /// Brings the bounds up to the last key.
    fn update_bounds(&mut self) {
        if std::mem::take(&mut self.bounds_lag) {
            let (user_key, kind) = (self.writer.last_key(), EntryKind::Value);
            self.bounds.point(&InternalKey { user_key, sequence: 0, kind }, user_key);
        }
    }

    fn add_range(&mut self, range: &RangeTombstone, comparator: &Comparator) -> Result<()> {
        write_range_tombstone(&mut self.writer, range)?;
        self.bounds.range(range, comparator);
        Ok(())
    }

    fn finish(self) -> Result<FinishedTable> {
        let (summary, file) = self.writer.finish_output_file()?;
        let sequences = self.bounds.internal.sequences();
        let entry = ManifestFile {
            name: String::new(),
            smallest: self.bounds.smallest,
            largest: self.bounds.largest,
            largest_is_exclusive: self.bounds.exclusive,
            smallest_seq: sequences.map(|(smallest, _)| smallest),
            largest_seq: sequences.map(|(_, largest)| largest),
            entries: summary.num_entries,
            range_deletions: summary.num_range_deletions,
            bytes: summary.file_size,
            checksum: checksum_text(file.crc32c().unwrap_or_default()),
        };
        let live_blobs = self.bounds.internal.live_blobs().clone();
        let metadata = self.bounds.internal.metadata(&summary.properties, summary.file_size);
        Ok(FinishedTable { file, entry, metadata, live_blobs })
    }
}

/// Adds a range tombstone to a table.
pub(crate) fn write_range_tombstone<W>(
    writer: &mut TableWriter<'_, W>,
    range: &RangeTombstone,
) -> Result<()> {
    let RangeTombstone { start, end, sequence, timestamp, .. } = range;
    let (begin, until) = ([&start[..], timestamp].concat(), [&end[..], timestamp].concat());
    let kind = EntryKind::RangeDeletion;
    writer.add(&InternalKey { user_key: &begin, sequence: *sequence, kind }, &until)
}

impl Bounds {
    /// Points are added in order.
    fn point(&mut self, key: &InternalKey<'_>, bare: &[u8]) {
        self.internal.point(key);
        if !self.points {
            self.points = true;
            self.smallest = bare.to_vec();
        }
        self.largest.clear();
        self.largest.extend_from_slice(bare);
    }

    /// Range tombstones are added in any order, after the points.
    fn range(&mut self, range: &RangeTombstone, comparator: &Comparator) {
        self.internal.range(range, comparator);
        let RangeTombstone { start, end, .. } = range;
        let compare = |a: &[u8], b: &[u8]| comparator.compare_without_timestamp(a, b);
        let first = !self.points && !self.exclusive;
        if first || compare(start, &self.smallest).is_lt() {
            self.smallest = start.clone();
        }
        if first || compare(end, &self.largest).is_gt() {
            self.largest = end.clone();
            self.exclusive = true;
        }
    }
}

impl std::fmt::Debug for OpenTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenTable").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}
