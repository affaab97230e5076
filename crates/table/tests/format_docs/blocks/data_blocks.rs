//! A data block with two restart points.

use std::fmt::Write;

use sstkit_table::raw::{BlockKind, TableView};

use crate::annotated::Dump;
use crate::block_dump::{Keys, Style, dump_block, packed_text, plain_value};
use crate::golden;
use crate::golden::with_table;
use crate::wording::hex;

pub(super) fn data_block() -> String {
    with_table("seed-like.sst", |table| {
        let handle = golden::data_block(table, 0);
        let block = table.block(BlockKind::Data, handle).expect("a block");
        let mut dump = Dump::new(&block);
        let style = Style {
            keys: Keys::Internal,
            value: &plain_value,
            shown: &|entry| matches!(entry, 0..=2 | 15..=17),
            hidden: "more entries",
        };
        dump_block(&mut dump, &block, &style);
        dump.finish()
    })
}

/// The last word of blocks with and without flags.
pub(super) fn packed_words() -> String {
    let data = |table: &TableView<'_>| (BlockKind::Data, golden::data_block(table, 0));
    let index = |table: &TableView<'_>| (BlockKind::Index, table.index_handle());
    let mut out = String::new();
    let mut show = |name: &str, block: &dyn Fn(&TableView<'_>) -> _| {
        with_table(name, |table| {
            let (kind, handle) = block(table);
            let contents = table.block(kind, handle).expect("a block");
            let word: &[u8; 4] = contents.last_chunk().expect("a word");
            let text = packed_text(u32::from_le_bytes(*word));
            let _ = writeln!(out, "{name:<17}  {:<11}  {}  {text}", kind.name(), hex(word));
        });
    };
    show("seed-like.sst", &data);
    show("datahash-fv7.sst", &data);
    show("sepkv-fv7.sst", &data);
    show("index-uniform.sst", &index);
    out
}
