//! One magic number, four meanings of the codec bytes 2 and 4: tables made here, because no engine
//! at hand writes all of them.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use sstkit_coding::checksum::ChecksumType;
use sstkit_coding::fixed::put_fixed32;
use sstkit_table::raw::{BlockHandle, Engine, TableView};

/// Something to compress.
fn value() -> Vec<u8> {
    b"all work and no play makes jack a dull boy ".repeat(20)
}

fn block(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let (mut block, mut restarts) = (Vec::new(), Vec::new());
    for (key, value) in entries {
        put_fixed32(&mut restarts, block.len() as u32);
        block.extend_from_slice(&[0, key.len() as u8]);
        sstkit_coding::varint::put_varint32(&mut block, value.len() as u32);
        block.extend_from_slice(key);
        block.extend_from_slice(value);
    }
    let count = (restarts.len() / 4) as u32;
    block.extend_from_slice(&restarts);
    put_fixed32(&mut block, count);
    block
}

/// A table under LevelDB's magic number, every block in the same encoding but those that are
/// never compressed.
struct Maker {
    codec: u8,
    compress: fn(&[u8]) -> Vec<u8>,
    /// Whether to write a properties block, as RocksDB does.
    properties: bool,
}

impl Maker {
    fn make(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let data = self.store(&mut file, &block(&[(b"key", &value())]));
        let metaindex = if self.properties {
            let contents = block(&[(b"rocksdb.comparator", b"leveldb.BytewiseComparator")]);
            let properties = store(&mut file, 0, &contents);
            // RocksDB does not compress its metaindex.
            store(&mut file, 0, &block(&[(b"rocksdb.properties", &encoded(properties))]))
        } else {
            // LevelDB does.
            self.store(&mut file, &block(&[(b"filter.mine", &encoded(data))]))
        };
        let index = self.store(&mut file, &block(&[(b"kez", &encoded(data))]));
        let mut footer = encoded(metaindex);
        footer.extend_from_slice(&encoded(index));
        footer.resize(40, 0);
        file.extend_from_slice(&footer);
        file.extend_from_slice(&0xdb47_7524_8b80_fb57u64.to_le_bytes());
        file
    }

    fn store(&self, file: &mut Vec<u8>, contents: &[u8]) -> BlockHandle {
        store(file, self.codec, &(self.compress)(contents))
    }
}

fn store(file: &mut Vec<u8>, codec: u8, stored: &[u8]) -> BlockHandle {
    let handle = BlockHandle::new(file.len() as u64, stored.len() as u64);
    file.extend_from_slice(stored);
    file.push(codec);
    put_fixed32(file, ChecksumType::Crc32c.compute(stored, codec));
    handle
}

fn encoded(handle: BlockHandle) -> Vec<u8> {
    let mut out = Vec::new();
    handle.encode_to(&mut out);
    out
}

fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 3).unwrap()
}

fn zlib_stream(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4_after_size_t(bytes: &[u8]) -> Vec<u8> {
    let mut out = (bytes.len() as u64).to_le_bytes().to_vec();
    out.extend_from_slice(&lz4_flex::block::compress(bytes));
    out
}

#[test]
fn each_dialect_is_distinguished_from_the_others() {
    for (what, engine, maker) in [
        (
            "zstd of LevelDB",
            Engine::LevelDb,
            Maker { codec: 2, compress: zstd_frame, properties: false },
        ),
        (
            "zlib of Mojang",
            Engine::LevelDb,
            Maker { codec: 2, compress: zlib_stream, properties: false },
        ),
        (
            "raw deflate of Mojang",
            Engine::LevelDb,
            Maker { codec: 4, compress: raw_deflate, properties: false },
        ),
        (
            "zlib of RocksDB",
            Engine::RocksDb,
            Maker { codec: 2, compress: raw_deflate, properties: true },
        ),
        (
            "LZ4 of RocksDB",
            Engine::RocksDb,
            Maker { codec: 4, compress: lz4_after_size_t, properties: true },
        ),
    ] {
        let file = maker.make();
        let table = TableView::open(&file).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(table.engine(), engine, "{what}");
        let mut entries = table.entries().unwrap();
        assert!(entries.advance().unwrap_or_else(|error| panic!("{what}: {error}")));
        assert_eq!((entries.key(), entries.value()), (&b"key"[..], &value()[..]), "{what}");
        assert!(!entries.advance().unwrap());
    }
}
