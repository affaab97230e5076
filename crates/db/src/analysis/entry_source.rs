//! The entries to analyze: those of a table, or of all sources of a column family merged by key.

use std::sync::Arc;

use sstkit_table::visibility::{
    InternalIterator, MergingIterator, ReadView, SeenTombstones, UserKeys,
};
use sstkit_table::{EntryCursor, Table};

use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::read::{RangeTombstoneAggregator, SourceIterator};

/// Sorted entries, and the range tombstones that cover some of them.
pub(super) trait EntrySource {
    /// The entries.
    type Entries: InternalIterator;

    fn entries(&self) -> &Self::Entries;

    fn entries_mut(&mut self) -> &mut Self::Entries;

    /// The number of the file that the current entry is in.
    fn file(&self) -> usize;

    /// Whether a range tombstone covers the current entry.
    fn is_covered(&mut self) -> Result<bool>;
}

/// The entries of a column family.
pub(super) struct FamilyEntries {
    entries: MergingIterator<SourceIterator>,
    /// `None` if there are no range tombstones.
    tombstones: Option<RangeTombstoneAggregator>,
    keys: UserKeys,
    /// The number of the first file of each source.
    first_files: Arc<[usize]>,
}

impl FamilyEntries {
    pub(super) fn new(
        family: &Arc<ColumnFamilyData>,
        entries: MergingIterator<SourceIterator>,
        first_files: &Arc<[usize]>,
        tombstones: Option<&ReadView>,
    ) -> Self {
        Self {
            entries,
            tombstones: tombstones.map(|view| RangeTombstoneAggregator::new(family, view)),
            keys: family.keys.clone(),
            first_files: Arc::clone(first_files),
        }
    }
}

impl EntrySource for FamilyEntries {
    type Entries = MergingIterator<SourceIterator>;

    #[inline]
    fn entries(&self) -> &Self::Entries {
        &self.entries
    }

    #[inline]
    fn entries_mut(&mut self) -> &mut Self::Entries {
        &mut self.entries
    }

    #[inline]
    fn file(&self) -> usize {
        let source = self.entries.source().unwrap_or(0);
        self.first_files[source]
            + match &self.entries.sources()[source] {
                SourceIterator::Memtable(_) => 0,
                SourceIterator::Run(cursor) => cursor.at(),
            }
    }

    #[inline]
    fn is_covered(&mut self) -> Result<bool> {
        let Some(tombstones) = &mut self.tombstones else { return Ok(false) };
        let source = self.entries.source().unwrap_or(0);
        let key = self.keys.bare(self.entries.user_key());
        tombstones.covers(key, self.entries.sequence(), source)
    }
}

/// The entries of a table.
pub(super) struct TableEntries {
    entries: EntryCursor,
    /// `None` if there are no range tombstones.
    tombstones: Option<SeenTombstones>,
    keys: UserKeys,
}

impl TableEntries {
    pub(super) fn new(table: &Table, keys: &UserKeys, has_tombstones: bool) -> Self {
        let tombstones = has_tombstones.then(|| table.range_tombstones_at(&ReadView::default()));
        Self { entries: table.entry_cursor(), tombstones, keys: keys.clone() }
    }
}

impl EntrySource for TableEntries {
    type Entries = EntryCursor;

    #[inline]
    fn entries(&self) -> &EntryCursor {
        &self.entries
    }

    #[inline]
    fn entries_mut(&mut self) -> &mut EntryCursor {
        &mut self.entries
    }

    #[inline]
    fn file(&self) -> usize {
        0
    }

    #[inline]
    fn is_covered(&mut self) -> Result<bool> {
        let Some(tombstones) = &self.tombstones else { return Ok(false) };
        let newest = tombstones.over(self.keys.bare(self.entries.user_key()));
        Ok(newest.is_some_and(|fragment| fragment.age > self.entries.sequence()))
    }
}
