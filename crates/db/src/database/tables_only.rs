//! Opens the table files of a directory whose CURRENT or MANIFEST is missing or damaged.
//!
//! Tables that cannot be read, and parts of logs that cannot be read, are left out. They may
//! contain any key, so a lookup that finds nothing and a scan that reaches its end return an error.
//!
//! Tables name their column family, and entries have sequence numbers. What only the MANIFEST knows
//! is which tables are live: obsolete tables that were not deleted yet are read, too, and deleted
//! keys may reappear.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sstkit_table::raw::{Engine, EntryKind, InternalKey, MAX_SEQUENCE_NUMBER, property_names};
use sstkit_table::visibility::UserKeys;
use sstkit_table::{Comparator, KeyForm, Table, TableReadOptions};

use super::database_options::DatabaseOptions;
use super::logs::Logs;
use super::missing_logs::MissingLogs;
use super::settings::Settings;
use super::{Inner, new_family};
use crate::caveat::{Caveat, CaveatKind};
use crate::column_family_data::{BlobFiles, LeftOut};
use crate::directory::{self, Directory};
use crate::error::{Error, Result};
use crate::file_system;
use crate::files::Files;
use crate::folder_tables;
use crate::raw::{FileMetaData, FileName, RecoveryMode};
use crate::table_order::OrderDetector;
use crate::unknown_order;
use crate::version::{Arrangement, TableFile, arrange};

/// The column family number of tables that do not record one.
const UNKNOWN_FAMILY: u64 = 0x7fff_ffff;

/// Tables that are opened at a time if they are remote. The end of each is in memory.
const PREFETCHED_TABLES: usize = 32;

/// A column family, as described by its tables.
#[derive(Default)]
struct FoundFamily {
    name: Option<String>,
    comparator: Option<String>,
    /// Numbers and paths.
    tables: Vec<(u64, PathBuf)>,
}

impl FoundFamily {
    /// Finds the order of tables that do not name it, as LevelDB's: it was in the MANIFEST.
    fn find_order(&mut self, opening: &Opening<'_>, caveats: &mut Vec<Caveat>) {
        if self.comparator.is_some() {
            return;
        }
        let mut orders = OrderDetector::default();
        for (_, path) in &self.tables {
            // One that cannot be read is left out when it is described.
            let _ = opening.table(path).map(|table| orders.add(&table));
        }
        match orders.first() {
            Some(Comparator::Bytewise) => {}
            Some(order) => {
                let message = format!(
                    "the tables name no comparator; using {order}, whose order their keys are in"
                );
                caveats.push(Caveat::new(CaveatKind::Assumed, message));
                self.comparator = Some(order.name().into_owned());
            }
            None => self.comparator = Some("(not named)".to_owned()),
        }
    }
}

