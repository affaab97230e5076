//! Whole keys beside prefixes: lookups need the ones, seeks the others. Who only seeks pays for both.

use super::{ChangedNumber, FILTER_MEMORY, Suggestion, WASTED_READS};
use crate::advice::situation::{FamilyLevels, Situation};
use crate::error::Result;

pub(super) fn suggest(
    situation: &Situation<'_>,
    family: &FamilyLevels,
) -> Result<Option<Suggestion>> {
    let numbers = &family.numbers;
    let has_both = |file: &&crate::FilteredFile| {
        file.report.whole_key && file.report.prefix_extractor.is_some()
    };
    let both: Vec<&crate::FilteredFile> = situation.files(numbers).filter(has_both).collect();
    let keys: u64 = both.iter().filter_map(|file| file.report.keys).sum();
    let entries: u64 = both.iter().map(|file| file.memory.entries).sum();
    let bytes: u64 = both.iter().map(|file| file.report.bytes).sum();
    if both.is_empty() || keys <= entries || !situation.is_rocksdb() {
        return Ok(None);
    }
    // Everything besides whole keys are prefixes. Each version of a key counts as an entry, so these are
    // at least as many.
    let after = bytes as f64 * (keys - entries) as f64 / keys as f64;
    let all = situation.filter_bytes(numbers);
    let unfiltered: f64 = numbers.iter().map(|&number| situation.weight(number)).sum();
    Ok(Some(Suggestion {
        rule: "whole_keys",
        column_family: None,
        advised: false,
        text: "No whole keys in the filters, if there are only seeks: lookups of keys that are not found \
               would read a block of each run that has their prefix."
            .into(),
        numbers: vec![
            ChangedNumber::bytes(FILTER_MEMORY, all, all - bytes + after as u64),
            ChangedNumber::reads(WASTED_READS, situation.wasted_reads(numbers), unfiltered),
        ],
        options: "block_based_table_factory={whole_key_filtering=false;};".into(),
    }))
}
