//! Large blocks, and the limits on them.

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
    Table::from_source(bytes.clone(), &options).unwrap()
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

/// Large blocks are counted in the whole process: one test at a time.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn what_is_written_above_256_mib_is_read() {
    let _alone = ALONE.lock();
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

/// A few bytes of a file, again and again: each block is within its limit, all of them are not.
#[test]
fn large_blocks_have_a_limit_together() {
    const LIMIT: usize = 70 << 20;
    let _alone = ALONE.lock();
    let bytes = table_of(&vec![7; 66 << 20], Codec::Zstd);
    let mut values = Vec::new();
    for _ in 0..2 {
        values.push(open(&bytes, LIMIT).get(b"k").unwrap().unwrap());
    }
    let error = open(&bytes, LIMIT).get(b"k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("max_block_size"), "{error}");
    assert!(open(&bytes, 2 * LIMIT).get(b"k").is_ok());
    values.pop();
    assert!(open(&bytes, LIMIT).get(b"k").is_ok());
}

/// A scan does not hold two of them: three blocks pass where there is room for one and a half.
#[test]
fn a_scan_gives_a_large_block_back_before_the_next() {
    const LIMIT: usize = 70 << 20;
    let _alone = ALONE.lock();
    let value = vec![7; 66 << 20];
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb().compression(Codec::Zstd);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for key in [b"a", b"b", b"c"] {
        writer.put(key, &value).unwrap();
    }
    writer.finish().unwrap();
    let table = open(&bytes.into(), LIMIT);
    // Of the two that there may be, this is one.
    let held = table.get(b"a").unwrap().unwrap();
    let mut entries = table.entry_cursor();
    let mut count = 0;
    let mut more = entries.seek_to_first().unwrap();
    while more {
        count += 1;
        more = entries.next().unwrap();
    }
    assert_eq!((count, held.len()), (3, value.len()));
    more = entries.seek_to_last().unwrap();
    while more {
        count -= 1;
        more = entries.prev().unwrap();
    }
    assert_eq!(count, 0);
}
