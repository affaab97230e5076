//! One table: sound, damaged, or lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sstkit_table::raw::{BlobIndex, Engine, Properties, property_names as names};
use sstkit_table::visibility::UserKeys;
use sstkit_table::{
    Comparator, KeyForm, Loss, RangeTombstone, ReferenceVisitor, SalvageOptions, SalvageReport,
    Table, TableReadOptions, TableSalvage, VerifyOptions,
};

use super::manifest_evidence::TableEvidence;
use crate::database_writer::{LiveBlobs, TableBounds};
use crate::error::{Error, Result};
use crate::raw::FileMetaData;
use crate::regular_file;
use crate::version::TableFile;

/// The number of the column family in tables that do not know it.
const UNKNOWN_FAMILY: u64 = 0x7fff_ffff;

/// What is known about the tables of a database before they are read.
#[derive(Clone, Debug)]
pub(super) struct TableHints {
    pub(super) engine: Option<Engine>,
    /// Orders that were given.
    pub(super) comparators: Vec<Comparator>,
    pub(super) max_block_size: usize,
    pub(super) threads: usize,
    /// The tables need not be of a database.
    pub(super) may_have_bare_keys: bool,
}

/// A table that was read.
#[derive(Debug)]
pub(super) struct ExaminedTable {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    /// What a MANIFEST says about it.
    pub(super) listed: Option<TableEvidence>,
    /// Its points are within the bounds that a MANIFEST gives it: its range tombstones apply there.
    pub(super) is_bounded: bool,
    /// The first and the last user key of its points, as stored.
    pub(super) points: Option<(Vec<u8>, Vec<u8>)>,
    /// The smallest start and the largest end of its range tombstones, without timestamps.
    pub(super) tombstones: Option<(Vec<u8>, Vec<u8>)>,
    /// Range tombstones that are lost with a part of it, and that its neighbours have, too.
    pub(super) shared_tombstones: Vec<RangeTombstone>,
    /// `None` if its properties are lost.
    pub(super) properties: Option<Properties>,
    /// The order of its keys: what is recorded, or else what fits them.
    pub(super) order: Option<Comparator>,
    pub(super) engine: Option<Engine>,
    pub(super) condition: Condition,
    /// The blobs that it refers to.
    pub(super) live_blobs: LiveBlobs,
    /// It is rewritten, although it is sound: values are taken out of a damaged blob file.
    pub(super) is_rewritten: bool,
    /// What else is to be said about it, as sentences.
    pub(super) notes: Vec<String>,
}

/// The condition of a table.
#[derive(Debug)]
pub(super) enum Condition {
    /// Sound, with what a MANIFEST says, or would say, about it.
    Sound { meta: Box<FileMetaData>, entries: u64 },
    /// Sound, but without entries.
    Empty,
    /// Damaged, with what is left of it.
    Damaged(Box<SalvageReport>),
    /// Nothing is left of it.
    Lost(String),
}

impl ExaminedTable {
    /// The id of the column family; `None` if the table does not say it.
    pub(super) fn family(&self) -> Option<u32> {
        if let Some(listed) = &self.listed {
            return Some(listed.column_family);
        }
        if self.engine == Some(Engine::LevelDb) {
            return Some(0);
        }
        let id = self.properties.as_ref()?.number(names::COLUMN_FAMILY_ID)?;
        u32::try_from(id).ok().filter(|_| id != UNKNOWN_FAMILY)
    }

    /// Whether its sequence number is in a MANIFEST only.
    pub(super) fn has_external_sequence(&self) -> bool {
        let properties = self.properties.as_ref();
        let number = properties.and_then(|it| it.global_sequence_number().ok().flatten());
        number == Some(0)
    }

    /// Whether it was ingested: its sequence number says nothing about the logs.
    pub(super) fn is_ingested(&self) -> bool {
        let properties = self.properties.as_ref();
        properties.is_some_and(|it| it.get(names::GLOBAL_SEQNO).is_some())
    }

