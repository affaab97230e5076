//! Building the filter of a table, in any layout.
//!
//! # Coupled partitions
//!
//! Before RocksDB 10.6, and if `decouple_partitioned_filters` is off, a filter partition ends only
//! where an index partition does. Two flags connect them:
//!
//! ```text
//! filter full?  --- cut_requested --->  index: the next finished data block starts a partition
//! filter ends   <----- was_cut -------  index: it has started one
//! ```
//!
//! After such a request, the filter is still full when the next key checks it, before the partition
//! ends, and requests again. The next data block therefore starts another partition, and large and
//! small partitions alternate. RocksDB does this, so its files require it.

use std::path::Path;

use sstkit_filter::{
    FilterBlockBuilder, FilterBuilder, FilterLayout, KeyFiltering, Partition,
    PartitionedFilterBuilder,
};

use super::hash_file::HashFile;
use crate::error::{Error, Result};
use crate::index::builder::{IndexBuilder, Levels};
use crate::options::TableOptions;
use crate::raw::InternalKey;

#[derive(Debug)]
pub(crate) enum TableFilterBuilder {
    None,
    Full {
        builder: Box<FilterBuilder>,
        filtering: KeyFiltering,
    },
    Partitioned(Box<PartitionedFilter>),
    /// RocksDB's block-based filter.
    Block {
        builder: Box<FilterBlockBuilder>,
        filtering: KeyFiltering,
    },
}

#[derive(Debug)]
pub(crate) struct PartitionedFilter {
    builder: PartitionedFilterBuilder,
    coupled: bool,
    /// The number of zero bytes in place of a timestamp: the oldest one, which sorts last.
    timestamp_size: usize,
    finished: Vec<FilterPartition>,
}

#[derive(Debug)]
pub(crate) struct FilterPartition {
    /// Its key in the top-level index: an internal key.
    pub(crate) key: Vec<u8>,
    pub(crate) filter: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct FinishedFilter {
    pub(crate) num_entries: u64,
    pub(crate) blocks: FilterBlocks,
}

#[derive(Debug)]
pub(crate) enum FilterBlocks {
    /// No entries.
    None,
    Full(Vec<u8>),
    Partitioned(Vec<FilterPartition>),
    Block(Vec<u8>),
}

impl FilterBlocks {
    pub(crate) fn layout(&self) -> Option<FilterLayout> {
        match self {
            Self::None => None,
            Self::Full(_) => Some(FilterLayout::Full),
            Self::Partitioned(_) => Some(FilterLayout::Partitioned),
            Self::Block(_) => Some(FilterLayout::Block),
        }
    }
}

impl TableFilterBuilder {
    /// Hashes of many keys are kept in a file in `folder`, if there is one.
    pub(crate) fn new(options: &TableOptions, folder: Option<&Path>) -> Self {
        let (context, filtering) = (options.build_context(), options.key_filtering());
        if options.filter.is_block_based() {
            return match options.filter.policy.block_builder() {
                Ok(builder) => Self::Block { builder: Box::new(builder), filtering },
                Err(_) => Self::None,
            };
        }
        if !options.filter.partitioned {
            return match options.filter.policy.builder(&context) {
                Ok(mut builder) => {
                    if let Some(folder) = folder {
                        builder.store_hashes_in(Box::new(HashFile::new(folder.to_path_buf())));
                    }
                    Self::Full { builder: Box::new(builder), filtering }
                }
                Err(_) => Self::None,
            };
        }
        let builder = PartitionedFilterBuilder::new(
            &options.filter.policy,
            &context,
            filtering,
            options.index.metadata_block_size,
            options.blocks.size_deviation as usize,
        );
        match builder {
            Ok(builder) => Self::Partitioned(Box::new(PartitionedFilter {
                builder,
                coupled: !options.filter.decoupled,
                timestamp_size: options.comparator.timestamp_size(),
                finished: Vec::new(),
            })),
            Err(_) => Self::None,
        }
    }

    /// Adds the next key, a user key without its timestamp. If partitions are coupled, all previous
    /// data blocks must be in the index.
    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], index: &mut IndexBuilder) -> Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Full { builder, filtering } => {
                builder.add_filtered(key, filtering);
                Ok(())
            }
            Self::Partitioned(filter) => filter.add(key, index).map_err(filter_error),
            Self::Block { builder, filtering } => {
                builder.add_filtered(key, filtering);
                Ok(())
            }
        }
    }

    /// The following keys are in a data block at `offset`.
    pub(crate) fn start_block(&mut self, offset: u64) {
        if let Self::Block { builder, .. } = self {
            builder.start_block(offset);
        }
    }

    /// Returns the blocks of the filter. All data blocks must be in the index.
    pub(crate) fn finish(self, index: &IndexBuilder) -> Result<FinishedFilter> {
        match self {
            Self::None => Ok(FinishedFilter { num_entries: 0, blocks: FilterBlocks::None }),
            Self::Full { builder, .. } => {
                let num_entries = builder.num_entries() as u64;
                let blocks = match num_entries {
                    0 => FilterBlocks::None,
                    _ => FilterBlocks::Full(builder.finish().map_err(filter_error)?),
                };
                Ok(FinishedFilter { num_entries, blocks })
            }
            Self::Partitioned(filter) => filter.finish(index).map_err(filter_error),
            Self::Block { builder, .. } => {
                let num_entries = builder.num_entries();
                let blocks = match num_entries {
                    0 => FilterBlocks::None,
                    _ => FilterBlocks::Block(builder.finish().map_err(filter_error)?),
                };
                Ok(FinishedFilter { num_entries, blocks })
            }
        }
    }
}

impl PartitionedFilter {
    fn add(&mut self, key: &[u8], index: &mut IndexBuilder) -> sstkit_filter::Result<()> {
        if !self.coupled {
            if let Some(partition) = self.builder.add(key)? {
                self.finished.push(decoupled(partition, self.timestamp_size));
            }
            return Ok(());
        }
        if let Levels::Two(partitions) = &mut index.levels {
            partitions.cut_requested |= self.builder.is_full();
            if std::mem::take(&mut partitions.was_cut) {
                let filter = self.builder.cut(key)?.filter;
                let key = index.last_separator().to_vec();
                self.finished.push(FilterPartition { key, filter });
            }
        }
        self.builder.add_uncut(key);
        Ok(())
    }

    fn finish(self, index: &IndexBuilder) -> sstkit_filter::Result<FinishedFilter> {
        let Self { builder, coupled, timestamp_size, mut finished } = self;
        let num_entries = builder.num_entries();
        if let Some(partition) = builder.finish()? {
            finished.push(if coupled {
                let key = index.last_separator().to_vec();
                FilterPartition { key, filter: partition.filter }
            } else {
                decoupled(partition, timestamp_size)
            });
        }
        let blocks = match finished.is_empty() {
            true => FilterBlocks::None,
            false => FilterBlocks::Partitioned(finished),
        };
        Ok(FinishedFilter { num_entries, blocks })
    }
}

/// The key in the top-level index is the last internal key with the last user key.
fn decoupled(partition: Partition, timestamp_size: usize) -> FilterPartition {
    let mut key = partition.last_key;
    key.resize(key.len() + timestamp_size + InternalKey::TAIL_LENGTH, 0);
    FilterPartition { key, filter: partition.filter }
}

pub(crate) fn filter_error(source: sstkit_filter::Error) -> Error {
    let kind = Error::filter_kind(&source);
    Error::new(kind, "the filter cannot be built").with_source(source)
}
