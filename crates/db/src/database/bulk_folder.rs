//! A directory of tables with a `manifest.json`, as written by `BulkBuilder` and `Compaction`.
//!
//! ```text
//! manifest.json   which tables, their keys, sizes and checksums ---.
//! 000001.sst      | alice … carol |                                '---> one sorted run of tables
//! 000002.sst                      | dave … zoe |
//! ```

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use sstkit_table::raw::{Engine, EntryKind, InternalKey, MAX_SEQUENCE_NUMBER};
use sstkit_table::visibility::UserKeys;

use super::database_options::DatabaseOptions;
use super::missing_logs::MissingLogs;
use super::settings::Settings;
use super::{Inner, new_family};
use crate::bulk_manifest::{BulkManifest, MANIFEST_NAME, ManifestFile};
use crate::column_family_data::BlobFiles;
use crate::directory::Directory;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::raw::{FileMetaData, FileName};
use crate::unknown_order;
use crate::version::{Arrangement, TableFile, arrange};

/// The name of the only column family.
const FAMILY: &str = "default";

/// RocksDB's name for the checksum function of manifests.
const CRC32C_OF_FILE: &str = "FileChecksumCrc32c";

/// Opens the tables that the `manifest.json` of a directory names.
pub(super) fn open_bulk(path: &Path, options: &DatabaseOptions) -> Result<Inner> {
    let manifest_path = path.join(MANIFEST_NAME);
    let manifest = BulkManifest::read(&manifest_path)?;
    let settings = Settings::read(options, &[], &mut Vec::new())?;
    let family_settings = settings.family(FAMILY, Some(&manifest.comparator));
    let caveats = unknown_order::caveat(FAMILY, &family_settings).into_iter().collect();
    let keys = UserKeys::new(family_settings.comparator.clone());
    let mut numbers = BTreeSet::new();
    let mut tables = Vec::new();
    for (number, file) in file_numbers(&manifest.files).into_iter().zip(&manifest.files) {
        let table =
            table_file(path, number, file, &keys).map_err(|error| error.in_file(&manifest_path))?;
        if !numbers.insert(table.meta.number) {
            let what = format!("{} has the same file number as another table", file.name);
            return Err(Error::corrupt(what).in_file(manifest_path));
        }
        tables.push(Arc::new(table));
    }
    let arrangement = match family_settings.unknown_order {
        // Does not rely on the manifest: overlapping tables are merged.
        None => Arrangement::Sequences,
        Some(_) => Arrangement::LevelsWithoutOrder,
    };
    let version = arrange(tables, &keys, arrangement)?;
    let files = Arc::new(Files::new(Directory::new(path, None), options.max_open_files));
    let blobs = BlobFiles { folders: settings.table_folders(path, 0), placed: None, live: None };
    let family = new_family((0, FAMILY), family_settings, keys, None, version, blobs, &files);
    Ok(Inner {
        engine: engine(&manifest),
        files,
        families: vec![Arc::new(family)],
        last_sequence: MAX_SEQUENCE_NUMBER,
        manifest: None,
        bulk_manifest: Some(manifest),
        options_file: settings.file,
        logs: Vec::new(),
        missing_logs: MissingLogs::default(),
        caveats,
    })
}

fn engine(manifest: &BulkManifest) -> Engine {
    match manifest.options.get("engine").map(String::as_str) {
        Some("leveldb") => Engine::LevelDb,
        _ => Engine::RocksDb,
    }
}

/// The numbers of the tables. Those with other names, as builds in object stores have them, get numbers that are free.
fn file_numbers(files: &[ManifestFile]) -> Vec<u64> {
    let named = |file: &ManifestFile| match FileName::parse(&file.name) {
        FileName::Table(number) => Some(number),
        _ => None,
    };
    let taken: BTreeSet<u64> = files.iter().filter_map(named).collect();
    let mut free = (1..).filter(|number| !taken.contains(number));
    files.iter().map(|file| named(file).or_else(|| free.next()).unwrap_or_default()).collect()
}

/// A table, as the MANIFEST of a database would describe it.
fn table_file(
    folder: &Path,
    number: u64,
    file: &ManifestFile,
    keys: &UserKeys,
) -> Result<TableFile> {
    let path = file.path(folder)?;
    if !path.extension().is_some_and(|it| it == "sst" || it == "ldb") {
        return Err(Error::corrupt(format!("{:?} is not a table file name", file.name)));
    }
    let bound = |user_key: &[u8], sequence, kind| {
        let mut bytes = Vec::new();
        InternalKey { user_key, sequence, kind }.encode_to(&mut bytes);
        bytes
    };
    let (last_sequence, last_kind) = match file.largest_is_exclusive {
        true => (MAX_SEQUENCE_NUMBER, EntryKind::RangeDeletion),
        false => (0, EntryKind::Value),
    };
    let checksum = u32::from_str_radix(&file.checksum, 16).ok();
    let meta = FileMetaData {
        number,
        size: file.bytes,
        smallest: bound(&file.smallest, MAX_SEQUENCE_NUMBER, EntryKind::Value),
        largest: bound(&file.largest, last_sequence, last_kind),
        // Bounds in the manifest have no timestamps.
        timestamps_persisted: false,
        file_checksum: checksum.map(|crc| (CRC32C_OF_FILE.into(), crc.to_be_bytes().to_vec())),
        ..FileMetaData::default()
    };
    TableFile::new(meta, 0, vec![path], keys)
}
