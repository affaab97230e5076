//! Reads several tables as one.

use std::fmt;
use std::sync::Arc;

use sstkit_filter::PrefixExtractor;

use crate::error::{Error, Result};
use crate::raw::{BlobIndex, EntryKind};
use crate::reader::read_options::ReadOptions;
use crate::reader::scan::entries::EntryCursor;
use crate::reader::scan::merge_operator::MergeOperator;
use crate::reader::value::Value;
use crate::reader::{KeyBounds, Table};
use crate::visibility::{
    Direction, InternalIterator, MergingIterator, Recency, Resolver, SeenTombstones, UserKeys,
    VisibleItems, VisibleIterator, VisibleSource,
};

/// Several tables read as one, like the levels of a database: the newest version of each key, with
/// deletions and range tombstones of newer tables applied to older ones, and merge operands of all
/// tables combined.
///
/// The newest table comes first. With [`Recency::BySource`], its entries are newer than those of
/// all following tables, regardless of sequence numbers; with [`Recency::BySequence`], sequence
/// numbers decide, for tables whose order is unknown.
///
/// ```
/// use sstkit_table::raw::{EntryKind, InternalKey};
/// use sstkit_table::visibility::Recency;
/// use sstkit_table::{MergedTables, Table, TableOptions, TableWriter};
///
/// let options = TableOptions::rocksdb().external_file(false);
/// let table = |entries: &[(&[u8], u64, EntryKind)]| -> sstkit_table::Result<Table> {
///     let mut bytes = Vec::new();
///     let mut writer = TableWriter::to_sink(&mut bytes, &options)?;
///     for &(user_key, sequence, kind) in entries {
///         writer.add(&InternalKey { user_key, sequence, kind }, &sequence.to_le_bytes())?;
///     }
///     writer.finish()?;
///     Table::from_bytes(bytes)
/// };
/// let newer = table(&[(b"a", 7, EntryKind::Deletion), (b"c", 8, EntryKind::Value)])?;
/// let older = table(&[(b"a", 3, EntryKind::Value), (b"b", 4, EntryKind::Value)])?;
///
/// let merged = MergedTables::new(&[newer, older], Recency::BySource)?;
/// let keys: Result<Vec<_>, _> = merged.iter().map(|entry| entry.map(|(key, _)| key)).collect();
/// assert_eq!(keys?, [b"b", b"c"]);
/// # Ok::<(), sstkit_table::Error>(())
/// ```
#[derive(Clone)]
pub struct MergedTables {
    tables: Arc<[Table]>,
    keys: UserKeys,
    recency: Recency,
}

impl MergedTables {
    /// The newest table comes first.
    ///
    /// # Errors
    ///
    /// Fails if the comparator of a table is unknown, or differs from that of the others.
    pub fn new(tables: &[Table], recency: Recency) -> Result<Self> {
        let keys = match tables.first() {
            Some(first) => first.user_keys()?.clone(),
            None => UserKeys::new(crate::Comparator::default()),
        };
        for table in tables {
            let (expected, found) = (keys.comparator().name(), table.comparator()?.name());
            if expected != found || table.user_keys()?.timestamp_size() != keys.timestamp_size() {
                return Err(Error::invalid_input(format!(
                    "cannot merge tables in the order {expected:?} and in the order {found:?}, or \
                     with and without timestamps"
                )));
            }
        }
        Ok(Self { tables: tables.into(), keys, recency })
    }

    /// A cursor over the visible keys of all tables.
    pub fn cursor(&self) -> MergedCursor {
        self.cursor_with(&ReadOptions::default())
    }

