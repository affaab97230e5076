//! Merges tables into new, non-overlapping ones.
//!
//! ```text
//! inputs ---> MergingIterator ---> versions of a key ---> TableSet ---> commit
//! tables,     newest               which of them          files         names, manifest.json
//! levels,     first                to keep
//! memtable        (each part of the key range on its own thread)
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `compaction_options.rs`, `summary.rs` | options; statistics |
//! | `input.rs`, `live.rs` | inputs and their cursors; levels of a database |
//! | `clip.rs` | the keys to keep, and range tombstones cut to them |
//! | `coverage.rs` | range deletions: the points they cover, and their remaining fragments |
//! | `retained_versions.rs`, `values.rs` | which versions of a key to keep; their values |
//! | `compaction_filter.rs` | values that the caller drops or changes |
//! | `compaction_output.rs` | outputs other than files |
//! | `part.rs` | one part of the key range, from inputs to tables |
//! | `split.rs` | splitting the key range into parts |
//! | `boundaries.rs` | checks that the parts meet in each input |
//! | `blob_files.rs` | blob files that are taken over |
//! | `levels.rs` | rewriting each level on its own |

mod blob_files;
mod boundaries;
mod clip;
mod compaction_filter;
mod compaction_options;
mod compaction_output;
mod coverage;
mod input;
mod levels;
mod live;
mod part;
mod retained_versions;
mod split;
mod summary;
mod values;

use std::path::Path;
use std::sync::Arc;
use std::thread;

use sstkit_filter::Destination;
use sstkit_table::raw::Engine;
use sstkit_table::visibility::Recency;
use sstkit_table::{Comparator, MergeOperator, RangeTombstone, Table};

use self::blob_files::take_over;
use self::clip::Clip;
use self::coverage::Coverage;
use self::input::Input;
use self::part::{Merged, Part, PartOutput, Shared};
use crate::bulk_manifest::BulkManifest;
use crate::database_writer::{DatabaseWriter, LiveBlobs};
use crate::error::{Error, Result};
use crate::output::{
    self, FileNumbers, FinishedTable, OutputTarget, PendingTombstones, Phase, Reporter, SetOptions,
    TableSet, TempFiles,
};

pub use self::compaction_filter::{CompactionDecision, CompactionFilter};
pub use self::compaction_options::{CompactionOptions, SequenceNumbers};
pub use self::compaction_output::CompactionOutput;
pub use self::levels::{LevelSummary, LevelsSummary};
pub use self::summary::{CompactionCounts, CompactionSummary};

/// Merges tables into new, non-overlapping ones. Keeps the newest version of each key.
///
/// ```
/// use sstkit_db::{Compaction, CompactionOptions};
/// use sstkit_table::{Table, TableOptions, TableWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let (old, new, merged) = ("old.sst", "new.sst", "merged.sst").map_paths(&folder);
/// let mut writer = TableWriter::create(&old, &TableOptions::rocksdb())?;
/// writer.put(b"alice", b"1")?;
/// writer.put(b"bob", b"2")?;
/// writer.finish()?;
/// let mut writer = TableWriter::create(&new, &TableOptions::rocksdb())?;
/// writer.delete(b"bob")?;
/// writer.finish()?;
///
/// let options = CompactionOptions::new(TableOptions::rocksdb()).bottommost(true);
/// let mut compaction = Compaction::new(&options);
/// compaction.add_table(&Table::open(&old)?)?.add_table(&Table::open(&new)?)?;
/// let summary = compaction.run(&merged)?;
/// assert_eq!(summary.counts.entries_out, 1);
/// assert_eq!(Table::open(&merged)?.get(b"alice")?.unwrap(), b"1");
/// # trait MapPaths { fn map_paths(self, folder: &tempfile::TempDir) -> (std::path::PathBuf, std::path::PathBuf, std::path::PathBuf); }
/// # impl MapPaths for (&str, &str, &str) {
/// #     fn map_paths(self, folder: &tempfile::TempDir) -> (std::path::PathBuf, std::path::PathBuf, std::path::PathBuf) {
/// #         (folder.path().join(self.0), folder.path().join(self.1), folder.path().join(self.2))
/// #     }
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The version with the largest sequence number is the newest; if these are equal, the one from the
/// table added last, as if the tables had been ingested in this order. For a single column family,
/// the newer source takes precedence; see [`add_column_family`](Self::add_column_family).
///
/// Builds new filters, for the level of the new tables. Values in blob files become inline values,
/// unless [the blob files are kept](CompactionOptions::keep_blob_files). Merge operands are combined if the operator and the older values are known; otherwise they are
/// kept.
///
/// Memory: a block and a read-ahead buffer for each input, the range deletions, the versions of one
/// key, and the table writer, times the number of threads; see
/// [`memory`](CompactionOptions::memory).
///
/// With a [maximum file size](CompactionOptions::max_file_size) or
/// [keys to split at](CompactionOptions::split_at), the output is a directory with a `manifest.json`
/// (see [`BulkManifest`]). The output appears only when it is
/// complete and synced; after an error nothing is left behind.
pub struct Compaction {
    options: CompactionOptions,
    /// Oldest first.
    inputs: Vec<Input>,
    comparator: Option<Comparator>,
    operator: Option<Arc<dyn MergeOperator>>,
    operator_name: Option<String>,
    /// The same write may be in several inputs: without a MANIFEST, obsolete tables are included.
    repeats_writes: bool,
    recency: Recency,
}

