//! The probes of a lookup that finds its key.
//!
//! ```text
//! key k of run 3      run 0  [a....f]          not in its range: not probed
//!                     run 1  [c.........p]     probed needlessly
//!                     run 2      [h.k..n]      has a newer entry of k: the lookup ends
//!                     run 3  [b......k....z]
//! ```
//!
//! How many runs are passed depends on where keys are: those of recent files may be in a part of the
//! key space, and a key may have been written again. So a sample of the keys is looked up.

use std::collections::HashMap;

use sstkit_db::{ColumnFamily, Database, LevelFile};
use sstkit_table::Comparator;

use super::FilterLevels;
use super::key_sample::{self, SampledKey};
use crate::database::open_level_file;
use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// Keys that are looked up.
const KEYS: u64 = 4096;

impl FilterLevels {
    /// Looks up a sample of the keys, for the probes of lookups that find their key. Without it, keys
    /// are assumed to be distributed evenly, and written once.
    pub fn with_found_keys(mut self, database: &Database) -> Result<Self> {
        let families = key_sample::keys(database, &self.files, KEYS)?;
        let all = families.iter().map(|(_, keys)| keys.len()).sum::<usize>().max(1) as f64;
        let mut first = 0;
        for (family, keys) in &families {
            let levels = family.levels().len();
            let own = &mut self.levels[first..first + levels];
            first += levels;
            let Ok(order) = family.comparator() else { continue };
            for (level, probes) in own.iter_mut().zip(probes(family, keys, order)?) {
                level.shape = level.shape.clone().found_probes(probes as f64 / all);
            }
        }
        Ok(self)
    }
}

/// For each level, the files that are probed needlessly before the keys are found.
fn probes(family: &ColumnFamily, keys: &[SampledKey], order: &Comparator) -> Result<Vec<u64>> {
    let levels = family.levels();
    let mut runs: Vec<Run> = Vec::new();
    for (level, files) in levels.into_iter().map(|level| level.files).enumerate() {
        for file in files {
            match runs.last_mut().filter(|run| run.number == file.run()) {
                Some(run) => run.files.push(file),
                None => runs.push(Run { level, number: file.run(), files: vec![file] }),
            }
        }
    }
    let mut probes = vec![0; runs.last().map_or(0, |run| run.level + 1)];
    let mut tables = HashMap::new();
    for SampledKey { key, run } in keys {
        for passed in runs.iter().take_while(|it| it.number < *run) {
            let Some(file) = passed.file_with(key, order) else { continue };
            let table = match tables.entry(file.metadata().number) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(open_level_file(file)?)
                }
            };
            if contains(table, key)? {
                break;
            }
            probes[passed.level] += 1;
        }
    }
    Ok(probes)
}

/// Files with consecutive key ranges.
struct Run {
    /// Counted from the first level that has files.
    level: usize,
    number: usize,
    files: Vec<LevelFile>,
}

impl Run {
    /// The file whose range includes a key.
    fn file_with(&self, key: &[u8], order: &Comparator) -> Option<&LevelFile> {
        let is_before = |file: &LevelFile| {
            let end = order.compare_without_timestamp(file.largest(), key);
            end.is_lt() || end.is_eq() && file.largest_is_exclusive()
        };
        let file = self.files.get(self.files.partition_point(is_before))?;
        order.compare_without_timestamp(file.smallest(), key).is_le().then_some(file)
    }
}

/// Whether a table has entries of a key.
fn contains(table: &InspectedTable, key: &[u8]) -> Result<bool> {
    if let Some(filter) = table.table().filter()
        && !filter.may_contain(key)?
    {
        return Ok(false);
    }
    let mut entries = table.table().entry_cursor();
    Ok(entries.seek(key)? && table.bare(entries.user_key()) == key)
}
