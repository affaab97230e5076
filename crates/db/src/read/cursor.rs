//! The visible keys of a column family.

use std::sync::Arc;

use sstkit_table::visibility::{
    Direction, InternalIterator, MergingIterator, UserKeys, VisibleItems, VisibleIterator,
    VisibleSource,
};
use sstkit_table::{ReadOptions, Record};

use super::range_tombstone_aggregator::RangeTombstoneAggregator;
use super::source::{self, SourceIterator};
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
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
pub type DatabaseCursor = VisibleIterator<FamilySource>;

/// Iterates over keys and values of a column family, in both directions.
pub type DatabaseIter = VisibleItems<FamilySource>;

/// Iterates over [`Record`]s of a column family, in both directions.
pub type DatabaseRecords = VisibleItems<FamilySource, Record>;

/// Iterates over keys of a column family and their timestamps, in both directions.
pub type DatabaseKeys = VisibleItems<FamilySource, (Vec<u8>, Vec<u8>)>;

/// The entries and range tombstones of all sources of a column family.
pub struct FamilySource {
    entries: MergingIterator<SourceIterator>,
    tombstones: RangeTombstoneAggregator,
    family: Arc<ColumnFamilyData>,
    /// With [`PrefixMode::SamePrefix`](sstkit_table::PrefixMode::SamePrefix), the prefix of the last
    /// seek key.
    prefix: Option<Vec<u8>>,
}

sstkit_coding::debug_opaque!(FamilySource);

impl VisibleSource for FamilySource {
    type Of = Arc<ColumnFamilyData>;
    type Entries = MergingIterator<SourceIterator>;
    type Resolver = ColumnFamilyData;

    fn open(family: &Arc<ColumnFamilyData>, options: &ReadOptions) -> Result<DatabaseCursor> {
        let family = family.readable()?.unwrap_or(family);
        let extractor = family.settings.prefix_extractor.as_ref();
        let scan = Arc::new(options.clone().for_extractor(extractor));
        let source = Self {
            entries: source::all(family, &scan),
            tombstones: RangeTombstoneAggregator::new(family, options.view()),
            family: Arc::clone(family),
            prefix: None,
        };
        let table_bytes = family.version.files().map(|file| file.meta.size).sum();
        Ok(VisibleIterator::new(source, ReadOptions::clone(&scan), table_bytes))
    }

    fn next(visible: &mut DatabaseCursor) -> Result<bool> {
        visible.step_forward()
    }

    fn prev(visible: &mut DatabaseCursor) -> Result<bool> {
        visible.step_backward()
    }

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
        let Self { entries, tombstones, family, .. } = self;
        if tombstones.is_empty() {
            return Ok(false);
        }
        let source = entries.source().unwrap_or(0);
        tombstones.covers(family.keys.bare(entries.user_key()), entries.sequence(), source)
    }

    fn start_seek(
        &mut self,
        options: &ReadOptions,
        key: Option<&[u8]>,
        _: Direction,
    ) -> Result<bool> {
        let extractor = self.family.settings.prefix_extractor.as_ref();
        self.prefix = options.prefix_of_seek(key, extractor);
        Ok(true)
    }

    #[inline]
    fn is_in_prefix(&self) -> bool {
        let Some(prefix) = self.prefix.as_deref() else { return true };
        let key = self.family.keys.bare(self.entries.user_key());
        let extractor = self.family.settings.prefix_extractor.as_ref();
        extractor.and_then(|it| it.prefix(key)) == Some(prefix)
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
