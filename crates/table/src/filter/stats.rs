//! The filter of a table laid open: all its parts, and what they come to together.

use std::collections::BTreeMap;

use sstkit_filter::{FilterKind, FilterLayout, FilterParameters, FilterStats};

use super::TableFilter;
use crate::error::Result;
use crate::raw::{BlockHandle, property_names};
use crate::reader::cache::CachedBlock;

/// What the bytes of a table's filter tell about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableFilterStats {
    /// How it is laid out.
    pub layout: FilterLayout,
    /// The name of its policy in the metaindex.
    pub policy: String,
    /// Bytes of all of it: filters, the index over partitions, the offsets of a filter block. Not
    /// the trailers of blocks.
    pub bytes: u64,
    /// Keys and prefixes that went into it, as the properties say; older tables do not.
    pub entries: Option<u64>,
    /// Its parts: the only one of a full filter, the partitions, or those of a filter block, empty
    /// ones included.
    pub parts: Vec<FilterPart>,
}

/// One part of a table's filter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FilterPart {
    /// Where the block is that has it.
    pub handle: BlockHandle,
    /// What it is.
    pub filter: FilterStats,
}

impl TableFilterStats {
    /// Which kinds there are, and how many parts of each. Partitions may differ: of a Ribbon filter
    /// the last and smallest is often a Bloom filter.
    pub fn kinds(&self) -> Vec<(FilterKind, usize)> {
        let mut kinds: BTreeMap<&str, (FilterKind, usize)> = BTreeMap::new();
        for part in &self.parts {
            kinds.entry(part.filter.kind.name()).or_insert((part.filter.kind, 0)).1 += 1;
        }
        kinds.into_values().collect()
    }

    /// The kind of most of its bytes. Those that are empty count only if all are.
    pub fn main_kind(&self) -> Option<FilterKind> {
        let bytes_of = |kind| {
            let of_kind = self.parts.iter().filter(|part| part.filter.kind == kind);
            of_kind.map(|part| part.filter.bytes as u64).sum::<u64>()
        };
        self.kinds().into_iter().map(|(kind, _)| kind).max_by_key(|&kind| bytes_of(kind))
    }

    /// How many keys and prefixes its bits speak of; `None` where some part does not tell. See
    /// [`FilterStats::estimated_keys`].
    pub fn estimated_keys(&self) -> Option<f64> {
        self.parts.iter().map(|part| part.filter.estimated_keys).sum()
    }

    /// Bits for each of its [`entries`](Self::entries), or else for each of the
    /// [estimated](Self::estimated_keys) keys.
    pub fn bits_per_key(&self) -> Option<f64> {
        let keys = self.entries.map(|entries| entries as f64).or_else(|| self.estimated_keys())?;
        (keys > 0.0).then(|| 8.0 * self.bytes as f64 / keys)
    }

    /// Bits looked at for a key, the most of any part that is a Bloom filter.
    pub fn num_probes(&self) -> Option<u8> {
        let probes = self.parts.iter().filter_map(|part| match part.filter.parameters {
            FilterParameters::Bloom { num_probes, .. } => Some(num_probes),
            _ => None,
        });
        probes.max()
    }

    /// The share of bits that are set, in all parts that are Bloom filters.
    pub fn fill(&self) -> Option<f64> {
        let fills = self.parts.iter().filter_map(|part| Some((part.filter.fill?, part)));
        mean(fills.map(|(fill, part)| (fill, part.filter.bytes as f64)))
    }

    /// The rate of false positives to be expected for keys that are not in the table, but spread
    /// over its range as those that are: the mean over all parts by their keys. `None` where the
    /// policy is user-made.
    pub fn expected_fpr(&self) -> Option<f64> {
        let by_keys = self.estimated_keys().is_some();
        let rates = self.parts.iter().map(|part| {
            let FilterStats { bytes, estimated_keys, expected_fpr, .. } = part.filter;
            let weight = estimated_keys.filter(|_| by_keys).unwrap_or(bytes as f64);
            Some((expected_fpr?, weight))
        });
        let rates: Vec<(f64, f64)> = rates.collect::<Option<_>>()?;
        match rates.iter().all(|&(_, weight)| weight == 0.0) {
            // Nothing but empty filters.
            true => mean(rates.into_iter().map(|(rate, _)| (rate, 1.0))),
            false => mean(rates.into_iter()),
        }
    }
}

/// The mean of values with their weights, if there are any.
fn mean(weighted: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, weights) =
        weighted.fold((0.0, 0.0), |(sum, weights), (x, w)| (sum + x * w, weights + w));
    (weights > 0.0).then(|| sum / weights)
}

impl TableFilter<'_> {
    /// What its bytes tell about it. Reads all of it; nothing is counted or put into the cache.
    pub fn stats(&self) -> Result<TableFilterStats> {
        let (blocks, reader) = (&self.core.blocks, self.reader);
        let handle = reader.handle;
        let mut bytes = handle.size;
        let parts = match reader.peek_top(blocks)? {
            CachedBlock::Filter(filter) => vec![FilterPart { handle, filter: filter.stats() }],
            CachedBlock::FilterBlock(block) => {
                let parts = block.stats().into_iter();
                parts.map(|filter| FilterPart { handle, filter }).collect()
            }
            CachedBlock::Block(_) => {
                let open = |handle: BlockHandle| {
                    let filter = reader.partition_quietly(blocks, handle)?.stats();
                    // It was read, so it lies within the file, and after the one before it.
                    bytes += handle.size;
                    Ok(FilterPart { handle, filter })
                };
                self.partitions()?.into_iter().map(open).collect::<Result<_>>()?
            }
        };
        Ok(TableFilterStats {
            layout: reader.layout,
            policy: reader.policy.clone(),
            bytes,
            entries: self.core.properties.number(property_names::NUM_FILTER_ENTRIES),
            parts,
        })
    }
}
