//! The order of tables by age.
//!
//! | files | order of level 0, newest first |
//! |---|---|
//! | RocksDB, each file of the column family has an epoch number | by epoch, largest and smallest sequence number, file number |
//! | RocksDB, any file is without | by largest and smallest sequence number, file number |
//! | LevelDB | by file number |

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use sstkit_table::visibility::{Recency, UserKeys};

use super::{Run, TableFile, Version};
use crate::error::{Error, Result};

/// How the age of tables is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// By level.
    Levels,
    /// By level, but the order of the keys is unknown.
    LevelsWithoutOrder,
    /// Only by the sequence numbers in them.
    Sequences,
}

/// Sorts tables.
pub(crate) fn arrange(
    files: Vec<Arc<TableFile>>,
    keys: &UserKeys,
    arrangement: Arrangement,
) -> Result<Version> {
    if arrangement == Arrangement::Sequences {
        let runs = runs_without_overlap(files, keys);
        return Ok(Version { runs, recency: Recency::BySequence });
    }
    if arrangement == Arrangement::Levels {
        files.iter().try_for_each(|file| check_range(file, keys))?;
    }
    let has_epochs = files.iter().all(|file| file.meta.epoch_number.is_some());
    let mut levels: BTreeMap<u32, Vec<Arc<TableFile>>> = BTreeMap::new();
    for file in files {
        levels.entry(file.level).or_default().push(file);
    }
    let mut runs = Vec::new();
    for (level, mut files) in levels {
        if level == 0 || arrangement == Arrangement::LevelsWithoutOrder {
            files.sort_by_key(|file| Reverse(age(file, has_epochs)));
            runs.extend(files.into_iter().map(|file| Run::new(level, vec![file], keys)));
        } else {
            sort_by_keys(&mut files, keys);
            check_order(&files, keys)?;
            runs.push(Run::new(level, files, keys));
        }
    }
    Ok(Version { runs, recency: Recency::BySource })
}

/// The larger, the newer.
fn age(file: &TableFile, has_epochs: bool) -> (Option<u64>, Option<u64>, Option<u64>, u64) {
    let meta = &file.meta;
    let epoch = meta.epoch_number.filter(|_| has_epochs);
    (epoch, meta.largest_sequence, meta.smallest_sequence, meta.number)
}

fn sort_by_keys(files: &mut [Arc<TableFile>], keys: &UserKeys) {
    files.sort_by(|a, b| a.compare_smallest(b, keys));
}

/// A table whose range ends before it starts would be skipped by lookups.
fn check_range(file: &TableFile, keys: &UserKeys) -> Result<()> {
    match keys.compare(file.smallest(), file.largest()).is_gt() {
        true => Err(Error::corrupt(format!(
            "the smallest key of table {} is larger than its largest key",
            file.meta.number
        ))),
        false => Ok(()),
    }
}

/// The search in a level requires ranges that do not overlap.
fn check_order(files: &[Arc<TableFile>], keys: &UserKeys) -> Result<()> {
    match files.windows(2).find(|pair| keys.compare(pair[0].largest(), pair[1].smallest()).is_gt())
    {
        Some(pair) => Err(Error::corrupt(format!(
            "the key ranges of tables {} and {} overlap in level {}",
            pair[0].meta.number, pair[1].meta.number, pair[0].level
        ))),
        None => Ok(()),
    }
}

/// Distributes files to as few runs as possible, each without overlaps: a file is added to the run
/// that ends first, if that is before its range. Takes O(n log n), regardless of the number of
/// runs.
fn runs_without_overlap(mut files: Vec<Arc<TableFile>>, keys: &UserKeys) -> Vec<Arc<Run>> {
    sort_by_keys(&mut files, keys);
    let mut runs: Vec<Vec<Arc<TableFile>>> = Vec::new();
    let mut ends: BinaryHeap<RunEnd<'_>> = BinaryHeap::new();
    for file in files {
        let first =
            ends.peek().filter(|end| keys.compare(end.file.largest(), file.smallest()).is_lt());
        let run = match first.map(|end| end.run) {
            Some(run) => {
                ends.pop();
                run
            }
            None => {
                runs.push(Vec::new());
                runs.len() - 1
            }
        };
        runs[run].push(Arc::clone(&file));
        ends.push(RunEnd { keys, file, run });
    }
    // If sequence numbers are equal, the source given first counts: the newest file.
    runs.sort_by_key(|run| Reverse(run.iter().map(|file| file.meta.number).max()));
    runs.into_iter().map(|files| Run::new(0, files, keys)).collect()
}

/// The last file of a run so far; the greatest is the one that ends first.
struct RunEnd<'k> {
    keys: &'k UserKeys,
    file: Arc<TableFile>,
    run: usize,
}

impl Ord for RunEnd<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let ends = self.keys.compare(other.file.largest(), self.file.largest());
        ends.then_with(|| other.run.cmp(&self.run))
    }
}

impl PartialOrd for RunEnd<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RunEnd<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for RunEnd<'_> {}
