//! Tables that sstkit writes, taken in and read by the real engines.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::PrefixExtractor;
use sstkit_table::raw::{Codec, FormatVersion, IndexKind};
use sstkit_table::{ReadableBy, RocksDbVersion, Table, TableOptions, TableWriter};
use sstkit_testkit::engines::{call, keys, read_entries, read_values};
use sstkit_testkit::random::{Random, seeds};

/// Keys between the written ones, all absent: a filter must be probed for these, since
/// they are within the range of the table.
fn absent_keys(written: &BTreeMap<Vec<u8>, Vec<u8>>) -> BTreeSet<Vec<u8>> {
    let last = written.keys().next_back().expect("not empty");
    written
        .keys()
        .take(2000)
        .map(|key| [key.as_slice(), b"?"].concat())
        .filter(|key| key < last && !written.contains_key(key))
        .collect()
}

/// Writes a table and has an engine read it: all entries are there, in order and by their keys, and
/// the absent ones are not. What else the engine said.
fn write_and_ask(
    request: &str,
    settings: &Value,
    options: &TableOptions,
    written: &BTreeMap<Vec<u8>, Vec<u8>>,
    absent: &BTreeSet<Vec<u8>>,
    what: &str,
) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours");
    let mut writer = TableWriter::create(&path, options).unwrap();
    for (key, value) in written {
        writer.put(key, value).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    writer.finish().unwrap_or_else(|error| panic!("{what}: {error}"));

    let answer = call(
        request,
        &json!({
            "path": folder.path().join("database"),
            "tables": [path],
            "settings": settings,
            "gets": keys(absent.iter().chain(written.keys())),
        }),
    );
    let expected: Vec<_> = written.clone().into_iter().collect();
    assert!(read_entries(&answer, "entries") == expected, "{what}: other entries");
    let found = read_values(&answer, "found");
    let (not_there, there) = found.split_at(absent.len());
    assert!(not_there.iter().all(Option::is_none), "{what}: an absent key was found");
    assert!(
        there.iter().map(Option::as_ref).eq(written.values().map(Some)),
        "{what}: a key was lost"
    );
    answer
}

/// Options that RocksDB 9.8 can read, and what they are.
fn rocksdb_options(random: &mut Random) -> (TableOptions, String) {
    let version = *random.pick(&[
        FormatVersion::V2,
        FormatVersion::V3,
        FormatVersion::V4,
        FormatVersion::V5,
        FormatVersion::V6,
    ]);
    let checksum = *random.pick(ChecksumType::ALL);
    let codec = *random.pick(&[Codec::None, Codec::Snappy, Codec::Lz4, Codec::Lz4hc, Codec::Zstd]);
    let filter = *random.pick(&["none", "bloomfilter:10", "bloomfilter:6.5", "ribbonfilter:10"]);
    let extractor = *random.pick(&[None, Some(4), Some(8)]);
    let mut kinds =
        vec![IndexKind::BinarySearch, IndexKind::TwoLevel, IndexKind::BinarySearchWithFirstKey];
    if extractor.is_some() {
        kinds.push(IndexKind::HashSearch);
    }
    let index = *random.pick(&kinds);
    let partition = index == IndexKind::TwoLevel && random.below(2) == 0;
    let decouple = random.below(2) == 0;
    let hash_index = random.below(4) == 0;
    let block_size = *random.pick(&[256, 1000, 4096, 65536]);
    let restart = *random.pick(&[1, 2, 16]);
    let threads = *random.pick(&[1, 3]);
    let mut options = TableOptions::rocksdb()
        .format_version(version)
        .checksum(checksum)
        .compression(codec)
        .filter(filter.parse().unwrap())
        .index_kind(index)
        .partition_filters(partition)
        .decouple_partitioned_filters(decouple)
        .metadata_block_size(1024)
        .data_block_hash_index(hash_index)
        .block_size(block_size)
        .block_restart_interval(restart)
        .threads(threads);
    if let Some(length) = extractor {
        options = options.prefix_extractor(PrefixExtractor::Fixed(length));
    }
    let what = format!(
        "{version:?} {checksum} {codec:?} {filter} prefix {extractor:?} {index} partitioned {partition} \
         decoupled {decouple} hash {hash_index} blocks of {block_size}/{restart}, {threads} threads"
    );
    (options, what)
}

#[test]
fn rocksdb_ingests_our_tables() {
    for seed in seeds(30) {
        let mut random = Random::new(seed);
        let (options, what) = rocksdb_options(&mut random);
        let count = 2 + random.below(4000);
        let written = random.entries(count);
        let what = format!("SSTKIT_SEED={seed}: {} entries, {what}", written.len());

        let absent = absent_keys(&written);
        // A policy on the reading side is what makes RocksDB use a filter at all.
        let settings = json!({ "bits_per_key": 10 });
        let answer = write_and_ask("rocksdb_ingest", &settings, &options, &written, &absent, &what);

        let ticker = |name: &str| answer["tickers"][name].as_u64().unwrap_or(0);
        let useful = ticker("rocksdb.bloom.filter.useful");
        let positive = ticker("rocksdb.bloom.filter.full.positive");
        let truly = ticker("rocksdb.bloom.filter.full.true.positive");
        if what.contains(" none prefix") {
            assert_eq!((useful, positive), (0, 0), "{what}");
        } else {
            let asked = (absent.len() + written.len()) as u64;
            assert_eq!((useful + positive, truly), (asked, written.len() as u64), "{what}");
            // A tenth would be a rate far beyond what any of these policies has.
            assert!(
                10 * (absent.len() as u64 - useful) <= 3 + absent.len() as u64,
                "{what}: {useful}"
            );
        }
    }
}

