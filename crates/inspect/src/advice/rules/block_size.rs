//! The size of data blocks: a point lookup reads a whole block for one entry, and each block has an
//! entry in the index.

use super::{ChangedNumber, INDEX_MEMORY, Suggestion};
use crate::advice::situation::{FamilyLevels, Situation};
use crate::error::Result;

/// RocksDB's default, and the smallest block that is advised: a page.
const SMALLEST: u64 = 4096;
const LARGEST: u64 = 64 << 10;
/// A block with more entries than this reads much for one of them.
const MANY_ENTRIES: f64 = 64.0;
/// Entries of a block that is advised, at least.
const FEW_ENTRIES: f64 = 16.0;
/// An index that is larger than this share of the data is large.
const LARGE_INDEX: f64 = 0.02;

pub(super) fn suggest(
    situation: &Situation<'_>,
    family: &FamilyLevels,
) -> Result<Option<Suggestion>> {
    let sum = |of_file: fn(&crate::TableMemory) -> u64| situation.sum(&family.numbers, of_file);
    let (blocks, entries) = (sum(|it| it.data_blocks), sum(|it| it.entries));
    let (raw, stored, index) =
        (sum(|it| it.raw_bytes), sum(|it| it.data_bytes), sum(|it| it.index_bytes));
    if blocks == 0 || entries == 0 || raw == 0 {
        return Ok(None);
    }
    let block = raw as f64 / blocks as f64;
    let entry = raw as f64 / entries as f64;
    let wanted = ((FEW_ENTRIES * entry) as u64).next_power_of_two().clamp(SMALLEST, LARGEST);
    let is_large = block > 2.0 * wanted as f64 && block / entry > MANY_ENTRIES;
    let is_small = index as f64 > LARGE_INDEX * raw as f64 && 2.0 * block < wanted as f64;
    let text = match (is_large, is_small) {
        (true, _) => format!(
            "Smaller blocks: a point lookup reads {:.0} entries for one. Compression may save less, and \
             scans read the same.",
            block / entry
        ),
        (_, true) => {
            "Larger blocks: the index is a large part of the memory. Point lookups read more \
                      for an entry."
                .into()
        }
        _ => return Ok(None),
    };
    let scale = wanted as f64 / block;
    let read = stored as f64 / blocks as f64;
    let reads = situation.wasted_reads(&family.numbers);
    Ok(Some(Suggestion {
        rule: "block_size",
        column_family: None,
        advised: is_large,
        text,
        numbers: vec![
            ChangedNumber::bytes("block size", block as u64, wanted),
            ChangedNumber::bytes("read for an entry", read as u64, (read * scale) as u64),
            ChangedNumber::bytes(
                "wasted per lookup",
                (reads * read) as u64,
                (reads * read * scale) as u64,
            ),
            ChangedNumber::bytes(INDEX_MEMORY, index, (index as f64 / scale) as u64),
        ],
        options: match situation.is_rocksdb() {
            true => format!("block_based_table_factory={{block_size={wanted};}};"),
            false => String::new(),
        },
    }))
}
