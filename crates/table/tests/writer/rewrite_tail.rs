//! Rewriting the tail: data blocks keep every byte, and the rest is as a new table would have it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use sstkit_coding::checksum::ChecksumType;
use sstkit_table::output::OutputFile;
use sstkit_table::raw::{
    BlockHandle, BlockKind, Codec, DecodeOptions, Engine, FormatVersion, IndexKind, TableView,
    Trailer, property_names as names,
};
use sstkit_table::{
    ErrorKind, Identity, Source, Table, TableOptions, TableWriter, rewrite_tail, rewrite_tail_to,
    rewrite_tail_to_output_file,
};
use sstkit_testkit::goldens::golden_tables;

use crate::rebuild::{Solved, blocks, for_every_table, solved_tables};

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
    for_every_table(false, |table, options| {
        blocks::same_file(table.file(), &rewritten(table, options))
    });
}

/// Of a table with another filter, or none, the engine's own table can be made.
#[test]
fn a_table_gets_the_filter_that_its_engine_has_built() {
    for_every_table(false, |table, options| {
        let others = match table.engine() {
            Engine::LevelDb => ["none", "leveldb.BuiltinBloomFilter2:3"],
            Engine::RocksDb => ["none", "rocksdb.internal.LegacyBloomFilter:5"],
        };
        for other in others {
            let changed = options.clone().filter(other.parse().unwrap());
            let changed = rewritten(table, &changed);
            let changed = TableView::open(&changed).unwrap();
            blocks::same_file(table.file(), &rewritten(&changed, options))?;
        }
        Ok(())
    });
}

/// Where tables have the same keys and other filters, each gets the filter of the other.
#[test]
fn tables_with_the_same_keys_get_the_same_filter() {
    let keys = |table: &TableView<'_>| -> Vec<Vec<u8>> {
        entries(table).into_iter().map(|(key, _)| key).collect()
    };
    let filters = |table: &TableView<'_>| blocks::contents(table, &[BlockKind::FilterPartition]);
    let mut tried = 0;
    for Solved { golden: target, options } in solved_tables() {
        let expected = TableView::open(&target.bytes).unwrap();
        // Coupled partitions depend on the data blocks, too.
        let is_decoupled =
            expected.properties().number(names::DECOUPLED_PARTITIONED_FILTERS) == Some(1);
        let Ok(options) = options else { continue };
        if !is_decoupled || filters(&expected).is_empty() {
            continue;
        }
        for golden in golden_tables() {
            let table = TableView::open(&golden.bytes).unwrap();
            let is_other = golden.path != target.path && table.engine() == Engine::RocksDb;
            if !is_other || keys(&table) != keys(&expected) {
                continue;
            }
            tried += 1;
            let again = rewritten(&table, options);
            let again = TableView::open(&again).unwrap();
            let (from, to) = (golden.path.display(), target.path.display());
            assert!(filters(&table) != filters(&expected), "{from} to {to}: nothing to change");
            assert!(filters(&again) == filters(&expected), "{from} to {to}");
        }
    }
    assert!(tried > 0, "no tables with the same keys");
}

/// The options that a table tells of itself keep its index, whatever the filter.
#[test]
fn the_index_stays_with_the_options_of_the_table() {
    let index = |table: &TableView<'_>| {
        let kinds: &[BlockKind] = match table.index_format().kind {
            // The top level has the offsets of the partitions.
            IndexKind::TwoLevel => &[BlockKind::IndexPartition],
            _ => &[BlockKind::Index, BlockKind::HashIndex],
        };
        let mut keys = Vec::new();
        let mut index = table.index().unwrap();
        while index.advance().unwrap() {
            keys.push((
                index.key().to_vec(),
                index.handle(),
                index.first_key().map(<[u8]>::to_vec),
            ));
        }
        (keys, blocks::contents(table, kinds))
    };
    for golden in golden_tables() {
        let table = Table::from_bytes(golden.bytes.clone()).unwrap();
        if table.view().engine() == Engine::LevelDb {
            continue;
        }
        let is_partitioned = table.view().index_format().kind == IndexKind::TwoLevel;
        let options = TableOptions::like(&table).unwrap();
        if let Err(error) = rewrite_tail_to(table.view(), std::io::sink(), &options) {
            // Some codecs were encoded differently before version 2.
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(table.view().footer().version < FormatVersion::V2);
            continue;
        }
        for policy in ["none", "bloomfilter:7", "ribbonfilter:12"] {
            let again = rewritten(table.view(), &options.clone().filter(policy.parse().unwrap()));
            let again = TableView::open(&again).unwrap();
            let name = golden.path.display();
            let ((keys, blocks), (new_keys, new_blocks)) = (index(table.view()), index(&again));
            assert!(keys == new_keys, "{name}: keys of the index with {policy}");
            // Of the size of a partition only an estimate is known.
            let is_same_version = again.footer().version == table.view().footer().version;
            if !is_partitioned && is_same_version {
                assert!(blocks == new_blocks, "{name}: the index with {policy}");
            }
            assert_eq!(again.footer().checksum, table.view().footer().checksum, "{name}");
        }
    }
}

