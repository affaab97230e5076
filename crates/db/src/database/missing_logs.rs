//! Write-ahead logs that existed, and are not found.
//!
//! ```text
//! LevelDB   log number 55                      000055.log was made before the MANIFEST named it
//! RocksDB   MANIFEST-000005, log number 12     000012.log was made while this MANIFEST was in use
//!           MANIFEST-000023, log number 19     000018.log, replayed when the database was opened, and 1:
//!                                              there need not have been such a log
//!           MANIFEST-000005, log number 0      nothing was flushed; the log is 000004.log, made together
//!                                              with the MANIFEST
//! ```

use std::collections::BTreeSet;

use sstkit_table::raw::Engine;

use crate::raw::{ColumnFamilyState, FileName, ManifestState};

/// What is said if RocksDB left no log at all.
pub(crate) const NO_LOGS: &str = "there is no write-ahead log, and RocksDB makes one whenever it opens a \
                                  directory: if it had writes, these are lost";

/// What a MANIFEST and the files beside it tell about logs that are not found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingLogs {
    /// Logs that existed, and are needed until their writes are in tables.
    pub(crate) numbers: BTreeSet<u64>,
    /// Logs that the MANIFEST names, but which need not have existed.
    pub(crate) uncertain: BTreeSet<u64>,
    /// There is no log at all, and nothing tells which number it had.
    pub(crate) has_none: bool,
}

impl MissingLogs {
    /// Of the database that MANIFEST number `manifest` describes, with these files. The numbers of `logs`
    /// are those that were found, in any directory. A checkpoint or a backup of RocksDB may lack the
    /// last log, if it was empty; it has no IDENTITY.
    pub(crate) fn find(
        engine: Engine,
        state: &ManifestState,
        manifest: u64,
        logs: &BTreeSet<u64>,
        files: &[FileName],
    ) -> Self {
        let mut missing = Self::default();
        if engine == Engine::RocksDb && !files.contains(&FileName::Identity) {
            return missing;
        }
        let families = state.column_families.values().map(|family| family.log_number);
        // A column family without writes may name a log that is deleted already.
        let last = families.clone().max().unwrap_or(0);
        let oldest = match state.min_log_number_to_keep {
            0 => last,
            number => number,
        };
        // Some options make RocksDB list the logs.
        let named = families.chain(state.wals.keys().copied());
        let named = named.filter(|&it| it > 0 && it >= oldest && !logs.contains(&it));
        // A database that was opened has edits with this number.
        let is_engines = state.has_previous_log_number;
        let is_last = |number: u64| logs.last().is_none_or(|&last| last < number);
        let existed = |number: u64| {
            engine == Engine::LevelDb
                || state.wals.contains_key(&number)
                // A log that was replayed has a smaller number than the MANIFEST that is written then;
                // the next smaller one is that of the log that is made then.
                || is_engines && (number > manifest || number + 1 == manifest && is_last(number))
        };
        (missing.numbers, missing.uncertain) = named.partition(|&number| existed(number));
        let is_without = engine == Engine::RocksDb && !logs.iter().any(|&it| it >= oldest);
        if is_without && missing.numbers.is_empty() && is_engines {
            match first_log(state, manifest, files) {
                Some(number) => drop(missing.numbers.insert(number)),
                None => missing.has_none = true,
            }
        }
        missing
    }
}

/// The number of the log of a database that has nothing else: nothing of it was flushed.
fn first_log(state: &ManifestState, manifest: u64, files: &[FileName]) -> Option<u64> {
    let mut families = state.column_families.values();
    let is_new = |family: &ColumnFamilyState| {
        family.log_number == 0 && family.files().next().is_none() && family.blob_files.is_empty()
    };
    let is_taken = |number: u64| {
        files.iter().any(|name| match name {
            FileName::Table(it) | FileName::Blob(it) | FileName::Options(it) => *it == number,
            _ => false,
        })
    };
    // Since RocksDB 7 it is made in front of the MANIFEST.
    let candidates = [manifest.saturating_sub(1), manifest + 1];
    let is_given = |number: u64| number > 1 && number < state.next_file_number;
    let mut candidates = candidates.into_iter().filter(|&it| is_given(it) && !is_taken(it));
    families.all(is_new).then(|| candidates.next()).flatten()
}