/// RocksDB 9.8 writes no version below 2, but reads them.
#[test]
fn rocksdb_reads_our_tables_of_versions_0_and_1() {
    for seed in seeds(16) {
        let mut random = Random::new(seed);
        // Both versions, and the filters of their time, in all runs.
        let version = [FormatVersion::V0, FormatVersion::V1][seed as usize % 2];
        let filter = ["none", "bloomfilter:10", "bloomfilter:10:true"][seed as usize / 2 % 3];
        let checksum = match version {
            FormatVersion::V0 => ChecksumType::Crc32c,
            _ => *random.pick(&[ChecksumType::Crc32c, ChecksumType::XxHash]),
        };
        let codec =
            *random.pick(&[Codec::None, Codec::Snappy, Codec::Lz4, Codec::Lz4hc, Codec::Zstd]);
        let block_size = *random.pick(&[256, 4096, 65536]);
        let count = 2 + random.below(3000);
        let written = random.entries(count);
        let what = format!("SSTKIT_SEED={seed}: {version:?} {checksum} {codec:?} {filter}");
        let options = TableOptions::rocksdb()
            .format_version(version)
            .checksum(checksum)
            .compression(codec)
            .filter(filter.parse().unwrap())
            .block_size(block_size);

        let absent = absent_keys(&written);
        let settings = json!({ "bits_per_key": 10 });
        let answer = write_and_ask("rocksdb_ingest", &settings, &options, &written, &absent, &what);
        let ticker = |name: &str| answer["tickers"][name].as_u64().unwrap_or(0);
        let probes =
            ticker("rocksdb.bloom.filter.useful") + ticker("rocksdb.bloom.filter.full.positive");
        // Since version 7, RocksDB ignores block-based filters.
        let expected = if filter == "bloomfilter:10" { absent.len() + written.len() } else { 0 };
        assert_eq!(probes, expected as u64, "{what}");
    }
}

/// The engine's version decides what it reads; the default table needs 10.4.
#[test]
fn rocksdb_9_8_ingests_what_is_readable_by_it_and_refuses_the_default() {
    let ingest = |options: &TableOptions| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ours.sst");
        let mut writer = TableWriter::create(&path, options).unwrap();
        for number in 0..1000 {
            let key = format!("key{number:04}");
            writer.put(key.as_bytes(), format!("value of {key}").as_bytes()).unwrap();
        }
        writer.finish().unwrap();
        let features = Table::open(&path).unwrap().features();
        let answer = call(
            "rocksdb_ingest",
            &json!({ "path": folder.path().join("database"), "settings": {}, "tables": [path],
                     "gets": keys(["key0007"]), "may_be_refused": true }),
        );
        (ReadableBy::of(&features).from.unwrap(), answer)
    };
    let engine: RocksDbVersion = "rocksdb-9.8".parse().unwrap();
    let (from, answer) = ingest(&TableOptions::rocksdb());
    assert_eq!(from, RocksDbVersion::new(10, 4));
    let refusal = answer["refused"].as_str().expect("the engine refuses the table");
    assert!(refusal.contains("format_version") || refusal.contains("version"), "{refusal}");
    for version in ["3.10", "5.15", "5.16", "6.6", "6.27", "8.6", "9.8"] {
        let wanted: RocksDbVersion = version.parse().unwrap();
        for filter in ["bloomfilter:10", "ribbonfilter:10"] {
            let options = TableOptions::rocksdb().filter(filter.parse().unwrap());
            let (from, answer) = ingest(&options.readable_by(wanted));
            assert!(from <= wanted && wanted <= engine, "{version}: from {from} on");
            let entries = read_entries(&answer, "entries");
            assert_eq!(entries.len(), 1000, "{version}: {}", answer["refused"]);
            assert_eq!(read_values(&answer, "found"), [Some(b"value of key0007".to_vec())]);
        }
    }
}

#[test]
fn leveldb_reads_our_tables() {
    for seed in seeds(10) {
        let mut random = Random::new(seed);
        let count = 1 + random.below(3000);
        let written = random.entries(count);
        let bits = *random.pick(&[1, 10, 16]);
        let codec = *random.pick(&[Codec::None, Codec::Snappy]);
        let block_size = *random.pick(&[256, 4096, 65536]);
        let what = format!("SSTKIT_SEED={seed}: {} entries, {bits} bits, {codec:?}", written.len());
        let options = TableOptions::leveldb()
            .filter(format!("leveldb.BuiltinBloomFilter2:{bits}").parse().unwrap())
            .compression(codec)
            .block_size(block_size);

        let settings = json!({ "bits_per_key": bits });
        let absent = absent_keys(&written);
        write_and_ask("leveldb_read_tables", &settings, &options, &written, &absent, &what);
    }
}
