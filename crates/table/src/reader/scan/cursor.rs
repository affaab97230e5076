//! The visible keys of one table.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::filter::seek;
use crate::raw::{BlobIndex, property_names};
use crate::reader::open::core::Core;
use crate::reader::read_options::ReadOptions;
use crate::reader::scan::entries::EntryCursor;
use crate::reader::scan::merge_operator::MergeOperator;
use crate::reader::scan::seek_stats::SeekStats;
use crate::reader::value::Value;
use crate::visibility::{
    Direction, Record, Resolver, SeenTombstones, UserKeys, VisibleItems, VisibleIterator,
    VisibleSource,
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
pub type Cursor = VisibleIterator<TableSource>;

/// Iterates over keys and values of a [`Table`](crate::Table), in both directions.
pub type Iter = VisibleItems<TableSource>;

/// Iterates over records of a [`Table`](crate::Table), in both directions.
pub type Records = VisibleItems<TableSource, Record>;

/// The entries and range tombstones of one table.
pub struct TableSource {
    entries: EntryCursor,
    has_tombstones: bool,
    tombstones: SeenTombstones,
    /// With [`PrefixMode::SamePrefix`](crate::PrefixMode::SamePrefix), the prefix of the last seek key.
    prefix: Option<Vec<u8>>,
    seek: SeekStats,
}

sstkit_coding::debug_opaque!(TableSource);

impl TableSource {
    pub(crate) fn cursor(core: &Arc<Core>, options: &ReadOptions) -> Cursor {
        let options = options.clone().in_order(core.keys.order().ok());
        let source = Self {
            has_tombstones: !core.range_deletions.is_empty(),
            tombstones: SeenTombstones::new(core, &options.view),
            entries: EntryCursor::with_options(core, &options),
            prefix: None,
            seek: SeekStats::default(),
        };
        VisibleIterator::new(source, options, core.size)
    }

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
    type Of = Arc<Core>;
    type Entries = EntryCursor;
    type Resolver = Core;

    fn open(core: &Arc<Core>, options: &ReadOptions) -> Result<Cursor> {
        Ok(Self::cursor(core, options))
    }

    fn next(visible: &mut Cursor) -> Result<bool> {
        visible.step_forward()
    }

    fn prev(visible: &mut Cursor) -> Result<bool> {
        visible.step_backward()
    }

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

    #[inline(always)] // see `VisibleIterator::step_forward`
    fn is_covered(&mut self) -> Result<bool> {
        Ok(self.has_tombstones && self.is_under_tombstone())
    }

    /// Tables with an unknown comparator can be scanned from their ends, unless there are range
    /// tombstones.
    fn start_seek(
        &mut self,
        options: &ReadOptions,
        key: Option<&[u8]>,
        direction: Direction,
    ) -> Result<bool> {
        self.entries.reset();
        self.seek = SeekStats::new(self.entries.blocks_entered());
        let core = self.entries.core();
        if key.is_some() || self.has_tombstones {
            core.require_order()?;
        }
        self.prefix = options.prefix_of_seek(key, core.prefix_extractor.as_ref());
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

    #[inline(always)] // see `VisibleIterator::step_forward`
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
