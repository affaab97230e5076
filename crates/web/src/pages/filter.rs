//! The filter of a table, and a probe of it.

use serde::Serialize;
use sstkit_inspect::{FilterBits, FilterProbeBits};

use super::to_short_json;
use crate::error::{PageError, Result};
use crate::inspector::Request;

/// Cells of a heat map, unless the address says otherwise, and at most.
const DEFAULT_CELLS: usize = 4_096;
const MAX_CELLS: usize = 16_384;

/// The most absent keys that a rate is measured with: each reads a block.
const MAX_ABSENT_KEYS: u64 = 20_000;

#[derive(Serialize)]
struct FilterPage {
    /// The column family of a table of a database.
    column_family: Option<String>,
    #[serde(flatten)]
    bits: FilterBits,
}

/// The filter of a table: parameters `file`, `part`, `cells`, `measure`, and `parts` for how many parts are
/// listed.
pub(super) fn filter(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let table = request.opened.find_table(request.name, query.number("file")?)?;
    let part = query.number("part")?.unwrap_or(0);
    let cells = query.number("cells")?.unwrap_or(DEFAULT_CELLS).min(MAX_CELLS);
    match FilterBits::of(table.name(), table.file(), part, cells)? {
        Some(mut bits) => {
            bits.parts.truncate(query.number("parts")?.unwrap_or(usize::MAX));
            if let Some(absent) = query.number::<u64>("measure")? {
                bits.report.measure(
                    table.file(),
                    absent.min(MAX_ABSENT_KEYS),
                    request.keep_going,
                )?;
            }
            let column_family = table.place().map(|place| place.column_family.clone());
            to_short_json(&FilterPage { column_family, bits })
        }
        None => Err(PageError::not_found(format!("the filter has no part {part}"))),
    }
}

/// A probe: parameters `file`, `key`.
pub(super) fn probe(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let table = request.opened.find_table(request.name, query.number("file")?)?;
    let key = query.key("key")?.ok_or_else(|| PageError::bad_request("key: which key?"))?;
    let encoding = query.encoding()?;
    to_short_json(&FilterProbeBits::of(table.file(), &key, encoding, request.keep_going)?)
}
