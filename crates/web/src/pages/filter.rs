//! The filter of a table, a probe of it, and what other filters would cost.

use serde::Serialize;
use sstkit_inspect::{FilterBits, FilterCurve, FilterProbeBits, filter_curves};

use super::{database, to_json};
use crate::error::{PageError, Result};
use crate::inspector::Request;
use crate::source::Opened;

/// Cells of a heat map, unless the address says otherwise, and at most.
const DEFAULT_CELLS: usize = 4_096;
const MAX_CELLS: usize = 16_384;

/// The filter of a table: parameters `file`, `part`, `cells`.
pub(super) fn filter(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let table = request.opened.find_table(request.name, query.number("file")?)?;
    let part = query.number("part")?.unwrap_or(0);
    let cells = query.number("cells")?.unwrap_or(DEFAULT_CELLS).min(MAX_CELLS);
    match FilterBits::of(table.name(), table.file(), part, cells)? {
        Some(bits) => to_json(&bits),
        None => Err(PageError::not_found(format!("the filter has no part {part}"))),
    }
}

/// A probe: parameters `file`, `key`.
pub(super) fn probe(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let table = request.opened.find_table(request.name, query.number("file")?)?;
    let key = query.key("key")?.ok_or_else(|| PageError::bad_request("key: which key?"))?;
    to_json(&FilterProbeBits::of(table.file(), &key, query.encoding()?)?)
}

#[derive(Serialize)]
struct WhatIf {
    /// The keys of a filter of the curves.
    keys: u64,
    curves: Vec<FilterCurve>,
    /// The filters of the levels as they are; empty for a single table.
    levels: Vec<LevelFilters>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct LevelFilters {
    level: u32,
    files: u64,
    /// Files without a filter.
    without_filter: u64,
    bytes: u64,
    keys: u64,
    index_bytes: u64,
}

/// The curves of all kinds of filters, and the filters as they are: parameters `keys`, `cf`.
pub(super) fn what_if(request: &Request<'_>) -> Result<Vec<u8>> {
    let keys: u64 = request.query.number("keys")?.unwrap_or(1_000_000);
    let mut levels: Vec<LevelFilters> = Vec::new();
    if let Opened::Database(..) = request.opened {
        let family = request.opened.column_family(request.query.get("cf"))?;
        for (level, file) in database::level_files(&family) {
            let tail = request.inspector.file_tails.get(request.index, &file);
            if levels.last().is_none_or(|last| last.level != level) {
                levels.push(LevelFilters { level, ..LevelFilters::default() });
            }
            if let Some(sum) = levels.last_mut() {
                sum.files += 1;
                sum.without_filter += u64::from(tail.filter == "none");
                sum.bytes += tail.filter_bytes;
                sum.keys += tail.filter_keys.or(tail.entries).unwrap_or(0);
                sum.index_bytes += tail.index_bytes;
            }
            if !(request.keep_going)() {
                return Err(PageError::timed_out());
            }
        }
    }
    to_json(&WhatIf { keys, curves: filter_curves(keys), levels })
}
