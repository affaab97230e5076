//! The option string of RocksDB, and the command line of `sst refilter`.

use std::fmt::Write as _;
use std::path::is_separator;

use sstkit_filter::FilterPolicy;
use sstkit_table::TableOptions;

use super::situation::{FamilyLevels, Situation};
use super::what_if::WhatIf;

/// What changes in the options of a column family.
pub(super) struct ChangedOptions<'a> {
    /// The policy; `None` if it stays.
    pub(super) policy: Option<&'a FilterPolicy>,
    pub(super) no_last_level: bool,
    pub(super) choice: &'a WhatIf,
}

impl ChangedOptions<'_> {
    /// The changed options only.
    pub(super) fn text(&self, situation: &Situation<'_>, family: &FamilyLevels) -> String {
        if !situation.is_rocksdb() {
            return self.leveldb_text();
        }
        let mut of_tables = String::new();
        let mut table_option = |name: &str, value: &str| {
            let _ = write!(of_tables, "{name}={value};");
        };
        if let Some(policy) = self.policy {
            table_option("filter_policy", &policy_text(policy));
        }
        let choice = self.choice;
        if let Some(on) = choice.whole_key_filtering {
            table_option("whole_key_filtering", &on.to_string());
        }
        if let Some(on) = choice.partition_filters {
            table_option("partition_filters", &on.to_string());
            if on {
                table_option("index_type", "kTwoLevelIndexSearch");
            }
        }
        if let Some(on) = choice.optimize_for_memory {
            table_option("optimize_filters_for_memory", &on.to_string());
        }
        if let Some(size) = choice.block_size {
            table_option("block_size", &size.to_string());
        }
        let mut text = match of_tables.is_empty() {
            true => String::new(),
            false => format!("block_based_table_factory={{{of_tables}}};"),
        };
        if let Some(extractor) = &choice.prefix_extractor {
            let _ = write!(text, "prefix_extractor={};", extractor.name());
        }
        let had_none = situation.is_on(&family.name, "optimize_filters_for_hits");
        if self.policy.is_some() && (self.no_last_level || had_none) {
            let _ = write!(text, "optimize_filters_for_hits={};", self.no_last_level);
        }
        text
    }

    fn leveldb_text(&self) -> String {
        let policy = match self.policy {
            Some(FilterPolicy::LevelDb { bits_per_key }) => {
                format!("filter_policy = NewBloomFilterPolicy({bits_per_key});")
            }
            Some(_) => "filter_policy = nullptr;".into(),
            None => String::new(),
        };
        let size = self.choice.block_size.map(|size| format!(" block_size = {size};"));
        format!("{policy}{}", size.unwrap_or_default()).trim_start().to_owned()
    }
}

/// The form that RocksDB has in OPTIONS.
fn policy_text(policy: &FilterPolicy) -> String {
    let (_, of_tables) = TableOptions::rocksdb().filter(policy.clone()).rocksdb_options();
    let found = of_tables.into_iter().find(|(name, _)| *name == "filter_policy");
    found.map_or_else(|| policy.to_string(), |(_, text)| text)
}

/// The command line that writes these filters; `None` if nothing changes that it can change.
pub(super) fn refilter_line(
    situation: &Situation<'_>,
    path: &str,
    policies: &[Option<FilterPolicy>],
    choice: &WhatIf,
) -> Option<String> {
    let new: Vec<&FilterPolicy> = policies.iter().flatten().collect();
    let first = new.first()?;
    let mut line = format!("sst refilter {} -o {}", quoted(path), quoted(&beside(path)));
    if new.len() == policies.len()
        && new.iter().all(|policy| policy.to_string() == first.to_string())
    {
        let _ = write!(line, " --filter {}", quoted(&first.to_string()));
    } else {
        let is_one_family = situation.families().len() == 1;
        for (number, policy) in policies.iter().enumerate() {
            let Some(policy) = policy else { continue };
            let level = situation.level(number);
            let number = level.level.unwrap_or(0);
            let family = level.column_family.as_deref().unwrap_or_default();
            let place = match is_one_family {
                true => format!("{number}={policy}"),
                false => format!("{family}:{number}={policy}"),
            };
            let _ = write!(line, " --per-level {}", quoted(&place));
        }
    }
    if let Some(extractor) = &choice.prefix_extractor {
        let _ = write!(line, " --prefix-extractor {}", quoted(&extractor.to_string()));
    }
    for (option, is_on) in [
        ("--no-whole-key-filtering", choice.whole_key_filtering == Some(false)),
        ("--partition-filters", choice.partition_filters == Some(true)),
        ("--optimize-filters-for-memory", choice.optimize_for_memory == Some(true)),
    ] {
        if is_on {
            let _ = write!(line, " {option}");
        }
    }
    Some(line)
}

/// The path of a new directory beside `path`, and not in it.
fn beside(path: &str) -> String {
    let mut of = path;
    // `db/`, `db/.`
    loop {
        let shorter = of.strip_suffix(is_separator).filter(|it| !it.is_empty());
        let shorter = shorter.or_else(|| {
            of.strip_suffix('.').filter(|it| it.len() > 1 && it.ends_with(is_separator))
        });
        match shorter {
            Some(shorter) => of = shorter,
            None => break,
        }
    }
    match of.rsplit(is_separator).next() {
        // Paths that end in no name.
        Some("" | "." | "..") => format!("{of}/../refiltered.new"),
        _ => format!("{of}.new"),
    }
}

/// A word of a command line.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=,%+@".contains(it);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_line() {
        assert_eq!(quoted("/var/lib/db-1.new"), "/var/lib/db-1.new");
        assert_eq!(quoted("événements:6=none"), "'événements:6=none'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn the_output_is_beside_the_database() {
        for (path, output) in [
            ("db", "db.new"),
            ("/var/db/", "/var/db.new"),
            ("db//", "db.new"),
            ("db/./", "db.new"),
            ("./db/.", "./db.new"),
            (".", "./../refiltered.new"),
            ("./", "./../refiltered.new"),
            ("../..", "../../../refiltered.new"),
        ] {
            assert_eq!(beside(path), output, "{path}");
        }
    }

    #[test]
    fn policies_are_those_of_options_files() {
        assert_eq!(policy_text(&"bloomfilter:9.5".parse().unwrap()), "bloomfilter:9.5:false");
        assert_eq!(policy_text(&"ribbonfilter:8:3".parse().unwrap()), "ribbonfilter:8:3");
        assert_eq!(policy_text(&FilterPolicy::None), "nullptr");
    }
}
