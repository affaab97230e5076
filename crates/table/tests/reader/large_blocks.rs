//! Blocks larger than most: how much a file may ask for.

use bytes::Bytes;
use sstkit_table::raw::{Codec, DEFAULT_MAX_BLOCK_SIZE};
use sstkit_table::{ErrorKind, Table, TableOptions, TableReadOptions, TableWriter};

/// A table with one value of these bytes.
fn table_of(value: &[u8], codec: Codec) -> Bytes {
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb().compression(codec);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    writer.put(b"k", value).unwrap();
    writer.finish().unwrap();
    bytes.into()
}

fn open(bytes: &Bytes, max_block_size: usize) -> Table {
    let options = TableReadOptions::default().max_block_size(max_block_size).no_block_cache();
    Table::open_with(bytes.clone(), &options).unwrap()
}

/// Text that compresses to about a third.
fn text(length: usize) -> Vec<u8> {
    let (mut text, mut state) = (Vec::with_capacity(length + 16), 1u64);
    while text.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.extend_from_slice(format!("{:08x}, word, ", state >> 32).as_bytes());
    }
    text.truncate(length);
    text
}

#[test]
fn what_is_written_above_256_mib_is_read() {
    let value = vec![7; 300 << 20];
    let bytes = table_of(&value, Codec::Lz4);
    let table = Table::from_bytes(bytes).unwrap();
    assert!(*table.get(b"k").unwrap().unwrap() == value[..]);
}

#[test]
fn the_limit_is_named_and_can_be_raised() {
    let value = vec![7; 2 << 20];
    for codec in [Codec::Lz4, Codec::Zstd, Codec::Zlib, Codec::Bzip2] {
        let bytes = table_of(&value, codec);
        let error = open(&bytes, 1 << 20).get(b"k").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{codec}");
        let text = error.to_string();
        assert!(text.contains("max_block_size") && text.contains("1048576"), "{codec}: {text}");
        assert!(open(&bytes, 1 << 20).iter().next().unwrap().is_err());
        assert!(*open(&bytes, 3 << 20).get(b"k").unwrap().unwrap() == value[..], "{codec}");
        assert_eq!(open(&bytes, 3 << 20).max_block_size(), 3 << 20);
    }
    assert_eq!(Table::from_bytes(table_of(b"v", Codec::None)).unwrap().max_block_size(), {
        DEFAULT_MAX_BLOCK_SIZE
    });
}

/// Memory in proportion to the file is always justified.
#[test]
fn a_block_that_compresses_as_blocks_do_has_no_limit() {
    let value = text(2 << 20);
    for codec in [Codec::None, Codec::Snappy, Codec::Lz4, Codec::Zstd, Codec::Zlib, Codec::Bzip2] {
        let bytes = table_of(&value, codec);
        assert!(*open(&bytes, 1 << 10).get(b"k").unwrap().unwrap() == value[..], "{codec}");
    }
}
