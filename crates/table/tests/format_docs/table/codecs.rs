//! How compressed blocks begin, and dictionaries.

use std::fmt::Write;

use bytes::Bytes;
use sstkit_coding::varint::get_varint64;
use sstkit_table::raw::{BlockKind, Codec, Engine, FormatVersion, StoredBlock, TableView};

use crate::golden::{data_block, with_table};
use crate::trailer_dump::codec_text;
use crate::wording::hex;

const TABLES: [&str; 14] = [
    "leveldb-table-bloom10-c1.ldb",
    "rocksdb6-fv0-full10-snappy.sst",
    "rocksdb6-fv1-full7-zlib.sst",
    "rocksdb6-fv1-blockbased10-lz4.sst",
    "compress-snappy-fv2.sst",
    "compress-zlib-fv2.sst",
    "compress-bzip2-fv2.sst",
    "compress-lz4-fv2.sst",
    "compress-lz4hc-fv2.sst",
    "compress-zstd-fv2.sst",
    "rocksdb6-fv2-blockbased10-zstd.sst",
    "compress-lz4-fv7.sst",
    "compress-zstd-fv7.sst",
    "compress-zlib-fv7.sst",
];

pub(super) fn codecs() -> String {
    let mut out = String::from("table                               codec      stored  contents  ");
    out.push_str("size                     then\n");
    for name in TABLES {
        with_table(name, |table| {
            let block = first_compressed(table);
            let contents = table.decoder().decompress(&block, None).expect("contents");
            let (prefix, rest) = split_size(table, &block, contents.len());
            let size = if prefix.is_empty() { "-".to_owned() } else { hex(prefix) };
            let _ = writeln!(
                out,
                "{name:<36}{:02x} {:<8}{:>6}{:>10}  {size:<23}  {}",
                block.trailer.codec,
                codec_text(table.engine(), block.trailer.codec),
                block.contents.len(),
                contents.len(),
                hex(&rest[..4]),
            );
        });
    }
    out
}

/// The first data block that is compressed.
fn first_compressed(table: &TableView<'_>) -> StoredBlock<Bytes> {
    let blocks = table.blocks().expect("blocks");
    let data = blocks.into_iter().filter(|(kind, _)| *kind == BlockKind::Data);
    data.map(|(kind, handle)| table.stored_block(kind, handle).expect("a block"))
        .find(|block| block.trailer.codec != 0)
        .expect("a compressed block")
}

/// The size before the stream, by the table of the page.
fn split_size<'a>(
    table: &TableView<'_>,
    block: &'a StoredBlock<Bytes>,
    length: usize,
) -> (&'a [u8], &'a [u8]) {
    let stored = &block.contents[..];
    let old = table.footer().version < FormatVersion::V2;
    let codec = Codec::from_byte(block.trailer.codec).expect("a codec");
    let prefix = match codec {
        // In the header of the stream itself.
        Codec::Snappy => {
            assert_eq!(get_varint64(&mut &stored[..]), Some(length as u64));
            0
        }
        Codec::Zlib | Codec::Bzip2 if old => 0,
        Codec::Lz4 | Codec::Lz4hc if old => {
            assert_eq!(u32::from_le_bytes(*stored.first_chunk().expect("a size")), length as u32);
            8
        }
        _ => {
            assert_eq!(table.engine(), Engine::RocksDb);
            let mut rest = stored;
            assert_eq!(get_varint64(&mut rest), Some(length as u64));
            stored.len() - rest.len()
        }
    };
    stored.split_at(prefix)
}

pub(super) fn dictionaries() -> String {
    let mut out = String::from("table          dictionary                  first data block\n");
    for name in ["dict-zlib.sst", "dict-lz4.sst", "dict-zstd.sst"] {
        with_table(name, |table| {
            let dictionary = table.dictionary().expect("readable").expect("a dictionary").bytes();
            let stored =
                table.stored_block(BlockKind::Data, data_block(table, 0)).expect("a block");
            let contents = table.block(BlockKind::Data, stored.handle).expect("contents");
            assert!(!matches!(table.decoder().decompress(&stored, None), Ok(c) if *c == *contents));
            let _ = writeln!(
                out,
                "{name:<13}  {} bytes: {} …  {} bytes from {}",
                dictionary.len(),
                hex(&dictionary[..4]),
                contents.len(),
                stored.contents.len(),
            );
        });
    }
    out
}
