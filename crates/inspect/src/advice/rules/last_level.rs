//! No filter in the last level, if most lookups find their key: the filter only helps those that do
//! not, and its memory is worth more as block cache.
//!
//! ```text
//! lost     probes of the last level per lookup that are wasted · (1 - false-positive rate)
//! gained   reads per lookup · memory of the filter / data     more blocks are in the cache, for
//!                                                             keys that are looked up equally often
//! ```

use super::{ChangedNumber, FILTER_MEMORY, Suggestion, WASTED_READS};
use crate::advice::situation::{FamilyLevels, Situation};
use crate::error::Result;

/// Reads that are lost without the filter, and gained with its memory as block cache.
fn lost_and_gained(situation: &Situation<'_>, family: &FamilyLevels) -> Option<(f64, f64)> {
    let last = family.last()?;
    let level = situation.level(last);
    let lost = situation.weight(last) * (1.0 - level.fpr);
    let data = situation.sum(&family.numbers, |file| file.raw_bytes).max(1);
    // A lookup that finds its key reads one block; the others waste some.
    let reads = situation.options.hit_rate + situation.wasted_reads(&family.numbers) + lost;
    Some((lost, reads * level.bytes as f64 / data as f64))
}

/// Whether the last level of a column family should have no filter.
pub(in crate::advice) fn is_dispensable(situation: &Situation<'_>, family: &FamilyLevels) -> bool {
    let has_hits = situation.options.hit_rate > 0.0;
    has_hits && lost_and_gained(situation, family).is_some_and(|(lost, gained)| lost <= gained)
}

pub(super) fn suggest(
    situation: &Situation<'_>,
    family: &FamilyLevels,
) -> Result<Option<Suggestion>> {
    let Some(last) = family.last().filter(|&last| situation.level(last).bytes > 0) else {
        return Ok(None);
    };
    let Some((lost, gained)) = lost_and_gained(situation, family) else { return Ok(None) };
    if situation.options.hit_rate == 0.0 {
        return Ok(None);
    }
    let advised = lost <= gained;
    let reason = match advised {
        true => "as block cache its memory saves more reads than the filter does",
        false => "the filter saves more reads than its memory would as block cache",
    };
    let before = situation.filter_bytes(&family.numbers);
    let reads = situation.wasted_reads(&family.numbers);
    Ok(Some(Suggestion {
        rule: "no_last_level",
        column_family: None,
        advised,
        text: format!(
            "No filter in the last level: {reason}, if {} of the lookups find their key.",
            share(situation.options.hit_rate)
        ),
        numbers: vec![
            ChangedNumber::bytes(FILTER_MEMORY, before, before - situation.level(last).bytes),
            ChangedNumber::reads(WASTED_READS, reads, reads + lost),
            ChangedNumber::reads("reads saved by more block cache per lookup", 0.0, gained),
        ],
        options: match situation.is_rocksdb() {
            true => "optimize_filters_for_hits=true;".into(),
            false => String::new(),
        },
    }))
}

fn share(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}
