//! What other filters would cost: of a table, and of all levels within a budget.

use serde::Serialize;
use sstkit_filter::{
    AllocatedKind, Allocation, AllocationOptions, BitsPerKey, FilterAllocator, FilterPolicy,
    FilteredLevel,
};
use sstkit_inspect::{FilterCurve, filter_curves};

use super::{database, to_json};
use crate::error::{PageError, Result};
use crate::inspector::Request;
use crate::source::Opened;

#[derive(Serialize)]
struct WhatIf {
    /// The keys of a filter of the curves.
    keys: u64,
    curves: Vec<FilterCurve>,
    /// The filters of the levels as they are; empty for a single table.
    levels: Vec<LevelFilters>,
    /// The filters with the fewest wasted reads within the budget; `None` without levels.
    budget: Option<Budget>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct LevelFilters {
    level: u32,
    files: u64,
    /// Files without a filter.
    without_filter: u64,
    bytes: u64,
    keys: u64,
    index_bytes: u64,
}

/// A budget, distributed over the levels.
#[derive(Serialize)]
struct Budget {
    /// The bytes to distribute.
    bytes: u64,
    /// The filters as they are, as Bloom filters of the same size.
    now: AllocatedFilters,
    best: AllocatedFilters,
}

#[derive(Serialize)]
struct AllocatedFilters {
    bytes: u64,
    /// Data blocks that a lookup of an absent key reads needlessly.
    wasted_reads: f64,
    levels: Vec<AllocatedLevel>,
}

#[derive(Serialize)]
struct AllocatedLevel {
    level: u32,
    policy: String,
    bytes: u64,
    bits_per_key: f64,
    rate: f64,
    wasted_reads: f64,
}

/// The curves of all kinds of filters, and the best filters of all levels: parameters `keys`, `cf`,
/// `budget` in bytes (default: as much as now) and `kinds` (`bloom`, `ribbon` or `both`).
pub(super) fn what_if(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let keys: u64 = query.number("keys")?.unwrap_or(1_000_000);
    let levels = levels(request)?;
    let kinds = match query.get("kinds") {
        None | Some("bloom") => &[AllocatedKind::Bloom][..],
        Some("ribbon") => &[AllocatedKind::Ribbon],
        Some("both") => &[AllocatedKind::Bloom, AllocatedKind::Ribbon],
        Some(_) => return Err(PageError::bad_request("kinds: bloom, ribbon or both")),
    };
    let budget = distribute(&levels, query.number("budget")?, kinds);
    to_json(&WhatIf { keys, curves: filter_curves(keys), levels, budget })
}

/// The filters of the levels of a database, by the tails of its tables.
fn levels(request: &Request<'_>) -> Result<Vec<LevelFilters>> {
    let mut levels: Vec<LevelFilters> = Vec::new();
    if !matches!(request.opened, Opened::Database(..)) {
        return Ok(levels);
    }
    let family = request.opened.column_family(request.query.get("cf"))?;
    for (level, file) in database::level_files(&family) {
        let tail = request.inspector.file_tails.get(request.index, &file);
        if levels.last().is_none_or(|last| last.level != level) {
            levels.push(LevelFilters { level, ..LevelFilters::default() });
        }
        if let Some(sum) = levels.last_mut() {
            sum.files += 1;
            sum.without_filter += u64::from(tail.filter == "none");
            sum.bytes += tail.filter_bytes;
            sum.keys += tail.filter_keys.or(tail.entries).unwrap_or(0);
            sum.index_bytes += tail.index_bytes;
        }
        if !(request.keep_going)() {
            return Err(PageError::timed_out());
        }
    }
    Ok(levels)
}

/// Distributes a budget; `None` if the number of keys is not known.
fn distribute(
    levels: &[LevelFilters],
    budget: Option<u64>,
    kinds: &[AllocatedKind],
) -> Option<Budget> {
    if levels.iter().all(|level| level.keys == 0) {
        return None;
    }
    let filtered: Vec<FilteredLevel> = levels
        .iter()
        .map(|level| {
            // Each file of level 0 is a run.
            let runs = if level.level == 0 { level.files } else { 1 };
            let runs = u32::try_from(runs).unwrap_or(u32::MAX);
            FilteredLevel::new(level.keys).filters(level.files).runs(runs)
        })
        .collect();
    let allocator = FilterAllocator::new(&filtered, AllocationOptions::default().kinds(kinds));
    let policies: Vec<FilterPolicy> = levels.iter().map(policy_now).collect();
    let now = AllocatedFilters::of(levels, &allocator.evaluate(&policies)?);
    let bytes = budget.unwrap_or_else(|| levels.iter().map(|level| level.bytes).sum());
    let best = AllocatedFilters::of(levels, &allocator.allocate(bytes));
    Some(Budget { bytes, now, best })
}

/// A Bloom filter of the size that the filters of a level have.
fn policy_now(level: &LevelFilters) -> FilterPolicy {
    match level.bytes {
        0 => FilterPolicy::None,
        bytes => {
            FilterPolicy::Bloom(BitsPerKey::new(8.0 * bytes as f64 / level.keys.max(1) as f64))
        }
    }
}

impl AllocatedFilters {
    fn of(levels: &[LevelFilters], allocation: &Allocation) -> Self {
        let allocated = levels.iter().zip(&allocation.levels);
        Self {
            bytes: allocation.bytes,
            wasted_reads: allocation.wasted_reads,
            levels: allocated
                .map(|(level, it)| AllocatedLevel {
                    level: level.level,
                    policy: it.policy.to_string(),
                    bytes: it.bytes,
                    bits_per_key: it.bits_per_key,
                    rate: it.fpr,
                    wasted_reads: it.wasted_reads,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(level: u32, files: u64, keys: u64) -> LevelFilters {
        LevelFilters { level, files, keys, bytes: keys * 10 / 8, ..LevelFilters::default() }
    }

    #[test]
    fn a_budget_goes_to_the_small_levels() {
        let levels = [level(0, 2, 200_000), level(1, 10, 1_000_000), level(2, 100, 10_000_000)];
        let budget = distribute(&levels, None, &[AllocatedKind::Bloom]).unwrap();
        assert!(budget.best.bytes <= budget.bytes);
        assert!(budget.best.wasted_reads < 0.7 * budget.now.wasted_reads);
        let bits: Vec<f64> = budget.best.levels.iter().map(|it| it.bits_per_key).collect();
        assert!(bits[0] > bits[2], "{bits:?}");
        let none = distribute(&levels, Some(0), &[AllocatedKind::Bloom]).unwrap().best;
        assert_eq!((none.bytes, none.levels[0].policy.as_str()), (0, "none"));
    }

    #[test]
    fn without_keys_there_is_nothing_to_distribute() {
        assert!(distribute(&[level(0, 1, 0)], None, &[AllocatedKind::Bloom]).is_none());
        assert!(distribute(&[], None, &[AllocatedKind::Bloom]).is_none());
    }
}
