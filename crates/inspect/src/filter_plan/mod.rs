//! The filters of all levels, as they are and as they could be: memory, rates, wasted reads.
//!
//! ```text
//! files ---> FilterReport: bytes, rate      keys that a new filter would have (key_count.rs)
//!      |                                         |    probes of keys that are found (found_keys.rs)
//!      |                                         |    blocks that seeks read (seek_reads.rs)
//!      '--- by column family and level ---> LevelFilters ---> FilterAllocator (crate filter)
//!                                                |                 | policies, or a budget
//!                                                '---> FilterPlan <'
//! ```

mod family_runs;
pub(crate) mod found_keys;
mod key_count;
pub(crate) mod key_sample;
mod level_filters;
mod refilter_report;
mod seek_reads;
pub(crate) mod seek_targets;
mod table_memory;

use serde::Serialize;
use sstkit_db::{Database, Refilter};
use sstkit_filter::{
    AllocatedKind, Allocation, AllocationOptions, FilterAllocator, FilterPolicy, FilteredLevel,
    PrefixExtractor,
};
use sstkit_table::raw::{Engine, FormatVersion};

pub(crate) use self::level_filters::IGNORED_KIND;
pub use self::level_filters::{FilteredFile, LevelFilters};
pub use self::refilter_report::{RefilterFile, RefilterReport};
pub use self::table_memory::TableMemory;
use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// What is added to new filters, where that changes.
#[derive(Clone, Debug, Default)]
pub struct PlannedKeys {
    /// The prefix extractor; `None` if it stays.
    pub prefix_extractor: Option<PrefixExtractor>,
    /// Whether whole keys are added; `None` if it stays.
    pub whole_key_filtering: Option<bool>,
}

/// The filters of a database, a directory of tables or a table, by column family and level.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FilterLevels {
    /// Each column family from the newest level to the oldest.
    pub levels: Vec<LevelFilters>,
    /// The filters of all files, by column family and from the newest on.
    pub files: Vec<FilteredFile>,
    /// The engine of the tables.
    pub engine: Engine,
    /// The oldest format version of all tables, which decides what `bloomfilter` builds.
    pub format_version: FormatVersion,
}

impl FilterLevels {
    /// Reads the filters of all tables of a database, and a sample of their keys.
    pub fn of(database: &Database, keys: &PlannedKeys) -> Result<Self> {
        Self::of_while(database, keys, &|| true)
    }

