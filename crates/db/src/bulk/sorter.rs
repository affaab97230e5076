//! Sorts more entries than fit in memory.
//!
//! ```text
//! entries ---> Arena --- full ---> sort ---> run in the SpillFile      (on another thread, while
//!                                                                       the next arena fills)
//! finish:   no run yet:    the sorted arena is everything
//!           few runs:      merge them
//!           too many:      merge groups of them into longer runs first, until they are few
//! ```
//!
//! # Memory
//!
//! Part of the memory limit is reserved for buffers and the rest of the process. The rest is for
//! the arenas while entries arrive (two of them with threads), and for the buffers of the runs and
//! the table writer during the merge.

use std::ops::Range;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use super::arena::{Arena, MAX_ARENA, RawEntry};
use super::key_prefix::KeyPrefix;
use super::run_merge::RunMerge;
use super::spill::SpillFile;
use super::uniqueness::Uniqueness;
use super::{BulkOptions, Duplicates};
use crate::error::{Error, Result};
use crate::output::{Phase, Reporter};

/// Reserved for buffers and the rest of the process, if that leaves most of the limit.
const RESERVE: usize = 16 << 20;

/// The minimum size of a read from a run, for disk throughput.
const MIN_READ: usize = 64 << 10;
/// The maximum: longer reads are no faster.
const MAX_READ: usize = 4 << 20;

/// The minimum size of an arena.
const MIN_ARENA: usize = 4 << 10;

/// Sorts more entries than fit in memory.
#[derive(Debug)]
pub(super) struct Sorter {
    order: KeyPrefix,
    duplicates: Duplicates,
    temp_dir: PathBuf,
    arena_size: usize,
    /// The size of all buffers while runs are merged.
    merge_memory: usize,
    in_background: bool,
    arena: Arena,
    spill: Spill,
    entries: u64,
}

/// The runs, or the thread that is adding one.
#[derive(Debug)]
enum Spill {
    None,
    Here(Box<SpillFile>),
    /// A thread is adding a run to them.
    Busy(JoinHandle<Result<Box<SpillFile>>>),
}

/// All entries in order; of several with the same key, the one to keep comes first.
pub(super) struct Sorted {
    order: KeyPrefix,
    entries: SortedEntries,
    pub(super) statistics: SortStatistics,
}

enum SortedEntries {
    InMemory(Arena),
    /// The file, and the size of reads.
    Runs(Box<SpillFile>, usize),
}

