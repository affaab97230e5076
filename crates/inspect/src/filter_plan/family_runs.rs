//! The sorted runs of a column family, as lookups and seeks go through them.
//!
//! ```text
//! run 0        [a....f]
//! run 1   [b......][k.....p]     a lookup of h reads neither file of run 1, a seek to h the second
//! ```

use std::collections::HashMap;

use sstkit_db::{ColumnFamily, LevelFile};
use sstkit_table::Comparator;

use crate::database::open_level_file;
use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// Tables that are kept open: files come in the order of their keys, mostly.
const OPEN_TABLES: usize = 128;

/// The runs of a column family, and some of its tables.
pub(super) struct FamilyRuns<'f> {
    order: &'f Comparator,
    /// From the newest on.
    pub(super) runs: Vec<FamilyRun>,
    tables: HashMap<u64, InspectedTable>,
}

/// Files with consecutive key ranges.
pub(super) struct FamilyRun {
    /// Counted from the first level that has files.
    pub(super) level: usize,
    pub(super) number: usize,
    /// Each with its number among all files of the column family.
    files: Vec<(usize, LevelFile)>,
}

impl<'f> FamilyRuns<'f> {
    /// `None` if the order of the keys is not known.
    pub(super) fn of(family: &'f ColumnFamily) -> Option<Self> {
        let order = family.comparator().ok()?;
        let mut runs: Vec<FamilyRun> = Vec::new();
        let levels = family.levels().into_iter().enumerate();
        let files = levels.flat_map(|(level, it)| it.files.into_iter().map(move |it| (level, it)));
        for (number, (level, file)) in files.enumerate() {
            match runs.last_mut().filter(|run| run.number == file.run()) {
                Some(run) => run.files.push((number, file)),
                None => {
                    let run = file.run();
                    runs.push(FamilyRun { level, number: run, files: vec![(number, file)] });
                }
            }
        }
        Some(Self { order, runs, tables: HashMap::new() })
    }

    /// The file of a run whose range includes a key.
    pub(super) fn file_with(&self, run: usize, key: &[u8]) -> Option<(usize, LevelFile)> {
        self.file_from(run, key)
            .filter(|(_, file)| self.order.compare_without_timestamp(file.smallest(), key).is_le())
    }

    /// The first file of a run that does not end before a key.
    pub(super) fn file_from(&self, run: usize, key: &[u8]) -> Option<(usize, LevelFile)> {
        let is_before = |(_, file): &(usize, LevelFile)| {
            let end = self.order.compare_without_timestamp(file.largest(), key);
            end.is_lt() || end.is_eq() && file.largest_is_exclusive()
        };
        let files = &self.runs[run].files;
        files.get(files.partition_point(is_before)).cloned()
    }

    /// Opens a file, unless it is open.
    pub(super) fn table(&mut self, file: &LevelFile) -> Result<&InspectedTable> {
        let number = file.metadata().number;
        if !self.tables.contains_key(&number) {
            if self.tables.len() >= OPEN_TABLES {
                self.tables.clear();
            }
            self.tables.insert(number, open_level_file(file)?);
        }
        Ok(&self.tables[&number])
    }
}
