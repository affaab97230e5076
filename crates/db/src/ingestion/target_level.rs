//! The level that a table is ingested into, and its sequence number.

use std::sync::Arc;

use sstkit_table::visibility::InternalIterator;

use super::engine_rules::CompactionStyle;
use super::external_table::KeyBounds;
use super::{Check, IngestedPlacement, IngestionOverlap, IngestionRefusal};
use crate::error::Result;
use crate::memtable::MemtableCursor;
use crate::version::Run;

/// A table that looks for its level.
pub(super) struct Target<'r> {
    pub(super) range: &'r KeyBounds,
    /// The uppermost level of the tables that were placed before and that it overlaps: it must go above.
    pub(super) above: Option<u32>,
    pub(super) tables_overlap: bool,
}

impl Check<'_> {
    /// The runs of a level.
    pub(super) fn runs_of_level(&self, level: u32) -> impl Iterator<Item = &Arc<Run>> {
        self.family.version.runs.iter().filter(move |run| run.level == level)
    }

    /// Where a table goes, if it is not refused.
    pub(super) fn target_level(
        &self,
        target: &Target<'_>,
        last_sequence: u64,
    ) -> Result<std::result::Result<IngestedPlacement, IngestionRefusal>> {
        if self.options.ingest_behind {
            return Ok(self.last_level(target.range));
        }
        let goes_to_level_0 = self.is_fifo()
            || target.above == Some(0)
            || target.tables_overlap && !self.rules.has_batches;
        let mut sequence = 0;
        if self.options.has_snapshots || target.tables_overlap || goes_to_level_0 {
            sequence = last_sequence + 1;
        }
        let mut placement = self.search(target)?;
        if goes_to_level_0 {
            placement.level = 0;
        }
        if self.options.fail_if_not_bottommost_level && placement.level + 1 < self.levels.num_levels
        {
            return Ok(Err(IngestionRefusal::new(
                "TryAgain",
                "Files cannot be ingested to Lmax.",
                format!(
                    "a table would go to level {}, not to the last one, {}",
                    placement.level,
                    self.levels.num_levels - 1
                ),
            )));
        }
        if placement.overlap.is_some() && !goes_to_level_0 {
            if self.keys.timestamp_size() > 0 {
                return Ok(Err(IngestionRefusal::new(
                    "InvalidArgument",
                    "Column family enables user-defined timestamps",
                    "the database has keys in the range of a table, and the column family has \
                     timestamps",
                )));
            }
            sequence = last_sequence + 1;
        }
        if sequence > 0 {
            placement.sequence = sequence;
        }
        Ok(Ok(placement))
    }

    /// Looks for the lowest level that the table fits in, above all keys in its range.
    fn search(&self, target: &Target<'_>) -> Result<IngestedPlacement> {
        let range = target.range;
        let mut placement = IngestedPlacement {
            level: 0,
            sequence: 0,
            overlap: self.log_overlaps(range).then_some(IngestionOverlap::Log),
            occupied_levels: Vec::new(),
            runs_in_range: self.runs_in_range(range),
        };
        if placement.overlap.is_some() {
            return Ok(placement);
        }
        for level in 0..target.above.unwrap_or(self.levels.num_levels) {
            if level > 0 && level < self.levels.base_level {
                continue;
            }
            if self.level_overlaps(level, range)? {
                placement.overlap = Some(IngestionOverlap::Level(level));
                break;
            }
            let fits = level == 0 || !self.is_occupied(level, range);
            if !fits {
                placement.occupied_levels.push(level);
            }
            if self.is_passed_over(level, fits, &mut placement) {
                continue;
            }
            if fits {
                placement.level = level;
            }
        }
        Ok(placement)
    }

    /// Whether older versions pass over a level with universal compaction.
    fn is_passed_over(&self, level: u32, fits: bool, placement: &mut IngestedPlacement) -> bool {
        if self.levels.style != CompactionStyle::Universal {
            return false;
        }
        let files = self.runs_of_level(level).flat_map(|run| &run.files);
        let largest = files.map(|file| file.meta.largest_sequence.unwrap_or(0)).max();
        match largest {
            None => self.rules.skips_empty_universal_levels,
            Some(largest) if level > 0 && self.rules.takes_sequence_of_universal_level => {
                let takes = largest != 0 && fits;
                if takes {
                    placement.sequence = largest;
                }
                !takes
            }
            Some(_) => false,
        }
    }

    /// `ingest_behind`: the last level, or nothing.
    fn last_level(
        &self,
        range: &KeyBounds,
    ) -> std::result::Result<IngestedPlacement, IngestionRefusal> {
        let last = self.levels.num_levels - 1;
        if last > 0 && self.is_occupied(last, range) {
            return Err(IngestionRefusal::new(
                "InvalidArgument",
                "Can't ingest_behind file as it doesn't fit at the last level!",
                format!("level {last} has a file in the range of a table"),
            ));
        }
        let is_zero =
            |run: &&Arc<Run>| run.files.iter().any(|file| file.meta.smallest_sequence == Some(0));
        if let Some(run) =
            self.family.version.runs.iter().filter(|it| it.level < last).find(is_zero)
        {
            return Err(IngestionRefusal::new(
                "InvalidArgument",
                "Can't ingest_behind file as despite allow_ingest_behind=true",
                format!("level {} has entries with sequence number 0", run.level),
            ));
        }
        Ok(IngestedPlacement {
            level: last,
            sequence: 0,
            overlap: None,
            occupied_levels: Vec::new(),
            runs_in_range: self.runs_in_range(range),
        })
    }

    /// Whether the write-ahead log has keys or range tombstones in a range.
    pub(super) fn log_overlaps(&self, range: &KeyBounds) -> bool {
        let mut entries = MemtableCursor::new(&self.family.memtable);
        let has_key = entries.seek(&range.smallest).unwrap_or(false)
            && self.is_at_or_before_end(entries.user_key(), range);
        has_key || self.covers_some(self.family.memtable.range_deletions(), range)
    }

    /// Whether a level has keys or range tombstones in a range.
    fn level_overlaps(&self, level: u32, range: &KeyBounds) -> Result<bool> {
        for run in self.runs_of_level(level) {
            let first = run.first_at(&range.smallest, self.keys);
            for file in &run.files[first..] {
                if file.is_after(&range.largest, self.keys) {
                    break;
                }
                let table = self.family.table(file)?;
                let mut entries = table.entry_cursor();
                if entries.seek(&range.smallest)?
                    && self.is_at_or_before_end(entries.user_key(), range)
                    || self.covers_some(table.range_deletions(), range)
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The end counts as a part of the range, also if it is the end of a range tombstone.
    fn is_at_or_before_end(&self, user_key: &[u8], range: &KeyBounds) -> bool {
        self.keys.compare(self.keys.bare(user_key), &range.largest).is_le()
    }

    fn covers_some(&self, tombstones: &[sstkit_table::RangeTombstone], range: &KeyBounds) -> bool {
        tombstones.iter().any(|tombstone| {
            self.keys.compare(&tombstone.start, &range.largest).is_le()
                && self.keys.compare(&tombstone.end, &range.smallest).is_gt()
        })
    }

    /// Whether a file of a level has a range that touches this one.
    fn is_occupied(&self, level: u32, range: &KeyBounds) -> bool {
        let mut files = self.runs_of_level(level).flat_map(|run| &run.files);
        files.any(|file| {
            self.keys.compare(file.largest(), &range.smallest).is_ge()
                && self.keys.compare(file.smallest(), &range.largest).is_le()
        })
    }

    /// Sorted runs with a file that touches a range.
    fn runs_in_range(&self, range: &KeyBounds) -> u64 {
        let touches = |run: &&Arc<Run>| {
            run.files.iter().any(|file| {
                self.keys.compare(file.largest(), &range.smallest).is_ge()
                    && self.keys.compare(file.smallest(), &range.largest).is_le()
            })
        };
        let log = u64::from(self.log_overlaps(range));
        log + self.family.version.runs.iter().filter(touches).count() as u64
    }
}