impl Sorted {
    pub(super) fn for_each(
        self,
        duplicates: Duplicates,
        mut visit: impl FnMut(&RawEntry<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.entries {
            SortedEntries::InMemory(arena) => arena.iter().try_for_each(|entry| visit(&entry)),
            SortedEntries::Runs(file, read) => {
                let mut merge = merge(&file, &file.runs, read, &self.order, duplicates)?;
                while let Some(entry) = merge.entry() {
                    visit(&entry)?;
                    merge.next()?;
                }
                Ok(())
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SortStatistics {
    pub(super) runs: u64,
    pub(super) spilled_bytes: u64,
    pub(super) merge_passes: u64,
}

impl Sorter {
    pub(super) fn new(options: &BulkOptions, temp_dir: PathBuf) -> Self {
        let in_background = options.threads > 1;
        let usable = options.memory - RESERVE.min(options.memory / 8);
        let arena_size = if in_background { usable / 2 } else { usable };
        let arena_size = arena_size.clamp(MIN_ARENA, MAX_ARENA);
        Self {
            order: KeyPrefix::new(options.comparator.clone()),
            duplicates: options.duplicates,
            temp_dir,
            arena_size,
            // The rest is for the table writer.
            merge_memory: usable / 2,
            in_background,
            arena: Arena::with_capacity(arena_size),
            spill: Spill::None,
            entries: 0,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, entry: &RawEntry<'_>) -> Result<()> {
        let full = self.arena.footprint() + entry.footprint() > self.arena_size;
        if (full && self.arena.len() > 0) || !self.arena.has_place(entry) {
            self.spill()?;
        }
        self.order.note(entry.key);
        self.arena.push(entry, &self.order);
        self.entries += 1;
        Ok(())
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Writes the arena as a run.
    fn spill(&mut self) -> Result<()> {
        let file = match std::mem::replace(&mut self.spill, Spill::None) {
            Spill::None => Box::new(SpillFile::create(&self.temp_dir)?),
            Spill::Here(file) => file,
            Spill::Busy(thread) => join(thread)?,
        };
        let arena = std::mem::take(&mut self.arena);
        let (order, duplicates) = (self.order.clone(), self.duplicates);
        let work = move || write_run(file, arena, &order, duplicates);
        self.spill = match self.in_background {
            true => Spill::Busy(thread::Builder::new().name("sst sort".into()).spawn(work)?),
            false => Spill::Here(work()?),
        };
        self.arena = Arena::with_capacity(self.arena_size);
        Ok(())
    }

    /// Ends the input: all entries in order, in memory or in few enough runs.
    pub(super) fn finish(mut self, options: &BulkOptions) -> Result<Sorted> {
        if matches!(self.spill, Spill::None) {
            self.arena.sort(&self.order, self.duplicates);
            let (order, entries) = (self.order, SortedEntries::InMemory(self.arena));
            return Ok(Sorted { order, entries, statistics: SortStatistics::default() });
        }
        if self.arena.len() > 0 {
            self.spill()?;
        }
        self.arena = Arena::default();
        let mut file = match std::mem::replace(&mut self.spill, Spill::None) {
            Spill::Busy(thread) => join(thread)?,
            Spill::Here(file) => file,
            Spill::None => Box::new(SpillFile::create(&self.temp_dir)?),
        };
        let mut statistics = SortStatistics {
            runs: file.runs.len() as u64,
            spilled_bytes: file.size(),
            merge_passes: 0,
        };
        let fan_in = (self.merge_memory / MIN_READ).max(2);
        while file.runs.len() > fan_in {
            let progress =
                Reporter::new(options.progress.clone(), Phase::Merging, Some(self.entries));
            *file = self.merge_groups(&file, fan_in, &progress)?;
            statistics.merge_passes += 1;
            statistics.spilled_bytes += file.size();
        }
        let read = read_size(self.merge_memory, file.runs.len());
        let entries = SortedEntries::Runs(file, read);
        Ok(Sorted { order: self.order, entries, statistics })
    }

    fn merge_groups(
        &self,
        file: &SpillFile,
        fan_in: usize,
        progress: &Reporter,
    ) -> Result<SpillFile> {
        let read = read_size(self.merge_memory, fan_in);
        let mut longer = SpillFile::create(&self.temp_dir)?;
        for runs in file.runs.chunks(fan_in) {
            let mut merge = merge(file, runs, read, &self.order, self.duplicates)?;
            let mut unique = Uniqueness::new(self.order.comparator(), self.duplicates);
            while let Some(entry) = merge.entry() {
                if unique.admits(&entry)? {
                    longer.add(&entry)?;
                }
                progress.step()?;
                merge.next()?;
            }
            longer.end_run()?;
        }
        progress.report()?;
        Ok(longer)
    }
}

/// The size of reads for this number of runs.
fn read_size(memory: usize, runs: usize) -> usize {
    (memory / runs.max(1)).clamp(MIN_READ.min(memory / 2), MAX_READ)
}

/// Runs as one sequence. Of several entries with the same key, the one to keep comes first.
fn merge<'o>(
    file: &SpillFile,
    runs: &[Range<u64>],
    read: usize,
    order: &'o KeyPrefix,
    duplicates: Duplicates,
) -> Result<RunMerge<'o>> {
    let mut readers: Vec<_> = runs.iter().map(|run| file.reader(run.clone(), read)).collect();
    if duplicates == Duplicates::Last {
        readers.reverse();
    }
    RunMerge::new(readers, order)
}

fn write_run(
    mut file: Box<SpillFile>,
    mut arena: Arena,
    order: &KeyPrefix,
    duplicates: Duplicates,
) -> Result<Box<SpillFile>> {
    arena.sort(order, duplicates);
    let mut unique = Uniqueness::new(order.comparator(), duplicates);
    for entry in arena.iter() {
        if unique.admits(&entry)? {
            file.add(&entry)?;
        }
    }
    file.end_run()?;
    Ok(file)
}

fn join(thread: JoinHandle<Result<Box<SpillFile>>>) -> Result<Box<SpillFile>> {
    let gone = || Error::from(std::io::Error::other("a sort thread panicked"));
    thread.join().map_err(|_| gone())?
}
