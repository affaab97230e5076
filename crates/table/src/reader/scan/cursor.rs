//! The visible keys of one table.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::filter::PrefixMode;
use crate::filter::seek;
use crate::raw::{BlobIndex, property_names};
use crate::reader::open::core::Core;
use crate::reader::scan::entries::EntryCursor;
use crate::reader::scan::merge_operator::MergeOperator;
use crate::reader::scan::scan_options::ScanOptions;
use crate::reader::scan::seek_stats::SeekStats;
use crate::reader::value::Value;
use crate::visibility::{
    Column, Direction, Record, Resolver, SeenTombstones, UserKeys, VisibleIterator, VisibleSource,
};

/// A cursor over the visible keys of a table, in both directions.
///
/// A new cursor is unpositioned. Every move returns whether the cursor is at a key afterwards;
/// after an error it is unpositioned. Without a position, key and value are empty.
///
/// ```no_run
/// # use sstkit_table::Table;
/// let table = Table::open("000011.sst")?;
/// let mut cursor = table.cursor();
/// let mut more = cursor.seek(b"m")?;
/// while more {
///     println!("{} = {:?}", cursor.key().escape_ascii(), cursor.value()?);
///     more = cursor.next()?;
/// }
/// # Ok::<(), sstkit_table::Error>(())
/// ```
pub struct Cursor {
    visible: VisibleIterator<TableSource>,
}

impl Cursor {
    pub(crate) fn new(core: &Arc<Core>, options: &ScanOptions) -> Self {
        Self { visible: visible(core, options) }
    }

    /// Whether it is at a key.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.visible.is_valid()
    }

    /// The current key, without its timestamp if it has one.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.visible.key()
    }

    /// The timestamp of the visible version; empty if keys have none.
    pub fn timestamp(&self) -> &[u8] {
        self.visible.timestamp()
    }

    /// The value of the current key; for an entity, its default column.
    pub fn value(&self) -> Result<Value> {
        self.visible.value()
    }

    /// The value of the current key, borrowed until the cursor moves. Cheaper than
    /// [`value`](Self::value) for values that are not kept: usually nothing is allocated or
    /// counted.
    ///
    /// ```no_run
    /// # use sstkit_table::Table;
    /// let mut cursor = Table::open("000011.sst")?.cursor();
    /// let (mut more, mut bytes) = (cursor.seek_to_first()?, 0);
    /// while more {
    ///     bytes += cursor.key().len() + cursor.value_bytes()?.len();
    ///     more = cursor.next()?;
    /// }
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    #[inline]
    pub fn value_bytes(&self) -> Result<Cow<'_, [u8]>> {
        self.visible.value_bytes()
    }

    /// The value of the current key if it is stored inline as a plain value: not an entity, not
    /// merge operands, not a blob.
    #[inline]
    pub fn plain_value(&self) -> Option<&[u8]> {
        self.visible.plain_value()
    }

    /// The columns of the current key; for a plain value, only the default column.
    pub fn columns(&self) -> Result<Vec<Column>> {
        self.visible.columns()
    }

    /// The complete record of the current key: timestamp, columns, and operands that cannot be
    /// merged. `None` if the cursor is unpositioned.
    pub fn record(&self) -> Result<Option<Record>> {
        self.visible.record()
    }

    /// Moves to the first key.
    pub fn seek_to_first(&mut self) -> Result<bool> {
        self.visible.seek_to_first()
    }

    /// Moves to the last key.
    pub fn seek_to_last(&mut self) -> Result<bool> {
        self.visible.seek_to_last()
    }

    /// Moves to `key`, or to the next key if it is not found.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.visible.seek(key)
    }

    /// Moves to `key`, or to the previous key if it is not found.
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        self.visible.seek_for_prev(key)
    }

    /// Moves to the next key.
    #[expect(clippy::should_implement_trait, reason = "keys are borrowed, an iterator gives")]
    pub fn next(&mut self) -> Result<bool> {
        self.visible.next()
    }

    /// Moves to the previous key.
    pub fn prev(&mut self) -> Result<bool> {
        self.visible.prev()
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visible.fmt(f)
    }
}

/// The visible keys of a table.
pub(crate) fn visible(core: &Arc<Core>, options: &ScanOptions) -> VisibleIterator<TableSource> {
    let options = options.clone().in_order(core.keys.order().ok());
    let source = TableSource {
        has_tombstones: !core.range_deletions.is_empty(),
        tombstones: SeenTombstones::new(core, &options.view),
        entries: EntryCursor::new(core, options.fill_cache),
        prefix: None,
        seek: SeekStats::default(),
    };
    VisibleIterator::new(source, options, core.size)
}

