//! The fields of filter blocks: the trailer of a full filter, the offsets of a filter block.

use bytes::Bytes;
use sstkit_coding::fixed::decode_fixed32;
use sstkit_filter::{Filter, FilterLayout, FilterParameters};
use sstkit_table::raw::{BlockHandle, BlockKind};

use super::field::Fields;
use crate::inspected_table::InspectedTable;

/// The last bytes of a full filter, which say what kind it is.
const TRAILER: usize = 5;
/// The last bytes of a filter block: the offset of the offsets, and the logarithm of the span.
const TAIL: usize = 5;

/// Marks the fields of a block without entries.
pub(super) fn mark(
    file: &InspectedTable,
    kind: BlockKind,
    handle: BlockHandle,
    contents: &Bytes,
    fields: &mut Fields,
) {
    let layout_of = |handle: BlockHandle| {
        let mut filters = file.table().metaindex().filters();
        filters.find(|&(_, _, at)| at == handle).map(|(layout, _, _)| layout)
    };
    match kind {
        BlockKind::FilterPartition => mark_full(contents, fields),
        BlockKind::Filter => match layout_of(handle) {
            Some(FilterLayout::Full) => mark_full(contents, fields),
            Some(FilterLayout::Block) => mark_filter_block(contents, fields),
            _ => {}
        },
        BlockKind::CompressionDictionary => {
            fields.add(0..contents.len(), "dictionary", || None);
        }
        _ => {}
    }
}

fn mark_full(contents: &Bytes, fields: &mut Fields) {
    let filter = Filter::from_bytes(contents);
    let data = contents.len().saturating_sub(TRAILER);
    let name = filter.kind().name();
    match filter.parameters() {
        FilterParameters::Bloom { num_probes, block_length } => {
            fields.add(0..data, "bits", || Some(format!("lines of {block_length} bytes")));
            let probes = Some(num_probes.to_string());
            match contents.get(data) {
                // The first byte of the older filter is the number of probes itself.
                Some(0xff) => {
                    fields.add(data..data + 1, "newer filter", || Some(name.to_owned()));
                    fields.add(data + 1..data + 2, "implementation", || Some("0".to_owned()));
                    fields.add(data + 2..data + 3, "probes", || probes);
                    fields.add(data + 3..contents.len(), "reserved", || None);
                }
                _ => {
                    fields.add(data..data + 1, "probes", || probes);
                    let lines = Some((data / block_length.max(1)).to_string());
                    fields.add(data + 1..contents.len(), "number of lines", || lines);
                }
            }
        }
        FilterParameters::Ribbon { seed, num_blocks, .. } => {
            fields.add(0..data, "columns", || Some("segments of 16 bytes".to_owned()));
            fields.add(data..data + 1, "Ribbon", || Some(name.to_owned()));
            fields.add(data + 1..data + 2, "seed", || Some(seed.to_string()));
            let blocks = Some(num_blocks.to_string());
            fields.add(data + 2..contents.len(), "blocks of 128 slots", || blocks);
        }
        _ => fields.add(data..contents.len(), "trailer", || Some(name.to_owned())),
    }
}

/// Marks the filters of a filter block, and the offsets that lead to them.
fn mark_filter_block(contents: &Bytes, fields: &mut Fields) {
    let word = |at: usize| {
        let word = contents.get(at..).and_then(|it| it.first_chunk());
        word.map(|word| decode_fixed32(*word) as usize)
    };
    let Some(tail) = contents.len().checked_sub(TAIL) else { return };
    let Some(array) = word(tail).filter(|&array| array <= tail) else { return };
    let mut at = array;
    while at + 4 <= tail {
        let range = word(at).zip(word(at + 4));
        let index = (at - array) / 4;
        if let Some((start, end)) = range.filter(|&(start, end)| start <= end && end <= array) {
            fields.add(start..end, "filter", || Some(index.to_string()));
        }
        fields.add(at..at + 4, "filter offset", || range.map(|(start, _)| start.to_string()));
        at += 4;
    }
    fields.add(tail..tail + 4, "offset of the offsets", || Some(array.to_string()));
    let span = || {
        let lg = u32::from(*contents.last()?);
        Some(1u64.checked_shl(lg)?.to_string() + " bytes of data each")
    };
    fields.add(tail + 4..contents.len(), "base logarithm", span);
}
