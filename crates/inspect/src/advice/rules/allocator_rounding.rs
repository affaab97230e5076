//! Memory that the allocator adds: jemalloc rounds sizes up to one of four classes per power of two.

use super::{ChangedNumber, Suggestion};
use crate::advice::situation::{FamilyLevels, Situation};
use crate::error::Result;

/// Less than this share of the memory is not worth a change.
const WORTH: f64 = 0.03;

pub(super) fn suggest(
    situation: &Situation<'_>,
    family: &FamilyLevels,
) -> Result<Option<Suggestion>> {
    let numbers = &family.numbers;
    let bytes = situation.filter_bytes(numbers);
    let allocated = situation.sum(numbers, |file| file.allocated_filter_bytes);
    let wasted = allocated.saturating_sub(bytes);
    let is_on = situation.is_on(&family.name, "optimize_filters_for_memory");
    if !situation.is_rocksdb() || is_on || (wasted as f64) < WORTH * bytes as f64 || bytes == 0 {
        return Ok(None);
    }
    Ok(Some(Suggestion {
        rule: "allocator_rounding",
        column_family: None,
        advised: true,
        text: "Build filters of the sizes that jemalloc allocates: their mean size stays, and no memory \
               is lost to rounding (RocksDB must be built with jemalloc)."
            .into(),
        numbers: vec![ChangedNumber::bytes("memory of filters with jemalloc", allocated, bytes)],
        options: "block_based_table_factory={optimize_filters_for_memory=true;};".into(),
    }))
}
