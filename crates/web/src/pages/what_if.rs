//! What other filters would cost: of a table, and of all levels within a budget.

use serde::Serialize;
use sstkit_inspect::{AdviceOptions, CurveKeys, FilterBudget, FilterCurve, filter_curves_while};

use super::to_json;
use crate::error::{PageError, Result};
use crate::inspector::Request;

/// The keys of a filter, unless the address says otherwise.
const DEFAULT_KEYS: u64 = 1_000_000;

#[derive(Serialize)]
struct Curves {
    /// The keys of all filters, and the number of filters of a LevelDB filter block.
    keys: u64,
    filters: u64,
    curves: Vec<FilterCurve>,
}

/// The curves of all kinds of filters: parameters `keys`, and for LevelDB `filters`. The answer has those
/// that it is of: they are limited.
pub(super) fn what_if(request: &Request<'_>) -> Result<Vec<u8>> {
    let keys = request.query.number("keys")?.unwrap_or(DEFAULT_KEYS);
    let keys = CurveKeys::new(keys, request.query.number("filters")?.unwrap_or(1));
    let curves = filter_curves_while(keys, request.keep_going).ok_or_else(PageError::timed_out)?;
    to_json(&Curves { keys: keys.keys, filters: keys.filters, curves })
}

/// The filters of all levels of a database, and the best ones in a budget, as `sst advise` has them:
/// parameter `bytes` (default: as much as now).
pub(super) fn budget(request: &Request<'_>) -> Result<Vec<u8>> {
    let database = request.opened.as_database()?;
    let bytes: Option<u64> = request.query.number("bytes")?;
    let levels =
        request.inspector.filter_levels.get(request.index, database, request.keep_going)?;
    let options = AdviceOptions::default();
    let options = bytes.into_iter().fold(options, AdviceOptions::budget);
    to_json(&FilterBudget::of(database, &levels, request.name, &options)?)
}
