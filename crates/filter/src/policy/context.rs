//! What a builder depends on besides its policy.

use alloc::sync::Arc;

use sstkit_coding::{setters, with_defaults};

use crate::budget::MemoryBudget;
use crate::legacy_bloom::CacheLine;
use crate::sizing::MemorySizing;

/// The format version that RocksDB 11.9 writes by default.
pub const DEFAULT_FORMAT_VERSION: u32 = 7;

/// The destination of the table. With `ribbonfilter:BITS:LEVEL` it decides between Bloom and Ribbon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// Unknown, as for files built outside a database or with FIFO compaction. Counts as below every
    /// level.
    #[default]
    Unknown,
    /// A flush of the memtable. Counts as above level 0.
    Flush,
    /// A level of the LSM tree.
    Level(u32),
}

with_defaults! {
    /// The context in which a filter is built: properties of its table, and options of the builder.
    ///
    /// ```
    /// use sstkit_filter::{BuildContext, Destination};
    ///
    /// let context = BuildContext::default().format_version(5).destination(Destination::Level(6));
    /// ```
    #[derive(Clone, Debug)]
    pub struct BuildContext {
        pub(crate) format_version: u32 = DEFAULT_FORMAT_VERSION,
        pub(crate) destination: Destination,
        pub(crate) cache_line: CacheLine,
        pub(crate) sizing: Option<Arc<MemorySizing>>,
        pub(crate) detect_construct_corruption: bool,
        pub(crate) budget: Option<Arc<dyn MemoryBudget>>,
    }
}

setters! {
    impl BuildContext:

    /// The format version of the table. Below 5, `bloomfilter` builds the legacy Bloom filter.
    /// Default: [`DEFAULT_FORMAT_VERSION`].
    pub fn format_version(mut self, format_version: u32) { self.format_version = format_version; }

    /// The destination of the table. Default: unknown.
    pub fn destination(mut self, destination: Destination) { self.destination = destination; }

    /// The cache line length of legacy filters. Default: 64 bytes. Set it to reproduce the bytes of
    /// an ARM or s390x machine. Readers accept all lengths.
    pub fn cache_line(mut self, cache_line: CacheLine) { self.cache_line = cache_line; }

    /// RocksDB's `optimize_filters_for_memory`: rounds sizes to what an allocator provides, and
    /// derives the number of probes from the actual size. Default: off (in RocksDB: on), so that
    /// the same keys give the same bytes. Share one `MemorySizing` among all filters of a policy.
    pub fn optimize_for_memory(mut self, sizing: Arc<MemorySizing>) { self.sizing = Some(sizing); }

    /// RocksDB's `detect_filter_construct_corruption`: the builder verifies a checksum of its hashes
    /// and probes the finished filter for each of them. Default: off. About doubles the build time.
    /// Use it on machines with unreliable memory. Unlike in RocksDB, legacy filters are covered.
    /// Custom policies are not, because they keep their own keys.
    pub fn detect_construct_corruption(mut self, detect: bool) {
        self.detect_construct_corruption = detect;
    }

    /// The budget that the memory of the builder is charged to. Default: none.
    pub fn budget(mut self, budget: Arc<dyn MemoryBudget>) { self.budget = Some(budget); }
}