    /// The text of a property.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let value = self.properties.as_ref()?.get(name)?;
        Some(String::from_utf8_lossy(value).into_owned()).filter(|it| !it.is_empty())
    }

    /// The smallest and the largest sequence number.
    pub(super) fn sequences(&self) -> Option<(u64, u64)> {
        match &self.condition {
            Condition::Sound { meta, .. } => meta.smallest_sequence.zip(meta.largest_sequence),
            Condition::Damaged(report) => report.sequences,
            Condition::Empty | Condition::Lost(_) => None,
        }
    }

    /// The smallest and the largest user key, as stored.
    pub(super) fn bounds(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        match &self.condition {
            Condition::Sound { meta, .. } => {
                Some((user_key(&meta.smallest), user_key(&meta.largest)))
            }
            Condition::Damaged(report) => report.bounds.clone(),
            Condition::Empty | Condition::Lost(_) => None,
        }
    }

    /// The bounds within which its range tombstones apply, if they are recorded.
    pub(super) fn recorded_bounds(&self, keys: &UserKeys) -> Option<TableFile> {
        self.listed.as_ref().filter(|_| self.is_bounded)?.file(keys)
    }

    /// Uses the recorded bounds, which may end before its range tombstones do.
    pub(super) fn take_recorded_bounds(&mut self) {
        if let (Some(listed), true, Condition::Sound { meta, .. }) =
            (&self.listed, self.is_bounded, &mut self.condition)
        {
            meta.smallest.clone_from(&listed.meta.smallest);
            meta.largest.clone_from(&listed.meta.largest);
        }
    }

    /// Whether it has range tombstones that reach beyond the recorded bounds, where they do not apply.
    pub(super) fn has_truncated_tombstones(&self, keys: &UserKeys) -> bool {
        let recorded = self.recorded_bounds(keys);
        recorded.zip(self.tombstones.as_ref()).is_some_and(|(file, (start, end))| {
            keys.compare(start, file.smallest()).is_lt()
                || keys.compare(end, file.largest()).is_gt()
        })
    }

    /// Sets the keys of its points and range tombstones, and whether a MANIFEST gives it such bounds.
    fn set_keys(
        &mut self,
        points: Option<(Vec<u8>, Vec<u8>)>,
        ranges: &[RangeTombstone],
        order: Option<&Comparator>,
    ) {
        if let Some(keys) = order.cloned().map(UserKeys::new) {
            self.add_tombstones(ranges, &keys);
        }
        let contains = |listed: &TableEvidence| {
            points.as_ref().is_none_or(|points| listed.contains(points, order))
        };
        self.is_bounded = self.listed.as_ref().is_some_and(contains);
        self.points = points;
    }

    /// Adds the ends of range tombstones.
    fn add_tombstones(&mut self, ranges: &[RangeTombstone], keys: &UserKeys) {
        for RangeTombstone { start, end, .. } in ranges {
            let known = self.tombstones.get_or_insert_with(|| (start.clone(), end.clone()));
            if keys.compare(start, &known.0).is_lt() {
                known.0.clone_from(start);
            }
            if keys.compare(end, &known.1).is_gt() {
                known.1.clone_from(end);
            }
        }
    }

    /// It has these range tombstones, which its neighbours have, too.
    pub(super) fn share_tombstones(&mut self, ranges: Vec<RangeTombstone>, keys: &UserKeys) {
        self.add_tombstones(&ranges, keys);
        self.shared_tombstones = ranges;
    }

    /// Entries that are saved: points and range tombstones.
    pub(super) fn entries(&self) -> u64 {
        let shared = self.shared_tombstones.len() as u64;
        match &self.condition {
            Condition::Sound { entries, .. } => *entries,
            Condition::Damaged(report) => report.entries + report.range_tombstones + shared,
            Condition::Empty | Condition::Lost(_) => 0,
        }
    }

    /// Whether entries of it are lost.
    pub(super) fn has_losses(&self) -> bool {
        match &self.condition {
            Condition::Damaged(report) => report.losses.iter().any(Loss::has_entries),
            Condition::Lost(_) => true,
            Condition::Sound { .. } | Condition::Empty => false,
        }
    }

    /// Whether there is something to be written for it.
    pub(super) fn has_entries(&self) -> bool {
        match &self.condition {
            Condition::Sound { .. } => true,
            Condition::Damaged(report) => report.entries + report.range_tombstones > 0,
            Condition::Empty | Condition::Lost(_) => false,
        }
    }

    /// Whether nothing of it is left.
    pub(super) fn is_lost(&self) -> bool {
        match &self.condition {
            Condition::Lost(_) => true,
            Condition::Damaged(_) => !self.has_entries(),
            Condition::Sound { .. } | Condition::Empty => false,
        }
    }

    /// Reads it again, in another order.
    pub(super) fn examined_in(&self, hints: &TableHints, order: &Comparator) -> Self {
        let found = hints.examine(self.number, &self.path, Some(order), self.listed.clone());
        Self { notes: self.notes.clone(), ..found }
    }

    /// Opens a sound table.
    pub(super) fn open(&self, hints: &TableHints, order: Option<&Comparator>) -> Result<Table> {
        let listed = self.listed.as_ref();
        hints.open(&self.path, order, listed)
    }
}

