//! Advice on filters and indexes: what they cost now, what to change, and what that buys.
//!
//! ```text
//! tables ---> FilterLevels: memory, rates ---> Situation ---> rules ------> Suggestion, each with numbers
//!                                                |                          before and after
//!                                                |-----> best filters ----> FilterChange: option string,
//!                                                |       in a budget        `sst refilter` line
//!                                                |-----> what if ---------> FilterChange
//!                                                '-----> MemoryCurve        memory against wasted reads
//! database --> measurement: real lookups and seeks, counted
//! ```
//!
//! | file | what |
//! |---|---|
//! | `situation.rs` | the levels of a database, and what lookups and seeks cost |
//! | `best_filters.rs`, `filter_budget.rs` | the filters with the fewest wasted reads in a budget |
//! | `filter_change.rs` | other filters: what they cost, and how to get them |
//! | `option_text.rs` | RocksDB's option string, and the command line |
//! | `what_if.rs` | a choice of the user |
//! | `memory_curve.rs` | wasted reads by memory |
//! | `measurement.rs` | lookups and seeks that are counted |
//! | `rules/` | one file for each rule |

mod best_filters;
mod filter_budget;
mod filter_change;
mod measurement;
mod memory_curve;
mod option_text;
mod rules;
mod situation;
mod what_if;

use serde::Serialize;
use sstkit_coding::{setters, with_defaults};
use sstkit_db::Database;
use sstkit_table::raw::Engine;

pub use self::filter_budget::FilterBudget;
pub use self::filter_change::{ChangedLevel, FamilyChange, FilterChange};
pub use self::measurement::{MeasuredLevel, MeasuredReads};
pub use self::memory_curve::{MemoryCurve, MemoryPoint};
pub use self::rules::{ChangedNumber, Suggestion};
use self::situation::Situation;
pub use self::what_if::WhatIf;
use crate::error::Result;
use crate::filter_plan::{FilterLevels, PlannedKeys};

/// The default of [`AdviceOptions::cache_size`]: RocksDB's, 32 MiB.
pub const DEFAULT_CACHE_SIZE: u64 = 32 << 20;

with_defaults! {
    /// For which lookups and which memory advice is wanted.
    #[derive(Clone, Debug)]
    pub struct AdviceOptions {
        budget: Option<u64>,
        hit_rate: f64,
        cache_size: u64 = DEFAULT_CACHE_SIZE,
        measure: u64,
        what_if: Option<WhatIf>,
    }
}

setters! {
    impl AdviceOptions:

    /// The memory for all filters together. Default: as much as they take now; without any filter,
    /// ten bits per key.
    pub fn budget(mut self, bytes: u64) { self.budget = Some(bytes); }

    /// The share of lookups that find their key, from 0 to 1. Default: 0.
    pub fn hit_rate(mut self, share: f64) { self.hit_rate = share.clamp(0.0, 1.0); }

    /// The size of the block cache. Default: [`DEFAULT_CACHE_SIZE`].
    pub fn cache_size(mut self, bytes: u64) { self.cache_size = bytes; }

    /// The number of lookups to measure, and of seeks. Default: 0, nothing is measured.
    pub fn measure(mut self, lookups: u64) { self.measure = lookups; }

    /// A choice of filters to evaluate.
    pub fn what_if(mut self, choice: WhatIf) { self.what_if = Some(choice); }
}

/// What filters and indexes of a database cost, and what to change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The database.
    pub file: String,
    /// Its engine.
    pub engine: &'static str,
    /// The share of lookups that find their key, which wasted reads are given for.
    pub hit_rate: f64,
    /// The size of the block cache.
    pub cache_bytes: u64,
    /// What there is now.
    pub now: LookupCost,
    /// Each column family from the newest level to the oldest.
    pub levels: Vec<AdvisedLevel>,
    /// Counted lookups and seeks; `None` if nothing was measured.
    pub measured: Option<MeasuredReads>,
    /// What to change, and what could be changed.
    pub suggestions: Vec<Suggestion>,
    /// The filters with the fewest wasted reads in the budget.
    pub plan: FilterChange,
    /// The choice of the user; `None` without one.
    pub what_if: Option<FilterChange>,
    /// Wasted reads by memory.
    pub curve: MemoryCurve,
}

/// Memory, and reads of lookups and seeks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LookupCost {
    /// Bytes of all filters.
    pub filter_bytes: u64,
    /// The memory that they take with jemalloc.
    pub allocated_filter_bytes: u64,
    /// Bytes of all indexes.
    pub index_bytes: u64,
    /// The expected number of data blocks that a lookup reads needlessly.
    pub wasted_reads: f64,
    /// The bytes of these, as stored.
    pub wasted_bytes: f64,
    /// The expected number of data blocks that a seek to a prefix without keys reads.
    pub wasted_seek_reads: f64,
}

/// The filters and indexes of a level.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AdvisedLevel {
    /// The column family.
    pub column_family: String,
    /// The level.
    pub level: u32,
    /// Files.
    pub files: u64,
    /// Entries.
    pub entries: u64,
    /// The kinds of the filters, by most files.
    pub kinds: Vec<&'static str>,
    /// Bytes of the filters.
    pub filter_bytes: u64,
    /// Bits per key.
    pub bits_per_key: f64,
    /// Bytes of the indexes.
    pub index_bytes: u64,
    /// The expected false-positive rate; 1 without a filter, and with one that the engine ignores.
    pub fpr: f64,
    /// The expected number of data blocks of the level that a lookup reads needlessly.
    pub wasted_reads: f64,
}

impl Advice {
    /// Reads the tails of all tables, and a sample of their keys.
    ///
    /// # Errors
    ///
    /// Fails if a table cannot be read.
    pub fn of(database: &Database, name: &str, options: &AdviceOptions) -> Result<Self> {
        let filters = filter_levels(database, &PlannedKeys::default(), options)?;
        let situation = Situation::new(database, &filters, options);
        let measured = match options.measure {
            0 => None,
            lookups => {
                let hit_rate = options.hit_rate;
                Some(measurement::measure(database, &filters.files, lookups, hit_rate)?)
            }
        };
        let FilterBudget { now, levels, plan } = FilterBudget::of_situation(&situation, name)?;
        let what_if = match &options.what_if {
            Some(choice) => Some(FilterChange::of_user(database, options, choice, name)?),
            None => None,
        };
        Ok(Self {
            file: name.to_owned(),
            engine: match filters.engine {
                Engine::RocksDb => "rocksdb",
                Engine::LevelDb => "leveldb",
            },
            hit_rate: options.hit_rate,
            cache_bytes: options.cache_size,
            now,
            levels,
            measured,
            suggestions: rules::suggestions(&situation)?,
            plan,
            what_if,
            curve: MemoryCurve::of(&situation),
        })
    }
}

/// The filters of a database for the lookups that advice is wanted for.
fn filter_levels(
    database: &Database,
    keys: &PlannedKeys,
    options: &AdviceOptions,
) -> Result<FilterLevels> {
    let filters = FilterLevels::of(database, keys)?.with_seeks(database, &|| true)?;
    if options.hit_rate > 0.0 { filters.with_found_keys(database) } else { Ok(filters) }
}
