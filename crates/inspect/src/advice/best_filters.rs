//! The filters with the fewest wasted reads in a budget.
//!
//! ```text
//! level   0  1  2  3  4  5  6            of each column family
//!         Bloom             Ribbon       the levels with four fifths of the keys, which are rewritten
//!                           or none      least; none if the memory is worth more as block cache
//! ```

use sstkit_filter::{AllocatedKind, AllocationOptions, FilterAllocator, FilterPolicy};
use sstkit_table::RocksDbVersion;

use super::rules::last_level;
use super::situation::{FamilyLevels, Situation};
use super::what_if::WhatIf;

/// Ribbon filters take about 30 % less memory than Bloom filters, and several times as long to build.
/// They are worth that in the levels with this share of the keys.
const RIBBON_SHARE: f64 = 0.8;

/// Ribbon filters exist since this version.
const RIBBON_SINCE: RocksDbVersion = RocksDbVersion::new(6, 15);

/// Bits per key for a database that has no filters.
const DEFAULT_POLICY: &str = "bloomfilter:10";
const DEFAULT_LEVELDB_POLICY: &str = "leveldb.BuiltinBloomFilter2:10";

/// The policies of all levels.
pub(super) fn choice(situation: &Situation<'_>) -> WhatIf {
    let (allocator, budget) = allocator(situation);
    let allocation = allocator.allocate(budget);
    let policies = allocation.levels.into_iter().map(|level| Some(level.policy)).collect();
    WhatIf::of_levels(policies)
}

/// What may be allocated to the levels, and the memory for it.
pub(super) fn allocator(situation: &Situation<'_>) -> (FilterAllocator, u64) {
    let mut shapes: Vec<_> =
        situation.filters.levels.iter().map(|level| level.shape.clone()).collect();
    let mut without = Vec::new();
    for family in situation.families() {
        let ribbon = ribbon_level(situation, &family);
        for &number in &family.numbers {
            let level = situation.level(number).level.unwrap_or(0);
            let kind = match (situation.is_rocksdb(), ribbon) {
                (false, _) => AllocatedKind::LevelDb,
                (true, Some(first)) if level >= first => AllocatedKind::Ribbon,
                (true, _) => AllocatedKind::Bloom,
            };
            shapes[number] = shapes[number].clone().kinds(&[kind]);
        }
        if let Some(last) = family.last().filter(|_| last_level::is_dispensable(situation, &family))
        {
            shapes[last] = shapes[last].clone().kinds(&[]);
            without.push(last);
        }
    }
    let options = AllocationOptions::default()
        .hit_rate(situation.options.hit_rate)
        .format_version(situation.filters.format_version.number());
    // What a level without filters had goes to the block cache.
    let budget = situation.options.budget.unwrap_or_else(|| {
        let now = situation.cost().filter_bytes;
        let default = if now == 0 { default_bytes(situation) } else { now };
        default.saturating_sub(situation.filter_bytes(&without))
    });
    (FilterAllocator::new(&shapes, options), budget)
}

fn default_bytes(situation: &Situation<'_>) -> u64 {
    let policy = if situation.is_rocksdb() { DEFAULT_POLICY } else { DEFAULT_LEVELDB_POLICY };
    let policy: FilterPolicy = policy.parse().unwrap_or(FilterPolicy::None);
    let evaluated = situation.evaluate(&policy).unwrap_or_default();
    evaluated.iter().map(|(bytes, _)| bytes).sum()
}

/// The first level with Ribbon filters: it and those below have most of the keys. Level 0 has none, as
/// RocksDB builds Bloom filters when it flushes. `None` if the engine has no Ribbon filters.
pub(super) fn ribbon_level(situation: &Situation<'_>, family: &FamilyLevels) -> Option<u32> {
    let version = situation.database.options_file().rocksdb_version();
    let version = version.and_then(|text| text.parse::<RocksDbVersion>().ok());
    if !situation.is_rocksdb() || version.is_some_and(|version| version < RIBBON_SINCE) {
        return None;
    }
    let keys = |number: &usize| situation.level(*number).keys as f64;
    let all: f64 = family.numbers.iter().map(keys).sum();
    let mut below = 0.0;
    for number in family.numbers.iter().rev() {
        below += keys(number);
        if below >= RIBBON_SHARE * all {
            return situation.level(*number).level.map(|level| level.max(1));
        }
    }
    None
}
