//! What an explanation has at most: a value may have gigabytes, and a key any number of operands.

use sstkit_inspect::{Encoding, Explanation, LookupStep, TableStep};

/// Bytes of a value, of an operand, and of a key of an index.
const MAX_VALUE: usize = 64 << 10;
const MAX_OPERAND: usize = 1 << 10;
const MAX_KEY: usize = 1 << 10;
/// Operands of a value that cannot be merged, entries of a step, and data blocks of a table.
const MAX_OPERANDS: usize = 500;
const MAX_ENTRIES: usize = 500;
const MAX_BLOCKS: usize = 100;

/// Shortens an explanation. Returns whether anything is left out.
pub(super) fn shorten(explanation: &mut Explanation, encoding: Encoding) -> bool {
    let mut is_cut = false;
    if let Some(value) = &mut explanation.value {
        is_cut |= shorten_text(value, MAX_VALUE, encoding);
    }
    if let Some(operands) = &mut explanation.merge {
        is_cut |= shorten_list(operands, MAX_OPERANDS);
        for operand in operands {
            is_cut |= shorten_text(operand, MAX_OPERAND, encoding);
        }
    }
    for step in &mut explanation.steps {
        match step {
            LookupStep::Memtable { entries, .. } => is_cut |= shorten_list(entries, MAX_ENTRIES),
            LookupStep::Table(table) => {
                is_cut |= shorten_list(&mut table.blocks, MAX_BLOCKS);
                is_cut |= shorten_keys(table, encoding);
                for search in table.blocks.iter_mut().filter_map(|block| block.search.as_mut()) {
                    is_cut |= shorten_list(&mut search.entries, MAX_ENTRIES);
                }
            }
            _ => {}
        }
    }
    is_cut
}

/// Shortens the keys of indexes and filters.
fn shorten_keys(table: &mut TableStep, encoding: Encoding) -> bool {
    let mut is_cut = false;
    let mut shorten = |key: &mut String| is_cut |= shorten_text(key, MAX_KEY, encoding);
    for block in &mut table.blocks {
        shorten(&mut block.separator);
        block.first_key.iter_mut().for_each(&mut shorten);
        block.index_partition.iter_mut().for_each(|it| shorten(&mut it.separator));
    }
    let of_blocks = table.blocks.iter_mut().filter_map(|block| block.filter.as_mut());
    for filter in table.filter.iter_mut().chain(of_blocks) {
        filter.partition.iter_mut().for_each(|it| shorten(&mut it.separator));
    }
    is_cut
}

fn shorten_list<T>(list: &mut Vec<T>, most: usize) -> bool {
    let is_cut = list.len() > most;
    list.truncate(most);
    is_cut
}

/// Shortens encoded bytes to `most` of them.
fn shorten_text(text: &mut String, most: usize, encoding: Encoding) -> bool {
    // No encoding has fewer characters than bytes.
    if text.len() <= most {
        return false;
    }
    let Ok(bytes) = encoding.decode(text) else { return false };
    let is_cut = bytes.len() > most;
    if is_cut {
        *text = encoding.encode(&bytes[..most]);
    }
    is_cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_bytes() {
        for encoding in [Encoding::Escape, Encoding::Hex, Encoding::Base64] {
            let bytes: Vec<u8> = (0..=255).collect();
            let mut text = encoding.encode(&bytes);
            assert!(!shorten_text(&mut text.clone(), 256, encoding));
            assert!(shorten_text(&mut text, 13, encoding));
            assert_eq!(encoding.decode(&text).unwrap(), bytes[..13]);
        }
        let mut list = vec![1, 2, 3];
        assert!(!shorten_list(&mut list, 3) && shorten_list(&mut list, 2));
        assert_eq!(list, [1, 2]);
    }
}
