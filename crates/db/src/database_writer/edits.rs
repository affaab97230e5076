//! The records of the MANIFEST of a new database.
//!
//! ```text
//! RocksDB   id, comparator of default, numbers      LevelDB   comparator, numbers, files
//!           files of default …
//!           add "meta", comparator
//!           files of "meta" …
//! ```

use sstkit_table::raw::Engine;

use super::option_versions::SKIPS_UNKNOWN_FIELDS;
use super::{DatabaseWriter, Family};
use crate::raw::{BlobFileGarbage, VersionEdit};

/// Files in one record, so that records stay small.
const FILES: usize = 4096;

/// All records, in order.
pub(super) fn edits(writer: &DatabaseWriter) -> impl Iterator<Item = VersionEdit> + '_ {
    let families = writer.families.iter();
    let last_id = writer.families.keys().next_back().copied();
    let skips = writer.options.rocksdb_version.is_none_or(|it| it >= SKIPS_UNKNOWN_FIELDS);
    let numbers = VersionEdit {
        db_id: skips.then(|| writer.db_id.clone()),
        log_number: Some(writer.families.get(&0).map_or(0, |family| family.log_number)),
        prev_log_number: (writer.options.engine == Engine::LevelDb).then_some(0),
        next_file_number: Some(writer.next_file_number),
        last_sequence: Some(writer.last_sequence),
        max_column_family: last_id.filter(|&id| id != 0),
        ..VersionEdit::default()
    };
    families.flat_map(move |(&id, family)| {
        let base = if id == 0 { numbers.clone() } else { VersionEdit::default() };
        let first = VersionEdit {
            column_family: id,
            column_family_add: (id != 0).then(|| family.descriptor.name.clone()),
            comparator: Some(family.descriptor.comparator_name.clone()),
            persist_timestamps: family.descriptor.persist_timestamps,
            ..base
        };
        std::iter::once(first).chain(contents(id, family))
    })
}

/// Log number, tables and blob files.
fn contents(id: u32, family: &Family) -> impl Iterator<Item = VersionEdit> + '_ {
    let of_family = move || VersionEdit { column_family: id, ..VersionEdit::default() };
    let blobs = (!family.blob_files.is_empty()).then(|| {
        let garbage = family.blob_files.iter().filter(|file| file.garbage_count > 0);
        VersionEdit {
            blob_file_additions: family.blob_files.clone(),
            blob_file_garbage: garbage
                .map(|file| BlobFileGarbage {
                    number: file.number,
                    count: file.garbage_count,
                    bytes: file.garbage_bytes,
                })
                .collect(),
            ..of_family()
        }
    });
    let low = family.descriptor.full_history_timestamp_low.clone();
    let low = low
        .filter(|low| !low.is_empty())
        .map(|low| VersionEdit { full_history_timestamp_low: Some(low), ..of_family() });
    let log = (id != 0).then(|| VersionEdit { log_number: Some(family.log_number), ..of_family() });
    let tables = family
        .files
        .chunks(FILES)
        .map(move |files| VersionEdit { new_files: files.to_vec(), ..of_family() });
    log.into_iter().chain(low).chain(blobs).chain(tables)
}
