//! Tables in both directions, random options and entries.

use std::collections::{BTreeMap, BTreeSet};

use rocksdb::statistics::Ticker;
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, ChecksumType as RocksChecksum, DB, DBCompressionType,
    DataBlockIndexType, IngestExternalFileOptions, IteratorMode, Options, SliceTransform,
    SstFileWriter,
};
use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::PrefixExtractor;
use sstkit_table::raw::{Codec, FormatVersion, IndexKind};
use sstkit_table::{Table, TableOptions, TableWriter};

use sstkit_testkit::random::{Random, seeds};

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys between the written ones, none of them among them.
fn absent_keys(written: &Entries) -> BTreeSet<Vec<u8>> {
    let last = written.keys().next_back().expect("not empty");
    written
        .keys()
        .map(|key| [key.as_slice(), b"?"].concat())
        .filter(|key| key < last && !written.contains_key(key))
        .collect()
}

fn our_options(random: &mut Random) -> (TableOptions, String) {
    let version = *random.pick(&[
        FormatVersion::V2,
        FormatVersion::V3,
        FormatVersion::V4,
        FormatVersion::V5,
        FormatVersion::V6,
        FormatVersion::V7,
        FormatVersion::V7,
        FormatVersion::V7,
    ]);
    let checksum = *random.pick(ChecksumType::ALL);
    let codec = *random.pick(&[
        Codec::None,
        Codec::Snappy,
        Codec::Zlib,
        Codec::Bzip2,
        Codec::Lz4,
        Codec::Lz4hc,
        Codec::Zstd,
    ]);
    let dictionary = codec != Codec::None && random.below(3) == 0;
    let filter = *random.pick(&["none", "bloomfilter:10", "bloomfilter:6.5", "ribbonfilter:10:-1"]);
    let extractor = *random.pick(&[None, Some(4), Some(8)]);
    let mut kinds =
        vec![IndexKind::BinarySearch, IndexKind::TwoLevel, IndexKind::BinarySearchWithFirstKey];
    if extractor.is_some() {
        kinds.push(IndexKind::HashSearch);
    }
    let index = *random.pick(&kinds);
    let partition = index == IndexKind::TwoLevel && random.below(2) == 0;
    let decouple = random.below(2) == 0;
    let data_blocks =
        *random.pick(&["plain", "hash index", "separated", "aligned", "super blocks"]);
    let block_size = *random.pick(&[256, 1024, 4096, 65536]);
    let restart = *random.pick(&[1, 2, 16]);
    let threads = *random.pick(&[1, 3]);
    let mut options = TableOptions::rocksdb()
        .format_version(version)
        .checksum(checksum)
        .filter(filter.parse().unwrap())
        .index_kind(index)
        .partition_filters(partition)
        .decouple_partitioned_filters(decouple)
        .metadata_block_size(1024)
        .block_size(block_size)
        .block_restart_interval(restart)
        .threads(threads);
    options = match data_blocks {
        "hash index" => options.data_block_hash_index(true).compression(codec),
        "separated" => options.separate_key_value_in_data_block(true).compression(codec),
        "aligned" => options.block_align(true).compression(Codec::None),
        "super blocks" => options.super_block_alignment_size(16 << 10).compression(codec),
        _ => options.compression(codec),
    };
    if dictionary && data_blocks != "aligned" {
        options = options.max_dict_bytes(4096);
        if codec == Codec::Zstd {
            options = options.zstd_max_train_bytes(64 << 10);
        }
    }
    if let Some(length) = extractor {
        options = options.prefix_extractor(PrefixExtractor::Fixed(length));
    }
    let what = format!(
        "{version:?} {checksum} {codec:?} dictionary {dictionary} {filter} prefix {extractor:?} \
         {index} partitioned {partition} decoupled {decouple} {data_blocks} blocks of \
         {block_size}/{restart}, {threads} threads"
    );
    (options, what)
}

