//! Index blocks of each format.

use sstkit_table::raw::{BlockHandle, BlockKind, TableView};

use crate::annotated::Dump;
use crate::golden::with_table;
use crate::index_dump::dump_index;
use crate::wording::handle_text;

/// The first entries of a table's index and its last bytes.
fn index_of(name: &str, entries: usize) -> String {
    with_table(name, |table| one_block(table, BlockKind::Index, table.index_handle(), entries))
}

fn one_block(
    table: &TableView<'_>,
    kind: BlockKind,
    handle: BlockHandle,
    entries: usize,
) -> String {
    let block = table.block(kind, handle).expect("an index block");
    let mut dump = Dump::new(&block);
    dump_index(&mut dump, &block, table.index_format(), |entry| entry < entries);
    dump.finish()
}

pub(super) fn full_values() -> String {
    index_of("types-all-fv2.sst", 2)
}

pub(super) fn delta_values() -> String {
    index_of("index-restart8.sst", 3)
}

pub(super) fn first_keys() -> String {
    index_of("index-firstkey.sst", 1)
}

/// The top level and the first partition of an index of two levels.
pub(super) fn two_levels() -> String {
    with_table("partitioned-coupled-bloom-fv5.sst", |table| {
        let mut walk = table.index().expect("an index");
        assert!(walk.advance().expect("an entry"));
        let partition = walk.partition().expect("a partition");
        let top = table.index_handle();
        let mut out = format!("top level, at {}\n", handle_text(top));
        out.push_str(&one_block(table, BlockKind::Index, top, 2));
        out.push_str(&format!("first partition, at {}\n", handle_text(partition)));
        out.push_str(&one_block(table, BlockKind::IndexPartition, partition, 2));
        out
    })
}
