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
//!
//! In a directory of tables without a MANIFEST nothing tells which run is newer. All runs are searched
//! there; those with other entries of the key are not searched needlessly.

use sstkit_db::{ColumnFamily, Database};
use sstkit_table::visibility::Recency;

use super::FilterLevels;
use super::family_runs::FamilyRuns;
use super::key_sample::{self, SampledKey};
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
            let Some(mut lookups) = FoundLookups::new(family) else { continue };
            keys.iter().try_for_each(|SampledKey { key, run }| lookups.add(key, *run))?;
            for (level, probes) in own.iter_mut().zip(lookups.wasted_probes) {
                level.shape = level.shape.clone().found_probes(probes as f64 / all);
            }
        }
        Ok(self)
    }
}

/// Lookups of keys that a column family has.
pub(crate) struct FoundLookups<'f> {
    runs: FamilyRuns<'f>,
    /// Newer runs come first.
    is_ordered: bool,
    /// For each level, the files that were probed needlessly.
    wasted_probes: Vec<u64>,
    /// Files that were read because they have other entries of the key.
    pub(crate) other_entries: u64,
}

impl<'f> FoundLookups<'f> {
    /// `None` if the order of the keys is not known.
    pub(crate) fn new(family: &'f ColumnFamily) -> Option<Self> {
        let runs = FamilyRuns::of(family)?;
        let is_ordered = family.recency() == Recency::BySource;
        let wasted_probes = vec![0; family.levels().len()];
        Some(Self { runs, is_ordered, wasted_probes, other_entries: 0 })
    }

    /// A key of a run.
    pub(crate) fn add(&mut self, key: &[u8], run: usize) -> Result<()> {
        for position in 0..self.runs.runs.len() {
            let (number, level) = (self.runs.runs[position].number, self.runs.runs[position].level);
            if self.is_ordered && number >= run {
                break;
            }
            let Some((_, file)) = self.runs.file_with(position, key) else { continue };
            if number == run {
                continue;
            }
            match contains(self.runs.table(&file)?, key)? {
                true if self.is_ordered => break,
                true => self.other_entries += 1,
                false => self.wasted_probes[level] += 1,
            }
        }
        Ok(())
    }
}

/// Whether a table has entries of a key.
pub(super) fn contains(table: &InspectedTable, key: &[u8]) -> Result<bool> {
    if let Some(filter) = table.table().filter()
        && !filter.may_contain(key)?
    {
        return Ok(false);
    }
    let mut entries = table.table().entry_cursor();
    Ok(entries.seek(key)? && table.bare(entries.user_key()) == key)
}
