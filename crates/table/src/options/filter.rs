//! Settings of the filter.

use std::sync::Arc;

use sstkit_filter::{
    BuildContext, Destination, FilterPolicy, KeyFiltering, MemorySizing, PrefixExtractor,
    UsableSize,
};

use super::TableOptions;

#[derive(Clone, Debug)]
pub(crate) struct FilterOptions {
    pub(crate) policy: FilterPolicy,
    pub(crate) whole_key_filtering: bool,
    pub(crate) prefix_extractor: Option<PrefixExtractor>,
    pub(crate) partitioned: bool,
    pub(crate) decoupled: bool,
    pub(crate) optimize_for_memory: Option<UsableSize>,
    pub(crate) destination: Destination,
}

impl Default for FilterOptions {
    fn default() -> Self {
        Self {
            policy: FilterPolicy::None,
            whole_key_filtering: true,
            prefix_extractor: None,
            partitioned: false,
            decoupled: true,
            optimize_for_memory: None,
            destination: Destination::Unknown,
        }
    }
}

impl FilterOptions {
    /// Whether no filter is built.
    pub(super) fn is_off(&self) -> bool {
        matches!(self.policy, FilterPolicy::None | FilterPolicy::ReadOnly)
    }
}

impl TableOptions {
    /// The filter policy. Default: none. `bloomfilter:10` is the usual one. Not with a comparator
    /// for which different bytes can be equal.
    #[must_use]
    pub fn filter(mut self, policy: FilterPolicy) -> Self {
        self.filter.policy = policy;
        self
    }

    /// Whether whole keys are added to the filter. Default: yes. Without them only prefixes are
    /// probed.
    #[must_use]
    pub fn whole_key_filtering(mut self, on: bool) -> Self {
        self.filter.whole_key_filtering = on;
        self
    }

    /// Extracts the prefixes of keys, for the filter and the hash index. Default: none.
    #[must_use]
    pub fn prefix_extractor(mut self, extractor: PrefixExtractor) -> Self {
        self.filter.prefix_extractor = Some(extractor);
        self
    }

    /// Whether the filter is partitioned. Default: no. Needs an index of two levels.
    #[must_use]
    pub fn partition_filters(mut self, on: bool) -> Self {
        self.filter.partitioned = on;
        self
    }

    /// Whether filter partitions end by their own size, not with the index partitions. Default: yes,
    /// as RocksDB since 10.6.
    #[must_use]
    pub fn decouple_partitioned_filters(mut self, on: bool) -> Self {
        self.filter.decoupled = on;
        self
    }

    /// Sizes filters to suit an allocator. Default: off (RocksDB: on), because the bytes then
    /// depend on it, and on the filters built before.
    #[must_use]
    pub fn optimize_filters_for_memory(mut self, allocator: UsableSize) -> Self {
        self.filter.optimize_for_memory = Some(allocator);
        self
    }

    /// Where the table will be, which decides between Bloom and Ribbon for `ribbonfilter:BITS:LEVEL`.
    /// Default: unknown.
    #[must_use]
    pub fn destination(mut self, destination: Destination) -> Self {
        self.filter.destination = destination;
        self
    }

    pub(crate) fn key_filtering(&self) -> KeyFiltering {
        KeyFiltering::new(self.filter.whole_key_filtering, self.filter.prefix_extractor.clone())
    }

    /// The context of the filters of one table.
    pub(crate) fn build_context(&self) -> BuildContext {
        let context = BuildContext::default()
            .format_version(self.format.version.number())
            .destination(self.filter.destination);
        match self.filter.optimize_for_memory {
            Some(allocator) => context.optimize_for_memory(Arc::new(MemorySizing::new(allocator))),
            None => context,
        }
    }
}
