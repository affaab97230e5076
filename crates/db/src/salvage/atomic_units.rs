//! Range tombstones that a damaged table has in common with its neighbours.
//!
//! ```text
//! level 6            | a ... k |  | k ... t |  | t ... z |     versions of k and of t are in two tables
//! range tombstone       [b ============ m)
//! stored in               1           2
//! ```
//!
//! RocksDB compacts such tables together: they are an *atomic compaction unit*, and the range tombstones
//! of each apply to all of them. If those of table 2 are lost, table 1 still has the ones that matter;
//! without them, keys would be visible until the next compaction.

use std::collections::BTreeMap;

use sstkit_table::visibility::UserKeys;
use sstkit_table::{RangeTombstone, Uncertainty};

use super::found_families::FoundFamily;
use super::table_entries::TableEntries;
use super::table_examination::{Condition, ExaminedTable, TableHints};
use crate::error::Result;
use crate::version::TableFile;

impl FoundFamily {
    /// Finds the range tombstones of damaged tables in their neighbours.
    pub(super) fn find_shared_tombstones(&mut self, hints: &TableHints) -> Result<()> {
        if self.order.is_none() || !self.tables.iter().any(lacks_tombstones) {
            return Ok(());
        }
        let keys = self.keys();
        for unit in self.atomic_units(&keys) {
            let (damaged, sound): (Vec<_>, Vec<_>) =
                unit.into_iter().partition(|(at, _)| lacks_tombstones(&self.tables[*at]));
            if damaged.is_empty() {
                continue;
            }
            let mut shared = Vec::new();
            for (at, _) in sound {
                let table = &self.tables[at];
                if matches!(table.condition, Condition::Sound { .. }) && table.tombstones.is_some()
                {
                    let source = TableEntries::open(table, hints, self.order.as_ref())?;
                    shared.extend(source.tombstones(&keys)?);
                }
            }
            shared.sort_by(|a, b| fields(a).cmp(&fields(b)));
            shared.dedup();
            for (at, file) in damaged {
                let is_in = |it: &&RangeTombstone| {
                    keys.compare(&it.start, file.largest()).is_le()
                        && keys.compare(&it.end, file.smallest()).is_gt()
                };
                let of_table = shared.iter().filter(is_in).cloned().collect();
                self.tables[at].share_tombstones(of_table, &keys);
            }
        }
        Ok(())
    }

    /// The tables of each unit, as indices, with their recorded bounds.
    fn atomic_units(&self, keys: &UserKeys) -> Vec<Vec<(usize, TableFile)>> {
        let mut levels: BTreeMap<u32, Vec<(usize, TableFile)>> = BTreeMap::new();
        for (at, table) in self.tables.iter().enumerate() {
            let listed = table.listed.as_ref().filter(|it| it.level > 0);
            if let Some((listed, file)) = listed.and_then(|it| Some((it, it.file(keys)?))) {
                levels.entry(listed.level).or_default().push((at, file));
            }
        }
        let mut units: Vec<Vec<(usize, TableFile)>> = Vec::new();
        for mut level in levels.into_values() {
            level.sort_by(|(_, a), (_, b)| keys.compare(a.smallest(), b.smallest()));
            let mut unit: Vec<(usize, TableFile)> = Vec::new();
            for (at, file) in level {
                let continues = unit.last().is_some_and(|(_, last)| {
                    keys.compare(last.largest(), file.smallest()).is_eq()
                        && !last.key_bounds().is_exclusive
                });
                if !continues {
                    units.push(std::mem::take(&mut unit));
                }
                unit.push((at, file));
            }
            units.push(unit);
        }
        units
    }
}

/// Whether range tombstones of a table are lost, and not its entries.
fn lacks_tombstones(table: &ExaminedTable) -> bool {
    let Condition::Damaged(report) = &table.condition else { return false };
    table.has_entries() && report.uncertain.contains(&Uncertainty::RangeTombstones)
}

fn fields(range: &RangeTombstone) -> (&[u8], &[u8], u64, &[u8]) {
    (&range.start, &range.end, range.sequence, &range.timestamp)
}
