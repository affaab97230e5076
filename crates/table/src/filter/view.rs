//! The public view of the filter of a table.

use std::fmt;
use std::sync::Arc;

use sstkit_filter::{FilterKind, FilterLayout, HashedKey, PrefixExtractor};

use super::{FilterReader, is_reversed};
use crate::comparator::Comparator;
use crate::error::Result;
use crate::index::index_cursor::IndexCursor;
use crate::raw::{BlockHandle, BlockKind, IndexEntries};
use crate::reader::cache::CachedBlock;
use crate::reader::open::core::Core;

/// The filter of a [`Table`](crate::Table).
///
/// For probes made here, [`Tickers`](crate::Tickers) count block cache accesses but not the results.
///
/// ```no_run
/// # use sstkit_table::Table;
/// let table = Table::open("000011.sst")?;
/// if let Some(filter) = table.filter() {
///     println!("{:?}, {:?}, {}", filter.kind()?, filter.layout(), filter.policy());
///     println!("{}", filter.may_contain(b"alice")?);
/// }
/// # Ok::<(), sstkit_table::Error>(())
/// ```
pub struct TableFilter<'t> {
    pub(crate) core: &'t Arc<Core>,
    pub(crate) reader: &'t FilterReader,
}

impl<'t> TableFilter<'t> {
    /// The layout.
    pub fn layout(&self) -> FilterLayout {
        self.reader.layout
    }

    /// The name of the policy in the metaindex.
    pub fn policy(&self) -> &'t str {
        &self.reader.policy
    }

    /// The handle of the filter, or of the top-level index of a partitioned filter.
    pub fn handle(&self) -> BlockHandle {
        self.reader.handle
    }

    /// Whether lookups make whole-key probes.
    pub fn whole_key_filtering(&self) -> bool {
        self.reader.whole_key
    }

    /// The extractor whose prefixes are in the filter, if it exists and is known.
    pub fn prefix_extractor(&self) -> Option<&'t PrefixExtractor> {
        self.reader.extractor.as_ref().filter(|_| self.reader.has_prefixes)
    }

    /// The kind of the filter, or of the first partition. Reads it. `None` if there are no
    /// partitions.
    pub fn kind(&self) -> Result<Option<FilterKind>> {
        match self.reader.load(&self.core.blocks, None)? {
            CachedBlock::Filter(filter) => Ok(Some(filter.kind())),
            CachedBlock::FilterBlock(block) => Ok(Some(block.kind())),
            CachedBlock::Block(_) => match self.partitions()?.first() {
                Some(&partition) => {
                    Ok(Some(self.reader.partition(&self.core.blocks, partition)?.kind()))
                }
                None => Ok(None),
            },
        }
    }

    /// The handles of its partitions. Empty for other layouts.
    pub fn partitions(&self) -> Result<Vec<BlockHandle>> {
        let CachedBlock::Block(index) = self.reader.load(&self.core.blocks, None)? else {
            return Ok(Vec::new());
        };
        let walk = || {
            let mut partitions = Vec::new();
            let mut entries = IndexEntries::new(index, self.reader.index_format)?;
            while entries.advance()? {
                partitions.push(entries.handle());
            }
            Ok(partitions)
        };
        let offset = self.reader.handle.offset;
        walk().map_err(|error| self.core.blocks.locate(error, BlockKind::Filter, offset))
    }

    /// Whether a lookup of `key` passes the filter, with a whole-key or prefix probe. `true` if the
    /// filter cannot be probed.
    pub fn may_contain(&self, key: &[u8]) -> Result<bool> {
        match self.reader.lookup_probe(key, &self.core.keys) {
            Some(probe) => self.probe(probe.bytes(), key, false),
            None => Ok(true),
        }
    }

    /// Whether the table may contain keys with `prefix`, which must be a prefix of the
    /// [extractor](Self::prefix_extractor). `true` if there are no prefixes in the filter, or if
    /// their partition is unknown.
    pub fn may_contain_prefix(&self, prefix: &[u8]) -> Result<bool> {
        let Some(extractor) = self.prefix_extractor() else { return Ok(true) };
        if self.layout() == FilterLayout::Block || extractor.prefix(prefix) != Some(prefix) {
            return Ok(true);
        }
        let order = self.core.keys.order().map_err(|error| self.core.blocks.in_file(error))?;
        match (self.layout(), order) {
            // Any partition may contain them, so a probe of one is not sufficient.
            (FilterLayout::Partitioned, Comparator::User(_)) => Ok(true),
            _ => self.probe(prefix, prefix, is_reversed(order)),
        }
    }

    fn probe(&self, probe: &[u8], key: &[u8], before: bool) -> Result<bool> {
        let core = self.core;
        core.require_order()?;
        let hashed = HashedKey::new(probe);
        let search = core.keys.newest(key);
        let (blocks, keys, target) = (&core.blocks, &core.keys, search.before());
        if self.reader.layout != FilterLayout::Block {
            return Ok(match before {
                false => self.reader.may_contain(blocks, keys, &hashed, &target),
                true => self.reader.may_contain_before(blocks, keys, &hashed, &target),
            });
        }
        let mut index = IndexCursor::new(core)?;
        Ok(index.seek(&target)?
            && self.reader.may_contain_in_block(blocks, index.handle().offset, &hashed))
    }
}

impl fmt::Debug for TableFilter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableFilter")
            .field("layout", &self.layout())
            .field("policy", &self.policy())
            .field("handle", &self.handle())
            .finish_non_exhaustive()
    }
}
