//! Levels and files of a database: the map, the tails of its files, the history of its MANIFEST.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use sstkit_db::{ColumnFamily, Database, LevelFile};
use sstkit_inspect::{DatabaseMap, FileTail, ManifestHistory};

use super::{to_json, to_short_json};
use crate::error::{PageError, Result};
use crate::inspector::Request;

/// Tails in an answer, unless it says otherwise, and at most.
const DEFAULT_TAILS: usize = 200;
const MAX_TAILS: usize = 1_000;

/// The bytes of all tables of a database.
pub(crate) fn table_bytes(database: &Database) -> u64 {
    let levels = database.column_families().flat_map(|family| family.levels());
    levels.flat_map(|level| level.files).map(|file| file.metadata().size).sum()
}

/// The map of a column family: parameter `cf`.
pub(super) fn map(request: &Request<'_>) -> Result<Vec<u8>> {
    let database = request.opened.as_database()?;
    let family = request.opened.column_family(request.query.get("cf"))?;
    to_short_json(&DatabaseMap::of(request.name, database, &family, request.query.encoding()?))
}

#[derive(Serialize)]
struct Tails {
    /// The number of files.
    total: u64,
    from: u64,
    files: Vec<FileTail>,
}

/// The tails of the files of a column family, in the order of the map: parameters `cf`, `from`,
/// `limit`. Has fewer if it takes long.
pub(super) fn files(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let family = request.opened.column_family(query.get("cf"))?;
    let from: usize = query.number("from")?.unwrap_or(0);
    let limit = query.number("limit")?.unwrap_or(DEFAULT_TAILS).min(MAX_TAILS);
    let all = level_files(&family);
    let mut files = Vec::new();
    for (_, file) in all.iter().skip(from).take(limit) {
        files.push(request.inspector.file_tails.get(request.index, file));
        if !(request.keep_going)() {
            break;
        }
    }
    to_short_json(&Tails { total: all.len() as u64, from: from as u64, files })
}

/// The files of a column family with their levels, in the order of the map.
pub(super) fn level_files(family: &ColumnFamily) -> Vec<(u32, LevelFile)> {
    let levels = family.levels().into_iter();
    let files = levels.flat_map(|level| {
        let number = level.number;
        level.files.into_iter().map(move |file| (number, file))
    });
    files.take(DatabaseMap::MAX_FILES).collect()
}

/// A window of the history: parameters `cf`, `from`, `limit`.
pub(super) fn history(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let database = request.opened.as_database()?;
    let family = request.opened.column_family(query.get("cf"))?;
    let limit = query.number("limit")?.unwrap_or(ManifestHistory::MAX_EDITS);
    let (from, encoding) = (query.number("from")?, query.encoding()?);
    let history =
        ManifestHistory::of(database, &family, from, limit, encoding, request.keep_going)?;
    match history {
        Some(history) => to_json(&history),
        None => Err(PageError::not_found("there is no MANIFEST, and so no history")),
    }
}

/// The tails that have been read. Tables never change.
#[derive(Default)]
pub(crate) struct FileTails(Mutex<HashMap<(usize, u64), FileTail>>);

impl FileTails {
    /// The tail of a table of a source.
    pub(crate) fn get(&self, source: usize, file: &LevelFile) -> FileTail {
        let key = (source, file.number());
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            // Read without the lock: others need not wait.
            let tail = FileTail::of(file);
            if tail.problem.is_none() {
                let mut tails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                tails.insert(key, tail.clone());
            }
            tail
        })
    }

    /// Forgets the tables of a source.
    pub(crate) fn forget(&self, source: usize) {
        let mut tails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tails.retain(|(of, _), _| *of != source);
    }
}
