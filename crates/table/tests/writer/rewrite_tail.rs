//! Rewriting the tail: data blocks keep every byte, and the rest is as a new table would have it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use sstkit_coding::checksum::ChecksumType;
use sstkit_table::raw::{
    BlockHandle, BlockKind, Codec, Engine, FormatVersion, IndexKind, ReadOptions, TableView,
};
use sstkit_table::{ErrorKind, Source, TableOptions, TableWriter, rewrite_tail, rewrite_tail_to};
use sstkit_testkit::goldens::golden_tables;

use crate::rebuild::{blocks, for_every_table};

fn rewritten(table: &TableView<'_>, options: &TableOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    rewrite_tail_to(table, &mut bytes, options).unwrap();
    bytes
}

/// Options for a table that says only its order.
fn ordered_like(table: &TableView<'_>) -> TableOptions {
    let name = std::str::from_utf8(table.properties().comparator().unwrap()).unwrap();
    TableOptions::rocksdb().comparator(name.parse().unwrap())
}

fn data_blocks(table: &TableView<'_>) -> Vec<(BlockHandle, Vec<u8>)> {
    let blocks = table.blocks().unwrap().into_iter();
    blocks
        .filter(|(kind, _)| *kind == BlockKind::Data)
        .map(|(kind, handle)| (handle, table.stored_block(kind, handle).unwrap()))
        .map(|(handle, block)| (handle, [&block.contents[..], &[block.trailer.codec]].concat()))
        .collect()
}

fn entries(table: &TableView<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut all, mut entries) = (Vec::new(), table.entries().unwrap());
    while entries.advance().unwrap() {
        all.push((entries.key().to_vec(), entries.value().to_vec()));
    }
    all
}

/// With its own settings a table stays the same.
#[test]
fn the_same_settings_give_the_same_file() {
    for_every_table(false, |table, options| match table.engine() {
        Engine::LevelDb => Ok(()),
        Engine::RocksDb => blocks::same_file(table.file(), &rewritten(table, options)),
    });
}

/// Filter, index, version and checksum change; data blocks, entries and offsets do not.
#[test]
fn data_blocks_stay_whatever_the_tail() {
    let policy: sstkit_filter::FilterPolicy = "ribbonfilter:8".parse().unwrap();
    for golden in golden_tables() {
        let table = TableView::open(&golden.bytes).unwrap();
        if table.engine() == Engine::LevelDb {
            continue;
        }
        let base = ordered_like(&table);
        for options in [
            base.clone(),
            base.clone().filter(policy.clone()),
            base.clone()
                .index_kind(IndexKind::TwoLevel)
                .metadata_block_size(200)
                .partition_filters(true)
                .filter(policy.clone()),
            base.clone()
                .format_version(FormatVersion::V7)
                .checksum(ChecksumType::XxHash64)
                .base_context_checksum(4711),
            base.clone().format_version(FormatVersion::V4).checksum(ChecksumType::Crc32c),
        ] {
            let mut again = Vec::new();
            if let Err(error) = rewrite_tail_to(&table, &mut again, &options) {
                if table.properties().embedded_blobs().is_some() {
                    // Known from version 7 on only.
                    assert!(error.to_string().contains("format_version"), "{error}");
                } else {
                    // Some codecs were encoded differently before version 2.
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                    assert!(table.footer().version < FormatVersion::V2);
                }
                continue;
            }
            let again = TableView::open(&again).unwrap();
            let name = golden.path.display();
            assert!(data_blocks(&table) == data_blocks(&again), "{name}: data blocks");
            assert!(entries(&table) == entries(&again), "{name}: entries");
            for (kind, handle) in again.blocks().unwrap() {
                again.block(kind, handle).unwrap();
            }
            let (found, expected) = (again.properties(), table.properties());
            assert_eq!(found.num_entries(), expected.num_entries(), "{name}");
            assert_eq!(found.raw_key_size(), expected.raw_key_size(), "{name}");
            assert_eq!(found.raw_value_size(), expected.raw_value_size(), "{name}");
        }
    }
}

#[test]
fn embedded_blobs_get_new_checksums_and_stay_readable() {
    let mut seen = false;
    for golden in golden_tables() {
        let table = TableView::open(&golden.bytes).unwrap();
        if table.properties().embedded_blobs().is_none() {
            continue;
        }
        seen = true;
        let options = ordered_like(&table).base_context_checksum(99);
        let again = rewritten(&table, &options);
        let again = TableView::open(&again).unwrap();
        let mut entries = again.entries().unwrap();
        while entries.advance().unwrap() {
            if let Ok(blob) = sstkit_table::raw::BlobIndex::decode_from(entries.value())
                && entries.internal_key().unwrap().kind == sstkit_table::raw::EntryKind::BlobIndex
            {
                let value = again.embedded_blob(&blob).unwrap();
                assert_eq!(value, table.embedded_blob(&blob).unwrap());
            }
        }
    }
    assert!(seen, "no table with embedded blobs");
}

#[test]
fn tables_whose_tail_cannot_be_rewritten_are_refused() {
    for golden in golden_tables() {
        let table = TableView::open(&golden.bytes).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.sst");
        let (options, kind) = match table.engine() {
            Engine::LevelDb => (TableOptions::rocksdb(), ErrorKind::Unsupported),
            Engine::RocksDb => {
                let other: sstkit_table::Comparator = match table.properties().comparator() {
                    Some(b"leveldb.BytewiseComparator") => "rocksdb.ReverseBytewiseComparator",
                    _ => "leveldb.BytewiseComparator",
                }
                .parse()
                .unwrap();
                (TableOptions::rocksdb().comparator(other), ErrorKind::InvalidInput)
            }
        };
        assert_eq!(rewrite_tail(&table, &path, &options).unwrap_err().kind(), kind);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// Remembers the longest read.
struct Watched {
    bytes: Bytes,
    longest: Arc<AtomicUsize>,
}

impl Source for Watched {
    fn size(&self) -> std::io::Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<Bytes> {
        self.longest.fetch_max(length, Ordering::Relaxed);
        self.bytes.read_at(offset, length)
    }
}

/// From any source, a block at a time.
#[test]
fn the_file_need_not_be_in_memory() {
    for blobs in [None, Some(100_000)] {
        let mut options = TableOptions::rocksdb().compression(Codec::None);
        if let Some(least) = blobs {
            options = options.embedded_blobs(least);
        }
        let mut bytes = Vec::new();
        let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
        for i in 0..40_u8 {
            writer.put(format!("key{i:03}").as_bytes(), &vec![i; 150_000]).unwrap();
        }
        writer.finish().unwrap();
        for options in [options.clone(), options.checksum(ChecksumType::Crc32c)] {
            let expected = rewritten(&TableView::open(&bytes).unwrap(), &options);
            let longest = Arc::new(AtomicUsize::new(0));
            let source = Watched { bytes: bytes.clone().into(), longest: Arc::clone(&longest) };
            let table = TableView::from_source(source, &ReadOptions::default()).unwrap();
            assert!(rewritten(&table, &options) == expected);
            let longest = longest.load(Ordering::Relaxed);
            assert!(longest < 400_000, "{longest} of {} bytes at once", bytes.len());
        }
    }
}
