//! Statistics of the filter of a table: of all parts, and in total.

use std::collections::BTreeMap;

use sstkit_filter::{FilterKind, FilterLayout, FilterParameters, FilterStats};

use super::TableFilter;
use crate::error::Result;
use crate::raw::{BlockHandle, property_names};
use crate::reader::cache::CachedBlock;

/// Statistics of the filter of a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableFilterStats {
    /// The layout.
    pub layout: FilterLayout,
    /// The name of the policy in the metaindex.
    pub policy: String,
    /// Total size: filters, top-level index, offset array of a filter block. Without block trailers.
    pub bytes: u64,
    /// The number of keys and prefixes, from the properties. Older tables do not have it.
    pub entries: Option<u64>,
    /// The parts: one for a full filter, the partitions, or the filters of a filter block, including
    /// empty ones.
    pub parts: Vec<FilterPart>,
}

/// One part of the filter of a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FilterPart {
    /// The handle of its block.
    pub handle: BlockHandle,
    /// Its statistics.
    pub filter: FilterStats,
}

impl TableFilterStats {
    /// The kinds, with the number of parts of each. Partitions may differ: the last and smallest one
    /// of a Ribbon filter is often a Bloom filter.
    pub fn kinds(&self) -> Vec<(FilterKind, usize)> {
        let mut kinds: BTreeMap<&str, (FilterKind, usize)> = BTreeMap::new();
        for part in &self.parts {
            kinds.entry(part.filter.kind.name()).or_insert((part.filter.kind, 0)).1 += 1;
        }
        kinds.into_values().collect()
    }

    /// The kind of most of its bytes. Empty parts count only if all are empty.
    pub fn main_kind(&self) -> Option<FilterKind> {
        let bytes_of = |kind| {
            let of_kind = self.parts.iter().filter(|part| part.filter.kind == kind);
            of_kind.map(|part| part.filter.bytes as u64).sum::<u64>()
        };
        self.kinds().into_iter().map(|(kind, _)| kind).max_by_key(|&kind| bytes_of(kind))
    }

    /// The estimated number of keys and prefixes. `None` if a part has no estimate. See
    /// [`FilterStats::estimated_keys`].
    pub fn estimated_keys(&self) -> Option<f64> {
        self.parts.iter().map(|part| part.filter.estimated_keys).sum()
    }

    /// Bits per [entry](Self::entries), or per [estimated](Self::estimated_keys) key if the number of
    /// entries is unknown.
    pub fn bits_per_key(&self) -> Option<f64> {
        let keys = self.entries.map(|entries| entries as f64).or_else(|| self.estimated_keys())?;
        (keys > 0.0).then(|| 8.0 * self.bytes as f64 / keys)
    }

    /// The maximum number of probes of all Bloom filters.
    pub fn num_probes(&self) -> Option<u8> {
        let probes = self.parts.iter().filter_map(|part| match part.filter.parameters {
            FilterParameters::Bloom { num_probes, .. } => Some(num_probes),
            _ => None,
        });
        probes.max()
    }

    /// The fraction of bits that are set in all Bloom filters.
    pub fn fill(&self) -> Option<f64> {
        let fills = self.parts.iter().filter_map(|part| Some((part.filter.fill?, part)));
        mean(fills.map(|(fill, part)| (fill, part.filter.bytes as f64)))
    }

    /// The expected false-positive rate for keys that are not in the table but have the same
    /// distribution: the mean of all parts, weighted by their keys. `None` for custom policies.
    pub fn expected_fpr(&self) -> Option<f64> {
        let by_keys = self.estimated_keys().is_some();
        let rates = self.parts.iter().map(|part| {
            let FilterStats { bytes, estimated_keys, expected_fpr, .. } = part.filter;
            let weight = estimated_keys.filter(|_| by_keys).unwrap_or(bytes as f64);
            Some((expected_fpr?, weight))
        });
        let rates: Vec<(f64, f64)> = rates.collect::<Option<_>>()?;
        match rates.iter().all(|&(_, weight)| weight == 0.0) {
            // All filters are empty.
            true => mean(rates.into_iter().map(|(rate, _)| (rate, 1.0))),
            false => mean(rates.into_iter()),
        }
    }
}

fn mean(weighted: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, weights) =
        weighted.fold((0.0, 0.0), |(sum, weights), (x, w)| (sum + x * w, weights + w));
    (weights > 0.0).then(|| sum / weights)
}

impl TableFilter<'_> {
    /// Computes statistics. Reads the whole filter, without tickers and without filling the cache.
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
                    // It was read, so it is within the file and after the previous one.
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
