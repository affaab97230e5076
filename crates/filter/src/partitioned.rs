//! Partitioned filters: small filters that each cover a range of keys, and an index of them.
//!
//! ```text
//! +-------------+-------------+-----+-------------+-----------------+
//! | partition 0 | partition 1 | ... | partition m | top-level index |
//! +-------------+-------------+-----+-------------+-----------------+
//!    one filter block each                           last key -> partition
//! ```
//!
//! A lookup loads the top-level index, which is small enough to stay in memory, and one partition
//! instead of one large filter. A partition has the format of a full filter of its keys. This module
//! distributes the keys to partitions. The table writer stores the partitions and the index.
//!
//! # Prefixes at partition boundaries
//!
//! A prefix seek probes only the partition of the seek key, but the keys with that prefix may be on
//! either side of its boundary. So prefixes are added on both sides of a boundary: the prefix of the
//! first key after it also before it, and the prefix of the last key before it also after it.

use alloc::vec::Vec;

use crate::builder::FilterBuilder;
use crate::error::Result;
use crate::policy::{BuildContext, FilterPolicy};
use crate::prefix::KeyFiltering;

/// Builds the partitions of a partitioned filter one after another.
///
/// ```
/// use sstkit_filter::{BuildContext, Filter, KeyFiltering, PartitionedFilterBuilder};
///
/// let mut builder = PartitionedFilterBuilder::new(
///     &"bloomfilter:10".parse()?,
///     &BuildContext::default(),
///     KeyFiltering::default(),
///     1024, // metadata_block_size
///     10,   // block_size_deviation
/// )?;
/// let mut partitions = Vec::new();
/// for i in 0..2000 {
///     partitions.extend(builder.add(format!("key{i:05}").as_bytes())?);
/// }
/// partitions.extend(builder.finish()?);
///
/// let last_keys: Vec<_> = partitions.iter().map(|p| String::from_utf8_lossy(&p.last_key)).collect();
/// assert_eq!(last_keys, ["key00715", "key01431", "key01999"]);
/// assert!(Filter::from_bytes(&partitions[1].filter).may_contain(b"key01000"));
/// # Ok::<(), sstkit_filter::Error>(())
/// ```
pub struct PartitionedFilterBuilder {
    policy: FilterPolicy,
    context: BuildContext,
    filtering: KeyFiltering,
    capacity: usize,
    open: FilterBuilder,
    last_key: Vec<u8>,
    num_entries: u64,
}

sstkit_coding::debug_struct!(PartitionedFilterBuilder {
    policy,
    context,
    filtering,
    capacity,
    open,
    last_key: bytes,
    num_entries,
});

/// One partition.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Partition {
    /// The last key added to this partition.
    pub last_key: Vec<u8>,
    /// The bytes of the filter. Empty ("contains nothing") if its keys added neither a key nor a
    /// prefix.
    pub filter: Vec<u8>,
}

sstkit_coding::debug_struct!(Partition { last_key: bytes, filter: bytes });

impl PartitionedFilterBuilder {
    /// A builder of partitions of about `metadata_block_size` bytes minus `block_size_deviation`
    /// percent.
    ///
    /// # Errors
    ///
    /// If the policy does not build full filters.
    pub fn new(
        policy: &FilterPolicy,
        context: &BuildContext,
        filtering: KeyFiltering,
        metadata_block_size: usize,
        block_size_deviation: usize,
    ) -> Result<Self> {
        let size = (metadata_block_size, block_size_deviation);
        let capacity = capacity(policy, context, filtering.extractor().is_some(), size)?;
        Ok(Self {
            policy: policy.clone(),
            context: context.clone(),
            filtering,
            capacity,
            open: policy.builder(context)?,
            last_key: Vec::new(),
            num_entries: 0,
        })
    }

    /// The number of entries of a full partition.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether the current partition is full.
    pub fn is_full(&self) -> bool {
        self.open.num_entries() >= self.capacity
    }

    /// Entries in all partitions, including prefixes repeated at boundaries: RocksDB's property
    /// `rocksdb.num.filter_entries`.
    pub fn num_entries(&self) -> u64 {
        self.num_entries + self.open.num_entries() as u64
    }

    /// Adds the next key of the table. If the current partition is full, ends it before the key and
    /// returns it. For partitions that are decoupled from those of the index, RocksDB's default
    /// since 10.6.
    ///
    /// # Errors
    ///
    /// See [`FilterBuilder::finish`].
    pub fn add(&mut self, key: &[u8]) -> Result<Option<Partition>> {
        let full = if self.is_full() { Some(self.cut(key)?) } else { None };
        self.add_uncut(key);
        Ok(full)
    }