    /// Like [`cursor`](Self::cursor), with options.
    pub fn cursor_with(&self, options: &ReadOptions) -> MergedCursor {
        let options = options.clone().in_order(Some(self.keys.comparator()));
        let extractor = self.prefix_extractor();
        let options = Arc::new(options.for_extractor(extractor));
        let tables = self.tables.iter();
        let sources = tables.map(|table| ProbedCursor::new(table, &options)).collect();
        let source = MergedSource {
            entries: MergingIterator::new(self.keys.clone(), self.recency, sources),
            tombstones: tables_with(&self.tables, &options),
            tables: self.clone(),
            prefix: None,
        };
        let bytes = self.tables.iter().map(Table::size).sum();
        VisibleIterator::new(source, ReadOptions::clone(&options), bytes)
    }

    /// The prefix extractor, if all tables have the same.
    fn prefix_extractor(&self) -> Option<&PrefixExtractor> {
        let mut extractors = self.tables.iter().map(Table::prefix_extractor);
        let first = extractors.next()??;
        extractors.all(|other| other.is_some_and(|it| it.name() == first.name())).then_some(first)
    }

    /// Iterates over all keys and values.
    pub fn iter(&self) -> MergedIter {
        self.iter_with(&ReadOptions::default())
    }

    /// Iterates over a range of keys, in comparator order.
    pub fn range(&self, range: impl KeyBounds) -> MergedIter {
        self.iter_with(&ReadOptions::default().range(range))
    }

    /// Iterates over the keys that start with `start`: see [`Table::prefix`].
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> MergedIter {
        self.iter_with(&ReadOptions::default().prefix(start))
    }

    /// Like [`iter`](Self::iter), with options.
    pub fn iter_with(&self, options: &ReadOptions) -> MergedIter {
        MergedIter::new(self, options.clone())
    }
}

/// Iterates over all keys and values.
impl IntoIterator for &MergedTables {
    type Item = Result<(Vec<u8>, Value)>;
    type IntoIter = MergedIter;

    fn into_iter(self) -> MergedIter {
        self.iter()
    }
}

impl fmt::Debug for MergedTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergedTables")
            .field("tables", &self.tables)
            .field("recency", &self.recency)
            .finish_non_exhaustive()
    }
}

/// A cursor over the visible keys of [`MergedTables`], in both directions.
pub type MergedCursor = VisibleIterator<MergedSource>;

/// Iterates over keys and values of [`MergedTables`], in both directions.
pub type MergedIter = VisibleItems<MergedSource>;

/// Index and tombstones of each table that has tombstones visible in the scan.
fn tables_with(tables: &[Table], options: &ReadOptions) -> Vec<(usize, SeenTombstones)> {
    let all = tables.iter().map(|table| table.range_tombstones_at(options.view()));
    all.enumerate().filter(|(_, tombstones)| !tombstones.fragments().is_empty()).collect()
}

/// The entries and range tombstones of several tables.
pub struct MergedSource {
    entries: MergingIterator<ProbedCursor>,
    tombstones: Vec<(usize, SeenTombstones)>,
    tables: MergedTables,
    /// With [`PrefixMode::SamePrefix`](crate::PrefixMode::SamePrefix), the prefix of the last seek key.
    prefix: Option<Vec<u8>>,
}

sstkit_coding::debug_opaque!(MergedSource);

impl VisibleSource for MergedSource {
    type Of = MergedTables;
    type Entries = MergingIterator<ProbedCursor>;
    type Resolver = MergedTables;

    fn open(tables: &MergedTables, options: &ReadOptions) -> Result<MergedCursor> {
        Ok(tables.cursor_with(options))
    }

    fn next(visible: &mut MergedCursor) -> Result<bool> {
        visible.step_forward()
    }

    fn prev(visible: &mut MergedCursor) -> Result<bool> {
        visible.step_backward()
    }

    fn entries(&self) -> &MergingIterator<ProbedCursor> {
        &self.entries
    }

    fn entries_mut(&mut self) -> &mut MergingIterator<ProbedCursor> {
        &mut self.entries
    }

    fn keys(&self) -> &UserKeys {
        &self.tables.keys
    }

    fn resolver(&self) -> &MergedTables {
        &self.tables
    }

