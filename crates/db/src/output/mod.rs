//! Writing several tables, which appear together or not at all.
//!
//! ```text
//! entries in order ---> TableSet ---> TableWriter ---> OutputFile ---> FinishedFile
//!                       cuts files                     checksum          | OutputTarget::commit:
//!                       and range tombstones                             v
//!                                        names 000001.sst, 000002.sst, …, manifest.json last
//! ```
//!
//! | file | what |
//! |---|---|
//! | `output_target.rs` | where the files go, their temporary and their final names |
//! | `table_set.rs` | when a file ends and the next begins |
//! | `pending_tombstones.rs` | range tombstones, cut to the files they belong in |
//! | `progress.rs` | progress, and cancellation |

mod output_target;
mod pending_tombstones;
mod progress;
mod table_set;

use crate::bulk_manifest::BulkManifest;
use crate::database_writer::DatabaseWriter;

pub(crate) use self::output_target::{OutputTarget, TempFiles};
pub(crate) use self::pending_tombstones::PendingTombstones;
pub use self::progress::{Phase, Progress};
pub(crate) use self::progress::{ProgressCallback, Reporter};
pub(crate) use self::table_set::{
    FileNumbers, FinishedTable, SetOptions, TableSet, write_range_tombstone,
};

pub(crate) fn without_timestamp(user_key: &[u8], timestamp_size: usize) -> &[u8] {
    &user_key[..user_key.len().saturating_sub(timestamp_size)]
}

/// Names the tables in their order, proves that they do not overlap, and makes them durable. `label`
/// adds to the manifest.
pub(crate) fn commit(
    target: OutputTarget,
    tables: Vec<FinishedTable>,
    options: &SetOptions,
    label: impl FnOnce(&mut BulkManifest),
) -> crate::error::Result<BulkManifest> {
    let mut files = Vec::with_capacity(tables.len());
    let mut entries = Vec::with_capacity(tables.len());
    for (number, FinishedTable { file, mut entry, .. }) in tables.into_iter().enumerate() {
        entry.name = target.name(number)?;
        files.push(file);
        entries.push(entry);
    }
    let mut manifest = BulkManifest::new(entries, &options.comparator)?;
    if let Some(first) = files.first() {
        manifest.describe(first.path(), options)?;
    }
    label(&mut manifest);
    target.commit(files, &manifest)?;
    Ok(manifest)
}

/// Adds the tables, which were written in the working folder of `writer`, to a level of a column
/// family, and proves that they do not overlap.
pub(crate) fn add_to_database(
    writer: &mut DatabaseWriter,
    column_family: u32,
    level: u32,
    tables: Vec<FinishedTable>,
    options: &SetOptions,
) -> crate::error::Result<BulkManifest> {
    let mut entries = Vec::with_capacity(tables.len());
    for table in tables {
        let mut entry = table.entry.clone();
        if let Some(name) = writer.add_finished(column_family, level, table)? {
            entry.name = name;
            entries.push(entry);
        }
    }
    let mut manifest = BulkManifest::new(entries, &options.comparator)?;
    if let Some(first) = manifest.files.first() {
        let path = writer.working_folder().join(&first.name);
        manifest.describe(&path, options)?;
    }
    Ok(manifest)
}
