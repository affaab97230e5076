//! A probe of the filter of a table for one key, and the bits around it.

use serde::Serialize;
use sstkit_filter::{Filter, FilterBlock};
use sstkit_table::Result;
use sstkit_table::raw::{BlockHandle, BlockKind};

use crate::encoding::Encoding;
use crate::explain::{Explanation, FilterAnswer, LookupStep, ProbedPlace, TableStep};
use crate::inspected_table::InspectedTable;

/// Bytes of a segment of a Ribbon filter: one column of 128 slots.
const SEGMENT: usize = 16;
/// The longest line that is shown.
const MAX_LINE: usize = 4 << 10;

/// The probe of a filter for a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterProbeBits {
    /// The key.
    pub key: String,
    /// Whether the table has the key or a deletion of it.
    pub in_table: bool,
    /// The probes of the filter; of a filter block, one for each data block that the index leads to.
    pub probes: Vec<ProbedLine>,
}

/// The result of a probe, and the bytes that were probed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProbedLine {
    /// The index of the part of the filter.
    pub part: Option<u64>,
    /// The result.
    pub answer: FilterAnswer,
    /// The bytes of the line of a Bloom filter, in hexadecimal digits.
    pub line: Option<String>,
    /// The segments of a Ribbon filter that hold the slots of the key, a pair for each column: of the
    /// block of the first slot, and of the next block.
    pub segments: Vec<(String, Option<String>)>,
}

impl FilterProbeBits {
    /// Probes the filter of a table as a lookup does.
    /// [Cancelled](sstkit_table::Error::is_cancelled) when `keep_going` returns false.
    pub fn of(
        file: &InspectedTable,
        key: &[u8],
        encoding: Encoding,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let explanation = Explanation::in_table_while(file, key, encoding, keep_going)?;
        let mut probes = Vec::new();
        for step in explanation.steps {
            let LookupStep::Table(step) = step else { continue };
            add_probes(file, *step, &mut probes);
        }
        let in_table = matches!(explanation.answer, "found" | "deleted" | "unresolved");
        Ok(Self { key: explanation.key, in_table, probes })
    }
}

fn add_probes(file: &InspectedTable, step: TableStep, probes: &mut Vec<ProbedLine>) {
    let Some(filter) = file.table().filter() else { return };
    let blocks: Vec<_> = step
        .blocks
        .into_iter()
        .filter_map(|block| block.filter.map(|answer| (block.offset, answer)))
        .collect();
    match step.filter {
        // Of a filter block, the index decides which filter is probed.
        Some(answer) if blocks.is_empty() => {
            let partition = answer.partition.as_ref();
            let handle = partition.map(|it| BlockHandle { offset: it.offset, size: it.length });
            let kind =
                if handle.is_some() { BlockKind::FilterPartition } else { BlockKind::Filter };
            let handle = handle.unwrap_or_else(|| filter.handle());
            let part = match kind {
                BlockKind::FilterPartition => filter.partitions().ok().and_then(|partitions| {
                    partitions.iter().position(|&it| it == handle).map(|it| it as u64)
                }),
                _ => Some(0),
            };
            let contents = file.contents(kind, handle).unwrap_or_default();
            probes.push(ProbedLine::of_full(part, answer, &Filter::from_bytes(&contents)));
        }
        _ => {
            let contents = file.contents(BlockKind::Filter, filter.handle()).unwrap_or_default();
            let lg = contents.last().map_or(0, |&lg| u32::from(lg));
            let block = FilterBlock::leveldb(&contents);
            for (offset, answer) in blocks {
                let index = offset.checked_shr(lg).unwrap_or(0);
                let bytes = usize::try_from(index).ok().and_then(|index| block.filter(index));
                let line = bytes.and_then(|bytes| bytes.split_last()).map(|(_, line)| line);
                let line = line.filter(|line| line.len() <= MAX_LINE);
                let line = line.map(|line| Encoding::Hex.encode(line));
                probes.push(ProbedLine { part: Some(index), answer, line, segments: Vec::new() });
            }
        }
    }
}

impl ProbedLine {
    fn of_full<B: AsRef<[u8]>>(
        part: Option<u64>,
        answer: FilterAnswer,
        filter: &Filter<B>,
    ) -> Self {
        let bytes = filter.bytes();
        let mut line = None;
        let mut segments = Vec::new();
        match &answer.place {
            Some(ProbedPlace::Line { index, length, .. }) => {
                let range = usize::try_from(*index).ok().zip(usize::try_from(*length).ok());
                let bytes = range.and_then(|(index, length)| {
                    let start = index.checked_mul(length)?;
                    bytes.get(start..start.checked_add(length)?)
                });
                line = bytes.filter(|it| it.len() <= MAX_LINE).map(|it| Encoding::Hex.encode(it));
            }
            Some(ProbedPlace::Slots { first_segment, columns, .. }) => {
                let segment = |at: u64| {
                    let start = usize::try_from(at).ok()?.checked_mul(SEGMENT)?;
                    bytes.get(start..start.checked_add(SEGMENT)?).map(|it| Encoding::Hex.encode(it))
                };
                // All blocks of a row have the columns of the first; where the number changes, the
                // segments of the next block start that much later.
                segments = (0..*columns)
                    .filter_map(|column| {
                        let first = first_segment + column;
                        Some((segment(first)?, segment(first + columns)))
                    })
                    .collect();
            }
            _ => {}
        }
        Self { part, answer, line, segments }
    }
}
