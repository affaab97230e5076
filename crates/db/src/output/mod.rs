//! Tables in the making: several at once, there as a whole or not at all.
//!
//! ```text
//! entries in order ---> TableSet ---> TableWriter ---> SummedFile ---> temporary file in the Place
//!                       cuts files                     checksum               |
//!                       and range deletions                                   | commit:
//!                                                                             v
//!                                        names 000001.sst, 000002.sst, …, manifest.json last
//! ```
//!
//! | file | what |
//! |---|---|
//! | `place.rs` | where the files go, their temporary and their lasting names |
//! | `summed_file.rs` | a file that is summed while it is written |
//! | `table_set.rs` | when a file ends and the next begins |
//! | `pending_ranges.rs` | range deletions, cut to the files they go to |
//! | `manifest.rs` | `manifest.json`: what was written, and the proof that nothing overlaps |
//! | `progress.rs` | how far it is; whether to go on |

mod manifest;
mod pending_ranges;
mod place;
mod progress;
mod summed_file;
mod table_set;

pub use self::manifest::{BulkManifest, MANIFEST_NAME, ManifestFile, ManifestOptions};
pub(crate) use self::pending_ranges::{PendingRange, PendingRanges};
pub(crate) use self::place::{Place, Workshop};
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
    place: Place,
    tables: Vec<FinishedTable>,
    options: &SetOptions,
) -> crate::error::Result<BulkManifest> {
    let mut paths = Vec::with_capacity(tables.len());
    let mut files = Vec::with_capacity(tables.len());
    for (number, FinishedTable { path, mut file }) in tables.into_iter().enumerate() {
        file.name = place.name(number)?;
        paths.push(path);
        files.push(file);
    }
    let mut manifest = BulkManifest::new(files, &options.comparator)?;
    if let Some(first) = paths.first() {
        manifest.describe(first, options)?;
    }
    place.commit(paths, &manifest)?;
    Ok(manifest)
}
