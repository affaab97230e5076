//! A block of range deletions.

use crate::annotated::Dump;
use crate::block_dump::{Keys, Style, dump_block};
use crate::golden::with_table;
use crate::wording::key_text;

pub(super) fn range_deletions() -> String {
    with_table("types-ranges-only.sst", |table| {
        let block = table.meta_block(b"rocksdb.range_del").expect("readable").expect("a block");
        let mut dump = Dump::new(&block);
        let end = |dump: &mut Dump<'_>, _: &[u8], length: usize| {
            let end = key_text(dump.peek(length));
            dump.bytes(length, format!("up to {end}, exclusive"));
        };
        let style = Style { keys: Keys::Internal, value: &end, shown: &|_| true, hidden: "" };
        dump_block(&mut dump, &block, &style);
        dump.finish()
    })
}
