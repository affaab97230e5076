//! Legacy Bloom filters, of format versions before 5: more false positives in the same memory, above
//! all with millions of keys in a filter, and slower probes.

use sstkit_filter::{AllocationOptions, BitsPerKey, FilterAllocator, FilterPolicy, FilteredLevel};

use super::{ChangedNumber, FILTER_MEMORY, Suggestion, WASTED_READS, bits};
use crate::advice::situation::{FamilyLevels, Situation};
use crate::error::Result;

/// The first format version with the cache-local Bloom filter.
const NEW_FORMAT: u32 = 5;

pub(super) fn suggest(
    situation: &Situation<'_>,
    family: &FamilyLevels,
) -> Result<Option<Suggestion>> {
    let is_legacy = |number: &usize| {
        situation.files(std::slice::from_ref(number)).any(|it| it.report.kind == "legacy_bloom")
    };
    let legacy: Vec<usize> = family.numbers.iter().copied().filter(is_legacy).collect();
    if legacy.is_empty() || !situation.is_rocksdb() {
        return Ok(None);
    }
    let policy = FilterPolicy::Bloom(BitsPerKey::new(bits(situation, &legacy)));
    let shapes: Vec<FilteredLevel> =
        legacy.iter().map(|&number| situation.level(number).shape.clone()).collect();
    let options = AllocationOptions::default().format_version(NEW_FORMAT).kinds(&[]);
    let after = FilterAllocator::new(&shapes, options).evaluate(&vec![policy; legacy.len()]);
    let Some(after) = after else { return Ok(None) };
    let rates = legacy.iter().zip(&after.levels);
    let reads = rates.map(|(&number, level)| situation.weight(number) * level.fpr).sum();
    Ok(Some(Suggestion {
        rule: "legacy_bloom",
        column_family: None,
        advised: true,
        text: format!(
            "Use format version {NEW_FORMAT} or later: its Bloom filters have fewer false positives in the \
             same memory, and a probe touches one cache line. Tables change when they are compacted."
        ),
        numbers: vec![
            ChangedNumber::bytes(FILTER_MEMORY, situation.filter_bytes(&legacy), after.bytes),
            ChangedNumber::reads(WASTED_READS, situation.wasted_reads(&legacy), reads),
        ],
        options: format!("block_based_table_factory={{format_version={NEW_FORMAT};}};"),
    }))
}