#[test]
fn rocksdb_ingests_our_tables() {
    for seed in seeds(150) {
        let mut random = Random::new(seed);
        let (options, what) = our_options(&mut random);
        let count = 2 + random.below(4000);
        let written = random.entries(count);
        let what = format!("SSTKIT_SEED={seed}: {} entries, {what}", written.len());

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ours.sst");
        let mut writer =
            TableWriter::create(&path, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
        for (key, value) in &written {
            writer.put(key, value).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        writer.finish().unwrap_or_else(|error| panic!("{what}: {error}"));

        let mut table = BlockBasedOptions::default();
        table.set_bloom_filter(10.0, false);
        let mut db_options = Options::default();
        db_options.create_if_missing(true);
        db_options.enable_statistics();
        db_options.set_block_based_table_factory(&table);
        let db = DB::open(&db_options, folder.path().join("database")).unwrap();
        db.ingest_external_file_opts(&IngestExternalFileOptions::default(), vec![&path])
            .unwrap_or_else(|error| panic!("{what}: {error}"));

        let ticker = |ticker| db_options.get_ticker_count(ticker);
        let before = ticker(Ticker::BloomFilterUseful);
        let absent = absent_keys(&written);
        for key in &absent {
            assert_eq!(db.get(key).unwrap(), None, "{what}: an absent key was found");
        }
        let useful = ticker(Ticker::BloomFilterUseful) - before;
        for (key, value) in &written {
            assert_eq!(db.get(key).unwrap().as_ref(), Some(value), "{what}: a key was lost");
        }
        if what.contains(" none prefix") {
            assert_eq!(useful, 0, "{what}");
        } else {
            let missed = absent.len() as u64 - useful;
            assert!(10 * missed <= 3 + absent.len() as u64, "{what}: the filter missed {missed}");
        }
        let read = |mode| -> Vec<(Vec<u8>, Vec<u8>)> {
            db.iterator(mode)
                .map(|entry| entry.unwrap_or_else(|error| panic!("{what}: {error}")))
                .map(|(key, value)| (key.into_vec(), value.into_vec()))
                .collect()
        };
        let expected: Vec<_> = written.clone().into_iter().collect();
        assert!(read(IteratorMode::Start) == expected, "{what}: other entries");
        let backwards: Vec<_> = expected.into_iter().rev().collect();
        assert!(read(IteratorMode::End) == backwards, "{what}: other entries backwards");
        // RocksDB's own compaction reads all of it, checks the counts, and rewrites it.
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        assert_eq!(db.iterator(IteratorMode::Start).count(), written.len(), "{what}");
    }
}

fn their_options(random: &mut Random) -> (Options, String) {
    let version = 2 + random.below(6) as i32;
    let checksum_name = *random.pick(&["none", "crc32c", "xxhash", "xxhash64", "xxh3"]);
    let (codec, codec_name) = *random.pick(&[
        (DBCompressionType::None, "none"),
        (DBCompressionType::Snappy, "snappy"),
        (DBCompressionType::Zlib, "zlib"),
        (DBCompressionType::Bz2, "bzip2"),
        (DBCompressionType::Lz4, "lz4"),
        (DBCompressionType::Lz4hc, "lz4hc"),
        (DBCompressionType::Zstd, "zstd"),
    ]);
    let filter = *random.pick(&["none", "bloom", "ribbon"]);
    let prefix = *random.pick(&[None, Some(4), Some(8)]);
    let index = *random.pick(&["binary", "two-level", "hash"]);
    let hash_index = random.below(4) == 0;
    let dictionary = random.below(3) == 0;
    let block_size = *random.pick(&[256, 4096, 65536]);

    let mut table = BlockBasedOptions::default();
    table.set_format_version(version);
    table.set_checksum_type(match checksum_name {
        "crc32c" => RocksChecksum::CRC32c,
        "xxhash" => RocksChecksum::XXHash,
        "xxhash64" => RocksChecksum::XXHash64,
        "xxh3" => RocksChecksum::XXH3,
        _ => RocksChecksum::NoChecksum,
    });
    table.set_block_size(block_size);
    table.set_metadata_block_size(1024);
    match filter {
        "bloom" => table.set_bloom_filter(10.0, false),
        "ribbon" => table.set_ribbon_filter(10.0),
        _ => {}
    }
    match index {
        "two-level" => {
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
        }
        "hash" if prefix.is_some() => table.set_index_type(BlockBasedIndexType::HashSearch),
        _ => {}
    }
    if hash_index {
        table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    }
    let mut options = Options::default();
    options.set_block_based_table_factory(&table);
    options.set_compression_type(codec);
    if dictionary {
        options.set_compression_options(-14, 32767, 0, 4096);
    }
    if let Some(length) = prefix {
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(length));
    }
    let what = format!(
        "version {version} {checksum_name} {codec_name} dictionary {dictionary} filter {filter} \
         prefix {prefix:?} index {index} hash {hash_index} blocks of {block_size}"
    );
    (options, what)
}

#[test]
fn we_read_rocksdbs_tables() {
    for seed in seeds(150) {
        let mut random = Random::new(seed);
        let (options, what) = their_options(&mut random);
        let count = 2 + random.below(4000);
        let written = random.entries(count);
        let what = format!("SSTKIT_SEED={seed}: {} entries, {what}", written.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("theirs.sst");
        let mut writer = SstFileWriter::create(&options);
        writer.open(&path).unwrap();
        for (key, value) in &written {
            writer.put(key, value).unwrap();
        }
        writer.finish().unwrap();

        let table = Table::open(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
        let forward: Vec<_> = table
            .iter()
            .map(|entry| entry.unwrap_or_else(|error| panic!("{what}: {error}")))
            .map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect();
        let expected: Vec<_> = written.clone().into_iter().collect();
        assert!(forward == expected, "{what}: other entries");
        for (key, value) in &written {
            let found = table.get(key).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(found.as_deref(), Some(value.as_slice()), "{what}: a key was lost");
        }
        let absent: Vec<_> = absent_keys(&written).into_iter().collect();
        let found = table.get_many(&absent).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(found.iter().all(Option::is_none), "{what}: an absent key was found");
        let verification = table.verify();
        assert!(verification.is_sound(), "{what}: {verification:?}");
    }
}
