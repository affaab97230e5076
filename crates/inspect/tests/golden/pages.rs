//! Info, layout and verification of every table: their numbers must agree with each other.

use std::fs;

use sstkit_inspect::{
    BlockContents, BlockEntry, COUNTED_SIZE, Encoding, InspectedTable, LayoutDescription,
    PropertyValue, TableInfo, VerifyReport, blocks,
};
use sstkit_table::raw::{BlockKind, Codec};
use sstkit_table::{LayoutBlock, TableOptions, TableReadOptions, TableWriter};

use crate::files::{listed, open, tables, tables_folder};

#[test]
fn info_adds_up() {
    for path in tables() {
        let file = open(&path);
        let name = path.display().to_string();
        let info = TableInfo::of(&name, &file, Encoding::Hex).unwrap();
        assert_eq!(info.size, fs::metadata(&path).unwrap().len(), "{name}");
        assert_eq!(info.sizes.total(), info.size, "{name}");
        let listed = listed(&path);
        assert!(info.full, "{name}");
        let entries = info.entries.unwrap();
        let by_kind = info.entries_by_kind.as_ref().unwrap();
        assert_eq!(entries, listed.len() as u64, "{name}");
        assert_eq!(by_kind.values().sum::<u64>(), entries, "{name}");
        for (kind, &count) in by_kind {
            let of_kind = listed.iter().filter(|it| it["type"].as_str().unwrap_or("put") == *kind);
            assert_eq!(of_kind.count() as u64, count, "{name}: {kind}");
        }
        if info.kind == "rocksdb-table" {
            let entries = PropertyValue::Number(entries);
            assert_eq!(info.properties["rocksdb.num.entries"], entries, "{name}");
        } else {
            assert!(info.properties.is_empty(), "{name}");
        }
        let mut points = listed.iter().filter(|it| it["type"] != "range_delete");
        let first = points.next().map(|it| it["key"].as_str().unwrap());
        assert_eq!(info.smallest_key.as_deref(), first, "{name}");
        let codecs = info.codecs.as_ref().unwrap();
        let blocks: u64 = codecs.iter().map(|share| share.blocks).sum();
        let data: u64 = codecs.iter().map(|share| share.bytes + 5 * share.blocks).sum();
        assert_eq!(data, info.sizes.data, "{name}");
        let layout = file.table().layout().unwrap();
        let is_data = |block: &&LayoutBlock| block.kind == BlockKind::Data;
        assert_eq!(blocks, layout.blocks.iter().filter(is_data).count() as u64, "{name}");
        assert!(info.problems.is_empty(), "{name}");
        assert_eq!(info.filter.is_some(), file.table().filter().is_some(), "{name}");
    }
}

/// The tail agrees with the whole file, in all fields that it has.
#[test]
fn the_tail_agrees_with_the_whole_file() {
    for path in tables() {
        let file = open(&path);
        let name = path.display().to_string();
        let full = TableInfo::full(&name, &file, Encoding::Hex).unwrap();
        let tail = TableInfo::of_tail(&name, &file, Encoding::Hex).unwrap();
        assert!(full.full && !tail.full, "{name}");
        assert_eq!(tail.sizes, full.sizes, "{name}");
        assert_eq!(tail.smallest_key, full.smallest_key, "{name}");
        assert_eq!(tail.largest_key, full.largest_key, "{name}");
        assert_eq!(tail.filter, full.filter, "{name}");
        assert_eq!(tail.entries, full.entries.filter(|_| full.kind == "rocksdb-table"), "{name}");
        assert_eq!((&tail.entries_by_kind, &tail.codecs), (&None, &None), "{name}");
        if tail.smallest_seq.is_some() {
            let sequences = (full.smallest_seq, full.largest_seq);
            assert_eq!((tail.smallest_seq, tail.largest_seq), sequences, "{name}");
        }
    }
}