/// An internal key without its tail.
pub(super) fn user_key(internal: &[u8]) -> Vec<u8> {
    internal[..internal.len().saturating_sub(8)].to_vec()
}

impl TableHints {
    fn open(
        &self,
        path: &Path,
        order: Option<&Comparator>,
        listed: Option<&TableEvidence>,
    ) -> sstkit_table::Result<Table> {
        let mut options = TableReadOptions::default()
            .key_form(KeyForm::Internal)
            .no_block_cache()
            .max_block_size(self.max_block_size);
        for comparator in self.comparators.iter().chain(order) {
            options = options.comparator(comparator.clone());
        }
        if let Some(sequence) = listed.and_then(|it| it.meta.largest_sequence) {
            options = options.global_sequence_number(sequence);
        }
        let file = regular_file::open(path)
            .map_err(|error| sstkit_table::Error::from(error).in_file(path))?;
        Table::from_file(file, path, &options)
    }

    /// Finds out what is left of a damaged table.
    pub(super) fn salvage(
        &self,
        path: &Path,
        order: Option<&Comparator>,
        listed: Option<&TableEvidence>,
    ) -> sstkit_table::Result<TableSalvage> {
        let mut options = SalvageOptions::default();
        options.comparator = order.cloned().or_else(|| self.comparators.last().cloned());
        options.key_form = KeyForm::Internal;
        options.engine = self.engine;
        options.max_block_size = self.max_block_size;
        let sequences = listed.map(|it| (it.meta.smallest_sequence, it.meta.largest_sequence));
        options.global_sequence_number = sequences.and_then(|it| it.1);
        options.has_one_sequence_number = sequences.is_some_and(|it| it.0 == it.1);
        options.threads = self.threads;
        TableSalvage::open(path, &options)
    }

    /// Reads all of a table. `order` is that of its column family, if a MANIFEST says it.
    pub(super) fn examine(
        &self,
        number: u64,
        path: &Path,
        order: Option<&Comparator>,
        listed: Option<TableEvidence>,
    ) -> ExaminedTable {
        let mut examined = ExaminedTable {
            number,
            path: path.to_path_buf(),
            listed,
            is_bounded: false,
            points: None,
            tombstones: None,
            shared_tombstones: Vec::new(),
            properties: None,
            order: None,
            engine: None,
            condition: Condition::Lost(String::new()),
            live_blobs: LiveBlobs::default(),
            is_rewritten: false,
            notes: Vec::new(),
        };
        if self.may_have_bare_keys && has_bare_keys(path) {
            let reason = "its keys have no sequence numbers, as LevelDB's TableBuilder writes them: \
                          salvage it on its own, as a table";
            examined.condition = Condition::Lost(reason.into());
            return examined;
        }
        match self.open(path, order, examined.listed.as_ref()) {
            Ok(table) => {
                examined.properties = Some(table.properties().clone());
                examined.engine = Some(table.engine());
                if self.verified(&table, &mut examined) {
                    return examined;
                }
            }
            Err(error) if error.kind() == sstkit_table::ErrorKind::Unsupported => {
                examined.condition = Condition::Lost(error.to_string());
                return examined;
            }
            Err(_) => {}
        }
        self.salvaged(path, order, &mut examined);
        examined
    }

