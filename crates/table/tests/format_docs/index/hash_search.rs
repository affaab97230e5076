//! The two meta blocks of an index with hash search.

use sstkit_table::raw::TableView;

use crate::annotated::Dump;
use crate::golden::with_table;
use crate::wording::key_text;

pub(super) fn hash_search() -> String {
    with_table("index-hash.sst", |table| {
        let prefixes = block(table, b"rocksdb.hashindex.prefixes");
        let metadata = block(table, b"rocksdb.hashindex.metadata");
        let mut number_of_blocks = 0;
        let mut index = table.index().expect("an index");
        while index.advance().expect("an entry") {
            number_of_blocks += 1;
        }

        let mut names = Dump::new(&prefixes);
        let mut dump = Dump::new(&metadata);
        names.note("rocksdb.hashindex.prefixes");
        dump.note("rocksdb.hashindex.metadata");
        while dump.position() < metadata.len() {
            let [length, first, blocks] = dump.varints(|[length, first, blocks]| {
                format!("prefix of {length} bytes, data blocks from {first}: {blocks}")
            });
            assert!(first + blocks <= number_of_blocks);
            let prefix = key_text(names.peek(length as usize));
            names.bytes(length as usize, prefix);
        }
        names.finish() + &dump.finish()
    })
}

fn block(table: &TableView<'_>, name: &[u8]) -> Vec<u8> {
    table.meta_block(name).expect("readable").expect("a block").to_vec()
}
