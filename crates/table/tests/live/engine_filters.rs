//! Tables that the engines write on the spot: entries read back, filters rebuilt to the last byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use sstkit_filter::{
    BlockBloom, BuildContext, Filter, FilterBlockBuilder, FilterPolicy, GLIBC_MMAP_THRESHOLD,
    KeyFiltering, MemorySizing, UsableSize,
};
use sstkit_table::raw::{BlockKind, InternalKey, TableView};
use sstkit_testkit::engines::{call, entries};
use sstkit_testkit::random::{Random, seeds};

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// The user keys and values of a table, each with the offset of its data block.
fn read(table: &TableView<'_>) -> (Vec<u64>, Entries) {
    let mut cursor = table.entries().unwrap();
    let (mut offsets, mut found) = (Vec::new(), Entries::new());
    while cursor.advance().unwrap() {
        let key = InternalKey::decode_from(cursor.key()).unwrap();
        found.insert(key.user_key.to_vec(), cursor.value().to_vec());
        offsets.push(cursor.block().unwrap().offset);
    }
    (offsets, found)
}

/// The only filter of a table.
fn filter_block(table: &TableView<'_>) -> (u64, Vec<u8>) {
    let (_, _, handle) = table.metaindex().filters().next().expect("the table has a filter");
    (handle.offset, table.block(BlockKind::Filter, handle).unwrap().to_vec())
}

#[test]
fn rocksdb_tables() {
    for seed in seeds(24) {
        let mut random = Random::new(seed);
        let count = 1 + random.below(3000);
        let written = random.entries(count);
        let bits = *random.pick(&[1.0, 4.5, 6.5, 9.9, 10.0, 15.3, 24.0, 60.0]);
        let format_version = *random.pick(&[2, 3, 4, 5, 6]);
        let fixed_prefix = *random.pick(&[None, Some(4), Some(8)]);
        let mut settings = json!({
            "bits_per_key": bits,
            "format_version": format_version,
            "block_size": random.pick(&[256, 4096, 65536]),
            "compression": random.pick(&["none", "snappy", "lz4", "zstd"]),
            "checksum": random.pick(&["crc32c", "xxhash", "xxhash64", "xxh3"]),
        });
        if let Some(length) = fixed_prefix {
            settings["fixed_prefix"] = json!(length);
        }
        let what = format!("SSTKIT_SEED={seed}: {} entries, {settings}", written.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("written.sst");
        call(
            "rocksdb_write_table",
            &json!({ "path": path, "settings": settings, "entries": entries(&written) }),
        );

        let bytes = std::fs::read(&path).unwrap();
        let table = TableView::open(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(read(&table).1 == written, "{what}: other entries");

        let (_, stored) = filter_block(&table);
        let policy = FilterPolicy::Bloom(sstkit_filter::BitsPerKey::new(bits));
        let extractor = fixed_prefix.map(|length| format!("fixed:{length}").parse().unwrap());
        let filtering = KeyFiltering::new(true, extractor);
        // RocksDB optimises for memory by default.
        let glibc = UsableSize::Glibc { mmap_threshold: GLIBC_MMAP_THRESHOLD };
        let context = BuildContext::default()
            .format_version(format_version)
            .optimize_for_memory(Arc::new(MemorySizing::new(glibc)));
        let mut builder = policy.builder(&context).unwrap();
        written.keys().for_each(|key| builder.add_filtered(key, &filtering));
        assert!(builder.finish().unwrap() == stored, "{what}: another filter");
        let filter = Filter::from_bytes(stored);
        assert!(written.keys().all(|key| filter.may_contain(key)), "{what}: a key is denied");
    }
}

#[test]
fn leveldb_databases() {
    for seed in seeds(8) {
        let mut random = Random::new(seed);
        let count = 1 + random.below(2000);
        let written = random.entries(count);
        let bits = *random.pick(&[1, 5, 10, 16, 50]);
        let settings = json!({
            "bits_per_key": bits,
            "block_size": random.pick(&[256, 4096, 65536]),
            "compression": random.pick(&[None, Some("snappy")]),
        });
        let what = format!("SSTKIT_SEED={seed}: {} entries, {settings}", written.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        let answer = call(
            "leveldb_write_database",
            &json!({ "path": path, "settings": settings, "entries": entries(&written) }),
        );
        let mut found = Entries::new();
        for name in answer["tables"].as_array().unwrap() {
            let bytes = std::fs::read(path.join(name.as_str().unwrap())).unwrap();
            let table = TableView::open(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
            let (offsets, read) = read(&table);

            let (filter_offset, stored) = filter_block(&table);
            let mut builder = FilterBlockBuilder::bloom(BlockBloom::LevelDb, bits);
            for (offset, key) in offsets.iter().zip(read.keys()) {
                builder.start_block(*offset);
                builder.add(key);
            }
            builder.start_block(filter_offset);
            assert!(builder.finish().unwrap() == stored, "{what}: another filter block");
            found.extend(read);
        }
        assert!(found == written, "{what}: other entries");
    }
}
