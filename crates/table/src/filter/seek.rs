//! Prefix probes of seeks.

use std::ops::Bound;

use sstkit_filter::HashedKey;

use crate::error::Result;
use crate::filter::{FilterReader, PrefixMode, is_reversed};
use crate::reader::open::core::Core;
use crate::reader::read_options::ReadOptions;

/// Probes the filter for a seek to `key`, or to an end of the range. `None` if there is no probe.
pub(crate) fn probe(
    core: &Core,
    options: &ReadOptions,
    key: Option<&[u8]>,
    backward: bool,
) -> Result<Option<bool>> {
    let Some(filter) = core.filter().filter(|_| options.use_filters && core.keys.is_ordered())
    else {
        return Ok(None);
    };
    let order = core.keys.order()?;
    let ReadOptions { upper, prefix_mode, starts_with, .. } = options;
    if let Some(start) = starts_with
        && *prefix_mode != PrefixMode::TotalOrder
        && let Some(prefix) = filter.common_prefix(start, order)
    {
        return Ok(Some(probe_prefix(core, filter, prefix, start, is_reversed(order))));
    }
    let upper = match upper {
        Bound::Excluded(bound) => Some(bound.as_slice()),
        _ => None,
    };
    Ok(key.and_then(|key| {
        let prefix = filter.seek_prefix(*prefix_mode, key, upper, backward, order)?;
        Some(probe_prefix(core, filter, prefix, key, backward))
    }))
}

fn probe_prefix(
    core: &Core,
    filter: &FilterReader,
    prefix: &[u8],
    key: &[u8],
    backward: bool,
) -> bool {
    let hashed = HashedKey::new(prefix);
    let search = core.keys.newest(key);
    match backward {
        false => filter.may_contain(&core.blocks, &core.keys, &hashed, &search.before()),
        true => filter.may_contain_before(&core.blocks, &core.keys, &hashed, &search.before()),
    }
}
