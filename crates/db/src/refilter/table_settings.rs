//! Which tables change, and how they are written.

use sstkit_filter::{Destination, FilterPolicy};
use sstkit_table::raw::{Engine, IndexKind};
use sstkit_table::{Table, TableOptions};

use super::Refilter;
use crate::error::Result;

impl Refilter {
    /// The policy of the tables in a level of a column family; `None` if they stay as they are.
    pub fn policy(&self, column_family: &str, level: u32) -> Option<&FilterPolicy> {
        self.family_filters
            .get(&(column_family.to_owned(), level))
            .or_else(|| self.level_filters.get(&level))
            .or(self.filter.as_ref())
    }

    /// The settings of the new table: those of `table` with another filter.
    pub(super) fn settings(
        &self,
        table: &Table,
        policy: &FilterPolicy,
        level: Option<u32>,
    ) -> Result<TableOptions> {
        let mut options = TableOptions::like(table)?.filter(policy.clone());
        if let Some(extractor) = &self.prefix_extractor {
            options = options.prefix_extractor(extractor.clone());
        }
        if let Some(on) = self.whole_key_filtering {
            options = options.whole_key_filtering(on);
        }
        if let Some(on) = self.partition_filters {
            options = options.partition_filters(on);
        }
        if self.partition_filters == Some(true) {
            options = options.index_kind(IndexKind::TwoLevel);
        }
        if let Some(allocator) = self.optimize_for_memory {
            options = options.optimize_filters_for_memory(allocator);
        }
        if let (Engine::RocksDb, Some(level)) = (options.engine(), level) {
            options = options.destination(Destination::Level(level));
        }
        Ok(options)
    }
}
