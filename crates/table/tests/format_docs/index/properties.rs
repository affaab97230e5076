//! A metaindex and a properties block.

use std::fmt::Write;

use sstkit_coding::varint::get_varint64;
use sstkit_table::raw::BlockKind;
use sstkit_table::raw::property_names::{self, PropertyEncoding};

use crate::annotated::Dump;
use crate::block_dump::{Keys, Style, dump_block, handle_value};
use crate::golden::with_table;

pub(super) fn metaindex() -> String {
    with_table("types-all.sst", |table| {
        let handle = table.footer().metaindex;
        let block = table.block(BlockKind::MetaIndex, handle).expect("a metaindex");
        let mut dump = Dump::new(&block);
        let style = Style { keys: Keys::Names, value: &handle_value, shown: &|_| true, hidden: "" };
        dump_block(&mut dump, &block, &style);
        dump.finish()
    })
}

/// Some properties of a table, in each encoding.
pub(super) fn properties() -> String {
    with_table("one-entry.sst", |table| {
        let handle = table.metaindex().properties().expect("properties");
        let block = table.block(BlockKind::Properties, handle).expect("properties");
        let names: Vec<_> = table.properties().iter().map(|(name, _)| name).collect();
        let shown = |entry: usize| {
            entry < 3
                || names[entry].starts_with(b"rocksdb.external_sst_file.")
                || names[entry].starts_with(b"rocksdb.comparator")
                || names[entry].starts_with(b"rocksdb.num.entries")
                || entry + 1 == names.len()
        };
        let mut dump = Dump::new(&block);
        let style =
            Style { keys: Keys::Names, value: &value, shown: &shown, hidden: "more properties" };
        dump_block(&mut dump, &block, &style);
        dump.finish()
    })
}

fn value(dump: &mut Dump<'_>, name: &[u8], length: usize) {
    let bytes = dump.peek(length);
    let text = match property_names::encoding(name).expect("a property of RocksDB") {
        PropertyEncoding::Varint => get_varint64(&mut &bytes[..]).expect("a varint").to_string(),
        PropertyEncoding::Fixed32 => {
            u32::from_le_bytes(bytes.try_into().expect("four")).to_string()
        }
        PropertyEncoding::Fixed64 => {
            u64::from_le_bytes(bytes.try_into().expect("eight")).to_string()
        }
        _ => format!("\"{}\"", bytes.escape_ascii()),
    };
    dump.short(length, text);
}

pub(super) fn compression() -> String {
    let mut out = String::new();
    for name in [
        "compress-lz4-fv6.sst",
        "compress-zstd-fv6.sst",
        "fv6-bloom10.sst",
        "compress-lz4-fv7.sst",
        "compress-zstd-fv7.sst",
        "fv7-bloom10.sst",
    ] {
        with_table(name, |table| {
            let value = table.properties().get(property_names::COMPRESSION).expect("a property");
            let _ = writeln!(out, "{name:<22}  {}", value.escape_ascii());
        });
    }
    out
}
