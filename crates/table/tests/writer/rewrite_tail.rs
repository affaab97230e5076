//! Data blocks carried over: not a byte of them changes, and the rest is as if written anew.

use sstkit_coding::checksum::ChecksumType;
use sstkit_table::raw::{BlockHandle, BlockKind, Engine, FormatVersion, IndexKind, TableView};
use sstkit_table::{ErrorKind, TableOptions, rewrite_tail, rewrite_tail_to};
use sstkit_testkit::goldens::golden_tables;

use crate::rebuild::{blocks, for_every_table};

fn carried(table: &TableView<'_>, options: &TableOptions) -> Vec<u8> {
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
        .map(|(handle, block)| (handle, [block.contents, &[block.trailer.codec]].concat()))
        .collect()
}

fn entries(table: &TableView<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut all, mut entries) = (Vec::new(), table.entries().unwrap());
    while entries.advance().unwrap() {
        all.push((entries.key().to_vec(), entries.value().to_vec()));
    }
    all
}

/// With its own settings a table comes out as it went in.
#[test]
fn the_same_settings_give_the_same_file() {
    for_every_table(false, |table, options| match table.engine() {
        Engine::LevelDb => Ok(()),
        Engine::RocksDb => blocks::same_file(table.file(), &carried(table, options)),
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
                    // Some codecs were encoded otherwise before version 2.
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
        let again = carried(&table, &options);
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
fn what_cannot_be_carried_over_is_refused() {
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
