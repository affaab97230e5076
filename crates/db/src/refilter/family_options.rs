//! What OPTIONS say about the filters of a column family of the new database.

use std::collections::BTreeMap;

use sstkit_filter::FilterPolicy;
use sstkit_table::TableOptions;

use super::Refilter;
use crate::column_family::ColumnFamily;
use crate::database_writer::ColumnFamilyDescriptor;

impl Refilter {
    /// The description of a column family, with the options of its filters.
    pub(super) fn describe(
        &self,
        family: &ColumnFamily,
        mut descriptor: ColumnFamilyDescriptor,
    ) -> ColumnFamilyDescriptor {
        let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
        for level in family.levels() {
            let size: u64 = level.files.iter().map(|file| file.metadata().size).sum();
            *bytes.entry(level.number).or_default() += size;
        }
        let has_new = bytes.keys().any(|&level| self.policy(family.name(), level).is_some());
        if !has_new && self.filter.is_none() {
            return descriptor;
        }
        // Levels that stay as they are have the filters that OPTIONS say.
        let last_level = bytes.keys().next_back().copied();
        let configured = family.filter_policy().and_then(|text| text.parse().ok());
        let has_none = |level: u32| {
            family.family().settings.optimize_filters_for_hits && Some(level) == last_level
        };
        let unchanged = |level: u32| match has_none(level) {
            true => Some(&FilterPolicy::None),
            false => configured.as_ref(),
        };
        let policy = |level: u32| self.policy(family.name(), level).or_else(|| unchanged(level));
        let named = named_policy(&bytes, policy).or(self.filter.as_ref());
        let Some(named) = named else { return descriptor };
        let options = TableOptions::rocksdb().filter(named.clone());
        let (_, of_tables) = options.rocksdb_options();
        for (name, value) in of_tables.iter().filter(|(name, _)| *name == "filter_policy") {
            descriptor = descriptor.table_option(name, value);
        }
        // RocksDB neither writes filters in the last level with this option nor reads them.
        if let Some(last) = last_level.and_then(policy) {
            let is_on = is_none(last) && !is_none(named);
            descriptor = descriptor.option("optimize_filters_for_hits", &is_on.to_string());
        }
        if let Some(extractor) = &self.prefix_extractor {
            descriptor = descriptor.option("prefix_extractor", &extractor.name());
        }
        if let Some(on) = self.whole_key_filtering {
            descriptor = descriptor.table_option("whole_key_filtering", &on.to_string());
        }
        if let Some(on) = self.partition_filters {
            descriptor = descriptor.table_option("partition_filters", &on.to_string());
        }
        if self.partition_filters == Some(true) {
            descriptor = descriptor.table_option("index_type", "kTwoLevelIndexSearch");
        }
        if self.optimize_for_memory.is_some() {
            descriptor = descriptor.table_option("optimize_filters_for_memory", "true");
        }
        descriptor
    }
}

/// The policy of the largest level that has filters; without any, that of the largest level.
fn named_policy<'p>(
    bytes: &BTreeMap<u32, u64>,
    policy: impl Fn(u32) -> Option<&'p FilterPolicy>,
) -> Option<&'p FilterPolicy> {
    let levels = bytes.iter().filter_map(|(&level, &bytes)| Some((policy(level)?, bytes)));
    levels.max_by_key(|(policy, bytes)| (!is_none(policy), *bytes)).map(|(policy, _)| policy)
}

fn is_none(policy: &FilterPolicy) -> bool {
    matches!(policy, FilterPolicy::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_of_most_bytes_with_a_filter_is_named() {
        let bytes = BTreeMap::from([(0, 10), (1, 500), (2, 60), (6, 1000)]);
        let named = |policies: &[(u32, &str)]| {
            let policies: BTreeMap<u32, FilterPolicy> =
                policies.iter().map(|(level, text)| (*level, text.parse().unwrap())).collect();
            named_policy(&bytes, |level| policies.get(&level)).map(ToString::to_string)
        };
        assert_eq!(named(&[]), None);
        assert_eq!(named(&[(6, "none")]).unwrap(), "none");
        let three = [(0, "bloomfilter:9"), (1, "bloomfilter:8"), (2, "bloomfilter:7")];
        assert_eq!(named(&three).unwrap(), "bloomfilter:8");
        assert_eq!(named(&[&three[..], &[(6, "none")]].concat()).unwrap(), "bloomfilter:8");
        let four = [&three[..], &[(6, "ribbonfilter:6")]].concat();
        assert_eq!(named(&four).unwrap(), "ribbonfilter:6");
    }
}
