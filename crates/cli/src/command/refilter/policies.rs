//! Which filter policy each level gets.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use sstkit_db::{Database, Refilter};
use sstkit_filter::{AllocatedKind, BitsPerKey, FilterPolicy};
use sstkit_inspect::{FilterLevels, LevelFilters};
use sstkit_table::raw::Engine;

use super::FilterArgs;
use crate::args::{leveldb_filter, names};

/// The value of `--filter`: a policy, or only its kind.
#[derive(Clone, Debug)]
pub(super) enum FilterChoice {
    Policy(FilterPolicy),
    Kind(AllocatedKind),
}

/// Parses a policy, or its kind.
pub(super) fn filter_choice(text: &str) -> Result<FilterChoice, String> {
    match text {
        "bloomfilter" => Ok(FilterChoice::Kind(AllocatedKind::Bloom)),
        "ribbonfilter" => Ok(FilterChoice::Kind(AllocatedKind::Ribbon)),
        _ => names::filter(text).map(FilterChoice::Policy),
    }
}

/// The value of `--per-level`.
#[derive(Clone, Debug)]
pub(super) struct LevelPolicy {
    /// `None`: of all column families.
    column_family: Option<String>,
    level: u32,
    policy: FilterPolicy,
}

/// Parses a level and its policy.
pub(super) fn level_policy(text: &str) -> Result<LevelPolicy, String> {
    let expected = || {
        format!("{text:?}: expected LEVEL=POLICY or FAMILY:LEVEL=POLICY, as in 6=bloomfilter:10")
    };
    // Policies have no `=`; names of column families may have anything.
    let (place, policy) = text.rsplit_once('=').ok_or_else(expected)?;
    let (column_family, level) = match place.rsplit_once(':') {
        Some((family, level)) => (Some(family.to_owned()), level),
        None => (None, place),
    };
    let level = level.parse().map_err(|_| expected())?;
    Ok(LevelPolicy { column_family, level, policy: names::filter(policy)? })
}

/// The policies of all levels.
pub(super) struct Policies {
    /// In the order of [`FilterLevels::levels`]; `None` for levels that stay as they are.
    pub(super) by_level: Vec<Option<FilterPolicy>>,
    /// For column families without tables.
    fallback: Option<FilterPolicy>,
    is_database: bool,
}

impl Policies {
    /// The policies that the arguments specify. `database` is the source, if it is one.
    pub(super) fn new(
        args: &FilterArgs,
        levels: &FilterLevels,
        database: Option<&Database>,
    ) -> Result<Self> {
        check_settings(args, levels)?;
        let per_level = per_level(args, levels)?;
        ensure!(
            per_level.is_empty() || database.is_some(),
            "--per-level has no effect: tables without a MANIFEST have no levels"
        );
        let general = match args.budget {
            Some(_) => General::None,
            None => general(args, levels.engine)?,
        };
        let of_level = |level: &LevelFilters| {
            let family = level.column_family.clone();
            let fixed = level.level.and_then(|number| {
                per_level.get(&(family, number)).or_else(|| per_level.get(&(None, number)))
            });
            match (fixed, &general) {
                (Some(policy), _) | (None, General::Policy(policy)) => Ok(Some(policy.clone())),
                (None, General::Configured) => configured(database, level).map(Some),
                (None, General::None) => Ok(None),
            }
        };
        let mut by_level = levels.levels.iter().map(of_level).collect::<Result<Vec<_>>>()?;
        if let Some(budget) = args.budget {
            allocate(args, levels, budget, &mut by_level)?;
        }
        let fallback = match general {
            General::Policy(policy) => Some(policy),
            General::Configured | General::None => None,
        };
        Ok(Self { by_level, fallback, is_database: database.is_some() })
    }

    /// Sets them. `levels` are those that they were made for.
    pub(super) fn apply(&self, levels: &FilterLevels, mut refilter: Refilter) -> Refilter {
        if let Some(policy) = &self.fallback {
            refilter = refilter.filter(policy.clone());
        }
        levels.apply(&self.by_level, self.is_database, refilter)
    }
}

/// The policy of levels without one of their own.
enum General {
    /// This one.
    Policy(FilterPolicy),
    /// That of OPTIONS.
    Configured,
    /// They stay as they are.
    None,
}

fn check_settings(args: &FilterArgs, levels: &FilterLevels) -> Result<()> {
    if levels.engine == Engine::RocksDb {
        let has_prefixes = args.prefix_extractor.is_some()
            || levels.files.iter().all(|file| file.report.prefix_extractor.is_some());
        ensure!(
            !args.no_whole_key_filtering || has_prefixes,
            "--no-whole-key-filtering leaves the filter empty: use --prefix-extractor, or --filter \
             none"
        );
        return Ok(());
    }
    for (option, given) in [
        ("--prefix-extractor", args.prefix_extractor.is_some()),
        ("--no-whole-key-filtering", args.no_whole_key_filtering),
        ("--partition-filters", args.partition_filters),
        ("--optimize-filters-for-memory", args.optimize_filters_for_memory),
    ] {
        ensure!(!given, "LevelDB tables do not support {option}: omit it");
    }
    Ok(())
}

