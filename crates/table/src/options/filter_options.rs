//! Settings of the filter.

use std::sync::Arc;

use sstkit_coding::{setters, with_defaults};
use sstkit_filter::{
    BuildContext, Destination, FilterPolicy, KeyFiltering, MemorySizing, PrefixExtractor,
    UsableSize,
};

use super::TableOptions;

with_defaults! {
    #[derive(Clone, Debug)]
    pub(crate) struct FilterOptions {
        pub(crate) policy: FilterPolicy = FilterPolicy::None,
        pub(crate) whole_key_filtering: bool = true,
        pub(crate) prefix_extractor: Option<PrefixExtractor>,
        pub(crate) partitioned: bool,
        pub(crate) decoupled: bool = true,
        pub(crate) optimize_for_memory: Option<UsableSize>,
        pub(crate) destination: Destination = Destination::Unknown,
    }
}

impl FilterOptions {
    /// Whether no filter is built.
    pub(super) fn is_off(&self) -> bool {
        matches!(self.policy, FilterPolicy::None | FilterPolicy::ReadOnly)
    }

    /// Whether it is RocksDB's filter block.
    pub(crate) fn is_block_based(&self) -> bool {
        matches!(self.policy, FilterPolicy::BlockBasedBloom(_))
    }
}

setters! {
    impl TableOptions:

    /// The filter policy. Default: none. `bloomfilter:10` is the usual one. Not with a comparator
    /// for which different bytes can be equal. `bloomfilter:10:true`, the block-based filter of
    /// RocksDB before 7.0, needs format version 5 or lower.
    pub fn filter(mut self, policy: FilterPolicy) { self.filter.policy = policy; }

    /// Whether whole keys are added to the filter. Default: yes. Without them only prefixes are
    /// probed.
    pub fn whole_key_filtering(mut self, on: bool) { self.filter.whole_key_filtering = on; }

    /// Extracts the prefixes of keys, for the filter and the hash index. Default: none.
    pub fn prefix_extractor(mut self, extractor: PrefixExtractor) {
        self.filter.prefix_extractor = Some(extractor);
    }

    /// Whether the filter is partitioned. Default: no. Needs an index of two levels.
    pub fn partition_filters(mut self, on: bool) { self.filter.partitioned = on; }

    /// Whether filter partitions end by their own size, not with the index partitions. Default: yes,
    /// as RocksDB since 10.6.
    pub fn decouple_partitioned_filters(mut self, on: bool) { self.filter.decoupled = on; }

    /// Sizes filters to suit an allocator. Default: off (RocksDB: on), because the bytes then
    /// depend on it, and on the filters built before.
    pub fn optimize_filters_for_memory(mut self, allocator: UsableSize) {
        self.filter.optimize_for_memory = Some(allocator);
    }

    /// Where the table will be, which decides between Bloom and Ribbon for `ribbonfilter:BITS:LEVEL`.
    /// Default: unknown.
    pub fn destination(mut self, destination: Destination) {
        self.filter.destination = destination;
    }
}

impl TableOptions {
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
