//! Other filters for a database: what they cost, and how to get them.
//!
//! A policy for each level is what `sst refilter` can write. RocksDB's own compactions have one policy
//! for all levels of a column family (Ribbon filters may begin at a level, the last level may have
//! none), so its options lead to other numbers; both are given.

use serde::Serialize;
use sstkit_db::Database;
use sstkit_filter::{BitsPerKey, FilterPolicy};

use super::option_text::{ChangedOptions, refilter_line};
use super::situation::{FamilyLevels, Situation};
use super::what_if::WhatIf;
use super::{AdviceOptions, best_filters, filter_levels};
use crate::error::Result;
use crate::filter_plan::PlannedKeys;

/// Other filters for a database.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterChange {
    /// Bytes of all filters; `None` if it is not known (custom policies).
    pub filter_bytes: Option<u64>,
    /// Bytes of all indexes, about.
    pub index_bytes: u64,
    /// The expected number of data blocks that a lookup reads needlessly; `None` if it is not known.
    pub wasted_reads: Option<f64>,
    /// Each column family from the newest level to the oldest.
    pub levels: Vec<ChangedLevel>,
    /// The options of each column family.
    pub column_families: Vec<FamilyChange>,
    /// The command line that writes a database with these filters; `None` if nothing changes that it
    /// can change.
    pub refilter: Option<String>,
}

/// The filters of a level.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChangedLevel {
    /// The column family.
    pub column_family: String,
    /// The level.
    pub level: u32,
    /// The policy; `None` if the filters stay as they are.
    pub policy: Option<String>,
    /// Bytes of the filters; `None` if it is not known.
    pub filter_bytes: Option<u64>,
    /// The expected false-positive rate; `None` if it is not known.
    pub fpr: Option<f64>,
    /// The expected number of data blocks of the level that a lookup reads needlessly.
    pub wasted_reads: Option<f64>,
}

/// The options of a column family, and what they lead to when the engine has rewritten all tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FamilyChange {
    /// The column family.
    pub column_family: String,
    /// The option string of RocksDB, as in OPTIONS and for `GetColumnFamilyOptionsFromString`; of LevelDB,
    /// members of `Options`. `DB::SetOptions` accepts all but `optimize_filters_for_hits`, which is set
    /// when the database is opened.
    pub options: String,
    /// Bytes of all filters of the column family, if all levels stay as large as they are.
    pub filter_bytes: Option<u64>,
    /// The share of the expected wasted reads in this column family.
    pub wasted_reads: Option<f64>,
}

impl FilterChange {
    /// A choice, for filters with the keys that they have now.
    pub(super) fn new(situation: &Situation<'_>, choice: &WhatIf, path: &str) -> Result<Self> {
        let families = situation.families();
        let policies = policies(situation, &families, choice);
        let levels: Vec<ChangedLevel> = policies
            .iter()
            .enumerate()
            .map(|(number, policy)| {
                let level = situation.level(number);
                let after = situation.in_level(number, policy.as_ref());
                ChangedLevel {
                    column_family: level.column_family.clone().unwrap_or_default(),
                    level: level.level.unwrap_or(0),
                    policy: policy.as_ref().map(ToString::to_string),
                    filter_bytes: after.map(|(bytes, _)| bytes),
                    fpr: after.map(|(_, fpr)| fpr),
                    wasted_reads: after.map(|(_, fpr)| situation.weight(number) * fpr),
                }
            })
            .collect();
        let column_families =
            families.iter().map(|family| family_change(situation, family, &policies, choice));
        Ok(Self {
            filter_bytes: levels.iter().map(|level| level.filter_bytes).sum(),
            index_bytes: index_bytes(situation, &families, choice),
            wasted_reads: levels.iter().map(|level| level.wasted_reads).sum(),
            column_families: column_families.collect(),
            refilter: refilter_line(situation, path, &policies, choice),
            levels,
        })
    }

    /// A choice of the user, which may change what is added to the filters.
    pub(super) fn of_user(
        database: &Database,
        options: &AdviceOptions,
        choice: &WhatIf,
        path: &str,
    ) -> Result<Self> {
        let keys = PlannedKeys {
            prefix_extractor: choice.prefix_extractor.clone(),
            whole_key_filtering: choice.whole_key_filtering,
        };
        let filters = filter_levels(database, &keys, options)?;
        let exists = |level: &u32| filters.levels.iter().any(|it| it.level == Some(*level));
        if let Some(level) = choice.level_filters.keys().find(|level| !exists(level)) {
            let what = format!("filter.{level}: the database has no tables in level {level}");
            return Err(sstkit_table::Error::invalid_input(what).into());
        }
        Self::new(&Situation::new(database, &filters, options), choice, path)
    }
}

/// The policy of each level; `None` if it stays.
fn policies(
    situation: &Situation<'_>,
    families: &[FamilyLevels],
    choice: &WhatIf,
) -> Vec<Option<FilterPolicy>> {
    let mut policies: Vec<Option<FilterPolicy>> = (0..situation.filters.levels.len())
        .map(|number| {
            let level = situation.level(number).level.unwrap_or(0);
            let fixed = choice.by_number.get(number).cloned().flatten();
            fixed
                .or_else(|| choice.level_filters.get(&level).cloned())
                .or_else(|| choice.filter.clone())
                // Other keys need a new filter; its policy is the one in OPTIONS.
                .or_else(|| configured(situation, number).filter(|_| choice.changes_keys()))
        })
        .collect();
    if choice.no_last_level == Some(true) {
        for last in families.iter().filter_map(FamilyLevels::last) {
            policies[last] = Some(FilterPolicy::None);
        }
    }
    policies
}

