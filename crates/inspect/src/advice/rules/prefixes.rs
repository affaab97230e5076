//! Prefix filters that never help: where no table is ruled out by a prefix of the keys, prefixes only
//! take memory.
//!
//! ```text
//! sampled keys of all tables ---> prefix ---> tables of other runs whose range includes the key
//!                                             how many does the filter rule out?
//! ```

use sstkit_db::{ColumnFamily, LevelFile};
use sstkit_table::Comparator;

use super::{ChangedNumber, FILTER_MEMORY, Suggestion};
use crate::advice::situation::{FamilyLevels, Situation};
use crate::database::open_level_file;
use crate::error::Result;
use crate::filter_plan::{FilteredFile, key_sample};
use crate::inspected_table::InspectedTable;

/// Fewer tables than this share ruled out are as good as none.
const WORTH: f64 = 0.01;
/// Sampled keys that are probed.
const PROBED: u64 = 512;

pub(super) fn suggest(
    situation: &Situation<'_>,
    family: &FamilyLevels,
) -> Result<Option<Suggestion>> {
    let numbers = &family.numbers;
    let has_prefixes = situation.files(numbers).any(|file| file.report.prefix_extractor.is_some());
    let Ok(column_family) = situation.database.column_family(&family.name) else { return Ok(None) };
    if !has_prefixes || !situation.is_rocksdb() {
        return Ok(None);
    }
    let files: Vec<FilteredFile> = situation.files(numbers).cloned().collect();
    let Some(use_of_prefixes) = PrefixUse::of(&column_family, &files)? else { return Ok(None) };
    if use_of_prefixes.ruled_out as f64 > WORTH * use_of_prefixes.probed as f64 {
        return Ok(None);
    }
    let bytes = situation.filter_bytes(numbers);
    let keys: u64 = situation.files(numbers).filter_map(|file| file.report.keys).sum();
    let whole: u64 = situation
        .files(numbers)
        .filter(|file| file.report.whole_key)
        .map(|file| file.memory.entries)
        .sum();
    // What is in the filters besides whole keys are prefixes.
    let after = bytes as f64 * (whole as f64 / keys.max(1) as f64).min(1.0);
    Ok(Some(Suggestion {
        rule: "prefixes",
        column_family: None,
        advised: true,
        text: format!(
            "No prefixes in the filters: of {} tables in whose range a sampled key is, its prefix ruled \
             out {}. Seeks read the same without them.",
            use_of_prefixes.probed, use_of_prefixes.ruled_out
        ),
        numbers: vec![
            ChangedNumber::bytes(FILTER_MEMORY, bytes, after as u64),
            ChangedNumber::reads(
                "wasted reads per seek",
                use_of_prefixes.wasted_seek_reads,
                use_of_prefixes.wasted_seek_reads_without,
            ),
        ],
        options: "prefix_extractor=nullptr;".into(),
    }))
}

/// How often a prefix of a key rules out a table.
struct PrefixUse {
    probed: u64,
    ruled_out: u64,
    wasted_seek_reads: f64,
    wasted_seek_reads_without: f64,
}

impl PrefixUse {
    /// `None` if there is nothing to probe: without a prefix extractor, or in a single run.
    fn of(family: &ColumnFamily, files: &[FilteredFile]) -> Result<Option<Self>> {
        let (Some(extractor), Ok(comparator)) = (family.prefix_extractor(), family.comparator())
        else {
            return Ok(None);
        };
        let mut tables: Vec<(LevelFile, InspectedTable)> = Vec::new();
        for file in family.levels().into_iter().flat_map(|level| level.files) {
            let table = open_level_file(&file)?;
            tables.push((file, table));
        }
        let keys = key_sample::of_family(family, files, PROBED)?;
        let (mut probed, mut ruled_out, mut seeks) = (0_u64, 0, 0);
        for key in keys.iter().map(|it| &it.key) {
            let Some(prefix) = extractor.prefix(key) else { continue };
            seeks += 1;
            for (_, table) in tables.iter().filter(|(file, _)| is_in_range(file, key, comparator)) {
                let Some(filter) = table.table().filter() else { continue };
                if filter.prefix_extractor().is_some() {
                    probed += 1;
                    ruled_out += u64::from(!filter.may_contain_prefix(prefix)?);
                }
            }
        }
        // In its own table each key is found.
        let others = probed.saturating_sub(seeks);
        let per_seek = |reads: u64| reads as f64 / seeks.max(1) as f64;
        Ok((others > 0).then(|| Self {
            probed: others,
            ruled_out,
            wasted_seek_reads: per_seek(others - ruled_out.min(others)),
            wasted_seek_reads_without: per_seek(others),
        }))
    }
}

fn is_in_range(file: &LevelFile, key: &[u8], comparator: &Comparator) -> bool {
    let compare = |bound: &[u8]| comparator.compare_without_timestamp(key, bound);
    compare(file.smallest()).is_ge() && compare(file.largest()).is_le()
}
