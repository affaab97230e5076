//! Filters of single blocks: RocksDB has ignored them since version 7.

use super::{ChangedNumber, FILTER_MEMORY, Suggestion, WASTED_READS};
use crate::advice::situation::{FamilyLevels, Situation};
use crate::error::Result;
use crate::filter_plan::IGNORED_KIND;

const NEW_POLICY: &str = "bloomfilter:10";

pub(super) fn suggest(
    situation: &Situation<'_>,
    family: &FamilyLevels,
) -> Result<Option<Suggestion>> {
    let is_ignored = |file: &&crate::FilteredFile| {
        let is_unused = file.report.expected_fpr.is_none();
        is_unused && [IGNORED_KIND, "unknown"].contains(&file.report.kind)
    };
    let files = situation.files(&family.numbers).filter(is_ignored).count();
    if files == 0 || !situation.is_rocksdb() {
        return Ok(None);
    }
    let after = NEW_POLICY.parse().ok().and_then(|policy| situation.evaluate(&policy));
    let Some(after) = after else { return Ok(None) };
    let numbers = &family.numbers;
    let bytes = numbers.iter().map(|&number| after[number].0).sum();
    let reads = numbers.iter().map(|&number| situation.weight(number) * after[number].1).sum();
    Ok(Some(Suggestion {
        rule: "ignored_kind",
        column_family: None,
        advised: true,
        text: format!(
            "Rebuild the filters of {files} files: RocksDB ignores filters of single blocks since \
             version 7, and those of policies that it does not know, so lookups read every file."
        ),
        numbers: vec![
            ChangedNumber::bytes(FILTER_MEMORY, situation.filter_bytes(numbers), bytes),
            ChangedNumber::reads(WASTED_READS, situation.wasted_reads(numbers), reads),
        ],
        options: format!("block_based_table_factory={{filter_policy={NEW_POLICY};}};"),
    }))
}