/// Opens the tables of a directory.
pub(super) fn open_tables(path: &Path, options: &DatabaseOptions) -> Result<Inner> {
    let listed = directory::list(path)?;
    let mut caveats = vec![Caveat::new(
        CaveatKind::Assumed,
        "opened without the MANIFEST: obsolete tables are included, and deleted keys may reappear",
    )];
    let settings = Settings::read(options, &listed, &mut caveats)?;
    let mut missing = Vec::new();
    let opening = Opening::new(options, &listed);
    let (engine, mut families) = find_tables(&listed, &opening, &mut missing, &mut caveats);
    if engine == Engine::LevelDb && options.comparators.is_empty() {
        families.values_mut().for_each(|family| family.find_order(&opening, &mut caveats));
    }
    let families: Vec<_> = families
        .into_iter()
        .map(|(id, found)| {
            let name = found.name.clone().unwrap_or_else(|| match id {
                0 => "default".to_owned(),
                _ => format!("{id}"),
            });
            let mut settings = settings.family(&name, found.comparator.as_deref());
            settings.key_form = opening.key_form;
            let keys = UserKeys::new(settings.comparator.clone());
            (id, name, found, settings, keys)
        })
        .collect();

    caveats.extend(
        families.iter().filter_map(|(_, name, _, of_it, _)| unknown_order::caveat(name, of_it)),
    );
    let mode = RecoveryMode::SkipAnyCorruptedRecords;
    let mut logs = Logs::new(engine, mode, options.max_log_memory);
    for (id, _, _, _, keys) in &families {
        logs.add_family(*id, keys, 0);
    }
    let mut found_logs = Vec::new();
    if options.replay_logs {
        found_logs = settings.logs(path, |_| true, &mut caveats)?;
        for (number, log) in &found_logs {
            logs.read_what_can_be(*number, log)?;
        }
    }
    let mut replayed = logs.finish();
    caveats.append(&mut replayed.caveats);
    // Their records may be of any column family.
    missing.append(&mut replayed.lost);

    let files = Arc::new(Files::new(Directory::new(path, None), options.max_open_files));
    let mut opened = Vec::new();
    for (id, name, found, family_settings, keys) in families {
        let mut tables = Vec::new();
        // Tables that cannot be opened may be of any column family.
        let mut missing = missing.clone();
        for (number, path) in prefetched(&found.tables) {
            match describe(*number, path, &keys, &opening) {
                Ok(Some(meta)) => {
                    let paths = vec![path.clone()];
                    tables.push(Arc::new(TableFile::new(meta, 0, paths, &keys)?));
                }
                Ok(None) => {}
                Err(error) => {
                    let error = error.in_file(path);
                    missing.push(LeftOut::new(&error));
                    caveats.push(left_out(error, path));
                }
            }
        }
        let arrangement = match family_settings.unknown_order {
            None => Arrangement::Sequences,
            Some(_) => Arrangement::LevelsWithoutOrder,
        };
        let version = arrange(tables, &keys, arrangement)?;
        let memtable = replayed.memtables.remove(&id);
        let blobs =
            BlobFiles { folders: settings.table_folders(path, 0), placed: None, live: None };
        let family = (id, &name[..]);
        let mut family =
            new_family(family, family_settings, keys, memtable, version, blobs, &files);
        family.left_out = missing;
        opened.push(Arc::new(family));
    }
    Ok(Inner {
        engine,
        files,
        families: opened,
        last_sequence: MAX_SEQUENCE_NUMBER,
        manifest: None,
        bulk_manifest: None,
        options_file: settings.file,
        logs: found_logs.into_iter().map(|(_, path)| path).collect(),
        missing_logs: MissingLogs::default(),
        caveats,
    })
}

/// All tables. Where opening each costs a round trip, a number of them is opened at a time.
fn prefetched(tables: &[(u64, PathBuf)]) -> impl Iterator<Item = &(u64, PathBuf)> {
    tables.chunks(PREFETCHED_TABLES).flat_map(|chunk| {
        if chunk.first().is_some_and(|(_, path)| file_system::is_remote(path)) {
            let paths: Vec<PathBuf> = chunk.iter().map(|(_, path)| path.clone()).collect();
            file_system::prefetch(&paths);
        }
        chunk
    })
}

/// Opens each table to read its properties.
fn find_tables(
    listed: &[(FileName, PathBuf)],
    opening: &Opening<'_>,
    missing: &mut Vec<LeftOut>,
    caveats: &mut Vec<Caveat>,
) -> (Engine, BTreeMap<u32, FoundFamily>) {
    let mut families = BTreeMap::from([(0, FoundFamily::default())]);
    let mut engine = None;
    let mut ingested = AssumedTables::default();
    let mut unnamed = AssumedTables::default();
    let mut bare = AssumedTables::default();
    let tables = folder_tables::tables(listed);
    for (number, path) in prefetched(&tables) {
        // Closed immediately: there may be more tables than open files allowed.
        let table = match opening.table(path) {
            Ok(table) => table,
            Err(error) => {
                missing.push(LeftOut::new(&error));
                caveats.push(left_out(error, path));
                continue;
            }
        };
        engine = engine.max(Some(table.engine() == Engine::RocksDb));
        if table.properties().get(property_names::GLOBAL_SEQNO).is_some()
            && table.global_sequence_number().is_none()
        {
            ingested.add(path);
        }
        if !table.has_internal_keys() {
            bare.add(path);
        }
        let family = families.entry(family_id(&table, path, &mut unnamed)).or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let properties = table.properties();
        let known_name = properties.get(property_names::COLUMN_FAMILY_NAME);
        family.name = family.name.take().or(known_name.filter(|name| !name.is_empty()).map(text));
        family.comparator = family.comparator.take().or(properties.comparator().map(text));
        family.tables.push((*number, path.clone()));
    }
    caveats.extend(ingested.caveat(
        "an ingested table, whose sequence number only the MANIFEST knew; assumed to be the oldest",
    ));
    caveats.extend(unnamed.caveat("names no column family; assumed to be the default one"));
    caveats.extend(
        bare.caveat(
            "keys have no sequence numbers; of tables with the same key, the last one counts",
        ),
    );
    let is_rocksdb = engine.unwrap_or(true);
    (if is_rocksdb { Engine::RocksDb } else { Engine::LevelDb }, families)
}