/// What is in the middle of a large table is not looked at unless everything is wanted.
#[test]
fn info_of_a_large_table_reads_its_tail_only() {
    for options in [TableOptions::rocksdb(), TableOptions::leveldb()] {
        let options = options.compression(Codec::None);
        let mut bytes = Vec::new();
        let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
        let value = [b'x'; 1000];
        for number in 0..5000 {
            writer.put(format!("{number:05}").as_bytes(), &value).unwrap();
        }
        writer.finish().unwrap();
        assert!(bytes.len() as u64 > COUNTED_SIZE);
        bytes[2 << 20] ^= 1;
        let file = InspectedTable::from_bytes(bytes, &TableReadOptions::default()).unwrap();
        let info = TableInfo::of("large", &file, Encoding::Escape).unwrap();
        assert!(!info.full && info.problems.is_empty(), "{:?}", info.problems);
        // LevelDB's tables do not say how many entries they have.
        let counted = Some(5000).filter(|_| info.kind == "rocksdb-table");
        assert_eq!((info.entries, info.entries_by_kind), (counted, None));
        assert_eq!(info.smallest_key.as_deref(), Some("00000"));
        assert_eq!(info.largest_key.as_deref(), Some("04999"));
        let full = TableInfo::full("large", &file, Encoding::Escape).unwrap();
        assert!(full.full && full.problems.len() == 1, "{:?}", full.problems);
        assert_eq!(full.sizes, info.sizes);
    }
}

#[test]
fn which_versions_read_a_table() {
    let readers = |name: &str| {
        let file = open(&tables_folder().join(name));
        TableInfo::of(name, &file, Encoding::Escape).unwrap().readable_by
    };
    let seven = readers("fv7-bloom10.sst");
    assert_eq!(seven.text, "RocksDB 10.4 and later");
    assert_eq!(seven.because.as_deref(), Some("format version 7"));
    assert_eq!(seven.filter_used_by.unwrap().from, "6.6");
    // Format version 6, with entities among its entries.
    assert_eq!(readers("types-all.sst").text, "RocksDB 8.6 and later");
    let leveldb = readers("leveldb-table-bloom10-c1.ldb");
    assert_eq!((leveldb.text.as_str(), leveldb.leveldb), ("LevelDB, RocksDB before 11.0", true));
}

#[test]
fn what_info_says_of_one_table() {
    let file = open(&tables_folder().join("types-all.sst"));
    let info = TableInfo::of("types-all.sst", &file, Encoding::Escape).unwrap();
    let json = serde_json::to_value(&info).unwrap();
    assert_eq!(json["kind"], "rocksdb-table");
    assert_eq!(json["format_version"], 6);
    assert_eq!(json["checksum"], "xxh3");
    assert_eq!(json["entries"], 503);
    assert_eq!(json["entries_by_kind"]["range_delete"], 3);
    assert_eq!(json["properties"]["rocksdb.comparator"], "leveldb.BytewiseComparator");
    assert_eq!(json["filter"]["kind"], "fast_local_bloom");
    assert_eq!(json["unique_id"], "672AC72E8EA2FD66-FED455B0B7FD1818");
    assert_eq!(json["smallest_key"], "key00001694");
}

/// Blocks follow each other, with nothing but padding between them, and count their entries.
#[test]
fn layouts_cover_the_file() {
    for path in tables() {
        let file = open(&path);
        let layout = LayoutDescription::of("table", &file).unwrap();
        let mut end = 0;
        for block in &layout.blocks {
            assert!(block.offset >= end, "{}: {block:?}", path.display());
            assert_eq!(block.problem, None, "{}", path.display());
            let trailer = if block.kind == "footer" { 0 } else { 5 };
            end = block.offset + block.length + trailer;
        }
        assert_eq!(end, layout.size, "{}", path.display());
        let entries = |kind: &str| -> u64 {
            let of_kind = layout.blocks.iter().filter(|block| block.kind == kind);
            of_kind.filter_map(|block| block.entries).sum()
        };
        assert_eq!(entries("data") + entries("range_deletion"), listed(&path).len() as u64);
        let data_blocks = layout.blocks.iter().filter(|block| block.kind == "data").count() as u64;
        let partitions = entries("index_partition");
        let leaves = if partitions > 0 { partitions } else { entries("index") };
        assert_eq!(leaves, data_blocks, "{}", path.display());
    }
}