/// From a file to a file the system copies; the bytes are the same as from memory.
#[test]
fn the_system_copies_the_data_area_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let base = TableOptions::rocksdb().compression(Codec::None);
    for (name, options) in [
        ("plain", base.clone()),
        ("blobs", base.clone().embedded_blobs(50_000)),
        ("aligned", base.clone().block_align(true)),
        ("leveldb", TableOptions::leveldb().compression(Codec::None)),
    ] {
        let mut writer = TableWriter::create(path(name), &options).unwrap();
        for i in 0..400_u32 {
            let value = vec![i as u8; if i % 7 == 0 { 60_000 } else { 3000 + i as usize }];
            writer.put(format!("key{i:05}").as_bytes(), &value).unwrap();
        }
        writer.finish().unwrap();
        let table = Table::open(path(name)).unwrap();
        let policy = match options.engine() {
            Engine::LevelDb => "leveldb.BuiltinBloomFilter2:10",
            Engine::RocksDb => "bloomfilter:10",
        };
        let options = TableOptions::like(&table).unwrap().filter(policy.parse().unwrap());
        let options = match options.engine() {
            Engine::LevelDb => options,
            Engine::RocksDb => options.identity(Identity::default()),
        };
        let bytes = std::fs::read(path(name)).unwrap();
        let expected = rewritten(&TableView::open(&bytes).unwrap(), &options);
        assert!(expected.len() > 3 << 20, "more than a step");

        let new = path(&format!("{name}-new"));
        rewrite_tail(table.view(), &new, &options).unwrap();
        assert!(std::fs::read(&new).unwrap() == expected, "{name}");

        let file = OutputFile::create_checksummed_in(folder.path(), name).unwrap();
        let mut done = 0;
        let mut progress = |bytes| {
            done += bytes;
            Ok(())
        };
        let (summary, file) =
            rewrite_tail_to_output_file(table.view(), file, &options, &mut progress).unwrap();
        assert!(std::fs::read(file.path()).unwrap() == expected, "{name}, with a checksum");
        assert_eq!(file.crc32c(), Some(crc32c::crc32c(&expected)), "{name}");
        assert_eq!(summary.file_size, expected.len() as u64);
        let last = *blocks::data_handles(table.view()).last().unwrap();
        assert_eq!(done, last.end().unwrap(), "{name}: progress");

        // An error of the caller's ends the work, and nothing is left.
        let file = OutputFile::create_in(folder.path(), name).unwrap();
        let mut cancel = |_| Err(std::io::Error::from(std::io::ErrorKind::Interrupted).into());
        let cancelled = rewrite_tail_to_output_file(table.view(), file, &options, &mut cancel);
        assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Io);
        std::fs::remove_file(new).unwrap();
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn damage_of_the_source_is_named_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.sst");
    let mut writer = TableWriter::create(&path, &TableOptions::rocksdb()).unwrap();
    for i in 0..2000 {
        writer.put(format!("key{i:05}").as_bytes(), &[b'v'; 100]).unwrap();
    }
    writer.finish().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let table = Table::open(&path).unwrap();
    let options = TableOptions::like(&table).unwrap();
    let target = folder.path().join("new.sst");
    let error = rewrite_tail(table.view(), &target, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.file(), Some(path.as_path()), "{error}");
    assert_eq!(error.block(), Some(BlockKind::Data));
    assert!(!target.exists());
}

/// Filter, index, version and checksum change; data blocks, entries and offsets do not.
#[test]
fn data_blocks_stay_the_same_with_any_tail() {
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
            let table = TableView::from_source(source, &DecodeOptions::default()).unwrap();
            assert!(rewritten(&table, &options) == expected);
            let longest = longest.load(Ordering::Relaxed);
            assert!(longest < 400_000, "{longest} of {} bytes at once", bytes.len());
        }
    }
}

/// Blocks that only a plug-in understands stay.
#[test]
fn unknown_meta_blocks_are_taken_over() {
    let names: [&[u8]; 2] = [b"rocksdb.user_defined_index.example", b"example.block"];
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb().format_version(FormatVersion::V5);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    writer.put(b"key", b"value").unwrap();
    writer.finish().unwrap();

    // Behind the table: two more blocks, another metaindex, another footer.
    let table = TableView::open(&bytes).unwrap();
    let (mut metaindex, mut footer) = (table.metaindex().clone(), table.footer().clone());
    let decoder = table.decoder().clone();
    let mut longer = bytes.clone();
    let mut append = |contents: &[u8]| {
        let handle = BlockHandle::new(longer.len() as u64, contents.len() as u64);
        let checksum = decoder.checksum(contents, 0, handle.offset);
        longer.extend_from_slice(contents);
        longer.extend_from_slice(&Trailer { codec: 0, checksum }.encode());
        handle
    };
    for name in names {
        metaindex.insert(name, append(&[b"contents of ", name].concat()));
    }
    footer.metaindex = append(&metaindex.encode(1).unwrap());
    footer.offset = longer.len() as u64;
    footer.encode_to(&mut longer).unwrap();

    let options = options.filter("bloomfilter:10".parse().unwrap());
    let again = rewritten(&TableView::open(&longer).unwrap(), &options);
    let again = TableView::open(&again).unwrap();
    for name in names {
        let contents = again.meta_block(name).unwrap().unwrap();
        assert_eq!(contents, [b"contents of ", name].concat());
    }
    assert_eq!(again.metaindex().filters().count(), 1);
}
