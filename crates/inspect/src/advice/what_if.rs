//! A choice of filters: `filter=ribbonfilter:8;partition_filters=true`.

use std::collections::BTreeMap;
use std::str::FromStr;

use sstkit_filter::{FilterPolicy, PrefixExtractor};

/// Filters that a database could have. What is not set stays as it is.
///
/// As text, settings are separated by `;` and have RocksDB's names: `filter` or `filter_policy`,
/// `filter.LEVEL` for one level, `optimize_filters_for_hits`, `partition_filters`,
/// `optimize_filters_for_memory`, `whole_key_filtering`, `prefix_extractor`, `block_size`.
///
/// ```
/// use sstkit_inspect::WhatIf;
///
/// let choice: WhatIf = "filter=ribbonfilter:8;filter.0=bloomfilter:12".parse()?;
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// The policy of levels without one of their own.
    pub(super) filter: Option<FilterPolicy>,
    /// By level.
    pub(super) level_filters: BTreeMap<u32, FilterPolicy>,
    /// By the number of the level in the situation, for all column families.
    pub(super) by_number: Vec<Option<FilterPolicy>>,
    pub(super) no_last_level: Option<bool>,
    pub(super) partition_filters: Option<bool>,
    pub(super) optimize_for_memory: Option<bool>,
    pub(super) whole_key_filtering: Option<bool>,
    pub(super) prefix_extractor: Option<PrefixExtractor>,
    pub(super) block_size: Option<u64>,
}

impl WhatIf {
    /// One policy for each level of all column families.
    pub(super) fn of_levels(by_number: Vec<Option<FilterPolicy>>) -> Self {
        Self { by_number, ..Self::default() }
    }

    /// Whether only filters change.
    pub(super) fn changes_keys(&self) -> bool {
        self.prefix_extractor.is_some() || self.whole_key_filtering.is_some()
    }
}

const NAMES: &str = "filter, filter.LEVEL, optimize_filters_for_hits, partition_filters, \
                     optimize_filters_for_memory, whole_key_filtering, prefix_extractor, block_size";

impl FromStr for WhatIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut choice = Self::default();
        for setting in text.split(';').map(str::trim).filter(|setting| !setting.is_empty()) {
            let (name, value) = setting.split_once('=').ok_or_else(|| {
                format!("{setting:?}: expected NAME=VALUE, such as block_size=8192")
            })?;
            let (name, value) = (name.trim(), value.trim());
            let invalid = |what: &str| format!("{name}={value}: expected {what}");
            let policy =
                || value.parse::<FilterPolicy>().map_err(|error| format!("{name}: {error}"));
            let flag = || value.parse::<bool>().map(Some).map_err(|_| invalid("true or false"));
            match name {
                "filter" | "filter_policy" => choice.filter = Some(policy()?),
                "optimize_filters_for_hits" => choice.no_last_level = flag()?,
                "partition_filters" => choice.partition_filters = flag()?,
                "optimize_filters_for_memory" => choice.optimize_for_memory = flag()?,
                "whole_key_filtering" => choice.whole_key_filtering = flag()?,
                "prefix_extractor" => {
                    let extractor = value.parse().map_err(|error| format!("{name}: {error}"))?;
                    choice.prefix_extractor = Some(extractor);
                }
                "block_size" => {
                    let bytes = value.parse().ok().filter(|&bytes: &u64| bytes > 0);
                    choice.block_size = Some(bytes.ok_or_else(|| invalid("a number of bytes"))?);
                }
                _ => {
                    let level = name.strip_prefix("filter.").and_then(|level| level.parse().ok());
                    let level = level.ok_or_else(|| format!("{name}: expected one of {NAMES}"))?;
                    choice.level_filters.insert(level, policy()?);
                }
            }
        }
        Ok(choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_all_kinds() {
        let text = "filter=ribbonfilter:8; filter.0=bloomfilter:12;filter.6=none;\
                    optimize_filters_for_hits=true;partition_filters=false;block_size=8192;\
                    prefix_extractor=fixed:4;whole_key_filtering=false;";
        let choice: WhatIf = text.parse().unwrap();
        assert_eq!(choice.filter.unwrap().to_string(), "ribbonfilter:8");
        assert_eq!(choice.level_filters.len(), 2);
        assert_eq!(choice.no_last_level, Some(true));
        assert_eq!(choice.partition_filters, Some(false));
        assert_eq!(choice.block_size, Some(8192));
        assert_eq!(choice.whole_key_filtering, Some(false));
        assert!(choice.prefix_extractor.is_some());
    }

    #[test]
    fn others_are_errors() {
        for text in [
            "filter",
            "filters=none",
            "filter=blom:3",
            "block_size=0",
            "filter.x=none",
            "partition_filters=1",
        ] {
            assert!(text.parse::<WhatIf>().is_err(), "{text}");
        }
    }
}
