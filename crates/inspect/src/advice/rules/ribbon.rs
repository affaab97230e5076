//! Ribbon filters in the levels with most keys: the same rate in about 30 % less memory, for more work
//! while they are built.

use sstkit_filter::{BitsPerKey, FilterPolicy};

use super::{ChangedNumber, FILTER_MEMORY, Suggestion, WASTED_READS, bits};
use crate::advice::best_filters::ribbon_level;
use crate::advice::situation::{FamilyLevels, Situation};
use crate::error::Result;

/// Less memory than this is not worth it.
const WORTH_BYTES: u64 = 4096;

pub(super) fn suggest(
    situation: &Situation<'_>,
    family: &FamilyLevels,
) -> Result<Option<Suggestion>> {
    let Some(first) = ribbon_level(situation, family) else { return Ok(None) };
    let is_below = |number: &usize| situation.level(*number).level >= Some(first);
    let below: Vec<usize> = family.numbers.iter().copied().filter(is_below).collect();
    let has_bloom = situation.files(&below).any(|file| file.report.kind.ends_with("bloom"));
    let bits = (bits(situation, &below) * 10.0).round() / 10.0;
    if !has_bloom || bits < 1.0 {
        return Ok(None);
    }
    let level = i32::try_from(first).unwrap_or(i32::MAX);
    let policy =
        FilterPolicy::Ribbon { bits_per_key: BitsPerKey::new(bits), bloom_before_level: level };
    let Some(after) = situation.evaluate(&policy) else { return Ok(None) };
    let bytes: u64 = below.iter().map(|&number| after[number].0).sum();
    let before = situation.filter_bytes(&below);
    if before.saturating_sub(bytes) < WORTH_BYTES {
        return Ok(None);
    }
    let reads = below.iter().map(|&number| situation.weight(number) * after[number].1).sum();
    Ok(Some(Suggestion {
        rule: "ribbon",
        column_family: None,
        advised: true,
        text: format!(
            "Ribbon filters from level {first} on, which has most of the keys: about the same rate in \
             less memory. Building one takes several times as long as a Bloom filter."
        ),
        numbers: vec![
            ChangedNumber::bytes(FILTER_MEMORY, before, bytes),
            ChangedNumber::reads(WASTED_READS, situation.wasted_reads(&below), reads),
        ],
        options: format!(
            "block_based_table_factory={{filter_policy=ribbonfilter:{bits}:{level};}};"
        ),
    }))
}