/// The tables of all parts, under their temporary names.
struct MergeOutput {
    tables: Vec<FinishedTable>,
    set_options: SetOptions,
    counts: CompactionCounts,
    live_blobs: LiveBlobs,
    parts: usize,
}

/// What all parts of a compaction share, except for the inputs.
struct Scope {
    comparator: Comparator,
    clip: Clip,
    coverage: Coverage,
    /// The range tombstones to write.
    ranges: Vec<RangeTombstone>,
    progress: Reporter,
}

impl Compaction {
    /// A compaction without inputs.
    pub fn new(options: &CompactionOptions) -> Self {
        Self {
            options: options.clone(),
            inputs: Vec::new(),
            comparator: options.comparator.clone(),
            operator: options.merge_operator.clone(),
            operator_name: None,
            repeats_writes: false,
            recency: Recency::BySequence,
        }
    }

    /// Adds a table. It is newer than those added before, if sequence numbers are equal.
    ///
    /// # Errors
    ///
    /// Fails if its comparator is unknown, or differs from that of the other inputs.
    pub fn add_table(&mut self, table: &Table) -> Result<&mut Self> {
        let comparator = match &self.options.comparator {
            // A given comparator takes precedence over a table that names none.
            Some(comparator) if table.comparator().is_err() => comparator.clone(),
            _ => table.comparator()?.clone(),
        };
        self.agree(&comparator)?;
        if self.operator_name.is_none() {
            let name = sstkit_table::raw::property_names::MERGE_OPERATOR;
            let name = table.properties().get(name).filter(|name| *name != b"nullptr");
            self.operator_name = name.map(|name| name.escape_ascii().to_string());
        }
        self.inputs.push(Input::table(table));
        self.recency = Recency::BySequence;
        Ok(self)
    }

    /// Requires the same comparator for all inputs.
    fn agree(&mut self, comparator: &Comparator) -> Result<()> {
        match &self.comparator {
            // An order that was given without the name that the inputs have for it.
            Some(ours)
                if self.options.comparator.as_ref() == Some(ours) && comparator.order() == ours =>
            {
                self.comparator = Some(comparator.clone());
                Ok(())
            }
            Some(ours) if ours != comparator => Err(Error::invalid_input(format!(
                "cannot merge tables with different comparators ({comparator} and {ours})"
            ))),
            Some(_) => Ok(()),
            none => {
                debug_assert!(none.is_none());
                self.comparator = Some(comparator.clone());
                Ok(())
            }
        }
    }

