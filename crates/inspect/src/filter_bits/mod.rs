//! The bits of a filter: how full each line, partition or column is.
//!
//! ```text
//! Bloom     | line 0 | line 1 | … |        set bits of each line, against the expected distribution
//! Ribbon    | c0 c1 … | c0 c1 … | …        columns by block of 128 slots: half of the bits are set
//! LevelDB   | filter 0 | filter 1 | …      a filter for each 2 KiB of data
//! ```
//!
//! A table has one part (a full filter) or many (partitions, or the filters of a filter block). All
//! parts are summarised, and one of them is shown.

mod distribution;
mod part;

use serde::Serialize;
use sstkit_filter::{FilterBlock, FilterLayout};
use sstkit_table::raw::BlockKind;
use sstkit_table::{FilterPart, Result, TableFilter};

pub use self::part::{DecodedTrailer, PartBits, RibbonColumns};
use crate::filter_report::FilterReport;
use crate::inspected_table::InspectedTable;
use crate::names;

/// The filter of a table, its parts, and the bits of one of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterBits {
    /// The filter as a whole.
    pub report: FilterReport,
    /// The layout: `full`, `partitioned` or `block`; `None` without a filter.
    pub layout: Option<&'static str>,
    /// Bytes of the table that each filter of a filter block covers.
    pub span: Option<u64>,
    /// The number of parts.
    pub part_count: u64,
    /// The number of parts that are not empty. A filter block has empty filters where no data block starts.
    pub filled_parts: u64,
    /// The parts; at most [`FilterBits::MAX_PARTS`].
    pub parts: Vec<FilterPartSummary>,
    /// The part that is shown, if there is one.
    pub part: Option<PartBits>,
}

/// A part of a filter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterPartSummary {
    /// The kind.
    pub kind: &'static str,
    /// The offset of its block.
    pub offset: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// The estimated number of keys and prefixes.
    pub keys: Option<f64>,
    /// The fraction of bits set; `None` if it is not a Bloom filter.
    pub fill: Option<f64>,
    /// The expected false-positive rate.
    pub expected_fpr: Option<f64>,
}

impl FilterBits {
    /// The most parts that are listed.
    pub const MAX_PARTS: usize = 10_000;

    /// Describes the filter of a table, and the bits of the part with this index in `cells` cells
    /// or fewer; `None` if there is no such part. Reads the filter.
    pub fn of(
        name: &str,
        file: &InspectedTable,
        part: usize,
        cells: usize,
    ) -> Result<Option<Self>> {
        let report = FilterReport::of_existing(name, file)?;
        let (Some(report), Some(filter)) = (report, file.table().filter()) else {
            let report = FilterReport::unreadable(name, file);
            return Ok(Some(Self {
                report,
                layout: None,
                span: None,
                part_count: 0,
                filled_parts: 0,
                parts: Vec::new(),
                part: None,
            }));
        };
        let stats = filter.stats()?;
        let shown = match stats.parts.get(part) {
            Some(found) => Some(show(file, &filter, part, found, cells)?),
            None if stats.parts.is_empty() && part == 0 => None,
            None => return Ok(None),
        };
        let layout = filter.layout();
        Ok(Some(Self {
            report,
            layout: Some(names::filter_layout(layout)),
            span: (layout == FilterLayout::Block).then(|| span(file, &filter)).flatten(),
            part_count: stats.parts.len() as u64,
            filled_parts: stats.parts.iter().filter(|part| part.filter.bytes > 0).count() as u64,
            parts: stats.parts.iter().take(Self::MAX_PARTS).map(FilterPartSummary::of).collect(),
            part: shown,
        }))
    }
}

fn show(
    file: &InspectedTable,
    filter: &TableFilter<'_>,
    index: usize,
    part: &FilterPart,
    cells: usize,
) -> Result<PartBits> {
    let kind = match filter.layout() {
        FilterLayout::Partitioned => BlockKind::FilterPartition,
        _ => BlockKind::Filter,
    };
    let contents = file.contents(kind, part.handle)?;
    Ok(match filter.layout() {
        FilterLayout::Block => {
            // The rules of the offsets are the same for all policies.
            let block = FilterBlock::leveldb(contents);
            PartBits::of_line(index, part, block.filter(index).unwrap_or_default())
        }
        _ => PartBits::of_full(index, part, contents, cells),
    })
}

/// The bytes of the table that each filter of a filter block covers.
fn span(file: &InspectedTable, filter: &TableFilter<'_>) -> Option<u64> {
    let contents = file.contents(BlockKind::Filter, filter.handle()).ok()?;
    1u64.checked_shl(u32::from(*contents.last()?))
}

impl FilterPartSummary {
    fn of(part: &FilterPart) -> Self {
        Self {
            kind: part.filter.kind.name(),
            offset: part.handle.offset,
            bytes: part.filter.bytes as u64,
            keys: part.filter.estimated_keys,
            fill: part.filter.fill,
            expected_fpr: part.filter.expected_fpr,
        }
    }
}
