//! A table with one entry from its first byte to its last, and the end of one of LevelDB's.

use sstkit_table::raw::{BlockHandle, BlockKind, TableView};

use super::footers::dump_footer;
use crate::annotated::Dump;
use crate::block_dump::{Keys, Style, dump_block, handle_value, plain_value};
use crate::golden::{data_block, with_table};
use crate::index_dump::dump_index;
use crate::trailer_dump::dump_trailer;

pub(super) fn rocksdb() -> String {
    with_table("one-entry.sst", |table| {
        let mut dump = Dump::new(table.file());
        let data = data_block(table, 0);
        dump.note("data block");
        let style =
            Style { keys: Keys::Internal, value: &plain_value, shown: &|_| true, hidden: "" };
        dump_entries(&mut dump, table, BlockKind::Data, data, &style);

        let (_, _, filter) = table.metaindex().filters().next().expect("a filter");
        dump.note("filter");
        dump.skip(filter.size as usize, "full filter");
        dump_trailer(&mut dump, table, filter.offset as usize);

        let index = table.index_handle();
        dump.note("index");
        let contents = table.block(BlockKind::Index, index).expect("an index");
        dump_index(&mut dump, &contents, table.index_format(), |_| true);
        dump_trailer(&mut dump, table, index.offset as usize);

        let properties = table.metaindex().properties().expect("properties");
        dump.note("properties");
        dump.skip(properties.size as usize, "names and values");
        dump_trailer(&mut dump, table, properties.offset as usize);

        dump.note("metaindex");
        dump_metaindex(&mut dump, table);
        dump.note("footer");
        dump_footer(&mut dump, table);
        dump.finish()
    })
}

pub(super) fn end_of_leveldb() -> String {
    with_table("leveldb-table-bloom10-c0.ldb", |table| {
        let footer = table.footer();
        let mut dump = Dump::starting_at(table.file(), footer.metaindex.offset as usize);
        dump.note("metaindex");
        dump_metaindex(&mut dump, table);
        dump.note("index");
        let index = table.index_handle();
        let contents = table.block(BlockKind::Index, index).expect("an index");
        let mut format = table.index_format();
        format.user_keys = true;
        dump_index(&mut dump, &contents, format, |entry| entry < 2);
        dump_trailer(&mut dump, table, index.offset as usize);
        dump.note("footer");
        dump_footer(&mut dump, table);
        dump.finish()
    })
}

fn dump_metaindex(dump: &mut Dump<'_>, table: &TableView<'_>) {
    let style = Style { keys: Keys::Names, value: &handle_value, shown: &|_| true, hidden: "" };
    dump_entries(dump, table, BlockKind::MetaIndex, table.footer().metaindex, &style);
}

/// A block that is not compressed, and its trailer, at their place in the file.
fn dump_entries(
    dump: &mut Dump<'_>,
    table: &TableView<'_>,
    kind: BlockKind,
    handle: BlockHandle,
    style: &Style<'_>,
) {
    let start = dump.position();
    assert_eq!(handle.offset, start as u64);
    dump_block(dump, &table.block(kind, handle).expect("a block"), style);
    assert_eq!(dump.position() as u64, handle.offset + handle.size);
    dump_trailer(dump, table, start);
}