    fn origin(&self) -> usize {
        self.entries.source().unwrap_or(0)
    }

    fn start_seek(
        &mut self,
        options: &ReadOptions,
        key: Option<&[u8]>,
        _: Direction,
    ) -> Result<bool> {
        self.prefix = options.prefix_of_seek(key, self.tables.prefix_extractor());
        Ok(true)
    }

    fn is_in_prefix(&self) -> bool {
        let Some(prefix) = self.prefix.as_deref() else { return true };
        let key = self.tables.keys.bare(self.entries.user_key());
        self.tables.prefix_extractor().and_then(|it| it.prefix(key)) == Some(prefix)
    }

    fn is_covered(&mut self) -> Result<bool> {
        let key = self.tables.keys.bare(self.entries.user_key());
        let entry = (self.entries.sequence(), self.origin());
        Ok(self.tombstones.iter().any(|(by, tombstones)| {
            let fragment = tombstones.over(key);
            fragment.is_some_and(|it| self.tables.recency.covers((it.age, *by), entry))
        }))
    }
}

impl Resolver for MergedTables {
    /// The index of a table.
    type Origin = usize;

    fn blob(&self, index: &BlobIndex<'_>, _: &[u8], origin: Option<&usize>) -> Result<Value> {
        match origin.and_then(|&at| self.tables.get(at)) {
            Some(table) => table.embedded_blob(index),
            None => Err(Error::corrupt("a blob index without a table")),
        }
    }

    fn merge_operator(&self) -> Option<&dyn MergeOperator> {
        self.tables.iter().find_map(Table::merge_operator)
    }

    fn merge_operator_name(&self) -> Option<String> {
        self.tables.iter().find_map(Table::merge_operator_name)
    }

    fn in_file(&self, error: Error) -> Error {
        error
    }
}

/// The entries of a table whose filter is probed by every seek.
pub struct ProbedCursor {
    table: Table,
    options: Arc<ReadOptions>,
    entries: EntryCursor,
}

sstkit_coding::debug_opaque!(ProbedCursor);

impl ProbedCursor {
    fn new(table: &Table, options: &Arc<ReadOptions>) -> Self {
        let entries = table.entry_cursor_with(options);
        Self { table: table.clone(), options: Arc::clone(options), entries }
    }

    fn seek_if(
        &mut self,
        key: Option<&[u8]>,
        backward: bool,
        seek: impl FnOnce(&mut EntryCursor) -> Result<bool>,
    ) -> Result<bool> {
        self.entries.reset();
        match self.table.may_match(&self.options, key, backward)? {
            true => seek(&mut self.entries),
            false => Ok(false),
        }
    }
}

impl InternalIterator for ProbedCursor {
    fn is_valid(&self) -> bool {
        self.entries.is_valid()
    }

    fn user_key(&self) -> &[u8] {
        self.entries.user_key()
    }

    fn sequence(&self) -> u64 {
        self.entries.sequence()
    }

    fn kind(&self) -> EntryKind {
        self.entries.kind()
    }

    fn value(&self) -> &[u8] {
        self.entries.value()
    }

    fn value_handle(&self) -> Value {
        self.entries.value_handle()
    }

    fn next(&mut self) -> Result<bool> {
        self.entries.next()
    }

    fn prev(&mut self) -> Result<bool> {
        self.entries.prev()
    }

    fn seek_to_first(&mut self) -> Result<bool> {
        self.seek_if(None, false, EntryCursor::seek_to_first)
    }

    fn seek_to_last(&mut self) -> Result<bool> {
        self.seek_if(None, true, EntryCursor::seek_to_last)
    }

    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.seek_if(Some(key), false, |entries| entries.seek(key))
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        self.seek_if(Some(key), true, |entries| entries.seek_for_prev(key))
    }

    fn next_user_key(&mut self, timestamp_size: usize) -> Result<bool> {
        self.entries.next_user_key(timestamp_size)
    }
}