    /// The same, with an error of kind [`Io`](sstkit_db::ErrorKind::Io) when `keep_going` returns
    /// false before a table.
    pub fn of_while(
        database: &Database,
        keys: &PlannedKeys,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<Self> {
        level_filters::of_database(database, keys, keep_going)
    }

    /// The same of a single table.
    pub fn of_table(name: &str, table: &InspectedTable, keys: &PlannedKeys) -> Result<Self> {
        level_filters::of_table(name, table, keys)
    }

    /// What distributes memory over these levels.
    pub fn allocator(&self, options: AllocationOptions) -> FilterAllocator {
        let levels: Vec<FilteredLevel> = self.levels.iter().map(|it| it.shape.clone()).collect();
        FilterAllocator::new(&levels, options.format_version(self.format_version.number()))
    }

    /// Gives the levels without a policy filters of `kind` that together with the others take `budget`
    /// bytes, as many bits per key for each as make lookups read the fewest blocks for nothing.
    pub fn allocate(
        &self,
        policies: &mut [Option<FilterPolicy>],
        kind: AllocatedKind,
        budget: u64,
        hit_rate: f64,
    ) {
        let options = AllocationOptions::default()
            .kinds(&[kind])
            .hit_rate(hit_rate)
            .format_version(self.format_version.number());
        let fixed = self.plan(policies, hit_rate);
        let (mut left, mut open): (u64, Vec<usize>) = (budget, Vec::new());
        for (number, planned) in fixed.levels.iter().enumerate() {
            match policies[number] {
                Some(_) => left = left.saturating_sub(planned.filter_bytes_after.unwrap_or(0)),
                None => open.push(number),
            }
        }
        // With all levels, as the weights depend on those below; fixed ones cost nothing here.
        let shapes: Vec<FilteredLevel> = self
            .levels
            .iter()
            .enumerate()
            .map(|(number, level)| match open.contains(&number) {
                true => level.shape.clone(),
                false => level.shape.clone().reach(0.0),
            })
            .collect();
        let allocation = FilterAllocator::new(&shapes, options).allocate(left);
        for number in open {
            policies[number] = Some(allocation.levels[number].policy.clone());
        }
    }

    /// Sets the policies, one for each level. Without a MANIFEST (`is_database` is false) all tables
    /// have the same.
    pub fn apply(
        &self,
        policies: &[Option<FilterPolicy>],
        is_database: bool,
        mut refilter: Refilter,
    ) -> Refilter {
        for (place, policy) in self.levels.iter().zip(policies) {
            let Some(policy) = policy else { continue };
            refilter = match (&place.column_family, place.level) {
                (Some(family), Some(level)) if is_database => {
                    refilter.column_family_filter(family, level, policy.clone())
                }
                _ => refilter.filter(policy.clone()),
            };
        }
        refilter
    }

    /// What other policies would cost, one for each level, as far as that is known. A level without
    /// one stays as it is.
    pub fn plan(&self, policies: &[Option<FilterPolicy>], hit_rate: f64) -> FilterPlan {
        let allocator = self.allocator(AllocationOptions::default().hit_rate(hit_rate).kinds(&[]));
        let evaluate = |policy: &FilterPolicy| {
            let everywhere = vec![policy.clone(); self.levels.len()];
            allocator.evaluate(&everywhere)
        };
        let planned = self.levels.iter().enumerate().map(|(number, level)| {
            let policy = policies.get(number).and_then(Option::as_ref);
            let after: Option<Allocation> = policy.and_then(evaluate);
            let after = match (policy, after) {
                (None, _) => Some((level.bytes, level.fpr)),
                (Some(_), Some(after)) => {
                    let after = &after.levels[number];
                    Some((after.bytes, after.fpr))
                }
                (Some(_), None) => None,
            };
            PlannedLevel::new(level, policy, after)
        });
        FilterPlan::new(planned.collect(), &allocator)
    }

    /// What has become of these levels: those of the database that was written.
    pub fn compare(
        &self,
        after: &Self,
        policies: &[Option<FilterPolicy>],
        hit_rate: f64,
    ) -> FilterPlan {
        let allocator = self.allocator(AllocationOptions::default().hit_rate(hit_rate).kinds(&[]));
        let levels = self.levels.iter().enumerate().map(|(number, level)| {
            let same = |it: &&LevelFilters| {
                it.level == level.level && it.column_family == level.column_family
            };
            let after = after.levels.iter().find(same).map(|it| (it.bytes, it.fpr));
            PlannedLevel::new(level, policies.get(number).and_then(Option::as_ref), after)
        });
        FilterPlan::new(levels.collect(), &allocator)
    }
}

/// The filters of all levels before and after a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterPlan {
    /// Bytes of all filters before.
    pub filter_bytes_before: u64,
    /// Bytes of all filters after; `None` if it is not known.
    pub filter_bytes_after: Option<u64>,
    /// The expected number of wasted reads of data blocks per lookup, before.
    pub wasted_reads_before: f64,
    /// The same after the change; `None` if it is not known.
    pub wasted_reads_after: Option<f64>,
    /// Each column family from the newest level to the oldest.
    pub levels: Vec<PlannedLevel>,
}

impl FilterPlan {
    fn new(levels: Vec<PlannedLevel>, allocator: &FilterAllocator) -> Self {
        let before: Vec<f64> = levels.iter().map(|level| level.fpr_before).collect();
        let after: Option<Vec<f64>> = levels.iter().map(|level| level.fpr_after).collect();
        Self {
            filter_bytes_before: levels.iter().map(|level| level.filter_bytes_before).sum(),
            filter_bytes_after: levels.iter().map(|level| level.filter_bytes_after).sum(),
            wasted_reads_before: allocator.wasted_reads(&before),
            wasted_reads_after: after.map(|after| allocator.wasted_reads(&after)),
            levels,
        }
    }
}

/// The filters of a level before and after a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedLevel {
    /// The column family; `None` for single tables.
    pub column_family: Option<String>,
    /// The level; `None` for single tables.
    pub level: Option<u32>,
    /// Files.
    pub files: u64,
    /// Keys and prefixes in the new filters, at most.
    pub keys: u64,
    /// Whether their number was estimated from a sample.
    pub keys_are_estimated: bool,
    /// The new policy; `None` if the files stay as they are.
    pub policy: Option<String>,
    /// Bytes of the filters before.
    pub filter_bytes_before: u64,
    /// Bytes of the filters after; `None` if it is not known.
    pub filter_bytes_after: Option<u64>,
    /// The expected false-positive rate before; 1 without a filter.
    pub fpr_before: f64,
    /// The same after; `None` if it is not known.
    pub fpr_after: Option<f64>,
}

impl PlannedLevel {
    fn new(level: &LevelFilters, policy: Option<&FilterPolicy>, after: Option<(u64, f64)>) -> Self {
        Self {
            column_family: level.column_family.clone(),
            level: level.level,
            files: level.files,
            keys: level.keys,
            keys_are_estimated: level.keys_are_estimated,
            policy: policy.map(ToString::to_string),
            filter_bytes_before: level.bytes,
            filter_bytes_after: after.map(|(bytes, _)| bytes),
            fpr_before: level.fpr,
            fpr_after: after.map(|(_, fpr)| fpr),
        }
    }
}
