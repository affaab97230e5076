//! The data blocks that a seek reads to find nothing.
//!
//! ```text
//! run 0   [ a c f ]  g  [ h k m ]  n      data blocks, each with its separator in the index
//!
//! seek to b        the first block
//! seek to fa       the first block has no such key, the separator g is not before it: two blocks
//! seek to gz       the second block
//! ```
//!
//! A seek goes to one file of each run: the first that does not end before the key, even if it starts
//! after it. It reads a second block if the key is between the last key of a block and its separator. With
//! one entry per block that is most keys; how many depends on the keys, so a sample of seeks is tried
//! without filters.

use sstkit_db::Database;

use super::FilterLevels;
use super::family_runs::FamilyRuns;
use super::key_sample;
use super::seek_targets::SeekTargets;
use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// Seeks in all runs together, and in each.
const SEEKS: usize = 4096;
const SEEKS_OF_RUN: std::ops::RangeInclusive<usize> = 64..=1024;

impl FilterLevels {
    /// Tries some seeks, for the blocks that they read. Without it, each is assumed to read one block of
    /// each run in whose range it is. Stops like [`of_while`](Self::of_while).
    pub fn with_seeks(
        mut self,
        database: &Database,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let runs: usize = database.column_families().map(|it| runs(&it.levels())).sum();
        let wanted = (SEEKS / runs.max(1)).clamp(*SEEKS_OF_RUN.start(), *SEEKS_OF_RUN.end());
        let families = key_sample::keys(database, &self.files, wanted as u64)?;
        let mut seeks = 0_u64;
        let mut wasted = vec![0.0; self.levels.len()];
        let (mut first_level, mut first_file) = (0, 0);
        for (family, keys) in &families {
            let levels = family.levels();
            let files = levels.iter().map(|level| level.files.len()).sum::<usize>();
            let own_files = &self.files[first_file..first_file + files];
            let own_wasted = &mut wasted[first_level..first_level + levels.len()];
            (first_level, first_file) = (first_level + levels.len(), first_file + files);
            let Some(mut runs) = FamilyRuns::of(family) else { return Ok(self) };
            let mut targets = SeekTargets::new(family, keys);
            for number in 0..keys.len() as u64 {
                if !keep_going() {
                    return Err(sstkit_table::Error::cancelled().into());
                }
                let Some(target) = targets.prefix(number)? else { continue };
                seeks += 1;
                for run in 0..runs.runs.len() {
                    let Some((file, opened)) = runs.file_from(run, &target) else { continue };
                    let reads = blocks_read(runs.table(&opened)?, &target)?;
                    own_wasted[runs.runs[run].level] += reads * own_files[file].seek_rate();
                }
            }
        }
        if seeks > 0 {
            for (level, wasted) in self.levels.iter_mut().zip(wasted) {
                level.wasted_seek_reads = wasted / seeks as f64;
            }
        }
        Ok(self)
    }
}

fn runs(levels: &[sstkit_db::Level]) -> usize {
    let mut runs: Vec<usize> =
        levels.iter().flat_map(|level| &level.files).map(sstkit_db::LevelFile::run).collect();
    runs.dedup();
    runs.len()
}

/// The data blocks that a seek reads in a table.
fn blocks_read(table: &InspectedTable, target: &[u8]) -> Result<f64> {
    let table = table.table();
    let mut entries = table.entry_cursor();
    let found = entries.seek(target)?;
    let first = table.approximate_offset(target)?;
    match entries.block() {
        Some(block) if found && block.offset != first => Ok(2.0),
        _ => Ok(1.0),
    }
}
