//! Writes one attempt at a part.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;

use sstkit_coding::{setters, with_defaults};
use sstkit_table::KeyExcerpt;
use sstkit_table::raw::EntryKind;

use super::attempts::attempt_folder;
use super::plan::Plan;
use crate::bulk::{BulkBuilder, BulkOptions, DEFAULT_MEMORY};
use crate::bulk_manifest::BulkManifest;
use crate::error::{Error, Result};
use crate::output::{Progress, without_timestamp};

with_defaults! {
    /// How an attempt works: settings that do not change its tables.
    #[derive(Clone, Debug)]
    pub struct PartOptions {
        sorted: bool = true,
        memory: usize = DEFAULT_MEMORY,
        threads: usize = 1,
    }
}

setters! {
    impl PartOptions:

    /// Whether entries arrive sorted. Default: yes. Otherwise they are sorted in bounded memory.
    pub fn sorted(mut self, sorted: bool) { self.sorted = sorted; }

    /// Memory in bytes for sorting. Default: [`DEFAULT_MEMORY`](crate::DEFAULT_MEMORY).
    pub fn memory(mut self, bytes: usize) { self.memory = bytes; }

    /// The number of threads. Default: 1.
    pub fn threads(mut self, threads: usize) { self.threads = threads; }
}

/// Writes the entries of one part of a [`Plan`]. See there for an example.
///
/// The attempt appears when it is finished, whole. One that is dropped before leaves nothing behind; a
/// process that is killed leaves a folder with a temporary name, which no commit looks at.
pub struct PartWriter {
    builder: BulkBuilder,
    plan: Plan,
    part: usize,
    attempt: String,
    folder: PathBuf,
    timestamp_size: usize,
    /// A run of keys between two keys of this part is of this part.
    is_sorted: bool,
}

/// A finished attempt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PartSummary {
    /// The number of the part.
    pub part: usize,
    /// The name of the attempt.
    pub attempt: String,
    /// Counts, bounds and checksums.
    pub manifest: BulkManifest,
    /// The folder of its files.
    pub folder: PathBuf,
}

impl PartWriter {
    /// Starts an attempt. Its name, of letters, digits, `-` and `_`, must be one that no other attempt
    /// at this part has: the attempt id of the engine that runs the task, for example.
    ///
    /// # Errors
    ///
    /// Fails if the plan has no such part or is gone, and if there is such an attempt.
    pub fn create(plan: &Plan, part: usize, attempt: &str, options: &PartOptions) -> Result<Self> {
        Self::with_progress(plan, part, attempt, options, |_| ControlFlow::Continue(()))
    }

    /// The same, with a callback for the progress. `Break` stops the work with an error.
    pub fn with_progress(
        plan: &Plan,
        part: usize,
        attempt: &str,
        options: &PartOptions,
        progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        if part >= plan.parts() {
            let what = format!("there is no part {part}: the plan has {}", plan.parts());
            return Err(Error::invalid_input(what));
        }
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if attempt.is_empty() || attempt.len() > 100 || !attempt.bytes().all(is_valid) {
            return Err(Error::invalid_input(format!(
                "the attempt {attempt:?} is not a name of up to 100 letters, digits, - and _"
            )));
        }
        let folder = attempt_folder(plan, part, attempt);
        let bulk = BulkOptions::new(plan.table_options()?)
            .comparator(plan.comparator().clone())
            .max_file_size(Some(plan.max_file_size()))
            .duplicates(plan.duplicates()?)
            .sorted(options.sorted)
            .memory(options.memory)
            .threads(options.threads)
            .progress(progress);
        if folder.exists() {
            let what = format!("there is an attempt {attempt:?} at part {part} already");
            return Err(Error::invalid_input(what).in_file(folder));
        }
        let builder = BulkBuilder::create(&folder, &bulk)?;
        let timestamp_size = plan.comparator().timestamp_size();
        let (plan, attempt) = (plan.clone(), attempt.to_owned());
        let is_sorted = options.sorted;
        Ok(Self { builder, plan, part, attempt, folder, timestamp_size, is_sorted })
    }

    /// Sets a key to a value.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(EntryKind::Value, key, value)
    }

    /// Adds an entry of any type with its value as stored; for a range deletion, that is the end key.
    /// If the comparator has timestamps, key and end key include one.
    ///
    /// # Errors
    ///
    /// Fails for a key of another part, and in the cases of [`BulkBuilder::add`].
    #[inline]
    pub fn add(&mut self, kind: EntryKind, key: &[u8], value: &[u8]) -> Result<()> {
        if !self.contains(key) {
            return Err(self.of_another_part(without_timestamp(key, self.timestamp_size)));
        }
        self.builder.add(kind, key, value)
    }

    /// Sets keys to values, as [`put`](Self::put) does for each of them. Sorted entries of a run are not
    /// copied on their way to the block, and only its first and last key are compared with the bounds
    /// of the part.
    ///
    /// # Errors
    ///
    /// Fails at the first entry that is rejected. Those before it have been added.
    pub fn put_run<'r, I>(&mut self, run: I) -> Result<()>
    where
        I: DoubleEndedIterator<Item = (&'r [u8], &'r [u8])> + Clone,
    {
        let mut ends = run.clone();
        let ends = [ends.next(), ends.next_back()];
        let is_inside = ends.into_iter().flatten().all(|(key, _)| self.contains(key));
        let mut run = run;
        match self.is_sorted && is_inside {
            true => self.builder.put_run(run),
            false => run.try_for_each(|(key, value)| self.put(key, value)),
        }
    }

    /// Whether a key belongs to this part.
    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        let bare = without_timestamp(key, self.timestamp_size);
        let (lower, upper) = self.plan.range(self.part);
        let compare = |other: &[u8]| self.plan.comparator().compare_without_timestamp(bare, other);
        lower.is_none_or(|it| compare(it).is_ge()) && upper.is_none_or(|it| compare(it).is_lt())
    }

    #[cold]
    fn of_another_part(&self, key: &[u8]) -> Error {
        let (part, other) = (self.part, self.plan.part_of(key));
        Error::invalid_input(format!(
            "the key {} belongs to part {other}, not {part}",
            KeyExcerpt(key)
        ))
    }

    /// The number of point entries added so far.
    pub fn entries_added(&self) -> u64 {
        self.builder.entries_added()
    }

    /// Writes what is left, and makes the attempt durable. A part without entries has no tables.
    ///
    /// # Errors
    ///
    /// Fails in the cases of [`BulkBuilder::finish`], and if another attempt of the same name was
    /// finished meanwhile.
    pub fn finish(self) -> Result<PartSummary> {
        let Self { builder, plan, part, attempt, folder, .. } = self;
        let summary = builder.finish_labelled(|manifest| {
            manifest.plan = Some(plan.id().to_owned());
            manifest.part = Some(part as u64);
            manifest.attempt = Some(attempt.clone());
        })?;
        Ok(PartSummary { part, attempt, manifest: summary.manifest, folder })
    }
}

impl fmt::Debug for PartWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartWriter")
            .field("part", &self.part)
            .field("attempt", &self.attempt)
            .field("entries", &self.entries_added())
            .finish_non_exhaustive()
    }
}
