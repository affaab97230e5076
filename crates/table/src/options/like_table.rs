//! The settings that an existing table was written with, as far as it tells.
//!
//! | setting | from |
//! |---|---|
//! | format version, checksum, context | footer |
//! | comparator, merge operator, prefix extractor, column family, collectors | properties |
//! | index kind, restart interval, compression; partition size | properties, or the index itself |
//! | whole keys, partitions | properties, metaindex |
//! | keys of the index | the index, when the data blocks are taken over |
//! | filter policy | nothing: properties have its class, not its bits per key |

use sstkit_filter::FilterLayout;

use super::TableOptions;
use super::defaults::UNKNOWN_COLUMN_FAMILY_ID;
use crate::error::Result;
use crate::raw::property_names as names;
use crate::raw::{BlockHandle, BlockKind, Engine, FormatVersion, IndexKind, Properties, TableView};
use crate::reader::Table;

/// More bytes of a partition come from a single large key, not from a setting.
const MAX_METADATA_BLOCK_SIZE: usize = 64 << 20;

impl TableOptions {
    /// The settings of an existing table, as far as it tells, for
    /// [`rewrite_tail`](crate::rewrite_tail). There is no filter: a table does not tell its bits per
    /// key. The keys of its index are kept. Format version 0 or 1 becomes 2, the oldest
    /// that RocksDB 11 reads. A table of RocksDB gets a [random identity](crate::Identity::random), since blocks in
    /// RocksDB's cache are found by it.
    ///
    /// # Errors
    ///
    /// Fails if the comparator is not known, or the index cannot be read.
    pub fn like(table: &Table) -> Result<Self> {
        let comparator = table.comparator()?.clone();
        let view = table.view();
        if view.engine() == Engine::LevelDb {
            let bare_keys = !table.has_internal_keys();
            return Ok(Self::leveldb().bare_keys(bare_keys).comparator(comparator));
        }
        let (footer, properties) = (view.footer(), view.properties());
        let flag = |name: &str| properties.number(name).is_some_and(|it| it == 1);
        let is_partitioned =
            view.metaindex().filters().any(|(layout, ..)| layout == FilterLayout::Partitioned);
        let index = IndexSettings::of(view)?;
        let mut options = Self::rocksdb()
            .comparator(comparator)
            .format_version(footer.version.max(FormatVersion::V2))
            .checksum(footer.checksum)
            .index_kind(view.index_format().kind)
            .index_block_restart_interval(index.restart_interval)
            .enable_index_compression(index.is_compressed)
            .partition_filters(is_partitioned)
            .whole_key_filtering(properties.get(names::WHOLE_KEY_FILTERING) != Some(b"0"))
            .decouple_partitioned_filters(flag(names::DECOUPLED_PARTITIONED_FILTERS))
            .external_file(properties.number(names::EXTERNAL_SST_FILE_VERSION).is_some())
            .identity(super::Identity::random());
        options.index.keeps_separators = true;
        if properties.number(names::NUM_UNIFORM_BLOCKS) == Some(index.blocks) {
            options = options.uniform_cv_threshold(f64::INFINITY);
        }
        if let Some(size) = index.partition_size {
            options = options.metadata_block_size(size);
        }
        let text = |name: &str| text(properties, name);
        if let Some(extractor) = text(names::PREFIX_EXTRACTOR_NAME)
            && let Ok(extractor) = extractor.parse()
        {
            options = options.prefix_extractor(extractor);
        }
        let family = properties.number(names::COLUMN_FAMILY_ID);
        if let Some(id) = family.and_then(|id| u32::try_from(id).ok())
            && id != UNKNOWN_COLUMN_FAMILY_ID
        {
            options =
                options.column_family(id, text(names::COLUMN_FAMILY_NAME).unwrap_or_default());
        }
        let collectors = text(names::PROPERTY_COLLECTORS).unwrap_or_default();
        for name in collectors.trim_matches(['[', ']']).split(',').filter(|it| !it.is_empty()) {
            options = options.property_collector(name);
        }
        Ok(options)
    }
}

/// A name in the properties; `None` if there is none.
fn text<'p>(properties: &'p Properties, name: &str) -> Option<&'p str> {
    let text = std::str::from_utf8(properties.get(name)?).ok()?;
    (text != "nullptr").then_some(text)
}

/// What an index tells of its settings.
struct IndexSettings {
    restart_interval: usize,
    is_compressed: bool,
    /// Without the top level.
    blocks: u64,
    /// Of the largest partition.
    partition_size: Option<usize>,
}

impl IndexSettings {
    fn of(view: &TableView<'_>) -> Result<Self> {
        let mut settings =
            Self { restart_interval: 1, is_compressed: false, blocks: 0, partition_size: None };
        if view.index_format().kind == IndexKind::TwoLevel {
            let mut top = view.index_entries(BlockKind::Index, view.index_handle())?;
            let mut is_first = true;
            while top.advance()? {
                let size =
                    settings.read(view, BlockKind::IndexPartition, top.handle(), is_first)?;
                let largest = settings.partition_size.unwrap_or(1).max(size);
                settings.partition_size = Some(largest.min(MAX_METADATA_BLOCK_SIZE));
                is_first = false;
            }
        } else {
            settings.read(view, BlockKind::Index, view.index_handle(), true)?;
        }
        if let Some(interval @ 1..) = view.properties().number(names::INDEX_BLOCK_RESTART_INTERVAL)
        {
            settings.restart_interval = usize::try_from(interval).unwrap_or(1);
        }
        Ok(settings)
    }

    /// Looks at a block of the index, and returns its size.
    fn read(
        &mut self,
        view: &TableView<'_>,
        kind: BlockKind,
        handle: BlockHandle,
        is_first: bool,
    ) -> Result<usize> {
        let mut entries = view.index_entries(kind, handle)?;
        let size = entries.block().bytes().len();
        self.blocks += 1;
        self.is_compressed |= size as u64 != handle.size;
        if is_first {
            let mut interval = 0;
            while entries.advance()? && entries.restart_index() == 0 {
                interval += 1;
            }
            self.restart_interval = interval.max(1);
        }
        Ok(size)
    }
}