fn left_out(error: Error, path: &Path) -> Caveat {
    let message = format!("{}; ignored", error.in_file(path));
    Caveat::new(CaveatKind::LeftOut, message).about(path)
}

/// Tables about which the same is assumed. There may be thousands.
#[derive(Default)]
struct AssumedTables {
    first: Option<PathBuf>,
    others: u64,
}

impl AssumedTables {
    fn add(&mut self, path: &Path) {
        match self.first {
            None => self.first = Some(path.to_owned()),
            Some(_) => self.others += 1,
        }
    }

    fn caveat(self, what: &str) -> Option<Caveat> {
        let path = self.first?;
        let others = match self.others {
            0 => String::new(),
            1 => " and another table".to_owned(),
            others => format!(" and {others} other tables"),
        };
        let message = format!("{}{others}: {what}", path.display());
        Some(Caveat::new(CaveatKind::Assumed, message).about(path))
    }
}

/// How tables are opened.
struct Opening<'o> {
    options: &'o DatabaseOptions,
    key_form: KeyForm,
}

impl<'o> Opening<'o> {
    /// For the tables of a directory with these files. Where there is no database, tables may have been
    /// written with LevelDB's `TableBuilder` alone: their keys have no kind and no sequence number.
    fn new(options: &'o DatabaseOptions, listed: &[(FileName, PathBuf)]) -> Self {
        let key_form = match folder_tables::is_of_database(listed) {
            true => KeyForm::Internal,
            false => KeyForm::Auto,
        };
        Self { options, key_form }
    }

    fn table(&self, path: &Path) -> Result<Table> {
        let options = self.options;
        let mut read_options = TableReadOptions::default()
            .key_form(self.key_form)
            .no_block_cache()
            .verify_checksums(options.verify_checksums)
            .max_block_size(options.max_block_size);
        for comparator in &options.comparators {
            read_options = read_options.comparator(comparator.clone());
        }
        file_system::open_table(path, &read_options)
    }
}

/// The column family of a table. Tables that do not record one belong to the default column family:
/// those of LevelDB, and those written outside of a database.
fn family_id(table: &Table, path: &Path, unnamed: &mut AssumedTables) -> u32 {
    match table.properties().number(property_names::COLUMN_FAMILY_ID) {
        Some(UNKNOWN_FAMILY) => {
            unnamed.add(path);
            0
        }
        Some(id) => u32::try_from(id).unwrap_or(0),
        None => 0,
    }
}

/// The metadata that a MANIFEST would have for a table; `None` if it is empty.
fn describe(
    number: u64,
    path: &Path,
    keys: &UserKeys,
    opening: &Opening<'_>,
) -> Result<Option<FileMetaData>> {
    let table = opening.table(path)?;
    let mut bounds: Option<(Vec<u8>, Vec<u8>)> = None;
    let mut cursor = table.entry_cursor();
    if cursor.seek_to_first()? {
        let smallest = encoded(&cursor.key());
        cursor.seek_to_last()?;
        bounds = Some((smallest, encoded(&cursor.key())));
    }
    let has_timestamps = table.properties().has_persisted_timestamps();
    let stamp = |key: &[u8]| {
        let mut key = key.to_vec();
        // The timestamp of a bound is ignored, but must exist.
        key.resize(key.len() + if has_timestamps { keys.timestamp_size() } else { 0 }, 0);
        key
    };
    let user_key = |key: &[u8]| {
        let key = &key[..key.len().saturating_sub(InternalKey::TAIL_LENGTH)];
        if has_timestamps { keys.bare(key).to_vec() } else { key.to_vec() }
    };
    for range in table.range_deletions() {
        let kind = EntryKind::RangeDeletion;
        let start = stamp(&range.start);
        let start = encoded(&InternalKey { user_key: &start, sequence: range.sequence, kind });
        let end = stamp(&range.end);
        let end = encoded(&InternalKey { user_key: &end, sequence: MAX_SEQUENCE_NUMBER, kind });
        bounds = Some(match bounds.take() {
            None => (start, end),
            Some((smallest, largest)) => (
                if keys.compare(&range.start, &user_key(&smallest)).is_lt() {
                    start
                } else {
                    smallest
                },
                if keys.compare(&range.end, &user_key(&largest)).is_gt() { end } else { largest },
            ),
        });
    }
    Ok(bounds.map(|(smallest, largest)| FileMetaData {
        number,
        size: table.size(),
        smallest,
        largest,
        largest_sequence: table.global_sequence_number(),
        timestamps_persisted: has_timestamps,
        ..FileMetaData::default()
    }))
}

fn encoded(key: &InternalKey<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode_to(&mut bytes);
    bytes
}
