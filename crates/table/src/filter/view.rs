//! A table's filter, to be looked at and asked by hand.

use std::fmt;
use std::sync::Arc;

use sstkit_filter::{FilterKind, FilterLayout, HashedKey, PrefixExtractor};

use super::{FilterReader, is_reversed};
use crate::comparator::Comparator;
use crate::error::Result;
use crate::index::cursor::IndexCursor;
use crate::raw::{BlockHandle, BlockKind, IndexEntries};
use crate::reader::cache::CachedBlock;
use crate::reader::open::core::Core;

/// The filter of a [`Table`](crate::Table).
///
/// Of questions asked here [`Tickers`](crate::Tickers) count what the block cache does for them, but
/// not the answers.
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
    /// How it is laid out.
    pub fn layout(&self) -> FilterLayout {
        self.reader.layout
    }

    /// The name of its policy in the metaindex.
    pub fn policy(&self) -> &'t str {
        &self.reader.policy
    }

    /// Where it is; of a partitioned one, the index over its partitions.
    pub fn handle(&self) -> BlockHandle {
        self.reader.handle
    }

    /// Whether whole keys are in it and lookups ask for them.
    pub fn whole_key_filtering(&self) -> bool {
        self.reader.whole_key
    }

    /// The extractor whose prefixes are in it, if there is one and it is known.
    pub fn prefix_extractor(&self) -> Option<&'t PrefixExtractor> {
        self.reader.extractor.as_ref().filter(|_| self.reader.has_prefixes)
    }

    /// What it really is; of a partitioned one, its first partition. Reads it. `None` if there are no
    /// partitions.
    pub fn kind(&self) -> Result<Option<FilterKind>> {
        match self.reader.load(&self.core.blocks)? {
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

    /// Where its partitions are; none in filters of other layouts.
    pub fn partitions(&self) -> Result<Vec<BlockHandle>> {
        let CachedBlock::Block(index) = self.reader.load(&self.core.blocks)? else {
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

    /// Whether a lookup of `key` would get past the filter, by whatever of the key it asks about.
    /// `true` also where the filter cannot be asked.
    pub fn may_contain(&self, key: &[u8]) -> Result<bool> {
        match self.reader.lookup_probe(key, &self.core.keys) {
            Some(question) => self.ask(question.bytes(), key, false),
            None => Ok(true),
        }
    }

    /// Whether the table may have keys with `prefix`, which must be one that the
    /// [extractor](Self::prefix_extractor) makes. `true` where there are no prefixes in the
    /// filter, or where they may be anywhere in it.
    pub fn may_contain_prefix(&self, prefix: &[u8]) -> Result<bool> {
        let Some(extractor) = self.prefix_extractor() else { return Ok(true) };
        if self.layout() == FilterLayout::Block || extractor.prefix(prefix) != Some(prefix) {
            return Ok(true);
        }
        let order = self.core.keys.order().map_err(|error| self.core.blocks.in_file(error))?;
        match (self.layout(), order) {
            // One partition can be asked, but not the one that has them.
            (FilterLayout::Partitioned, Comparator::User(_)) => Ok(true),
            _ => self.ask(prefix, prefix, is_reversed(order)),
        }
    }

    fn ask(&self, question: &[u8], key: &[u8], before: bool) -> Result<bool> {
        let core = self.core;
        core.require_order()?;
        let hashed = HashedKey::new(question);
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