    /// Adds the next key of the table to the current partition, even if it is full. For partitions
    /// coupled to those of the index, where the caller [ends](Self::cut) them.
    pub fn add_uncut(&mut self, key: &[u8]) {
        self.open.add_filtered(key, &self.filtering);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    /// Ends the current partition before `next_key`, which the caller adds next.
    ///
    /// # Errors
    ///
    /// See [`FilterBuilder::finish`].
    pub fn cut(&mut self, next_key: &[u8]) -> Result<Partition> {
        if let Some(prefix) = self.filtering.prefix(next_key) {
            if self.filtering.whole_key() {
                self.open.add_with_prefix(prefix, prefix);
            } else {
                self.open.add(prefix);
            }
        }
        let next = self.policy.builder(&self.context)?;
        let full = core::mem::replace(&mut self.open, next);
        let partition = self.close(full)?;
        if let Some(prefix) = self.filtering.prefix(&partition.last_key) {
            self.open.add(prefix);
        }
        Ok(partition)
    }

    /// Returns the last partition, unless it is empty.
    ///
    /// # Errors
    ///
    /// See [`FilterBuilder::finish`].
    pub fn finish(mut self) -> Result<Option<Partition>> {
        if self.open.num_entries() == 0 {
            return Ok(None);
        }
        let nothing = self.policy.builder(&self.context)?;
        let last = core::mem::replace(&mut self.open, nothing);
        self.close(last).map(Some)
    }

    fn close(&mut self, builder: FilterBuilder) -> Result<Partition> {
        self.num_entries += builder.num_entries() as u64;
        Ok(Partition { last_key: self.last_key.clone(), filter: builder.finish()? })
    }
}

/// The number of entries of a full partition, of `metadata_block_size` bytes minus `block_size_deviation`
/// percent.
pub(crate) fn capacity(
    policy: &FilterPolicy,
    context: &BuildContext,
    has_prefixes: bool,
    (metadata_block_size, block_size_deviation): (usize, usize),
) -> Result<usize> {
    let builder = policy.builder(context)?;
    let size = partition_size(metadata_block_size, block_size_deviation);
    let capacity = entries_per_partition(size, |size| builder.approx_num_entries(size));
    // Room for the prefix that is repeated at the boundary.
    Ok(if capacity > 1 && has_prefixes { capacity - 1 } else { capacity })
}

/// The target size of a partition in bytes.
fn partition_size(metadata_block_size: usize, block_size_deviation: usize) -> usize {
    // RocksDB treats a deviation above 100 as 0.
    let percent = 100usize.checked_sub(block_size_deviation).unwrap_or(100);
    metadata_block_size.saturating_mul(percent).div_ceil(100).max(1)
}

/// The number of entries that fit into `size` bytes, or into the next larger size tried that fits at
/// least one.
fn entries_per_partition(size: usize, approx_num_entries: impl Fn(usize) -> usize) -> usize {
    const LARGEST_TRIED: usize = 100_000;

    let entries = approx_num_entries(size);
    if entries >= 1 {
        return entries;
    }
    let mut larger = (size + 4).max(16);
    loop {
        let entries = approx_num_entries(larger);
        if entries >= 1 {
            return entries;
        }
        larger += larger / 4;
        if larger > LARGEST_TRIED {
            return size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_capacities() {
        for (metadata_block_size, expected) in [(128, [51, 51, 51]), (4096, [2918, 2918, 4130])] {
            for (policy, expected) in
                ["bloomfilter:10", "rocksdb.internal.LegacyBloomFilter:10", "ribbonfilter:10:-1"]
                    .into_iter()
                    .zip(expected)
            {
                let builder = PartitionedFilterBuilder::new(
                    &policy.parse().unwrap(),
                    &BuildContext::default(),
                    KeyFiltering::default(),
                    metadata_block_size,
                    10,
                );
                assert_eq!(builder.unwrap().capacity(), expected, "{policy} {metadata_block_size}");
            }
        }
    }

    #[test]
    fn tiny_partitions_have_at_least_one_entry() {
        let bloom = |size| crate::fast_local_bloom::approx_num_entries(size, 10_000);
        for size in [1, 5, 20, 64] {
            assert_eq!(entries_per_partition(size, bloom), 51, "{size}");
        }
        // Sizes tried: 4 bytes more, then a quarter more each time.
        let tried = std::cell::RefCell::new(Vec::new());
        entries_per_partition(20, |size| {
            tried.borrow_mut().push(size);
            usize::from(size >= 37)
        });
        assert_eq!(tried.into_inner(), [20, 24, 30, 37]);
        // If no size fits an entry, RocksDB uses the size itself as the number of entries.
        assert_eq!(entries_per_partition(7, |_| 0), 7);
        assert_eq!(partition_size(4096, 10), 3687);
        assert_eq!(partition_size(0, 10), 1);
        assert_eq!([0, 100, 101].map(|deviation| partition_size(4096, deviation)), [4096, 1, 4096]);
    }
}
