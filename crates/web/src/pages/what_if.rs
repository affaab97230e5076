//! What other filters would cost: of a table, and of all levels within a budget.

use serde::Serialize;
use sstkit_inspect::{AdviceOptions, FilterBudget, FilterCurve, filter_curves};

use super::to_json;
use crate::error::Result;
use crate::inspector::Request;

/// The keys of a filter, unless the address says otherwise.
const DEFAULT_KEYS: u64 = 1_000_000;

#[derive(Serialize)]
struct Curves {
    /// The keys of a filter.
    keys: u64,
    curves: Vec<FilterCurve>,
}

/// The curves of all kinds of filters: parameter `keys`.
pub(super) fn what_if(request: &Request<'_>) -> Result<Vec<u8>> {
    let keys = request.query.number("keys")?.unwrap_or(DEFAULT_KEYS);
    to_json(&Curves { keys, curves: filter_curves(keys) })
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
