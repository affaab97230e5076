//! The visible keys of a column family.

use std::fmt;
use std::sync::Arc;

use sstkit_table::visibility::{
    Direction, InternalIterator, MergingIterator, UserKeys, VisibleIterator, VisibleSource,
};
use sstkit_table::{Column, Record, ScanOptions, Value};

use super::range_tombstone_aggregator::RangeTombstoneAggregator;
use super::source::{self, SourceIterator};
use crate::column_family_data::ColumnFamilyData;
use crate::error::{Error, Result};
use crate::version::TableFile;

/// Moves over the visible keys of a column family, in both directions.
///
/// A new cursor is unpositioned. Every move returns whether the cursor is at a key afterwards;
/// after an error it is unpositioned. Without a position, key and value are empty.
///
/// ```no_run
/// # use sstkit_db::Database;
/// let db = Database::open("path/to/db")?;
/// let mut cursor = db.cursor()?;
/// let mut more = cursor.seek(b"m")?;
/// while more {
///     println!("{} = {:?}", cursor.key().escape_ascii(), cursor.value()?);
///     more = cursor.next()?;
/// }
/// # Ok::<(), sstkit_db::Error>(())
/// ```
pub struct DatabaseCursor {
    visible: VisibleIterator<FamilySource>,
}

impl DatabaseCursor {
    pub(crate) fn new(family: &Arc<ColumnFamilyData>, options: &ScanOptions) -> Result<Self> {
        Ok(Self { visible: visible(family, options)? })
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

    /// The value of the current key if it is stored inline as a plain value: not an entity, not
    /// merge operands, not in a blob file.
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

impl fmt::Debug for DatabaseCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visible.fmt(f)
    }
}

pub(super) fn visible(
    family: &Arc<ColumnFamilyData>,
    options: &ScanOptions,
) -> Result<VisibleIterator<FamilySource>> {
    let family = family.readable()?.unwrap_or(family);
    let scan = Arc::new(options.clone());
    let source = FamilySource {
        entries: source::all(family, &scan),
        tombstones: RangeTombstoneAggregator::new(family, options.view()),
        family: Arc::clone(family),
    };
    let table_bytes = family.version.files().map(|file| file.meta.size).sum();
    Ok(VisibleIterator::new(source, options.clone(), table_bytes))
}

/// The entries and range tombstones of all sources of a column family.
pub(super) struct FamilySource {
    entries: MergingIterator<SourceIterator>,
    tombstones: RangeTombstoneAggregator,
    family: Arc<ColumnFamilyData>,
}

impl VisibleSource for FamilySource {
    type Error = Error;
    type Entries = MergingIterator<SourceIterator>;
    type Resolver = ColumnFamilyData;

    #[inline]
    fn entries(&self) -> &MergingIterator<SourceIterator> {
        &self.entries
    }

    #[inline]
    fn entries_mut(&mut self) -> &mut MergingIterator<SourceIterator> {
        &mut self.entries
    }

    #[inline]
    fn keys(&self) -> &UserKeys {
        &self.family.keys
    }

    fn resolver(&self) -> &ColumnFamilyData {
        &self.family
    }

    fn origin(&self) -> Option<Arc<TableFile>> {
        source::file(&self.entries).cloned()
    }

    #[inline]
    fn is_covered(&mut self) -> Result<bool> {
        let Self { entries, tombstones, family } = self;
        let source = entries.source().unwrap_or(0);
        tombstones.covers(family.keys.bare(entries.user_key()), entries.sequence(), source)
    }

    fn skip_covered(&mut self, key: &[u8], direction: Direction) -> Result<()> {
        if let Some(reach) = self.tombstones.reach(key)? {
            let bound = match direction {
                Direction::Forward => &reach.end,
                Direction::Backward => &reach.start,
            };
            self.entries.skip_to(reach.source + 1, bound)?;
        }
        Ok(())
    }

    /// A key that was not found may be in a table that was left out.
    fn check_end(&self) -> Result<()> {
        self.family.require_all_tables()
    }
}