/// The entries and range tombstones of one table.
pub(crate) struct TableSource {
    entries: EntryCursor,
    has_tombstones: bool,
    tombstones: SeenTombstones,
    /// With [`PrefixMode::SamePrefix`], the prefix of the last seek key.
    prefix: Option<Vec<u8>>,
    seek: SeekStats,
}

impl TableSource {
    /// Whether the newest tombstone over the current key is newer than the current entry.
    fn is_under_tombstone(&mut self) -> bool {
        let key = self.entries.core().keys.bare(self.entries.user_key());
        let newest = self.tombstones.over(key).map(|fragment| fragment.age);
        newest > Some(self.entries.sequence())
    }

    /// Whether the current entry has the prefix of the last seek key.
    fn has_prefix(&self, prefix: &[u8]) -> bool {
        let core = self.entries.core();
        let key = core.keys.bare(self.entries.user_key());
        core.prefix_extractor.as_ref().and_then(|it| it.prefix(key)) == Some(prefix)
    }
}

impl VisibleSource for TableSource {
    type Error = Error;
    type Entries = EntryCursor;
    type Resolver = Core;

    #[inline]
    fn entries(&self) -> &EntryCursor {
        &self.entries
    }

    #[inline]
    fn entries_mut(&mut self) -> &mut EntryCursor {
        &mut self.entries
    }

    #[inline]
    fn keys(&self) -> &UserKeys {
        self.entries.core().keys.user_keys()
    }

    fn resolver(&self) -> &Core {
        self.entries.core()
    }

    fn origin(&self) {}

    #[inline(always)] // see `VisibleIterator::next`
    fn is_covered(&mut self) -> Result<bool> {
        Ok(self.has_tombstones && self.is_under_tombstone())
    }

    /// Tables with an unknown comparator can be scanned from their ends, unless there are range
    /// tombstones.
    fn start_seek(
        &mut self,
        options: &ScanOptions,
        key: Option<&[u8]>,
        direction: Direction,
    ) -> Result<bool> {
        self.prefix = None;
        self.entries.reset();
        self.seek = SeekStats::new(self.entries.blocks_entered());
        let core = self.entries.core();
        if key.is_some() || self.has_tombstones {
            core.require_order()?;
        }
        if let (PrefixMode::SamePrefix, Some(key)) = (options.prefix_mode, key) {
            let extractor = core.prefix_extractor.as_ref();
            self.prefix = extractor.and_then(|it| it.prefix(key)).map(<[u8]>::to_vec);
        }
        let answer = seek::probe(core, options, key, direction == Direction::Backward)?;
        if let Some(may_match) = answer {
            self.seek.count_filter(core, may_match);
        }
        Ok(answer.unwrap_or(true))
    }

    #[inline]
    fn is_in_prefix(&self) -> bool {
        self.prefix.as_deref().is_none_or(|prefix| self.has_prefix(prefix))
    }

    #[inline(always)] // see `VisibleIterator::next`
    fn count_move(&mut self) {
        let blocks_entered = self.entries.blocks_entered();
        self.seek.count_data(self.entries.core(), blocks_entered);
    }

    #[inline]
    fn count_value(&self) {
        self.seek.count_value(self.entries.core());
    }
}

/// Embedded blobs are in the file itself; blob files are not read.
impl Resolver for Core {
    type Error = Error;
    type Origin = ();

    fn blob(&self, index: &BlobIndex<'_>, _: &[u8], _: Option<&()>) -> Result<Value> {
        match *index {
            BlobIndex::Inlined { value, .. } => Ok(Value::from(value.to_vec())),
            BlobIndex::Stored { file: 0, .. } => self.embedded_blob(index).map(Value::from),
            BlobIndex::Stored { file, offset, size, .. } => Err(Error::unsupported(format!(
                "the value is outside the table ({size} bytes at offset {offset} of blob file \
                 {file})"
            ))),
        }
    }

    fn merge_operator(&self) -> Option<&dyn MergeOperator> {
        self.merge_operator.as_deref()
    }

    fn merge_operator_name(&self) -> Option<String> {
        // RocksDB's name for no operator.
        let name =
            self.properties.get(property_names::MERGE_OPERATOR).filter(|it| it != b"nullptr");
        name.map(|name| String::from_utf8_lossy(name).into_owned())
    }

    fn in_file(&self, error: Error) -> Error {
        self.blocks.in_file(error)
    }
}