    /// Merges all inputs into the file `path` or, with a maximum file size or keys to split at, into
    /// the directory `path`.
    ///
    /// # Errors
    ///
    /// Fails if a read or write fails, if settings contradict each other, if values are not
    /// available (in blob files of a database, for single tables), or if operands cannot be merged.
    /// If only the last step fails, which syncs the directory, the error says that the tables are
    /// in place.
    pub fn run(&self, path: impl AsRef<Path>) -> Result<CompactionSummary> {
        let (options, path) = (&self.options, path.as_ref());
        options.check()?;
        if options.keep_blob_files {
            return Err(Error::invalid_input("keep_blob_files: only a database has blob files"));
        }
        let target = match options.is_folder() {
            true => OutputTarget::folder(path, &options.extension, options.replace)?,
            false => OutputTarget::file(path, options.replace)?,
        };
        let mut merged = self.merge(&target.temp_files()?, Ok)?;
        let tables = std::mem::take(&mut merged.tables);
        let manifest = output::commit(target, tables, &merged.set_options, |_| {})?;
        Ok(self.summary(merged, manifest))
    }

    /// Merges all inputs, and gives the entries to `output` instead of writing files: to a
    /// [`TableWriter`](sstkit_table::TableWriter) over any sink, or to an implementation of the caller's.
    ///
    /// ```
    /// use sstkit_db::{Compaction, CompactionOptions, SequenceNumbers};
    /// use sstkit_table::{Table, TableOptions, TableWriter};
    ///
    /// let table = |entries: &[(&[u8], &[u8])]| -> sstkit_db::Result<Table> {
    ///     let mut writer = TableWriter::to_sink(Vec::new(), &TableOptions::rocksdb())?;
    ///     for (key, value) in entries {
    ///         writer.put(key, value)?;
    ///     }
    ///     Table::from_bytes(writer.finish_sink()?.1)
    /// };
    /// let options = CompactionOptions::new(TableOptions::rocksdb())
    ///     .bottommost(true)
    ///     .sequence_numbers(SequenceNumbers::Zero);
    /// let mut compaction = Compaction::new(&options);
    /// compaction.add_table(&table(&[(b"a", b"1"), (b"b", b"2")])?)?;
    /// compaction.add_table(&table(&[(b"b", b"3")])?)?;
    ///
    /// let mut writer = TableWriter::to_sink(Vec::new(), &TableOptions::rocksdb())?;
    /// let counts = compaction.run_to(&mut writer)?;
    /// let (_, bytes) = writer.finish_sink()?; // or a socket, an upload, a pipe
    /// assert_eq!(counts.entries_out, 2);
    /// assert_eq!(Table::from_bytes(bytes)?.get(b"b")?.unwrap(), b"3");
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    ///
    /// The options of tables, and of files and threads, have no effect.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run), and of the output.
    pub fn run_to(&self, output: &mut dyn CompactionOutput) -> Result<CompactionCounts> {
        self.options.check()?;
        if self.options.keep_blob_files {
            return Err(Error::invalid_input("keep_blob_files: only a database has blob files"));
        }
        let mut scope = self.scope()?;
        let ranges = std::mem::take(&mut scope.ranges);
        let shared = self.shared(&scope);
        let bounds = scope.clip.part(0, &[]);
        let merged = Part::new(&shared, bounds, PartOutput::Caller(&mut *output)).run()?;
        boundaries::check(&self.inputs, &[], &[merged.extent])?;
        let mut ranges = PendingTombstones::new(ranges, &scope.comparator);
        for range in ranges.take_before(None, &scope.comparator) {
            output.range_tombstone(&range)?;
        }
        scope.progress.report()?;
        Ok(merged.counts)
    }

