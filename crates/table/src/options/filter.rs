//! Settings of the filter.

use std::sync::Arc;

use sstkit_filter::{
    BuildContext, Destination, FilterPolicy, KeyFiltering, MemorySizing, PrefixExtractor,
    UsableSize,
};

use super::TableOptions;

impl TableOptions {
    /// The filter policy. Default: none. `bloomfilter:10` is the usual one. Not with a comparator
    /// that finds keys of different bytes equal.
    #[must_use]
    pub fn filter(mut self, policy: FilterPolicy) -> Self {
        self.filter = policy;
        self
    }

    /// Whether whole keys go into the filter. Default: yes. Without them only scans over a prefix
    /// use it, and lookups through their prefix.
    #[must_use]
    pub fn whole_key_filtering(mut self, on: bool) -> Self {
        self.whole_key_filtering = on;
        self
    }

    /// What makes prefixes of keys, for the filter and the hash index. Default: none.
    #[must_use]
    pub fn prefix_extractor(mut self, extractor: PrefixExtractor) -> Self {
        self.prefix_extractor = Some(extractor);
        self
    }

    /// Whether the filter is cut into partitions. Default: no. Needs an index of two levels.
    #[must_use]
    pub fn partition_filters(mut self, on: bool) -> Self {
        self.partition_filters = on;
        self
    }

    /// Whether filter partitions are cut by their own size, not where index partitions are.
    /// Default: yes, as RocksDB since 10.6.
    #[must_use]
    pub fn decouple_partitioned_filters(mut self, on: bool) -> Self {
        self.decouple_partitioned_filters = on;
        self
    }

    /// Sizes filters to suit an allocator. Default: off (RocksDB: on), because the bytes then
    /// depend on it, and on the filters built before.
    #[must_use]
    pub fn optimize_filters_for_memory(mut self, allocator: UsableSize) -> Self {
        self.optimize_filters_for_memory = Some(allocator);
        self
    }

    /// Where the table goes, which decides between Bloom and Ribbon for `ribbonfilter:BITS:LEVEL`.
    /// Default: not known.
    #[must_use]
    pub fn destination(mut self, destination: Destination) -> Self {
        self.destination = destination;
        self
    }

    pub(crate) fn key_filtering(&self) -> KeyFiltering {
        KeyFiltering::new(self.whole_key_filtering, self.prefix_extractor.clone())
    }

    /// The circumstances of the filters of one table.
    pub(crate) fn build_context(&self) -> BuildContext {
        let context = BuildContext::default()
            .format_version(self.format_version.number())
            .destination(self.destination);
        match self.optimize_filters_for_memory {
            Some(allocator) => context.optimize_for_memory(Arc::new(MemorySizing::new(allocator))),
            None => context,
        }
    }
}