/// The policy in OPTIONS.
fn configured(situation: &Situation<'_>, number: usize) -> Option<FilterPolicy> {
    let family = situation.level(number).column_family.as_deref()?;
    situation.database.options_file().table(family).filter_policy()?.parse().ok()
}

/// With blocks of another size an index has more or fewer entries.
fn index_bytes(situation: &Situation<'_>, families: &[FamilyLevels], choice: &WhatIf) -> u64 {
    let of_family = |family: &FamilyLevels| {
        let now = situation.sum(&family.numbers, |file| file.index_bytes);
        match choice.block_size {
            Some(size) => {
                let raw = situation.sum(&family.numbers, |file| file.raw_bytes) as f64;
                let blocks = situation.sum(&family.numbers, |file| file.data_blocks).max(1) as f64;
                (now as f64 * (raw / blocks) / size as f64) as u64
            }
            None => now,
        }
    };
    families.iter().map(of_family).sum()
}

/// The options that come closest to the policies of the levels.
fn family_change(
    situation: &Situation<'_>,
    family: &FamilyLevels,
    policies: &[Option<FilterPolicy>],
    choice: &WhatIf,
) -> FamilyChange {
    let new = |number: &usize| policies[*number].as_ref();
    let last = family.last().and_then(|number| policies[number].as_ref());
    let is_filtered = |policy: &&FilterPolicy| !matches!(policy, FilterPolicy::None);
    let filtered: Vec<&FilterPolicy> =
        family.numbers.iter().filter_map(new).filter(is_filtered).collect();
    let no_last_level = last.is_some_and(|policy| matches!(policy, FilterPolicy::None))
        && (family.numbers.len() > 1 && !filtered.is_empty());
    let levels: Vec<usize> = match no_last_level {
        true => family.numbers[..family.numbers.len() - 1].to_vec(),
        false => family.numbers.clone(),
    };
    let is_changed = family.numbers.iter().any(|number| new(number).is_some());
    let policy = match &filtered[..] {
        _ if !is_changed => None,
        [] => Some(FilterPolicy::None),
        [first, rest @ ..] if rest.iter().all(|it| it.to_string() == first.to_string()) => {
            Some((*first).clone())
        }
        _ => Some(one_policy(situation, family, &levels, policies)),
    };
    let after = |number: &usize| {
        let flushed = policy.as_ref().map(as_flushed);
        let is_flushed = situation.level(*number).level == Some(0);
        let policy = if is_flushed { flushed.as_ref() } else { policy.as_ref() };
        situation.in_level(*number, policy)
    };
    let sizes: Option<Vec<(u64, f64)>> = levels.iter().map(after).collect();
    let unfiltered: f64 =
        family.numbers[levels.len()..].iter().map(|&it| situation.weight(it)).sum();
    let wasted = |sizes: &Vec<(u64, f64)>| -> f64 {
        let of_levels = levels.iter().zip(sizes).map(|(&it, (_, fpr))| situation.weight(it) * fpr);
        of_levels.sum::<f64>() + unfiltered
    };
    let options = ChangedOptions { policy: policy.as_ref(), no_last_level, choice };
    FamilyChange {
        column_family: family.name.clone(),
        options: options.text(situation, family),
        filter_bytes: sizes.as_ref().map(|sizes| sizes.iter().map(|(bytes, _)| bytes).sum()),
        wasted_reads: sizes.as_ref().map(wasted),
    }
}

/// What RocksDB builds when it flushes a memtable: never a Ribbon filter, unless the level is negative.
fn as_flushed(policy: &FilterPolicy) -> FilterPolicy {
    match policy {
        FilterPolicy::Ribbon { bits_per_key, bloom_before_level: 0.. } => {
            FilterPolicy::Bloom(*bits_per_key)
        }
        other => other.clone(),
    }
}

/// The policy with most bits per key for all levels that does not take more memory than those of the
/// levels.
fn one_policy(
    situation: &Situation<'_>,
    family: &FamilyLevels,
    levels: &[usize],
    policies: &[Option<FilterPolicy>],
) -> FilterPolicy {
    let budget: u64 = family
        .numbers
        .iter()
        .filter_map(|&number| situation.in_level(number, policies[number].as_ref()))
        .map(|(bytes, _)| bytes)
        .sum();
    let is_ribbon = |policy: &FilterPolicy| matches!(policy, FilterPolicy::Ribbon { .. });
    let has_ribbon = policies.iter().flatten().any(is_ribbon);
    let ribbon = best_filters::ribbon_level(situation, family).filter(|_| has_ribbon);
    let policy = |tenths: u32| {
        let bits_per_key = BitsPerKey::new(f64::from(tenths) / 10.0);
        match (situation.is_rocksdb(), ribbon) {
            (false, _) => FilterPolicy::LevelDb { bits_per_key: (tenths / 10) as u16 },
            (true, Some(level)) => FilterPolicy::Ribbon {
                bits_per_key,
                bloom_before_level: i32::try_from(level).unwrap_or(i32::MAX),
            },
            (true, None) => FilterPolicy::Bloom(bits_per_key),
        }
    };
    let fits = |tenths: &u32| {
        let evaluated = situation.evaluate(&policy(*tenths)).unwrap_or_default();
        levels.iter().map(|&number| evaluated[number].0).sum::<u64>() <= budget
    };
    let all: Vec<u32> = match situation.is_rocksdb() {
        true => (10..=1000).collect(),
        false => (10..=1000).step_by(10).collect(),
    };
    match all.partition_point(fits) {
        0 => FilterPolicy::None,
        count => policy(all[count - 1]),
    }
}
