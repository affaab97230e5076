//! The same memory, or a budget, distributed over the levels: upper levels have few keys, so a bit per
//! key costs little there and saves as many reads.

use super::{ChangedNumber, FILTER_MEMORY, Suggestion, WASTED_READS};
use crate::advice::best_filters;
use crate::advice::filter_change::FilterChange;
use crate::advice::situation::Situation;
use crate::error::Result;

/// LevelDB has one policy for all levels: filters that differ in size by less than this share are those
/// that it has already.
const SAME_SIZE: f64 = 0.01;

/// Fewer wasted reads than this share of those of today are worth a change.
const WORTH: f64 = 0.95;

pub(super) fn suggest(situation: &Situation<'_>) -> Result<Option<Suggestion>> {
    let now = situation.cost();
    let best = FilterChange::new(situation, &best_filters::choice(situation), "")?;
    let (Some(bytes), Some(wasted_reads)) = (best.filter_bytes, best.wasted_reads) else {
        return Ok(None);
    };
    if !situation.is_rocksdb()
        && bytes.abs_diff(now.filter_bytes) as f64 <= SAME_SIZE * bytes as f64
    {
        return Ok(None);
    }
    let is_budget = situation.options.budget.is_some();
    if !is_budget && wasted_reads > WORTH * now.wasted_reads {
        return Ok(None);
    }
    let policies: Vec<String> = best
        .levels
        .iter()
        .filter_map(|level| Some(format!("{} in level {}", level.policy.as_ref()?, level.level)))
        .collect();
    let memory = if is_budget { "the budget" } else { "the same memory" };
    Ok(Some(Suggestion {
        rule: "bits_per_level",
        column_family: None,
        advised: true,
        text: format!(
            "Distribute {memory} over the levels so that lookups waste the fewest reads: {}.",
            policies.join(", ")
        ),
        numbers: vec![
            ChangedNumber::bytes(FILTER_MEMORY, now.filter_bytes, bytes),
            ChangedNumber::reads(WASTED_READS, now.wasted_reads, wasted_reads),
        ],
        options: String::new(),
    }))
}