#[test]
fn contents_are_those_of_the_blocks() {
    for path in tables() {
        let file = open(&path);
        let mut points = file.table().entries();
        for block in blocks(&file, Some(Encoding::Hex)).unwrap() {
            let Some(contents) = &block.contents else { continue };
            let entries = entries_of(contents);
            assert_eq!(entries.len() as u64, block.entries.unwrap());
            check_restarts(contents, &entries);
            if block.kind == "data" {
                for entry in &entries {
                    let point = points.next().unwrap().unwrap();
                    assert_eq!(entry.key, Encoding::Hex.encode(&point.user_key));
                    assert_eq!(entry.value, Some(Encoding::Hex.encode(&point.value)));
                    let is_internal = file.table().has_internal_keys();
                    assert_eq!(entry.seq, is_internal.then_some(point.sequence));
                }
            }
        }
        assert!(points.next().is_none());
    }
}

fn entries_of(contents: &BlockContents) -> Vec<BlockEntry> {
    let mut entries = Vec::new();
    let kept = contents.for_each(|entry| {
        entries.push(entry);
        Ok::<_, ()>(())
    });
    kept.unwrap();
    entries
}

/// Each restart point is that of one entry.
fn check_restarts(contents: &BlockContents, entries: &[BlockEntry]) {
    let at_restart: Vec<u64> =
        entries.iter().filter(|entry| entry.restart.is_some()).map(|entry| entry.offset).collect();
    if !entries.is_empty() {
        assert_eq!(at_restart, contents.restart_points().collect::<Vec<_>>());
    }
}

#[test]
fn all_tables_are_sound() {
    for path in tables() {
        let report = VerifyReport::of_table("table", &open(&path));
        assert!(report.sound, "{}: {:?}", path.display(), report.problems);
        assert_eq!(report.entries, listed(&path).len() as u64);
    }
}

#[test]
fn damage_is_described_and_the_rest_is_read() {
    let mut bytes = fs::read(tables_folder().join("fv7-bloom10.sst")).unwrap();
    bytes[5] ^= 1;
    let file = InspectedTable::from_bytes(bytes, &TableReadOptions::default()).unwrap();

    let report = VerifyReport::of_table("fv7-bloom10.sst", &file);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["sound"], false);
    assert_eq!(json["problems"][0]["block"], "data");
    assert_eq!(json["problems"][0]["offset"], 0);

    let info = TableInfo::of("fv7-bloom10.sst", &file, Encoding::Escape).unwrap();
    assert_eq!(info.problems.len(), 1);
    let entries = info.entries.unwrap();
    assert_eq!(PropertyValue::Number(entries), info.properties["rocksdb.num.entries"]);
    assert!(info.entries_by_kind.unwrap()["put"] < entries);

    let layout = LayoutDescription::of("fv7-bloom10.sst", &file).unwrap();
    let damaged: Vec<u64> = layout
        .blocks
        .iter()
        .filter(|block| block.problem.is_some())
        .map(|block| block.offset)
        .collect();
    assert_eq!(damaged, [0]);
}

#[test]
fn what_cannot_be_opened_has_a_report() {
    let error =
        InspectedTable::from_bytes(&b"no table"[..], &TableReadOptions::default()).err().unwrap();
    let report = VerifyReport::of_error("x.sst", "table", &error);
    assert!(!report.sound);
    assert_eq!(report.problem_count, 1);
}