    /// Merges all inputs into tables of a level of a new database. Nothing is lost if the level is
    /// that of the inputs, or if these are all that the column family contains.
    ///
    /// ```
    /// use sstkit_db::{Compaction, CompactionOptions, Database};
    /// use sstkit_db::{DatabaseWriter, DatabaseWriterOptions};
    /// use sstkit_table::{Table, TableOptions, TableWriter};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (table, target) = (folder.path().join("users.sst"), folder.path().join("mydb"));
    /// let mut writer = TableWriter::create(&table, &TableOptions::rocksdb())?;
    /// writer.put(b"alice", b"1")?;
    /// writer.finish()?;
    ///
    /// let options = CompactionOptions::new(TableOptions::rocksdb()).bottommost(true);
    /// let mut compaction = Compaction::new(&options);
    /// compaction.add_table(&Table::open(&table)?)?;
    /// let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::rocksdb())?;
    /// compaction.run_into(&mut writer, 0, 6)?;
    /// writer.finish()?;
    /// assert_eq!(Database::open(&target)?.get(b"alice")?.unwrap(), b"1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run); a column family with another comparator.
    pub fn run_into(
        &self,
        writer: &mut DatabaseWriter,
        column_family: u32,
        level: u32,
    ) -> Result<CompactionSummary> {
        let (mut summary, live_blobs) = self.merge_into(writer, column_family, level)?;
        let mut families = self.inputs.iter().filter_map(Input::family);
        if let Some(family) = families.next() {
            if self.options.keep_blob_files && !families.all(|other| Arc::ptr_eq(other, family)) {
                let what = "keep_blob_files: blob files of several databases cannot be taken over";
                return Err(Error::invalid_input(what));
            }
            summary.blob_files = take_over(&live_blobs, family, writer, column_family)?;
        }
        Ok(summary)
    }

    /// The same, without the blob files.
    fn merge_into(
        &self,
        writer: &mut DatabaseWriter,
        column_family: u32,
        level: u32,
    ) -> Result<(CompactionSummary, LiveBlobs)> {
        self.options.check()?;
        let comparator = self.comparator.clone().unwrap_or_default();
        writer.check_comparator(column_family, &comparator)?;
        let temp_files = OutputTarget::database(writer.working_folder()).temp_files()?;
        let mut merged = self.merge(&temp_files, |mut set| {
            let table = match set.table.engine() {
                Engine::RocksDb => set.table.destination(Destination::Level(level)),
                Engine::LevelDb => set.table,
            };
            set.table = writer.table_options(column_family, &table)?;
            Ok(set)
        })?;
        let tables = std::mem::take(&mut merged.tables);
        let live_blobs = std::mem::take(&mut merged.live_blobs);
        let set_options = &merged.set_options;
        let manifest = output::add_to_database(writer, column_family, level, tables, set_options)?;
        Ok((self.summary(merged, manifest), live_blobs))
    }

    /// Writes the tables, with the settings that `prepare` makes of those of the options.
    fn merge(
        &self,
        temp_files: &TempFiles,
        prepare: impl FnOnce(SetOptions) -> Result<SetOptions>,
    ) -> Result<MergeOutput> {
        let options = &self.options;
        let mut scope = self.scope()?;
        let ranges = std::mem::take(&mut scope.ranges);
        let Scope { comparator, clip, progress, .. } = &scope;
        let shared = self.shared(&scope);
        let parts = options.parts(self.inputs.len());
        let starts = match options.max_file_size {
            Some(_) => split::split(&self.inputs, comparator, parts, clip)?,
            None => Vec::new(),
        };
        let parts = starts.len() + 1;
        let (mut tables, mut extents) = (Vec::new(), Vec::new());
        let mut counts = CompactionCounts::default();
        let mut live_blobs = LiveBlobs::default();
        let named = self.operator.as_ref().map(|operator| operator.name());
        let operator = named.or(self.operator_name.as_deref());
        let set_options = prepare(options.set_options(comparator, parts, operator))?;
        for done in run_parts(&shared, &starts, ranges, temp_files, &set_options) {
            let part = done?;
            for table in part.tables.iter().filter(|_| options.keep_blob_files) {
                live_blobs.append(&table.live_blobs);
            }
            tables.extend(part.tables);
            counts += part.counts;
            extents.push(part.extent);
        }
        boundaries::check(&self.inputs, &starts, &extents)?;
        progress.report()?;
        Ok(MergeOutput { tables, set_options, counts, live_blobs, parts })
    }