    /// Verifies a table; true if it is sound.
    fn verified(&self, table: &Table, examined: &mut ExaminedTable) -> bool {
        let options = VerifyOptions::default().threads(self.threads);
        let (found, visitors) = table.verify_visiting(&options, LiveBlobs::default);
        let Ok(mut bounds) = points(table) else { return false };
        if !found.is_sound() {
            return false;
        }
        let order = table.comparator().ok();
        examined.order = order.cloned();
        examined.set_keys(bounds.user_keys(), table.range_deletions(), order);
        // Without a known order the bounds of points have to do.
        if let Some(order) = order {
            table.range_deletions().iter().for_each(|range| bounds.range(range, order));
        }
        visitors.iter().for_each(|part| examined.live_blobs.append(part));
        let sequences = found
            .spans()
            .iter()
            .map(|it| (it.smallest_sequence, it.largest_sequence))
            .chain(table.range_deletions().iter().map(|it| (it.sequence, it.sequence)))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let meta = bounds.metadata(table.properties(), table.size());
        examined.condition = match meta.zip(sequences) {
            None => Condition::Empty,
            Some((mut meta, sequences)) => {
                (meta.smallest_sequence, meta.largest_sequence) =
                    (Some(sequences.0), Some(sequences.1));
                meta.oldest_blob_file = examined.live_blobs.numbers().next();
                meta.number = examined.number;
                Condition::Sound { meta: Box::new(meta), entries: found.entries() }
            }
        };
        true
    }

    fn salvaged(&self, path: &Path, order: Option<&Comparator>, examined: &mut ExaminedTable) {
        let salvage = match self.salvage(path, order, examined.listed.as_ref()) {
            Ok(salvage) => salvage,
            Err(error) => {
                examined.condition = Condition::Lost(error.to_string());
                return;
            }
        };
        let report = salvage.report().clone();
        let mut ranges = Vec::new();
        let keys = UserKeys::new(salvage.comparator().cloned().unwrap_or_default());
        // Blocks that cannot be decoded are reported as lost.
        let _ = salvage.for_each_range_tombstone(|key, end| {
            let timestamp = keys.timestamp(key.user_key);
            let (start, end) = (keys.bare(key.user_key), keys.bare(end));
            ranges.push(RangeTombstone::new(start, end, key.sequence, timestamp));
            Ok(())
        });
        examined.order = salvage.comparator().cloned();
        examined.set_keys(report.bounds.clone(), &ranges, salvage.comparator());
        if report.has_references {
            // What cannot be read again is found when it is written.
            let _ = salvage.for_each(|key, value| {
                let _ = examined.live_blobs.add_entry(key.user_key, key.kind, value);
                Ok(())
            });
        }
        examined.properties = examined.properties.take().or_else(|| salvage.properties().cloned());
        let is_certain = examined.properties.is_some() || self.engine.is_none();
        examined.engine = examined.engine.or(is_certain.then_some(report.engine));
        examined.condition = Condition::Damaged(Box::new(report));
    }
}

/// Whether a table is one that no database has. One that cannot be opened is treated as another.
fn has_bare_keys(path: &Path) -> bool {
    let options = TableReadOptions::default().no_block_cache();
    Table::open_with(path, &options).is_ok_and(|table| !table.has_internal_keys())
}

/// The first and the last point of a table.
fn points(table: &Table) -> Result<TableBounds> {
    let mut bounds = TableBounds::default();
    let mut cursor = table.entry_cursor();
    if cursor.seek_to_first()? {
        bounds.point(&cursor.key());
        cursor.seek_to_last()?;
        bounds.point(&cursor.key());
    }
    Ok::<_, Error>(bounds)
}

impl ReferenceVisitor for LiveBlobs {
    fn visit(&mut self, user_key: &[u8], index: &BlobIndex<'_>) {
        self.add(user_key, index);
    }
}

/// The numbers of the blob files that tables refer to.
pub(super) fn referenced<'t>(tables: impl Iterator<Item = &'t ExaminedTable>) -> BTreeSet<u64> {
    tables.flat_map(|table| table.live_blobs.numbers()).collect()
}