/// Policies by column family and level.
type LevelPolicies = BTreeMap<(Option<String>, u32), FilterPolicy>;

fn per_level(args: &FilterArgs, levels: &FilterLevels) -> Result<LevelPolicies> {
    let mut policies = BTreeMap::new();
    for LevelPolicy { column_family, level, policy } in &args.per_level {
        let policy = of_engine(policy.clone(), levels.engine)?;
        let before = policies.insert((column_family.clone(), *level), policy);
        ensure!(before.is_none(), "--per-level names level {level} twice");
        let is_of_family = |it: &&LevelFilters| {
            column_family.is_none() || it.column_family.as_ref() == column_family.as_ref()
        };
        let of_family = || levels.levels.iter().filter(is_of_family);
        let (family, of) = match column_family {
            Some(name) => (format!("{name}:"), format!(" of column family {name}")),
            None => (String::new(), String::new()),
        };
        ensure!(
            of_family().any(|it| it.level == Some(*level)),
            "--per-level {family}{level}=…: there are no tables in level {level}{of} (levels with \
             tables: {})",
            list(of_family())
        );
    }
    Ok(policies)
}

fn list<'l>(levels: impl Iterator<Item = &'l LevelFilters>) -> String {
    let mut numbers: Vec<u32> = levels.filter_map(|it| it.level).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

fn general(args: &FilterArgs, engine: Engine) -> Result<General> {
    let policy = match (&args.filter, args.bits_per_key) {
        (Some(FilterChoice::Policy(policy)), None) => policy.clone(),
        (Some(FilterChoice::Policy(policy)), Some(_)) => {
            bail!("--filter {policy} has bits per key already: omit them, or --bits-per-key")
        }
        (Some(FilterChoice::Kind(kind)), Some(bits)) => policy_of(*kind, bits)?,
        (None, Some(bits)) => policy_of(AllocatedKind::Bloom, bits)?,
        (Some(FilterChoice::Kind(_)), None) => {
            bail!(
                "--filter without bits per key: add them, as in bloomfilter:10, or --bits-per-key"
            )
        }
        (None, None) => {
            let changes_keys = args.prefix_extractor.is_some()
                || args.no_whole_key_filtering
                || args.partition_filters
                || args.optimize_filters_for_memory;
            return match (changes_keys, &args.per_level[..]) {
                (true, _) => Ok(General::Configured),
                (false, []) => bail!(
                    "nothing to change: use --filter, --bits-per-key, --per-level or --budget"
                ),
                (false, _) => Ok(General::None),
            };
        }
    };
    of_engine(policy, engine).map(General::Policy)
}

/// The policy of a column family in the OPTIONS of a database.
fn configured(database: Option<&Database>, level: &LevelFilters) -> Result<FilterPolicy> {
    let family = level.column_family.as_deref().unwrap_or("default");
    let text = database.and_then(|it| it.options_file().table(family).filter_policy());
    match text.and_then(|text| text.parse::<FilterPolicy>().ok()) {
        Some(FilterPolicy::None) | None => {
            bail!("which policy the filters should have is not known: use --filter")
        }
        Some(policy) => Ok(policy),
    }
}

fn policy_of(kind: AllocatedKind, bits: f64) -> Result<FilterPolicy> {
    let bits_per_key = BitsPerKey::new(bits);
    ensure!(
        bits.is_finite() && !bits_per_key.is_zero(),
        "--bits-per-key {bits} builds no filter: use --filter none, or 0.5 or more"
    );
    Ok(match kind {
        AllocatedKind::Ribbon => FilterPolicy::Ribbon { bits_per_key, bloom_before_level: 0 },
        _ => FilterPolicy::Bloom(bits_per_key),
    })
}

fn of_engine(policy: FilterPolicy, engine: Engine) -> Result<FilterPolicy> {
    match engine {
        Engine::RocksDb => Ok(policy),
        Engine::LevelDb => leveldb_filter(&policy),
    }
}

/// Distributes what is left of the budget over the levels without a policy.
fn allocate(
    args: &FilterArgs,
    levels: &FilterLevels,
    budget: u64,
    by_level: &mut [Option<FilterPolicy>],
) -> Result<()> {
    let kind = match (&args.filter, levels.engine) {
        (Some(FilterChoice::Policy(policy)), _) => bail!(
            "--budget determines the bits per key: use --filter bloomfilter or ribbonfilter, not \
             {policy}"
        ),
        (Some(FilterChoice::Kind(AllocatedKind::Ribbon)), Engine::LevelDb) => {
            bail!("LevelDB tables do not support ribbonfilter: use --filter bloomfilter")
        }
        (Some(FilterChoice::Kind(kind)), Engine::RocksDb) => *kind,
        (None, Engine::RocksDb) => AllocatedKind::Bloom,
        (_, Engine::LevelDb) => AllocatedKind::LevelDb,
    };
    levels.allocate(by_level, kind, budget, args.hit_rate);
    Ok(())
}
