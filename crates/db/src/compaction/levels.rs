//! Rewriting a column family with every table in its level.
//!
//! ```text
//! log                          --->  level 0   one table, the newest
//! level 0   [a .... m]         --->  level 0   [a .... m]        each table on its own
//!              [c ..... k]     --->            [c ..... k]
//! level 1   [a . f][g .. p]    --->  level 1   [a ... h][i . p]  all tables of a level in order
//! ```
//!
//! Of what one sorted run contains, the versions are dropped that a newer one of the same run
//! shadows. What it deletes in older runs stays, except in the oldest one, which has nothing below.

use super::blob_files::take_over;
use super::{Compaction, CompactionOptions, CompactionSummary, SequenceNumbers};
use crate::column_family::ColumnFamily;
use crate::database_writer::{DatabaseWriter, LiveBlobs};
use crate::error::{Error, Result};

/// The result of rewriting all levels.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LevelsSummary {
    /// The result of each sorted run, the oldest first; of the write-ahead log last.
    pub levels: Vec<LevelSummary>,
    /// Blob files that were taken over.
    pub blob_files: u64,
}

/// The result of a sorted run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LevelSummary {
    /// The level.
    pub level: u32,
    /// What was read, dropped and written.
    pub summary: CompactionSummary,
}

impl Compaction {
    /// Rewrites the tables of a column family for a new database, and keeps them in their levels. The
    /// write-ahead log becomes a table of level 0. `options` returns the options for a level; whether
    /// it is bottommost is determined here, and tables of level 0 are not split.
    ///
    /// ```no_run
    /// use sstkit_db::{ColumnFamilyDescriptor, Compaction, CompactionOptions, Database};
    /// use sstkit_db::{DatabaseWriter, DatabaseWriterOptions};
    /// use sstkit_table::TableOptions;
    ///
    /// let db = Database::open("path/to/db")?;
    /// let mut writer = DatabaseWriter::create("path/to/copy", DatabaseWriterOptions::like(&db))?;
    /// for family in db.column_families() {
    ///     let id = writer.column_family(ColumnFamilyDescriptor::like(&db, &family))?;
    ///     let options = |_| CompactionOptions::new(TableOptions::rocksdb());
    ///     Compaction::rewrite_levels(&family, &mut writer, id, options)?;
    /// }
    /// writer.set_last_sequence(db.last_sequence());
    /// writer.finish()?;
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`run_into`](Self::run_into); options with
    /// [`sequence_numbers`](CompactionOptions::sequence_numbers) other than `Keep`.
    pub fn rewrite_levels(
        column_family: &ColumnFamily,
        writer: &mut DatabaseWriter,
        id: u32,
        mut options: impl FnMut(u32) -> CompactionOptions,
    ) -> Result<LevelsSummary> {
        let family = column_family.family();
        let mut live_blobs = LiveBlobs::default();
        let mut levels = Vec::new();
        // The oldest first, and then the log.
        let runs = family.version.runs.iter().rev().map(|run| Some(&**run));
        let memtable = &family.memtable;
        let has_log = memtable.len() > 0 || !memtable.range_deletions().is_empty();
        let log = has_log.then_some(None);
        for run in runs.chain(log) {
            let level = run.map_or(0, |run| run.level);
            let options = options(level).for_run(level, levels.is_empty())?;
            let mut compaction = Self::new(&options);
            compaction.add_source(column_family, run)?;
            let (summary, of_run) = compaction.merge_into(writer, id, level)?;
            live_blobs.append(&of_run);
            levels.push(LevelSummary { level, summary });
        }
        let blob_files = take_over(&live_blobs, family, writer, id)?;
        Ok(LevelsSummary { levels, blob_files })
    }
}

impl CompactionOptions {
    /// The options for one sorted run.
    fn for_run(mut self, level: u32, is_oldest: bool) -> Result<Self> {
        if self.sequence_numbers != SequenceNumbers::Keep {
            let what = "tables in several levels need their sequence numbers";
            return Err(Error::invalid_input(what));
        }
        self.bottommost = is_oldest && !self.keep_versions;
        if level == 0 {
            self.max_file_size = None;
            self.split_at.clear();
        }
        Ok(self)
    }
}
