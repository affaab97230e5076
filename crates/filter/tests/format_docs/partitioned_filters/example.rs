//! The partitions of the page, with the reason for each entry.

use sstkit_filter::{
    BuildContext, KeyFiltering, Partition, PartitionedFilterBuilder, PrefixExtractor,
};

use super::entry_rules::Entries;
use crate::building::{build, policy};

pub(super) const POLICY: &str = "bloomfilter:100";
pub(super) const PREFIX_EXTRACTOR: &str = "fixed:3";
pub(super) const BLOCK_SIZE: usize = 80;
const KEYS: [&str; 8] = ["ant/1", "ant/2", "ant/3", "bee/1", "bee/2", "bee/3", "bee/4", "cow/1"];

/// A partition and its entries.
pub(super) struct Example {
    pub(super) first_key: &'static str,
    pub(super) last_key: Vec<u8>,
    /// The entries and the reasons for them.
    pub(super) entries: Vec<(Vec<u8>, &'static str)>,
    pub(super) filter: Vec<u8>,
}

/// A partition under construction, by the rules of the page.
struct Open {
    first_key: &'static str,
    entries: Entries,
    reasons: Vec<&'static str>,
}

impl Open {
    fn new(first_key: &'static str) -> Self {
        Self { first_key, entries: Entries::default(), reasons: Vec::new() }
    }

    /// Assigns a reason to the entries that have none.
    fn explain(&mut self, reason: &'static str) {
        self.reasons.resize(self.entries.list.len(), reason);
    }

    fn add(&mut self, key: &[u8], prefix: &[u8]) {
        let before = self.entries.list.len();
        self.entries.add_with_prefix(key, prefix);
        if self.entries.list.len() - before == 2 {
            self.reasons.push("prefix");
        }
        self.explain("key");
    }

    fn close(self, last_key: &[u8], partition: Partition) -> Example {
        assert_eq!(partition.last_key, last_key);
        assert_eq!(
            partition.filter,
            build(POLICY, &BuildContext::default(), &self.entries.list),
            "the entries must be those of the partition"
        );
        Example {
            first_key: self.first_key,
            last_key: partition.last_key,
            entries: self.entries.list.into_iter().zip(self.reasons).collect(),
            filter: partition.filter,
        }
    }
}

/// The capacity of the partitions, and the partitions.
pub(super) fn example_partitions() -> (usize, Vec<Example>) {
    let extractor: PrefixExtractor = PREFIX_EXTRACTOR.parse().expect("an extractor");
    let prefix = |key: &[u8]| extractor.prefix(key).expect("in the domain").to_vec();
    let mut builder = PartitionedFilterBuilder::new(
        &policy(POLICY),
        &BuildContext::default(),
        KeyFiltering::new(true, Some(extractor.clone())),
        BLOCK_SIZE,
        10,
    )
    .expect("builds filters");
    let capacity = builder.capacity();

    let mut examples = Vec::new();
    let mut open = Open::new(KEYS[0]);
    let mut last_key: &[u8] = b"";
    for name in KEYS {
        let key = name.as_bytes();
        if let Some(partition) = builder.add(key).expect("built in") {
            let next = prefix(key);
            open.entries.add_with_prefix(&next, &next);
            open.explain("prefix of the first key of the next partition");
            examples.push(open.close(last_key, partition));
            open = Open::new(name);
            open.entries.add(&prefix(last_key));
            open.explain("prefix of the last key of the previous partition");
        }
        open.add(key, &prefix(key));
        last_key = key;
    }
    let partition = builder.finish().expect("built in").expect("not empty");
    examples.push(open.close(last_key, partition));
    (capacity, examples)
}
