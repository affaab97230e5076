//! Tables in the making: several at once, there as a whole or not at all.
//!
//! ```text
//! entries in order ---> TableSet ---> TableWriter ---> ChecksummedFile ---> temporary file in the OutputTarget
//!                       cuts files                     checksum               |
//!                       and range deletions                                   | commit:
//!                                                                             v
//!                                        names 000001.sst, 000002.sst, …, manifest.json last
//! ```
//!
//! | file | what |
//! |---|---|
//! | `target.rs` | where the files go, their temporary and their lasting names |
//! | `summed_file.rs` | a file that is summed while it is written |
//! | `table_set.rs` | when a file ends and the next begins |
//! | `pending_ranges.rs` | range deletions, cut to the files they go to |
//! | `manifest.rs` | `manifest.json`: what was written, and the proof that nothing overlaps |
//! | `progress.rs` | how far it is; whether to go on |

mod checksummed_file;
mod manifest;
mod output_target;
mod pending_tombstones;
mod progress;
mod table_set;

pub use self::manifest::{BulkManifest, MANIFEST_NAME, ManifestFile, ManifestOptions};
pub(crate) use self::output_target::{OutputTarget, TempFiles};
pub(crate) use self::pending_tombstones::{PendingTombstone, PendingTombstones};
pub use self::progress::{Phase, Progress};
pub(crate) use self::progress::{ProgressCallback, Reporter};
pub(crate) use self::table_set::{FileNumbers, FinishedTable, SetOptions, TableSet};

/// The beginning of a key, for a message.
pub(crate) fn shown(key: &[u8]) -> String {
    const SHOWN: usize = 64;
    match key.get(..SHOWN) {
        Some(start) => format!("\"{}…\"", start.escape_ascii()),
        None => format!("\"{}\"", key.escape_ascii()),
    }
}

/// A user key without its timestamp of so many bytes.
pub(crate) fn without_timestamp(user_key: &[u8], timestamp_size: usize) -> &[u8] {
    &user_key[..user_key.len().saturating_sub(timestamp_size)]
}

/// Names the tables in their order, proves that they do not overlap, and makes all of them last.
pub(crate) fn commit(
    target: OutputTarget,
    tables: Vec<FinishedTable>,
    options: &SetOptions,
) -> crate::error::Result<BulkManifest> {
    let mut paths = Vec::with_capacity(tables.len());
    let mut files = Vec::with_capacity(tables.len());
    for (number, FinishedTable { path, mut file }) in tables.into_iter().enumerate() {
        file.name = target.name(number)?;
        paths.push(path);
        files.push(file);
    }
    let mut manifest = BulkManifest::new(files, &options.comparator)?;
    if let Some(first) = paths.first() {
        manifest.describe(first, options)?;
    }
    target.commit(paths, &manifest)?;
    Ok(manifest)
}
