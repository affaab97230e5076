//! What a builder must know besides its policy.

use std::sync::Arc;

use crate::budget::MemoryBudget;
use crate::legacy_bloom::CacheLine;
use crate::sizing::MemorySizing;

/// The format version that RocksDB 11.9 writes.
pub const DEFAULT_FORMAT_VERSION: u32 = 7;

/// Where the table goes: decides between Bloom and Ribbon for `ribbonfilter:BITS:LEVEL`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    /// Not known, as for files made outside a database or under FIFO compaction: counts as below
    /// every level.
    #[default]
    Unknown,
    /// A flush of the memtable: counts as above level 0.
    Flush,
    /// A level of the tree.
    Level(u32),
}

/// The circumstances of one filter: the table it is for, and how carefully to build it.
///
/// ```
/// use sstkit_filter::{BuildContext, Destination};
///
/// let context = BuildContext::default().format_version(5).destination(Destination::Level(6));
/// ```
#[derive(Clone, Debug)]
pub struct BuildContext {
    pub(crate) format_version: u32,
    pub(crate) destination: Destination,
    pub(crate) cache_line: CacheLine,
    pub(crate) sizing: Option<Arc<MemorySizing>>,
    pub(crate) detect_construct_corruption: bool,
    pub(crate) budget: Option<Arc<dyn MemoryBudget>>,
}

impl Default for BuildContext {
    fn default() -> Self {
        Self {
            format_version: DEFAULT_FORMAT_VERSION,
            destination: Destination::default(),
            cache_line: CacheLine::default(),
            sizing: None,
            detect_construct_corruption: false,
            budget: None,
        }
    }
}

impl BuildContext {
    /// The table's format version: below 5, `bloomfilter` means the legacy Bloom filter. Default:
    /// [`DEFAULT_FORMAT_VERSION`].
    #[must_use]
    pub fn format_version(mut self, format_version: u32) -> Self {
        self.format_version = format_version;
        self
    }

    /// Where the table goes. Default: not known.
    #[must_use]
    pub fn destination(mut self, destination: Destination) -> Self {
        self.destination = destination;
        self
    }

    /// The cache line that legacy filters are laid out for. Default: 64 bytes. For files that must
    /// equal those of an ARM or s390x machine; any reader reads all of them.
    #[must_use]
    pub fn cache_line(mut self, cache_line: CacheLine) -> Self {
        self.cache_line = cache_line;
        self
    }

    /// RocksDB's `optimize_filters_for_memory`: sizes to suit an allocator, and probes by the real
    /// size. Default: off (RocksDB: on), so that the same keys give the same bytes. One account
    /// serves all filters of a policy.
    #[must_use]
    pub fn optimize_for_memory(mut self, sizing: Arc<MemorySizing>) -> Self {
        self.sizing = Some(sizing);
        self
    }

    /// RocksDB's `detect_filter_construct_corruption`: the builder checks its hashes against a
    /// checksum and asks the finished filter about each of them. Default: off. Costs about as much
    /// again as building; for machines whose memory is not trusted. Covers legacy filters, too,
    /// which RocksDB leaves out; not user-made ones, which keep their keys to themselves.
    #[must_use]
    pub fn detect_construct_corruption(mut self, detect: bool) -> Self {
        self.detect_construct_corruption = detect;
        self
    }

    /// What the builder's memory is charged to. Default: nothing.
    #[must_use]
    pub fn budget(mut self, budget: Arc<dyn MemoryBudget>) -> Self {
        self.budget = Some(budget);
        self
    }
}