    /// What all parts share, except for the inputs.
    fn scope(&self) -> Result<Scope> {
        let options = &self.options;
        let comparator = self.comparator.clone().unwrap_or_default();
        let clip = Clip::new(options, &comparator)?;
        let (coverage, ranges) = self.ranges(&comparator)?;
        let ranges = clip.cut(ranges, &comparator)?;
        // How many entries are within the bounds is not known.
        let total = self.entries().filter(|_| clip.is_everything());
        let progress = Reporter::new(options.progress.clone(), Phase::Writing, total);
        Ok(Scope { comparator, clip, coverage, ranges, progress })
    }

    fn shared<'a>(&'a self, scope: &'a Scope) -> Shared<'a> {
        Shared {
            options: &self.options,
            comparator: &scope.comparator,
            operator: self.operator.clone(),
            operator_name: self.operator_name.clone(),
            inputs: &self.inputs,
            repeats_writes: self.repeats_writes,
            recency: self.recency,
            coverage: &scope.coverage,
            clip: &scope.clip,
            progress: &scope.progress,
        }
    }

    fn summary(&self, merged: MergeOutput, manifest: BulkManifest) -> CompactionSummary {
        CompactionSummary {
            manifest,
            bytes_in: self.inputs.iter().map(|input| input.size).sum(),
            range_deletions_in: self.inputs.iter().map(|input| input.ranges.len() as u64).sum(),
            counts: merged.counts,
            blob_files: 0,
            parts: merged.parts,
        }
    }

    /// The coverage of points by range tombstones, and the range tombstones to write.
    fn ranges(&self, comparator: &Comparator) -> Result<(Coverage, Vec<RangeTombstone>)> {
        let options = &self.options;
        let all = || self.inputs.iter().flat_map(|input| &input.ranges);
        if comparator.timestamp_size() > 0 || options.keep_versions {
            let zero = options.sequence_numbers == SequenceNumbers::Zero;
            if zero && all().next().is_some() {
                return Err(Error::unsupported(
                    "range tombstones with timestamps need their sequence numbers: with \
                     sequence_numbers = Zero deleted keys would reappear",
                ));
            }
            let coverage = Coverage::new(&self.inputs, comparator, self.recency, false);
            return Ok((coverage, all().cloned().collect()));
        }
        let coverage = Coverage::new(&self.inputs, comparator, self.recency, true);
        let mut kept = if options.bottommost { Vec::new() } else { coverage.ranges() };
        if options.sequence_numbers == SequenceNumbers::Zero {
            kept.iter_mut().for_each(|range| range.sequence = 0);
        }
        Ok((coverage, kept))
    }

    /// The number of point entries in all inputs, if known.
    fn entries(&self) -> Option<u64> {
        self.inputs.iter().map(|input| input.entries).sum()
    }
}

/// Merges all parts, each on its own thread, and returns their results in order.
fn run_parts(
    shared: &Shared<'_>,
    starts: &[Vec<u8>],
    ranges: Vec<RangeTombstone>,
    temp_files: &TempFiles,
    options: &SetOptions,
) -> Vec<Result<Merged>> {
    let parts = starts.len() + 1;
    let mut pending = PendingTombstones::new(ranges, shared.comparator);
    let mut merge = |part: usize| {
        let end = starts.get(part).map(Vec::as_slice);
        let ranges = pending.take_before(end, shared.comparator);
        let ranges = PendingTombstones::new(ranges, shared.comparator);
        let numbers = FileNumbers { set: part as u64, sets: parts as u64 };
        let set = TableSet::new(temp_files.clone(), options.clone(), numbers, ranges);
        let bounds = shared.clip.part(part, starts);
        move || Part::new(shared, bounds, PartOutput::Tables(Box::new(set))).run()
    };
    if parts == 1 {
        return vec![merge(0)()];
    }
    thread::scope(|scope| {
        let threads: Vec<_> = (0..parts).map(|part| scope.spawn(merge(part))).collect();
        let gone = || Error::from(std::io::Error::other("a merge thread panicked"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(gone()))).collect()
    })
}

impl std::fmt::Debug for Compaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compaction")
            .field("options", &self.options)
            .field("inputs", &self.inputs.len())
            .finish_non_exhaustive()
    }
}
