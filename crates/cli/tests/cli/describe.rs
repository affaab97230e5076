//! What people see: whole outputs.

use expect_test::expect;

use crate::run::run;

#[test]
fn info_of_a_table_of_leveldb() {
    expect![[r#"
        tables/leveldb-table-bloom10-c1.ldb  4.3 KiB
          kind            leveldb-table
          format version  0
          checksum        crc32c
          readable by     LevelDB, RocksDB before 11.0
          comparator      not named
          keys            user keys
          entries         323: 323 put
          smallest key    user00000/post0008
          largest key     user00123/post0037
          compression     snappy: 4 data blocks, 15.7 KiB to 3.7 KiB, 4.27 to 1
          index           binary
          filter          leveldb bloom, 10.61 bits per key, 0.911 % false positives expected

        ████████████████████████████████████████████████████▓▓▓▓▓▓▒░
          █ data       3.7 KiB    86.0 %
          ▓ filter       424 B    9.60 %
          ▒ index         91 B    2.06 %
          ░ other        102 B    2.31 %
        --- status 0
    "#]]
    .assert_eq(&run(["info", "tables/leveldb-table-bloom10-c1.ldb"]).all());
}

#[test]
fn info_of_a_table_of_rocksdb() {
    expect![[r#"
        tables/partitioned-decoupled-ribbon-fv7.sst  117.2 KiB
          kind              rocksdb-table
          format version    7
          checksum          xxh3
          readable by       RocksDB 10.4 and later (format version 7)
          comparator        leveldb.BytewiseComparator
          keys              internal keys
          entries           3,882: 3,882 put
          smallest key      user0004/item000042
          largest key       user0082/item000023
          sequence numbers  0 to 0
          compression       none: 29 data blocks, 111.3 KiB
          index             two-level, 1 partition, user keys, delta values
          filter            ribbon128, 4 partitions, 7.55 bits per key, 0.893 % false positives expected
          unique id         B3A458BF83FBBB9C-714FB04471BBFEC3

        ████████████████████████████████████████████████████████▓▓▒░
          █ data     111.4 KiB    95.0 %
          ▓ filter     3.6 KiB    3.07 %
          ▒ index        909 B   0.757 %
          ░ other      1.3 KiB    1.12 %

        properties
          rocksdb.block.based.table.decoupled.partitioned.filters  1
          rocksdb.block.based.table.index.type                     2
          rocksdb.block.based.table.prefix.filtering               0
          rocksdb.block.based.table.whole.key.filtering            1
          rocksdb.column.family.id                                 2147483647
          rocksdb.comparator                                       leveldb.BytewiseComparator
          rocksdb.compression                                      ;;
          rocksdb.compression_options                              window_bits=-14; level=32767; strategy=0; max_dict_bytes=0; zstd_max_train_bytes=0; enabled=0; max_dict_buffer_bytes=0; use_zstd_dict_trainer=1; max_compressed_bytes_per_kb=896; checksum=0; _type=0;
          rocksdb.creating.db.identity                             SST Writer
          rocksdb.creating.host.identity                           vm
          rocksdb.creating.session.identity                        G2X4VVQTF15JX0I3BT0X
          rocksdb.creation.time                                    0
          rocksdb.data.block.restart.interval                      16
          rocksdb.data.size                                        114104
          rocksdb.deleted.keys                                     0
          rocksdb.external_sst_file.global_seqno                   0
          rocksdb.external_sst_file.version                        2
          rocksdb.filter.policy                                    ribbonfilter
          rocksdb.filter.size                                      3664
          rocksdb.fixed.key.length                                 0
          rocksdb.format.version                                   7
          rocksdb.index.block.restart.interval                     1
          rocksdb.index.key.is.user.key                            1
          rocksdb.index.partitions                                 1
          rocksdb.index.size                                       904
          rocksdb.index.value.is.delta.encoded                     1
          rocksdb.key.largest.seqno                                0
          rocksdb.key.smallest.seqno                               0
          rocksdb.merge.operands                                   0
          rocksdb.merge.operator                                   nullptr
          rocksdb.newest.key.time                                  0
          rocksdb.num.data.blocks                                  29
          rocksdb.num.data.blocks.compression.bypassed             29
          rocksdb.num.entries                                      3882
          rocksdb.num.filter_entries                               3882
          rocksdb.num.range-deletions                              0
          rocksdb.num.uniform.blocks                               0
          rocksdb.oldest.key.time                                  0
          rocksdb.original.file.number                             1
          rocksdb.prefix.extractor.name                            nullptr
          rocksdb.property.collectors                              []
          rocksdb.raw.key.size                                     104814
          rocksdb.raw.value.size                                   60554
          rocksdb.tail.start.offset                                114104
          rocksdb.top-level.index.size                             34
        --- status 0
    "#]].assert_eq(&run(["info", "tables/partitioned-decoupled-ribbon-fv7.sst"]).all());
}

#[test]
fn info_of_databases() {
    expect![[r#"
        databases/rocksdb-column-families  110.4 KiB
          kind                  rocksdb-database
          id                    7e20df11-6166-4ca3-ac9c-000616f910c5
          tables                6, format version 7, xxh3
          entries               7,745
          last sequence number  10720
          manifest              MANIFEST-000005
          next file number      46
          filters               8.2 KiB, 10.29 bits per key

        column family default
          comparator        leveldb.BytewiseComparator
          filter policy     bloomfilter:10:false
          only in the logs  551 entries
          level    file      size  entries  sequence numbers  filter            smallest key        largest key
              6  000043  27.6 KiB    1,743  0 to 0            fast local bloom  user00000/post0001  user00074/post0039

        column family meta
          comparator        leveldb.BytewiseComparator
          filter policy     bloomfilter:10:false
          only in the logs  665 entries
          level    file      size  entries  sequence numbers  filter            smallest key        largest key
              0  000041  12.4 KiB      633  6536 to 8749      fast local bloom  user00000/post0002  user00074/post0038
              6  000035  22.7 KiB    1,418  0 to 0            fast local bloom  user00000/post0002  user00074/post0039

        column family événements
          comparator        leveldb.BytewiseComparator
          filter policy     bloomfilter:10:false
          only in the logs  37 entries
          level    file      size  entries  sequence numbers  filter            smallest key        largest key
              0  000045  12.2 KiB      633  8491 to 10574     fast local bloom  user00000/post0002  user00074/post0032
              0  000040  12.7 KiB      643  6376 to 8489      fast local bloom  user00000/post0004  user00074/post0033
              6  000032  22.8 KiB    1,422  0 to 0            fast local bloom  user00000/post0000  user00074/post0039
        --- status 0
    "#]].assert_eq(&run(["info", "databases/rocksdb-column-families"]).all());
    expect![[r#"
        databases/leveldb-bloom-snappy  104.3 KiB
          kind                  leveldb-database
          tables                4, format version 0, crc32c
          entries               5,090
          last sequence number  14444
          manifest              MANIFEST-000002
          next file number      57
          filters               6.0 KiB, 10.84 bits per key

        column family default
          comparator        leveldb.BytewiseComparator
          only in the logs  388 entries
          level    file      size  entries  filter         smallest key        largest key
              0  000056  13.0 KiB      585  leveldb bloom  user00000/post0001  user00074/post0038
              0  000054  12.8 KiB      575  leveldb bloom  user00000/post0016  user00074/post0039
              1  000052  65.5 KiB    2,953  leveldb bloom  user00000/post0001  user00074/post0039
              2  000005  13.0 KiB      589  leveldb bloom  user00000/post0003  user00074/post0036
        --- status 0
    "#]]
    .assert_eq(&run(["info", "databases/leveldb-bloom-snappy"]).all());
}

#[test]
fn layout_of_a_table() {
    expect![[r#"
        tables/types-all.sst  25.7 KiB
        ████████████████████████████████████████████████████▓▓▓▒░▞··
          █ data              23.5 KiB    91.5 %  6 blocks
          ▓ properties         1.1 KiB    4.35 %  1 block
          ▒ filter               650 B    2.47 %  1 block
          ░ metaindex            140 B   0.531 %  1 block
          ▞ index                132 B   0.501 %  1 block
          · range deletion       120 B   0.455 %  1 block
          · footer                53 B   0.201 %

        offset  length  kind            compression  uncompressed  checksum    entries  name
             0    4052  data            none                 4052  0xf5373d4a       85
          4057    4073  data            none                 4073  0x08105579       86
          8135    4052  data            none                 4052  0x3b691cb9       84
         12192    4050  data            none                 4050  0x033ba204       83
         16247    4065  data            none                 4065  0xca2a4e96       86
         20317    3784  data            none                 3784  0x0a88109f       76
         24106     645  filter          none                  645  0x21139bb4           fullfilter.rocksdb.BuiltinBloomFilter
         24756     127  index           none                  127  0x7f71e477        6  rocksdb.index
         24888     115  range deletion  none                  115  0xcf7ca8fa        3  rocksdb.range_del
         25008    1141  properties      none                 1141  0x10aa868e       43  rocksdb.properties
         26154     135  metaindex       none                  135  0x5549198e        4
         26294      53  footer
        --- status 0
    "#]].assert_eq(&run(["layout", "tables/types-all.sst"]).all());
}

#[test]
fn blocks_of_a_table() {
    expect![[r#"
        tables/types-ranges-only.sst  1.3 KiB
        █████████████████████████████████████████████████▓▓▓▓▓▒▒▒░░▞
          █ properties         1.1 KiB    81.6 %  1 block
          ▓ range deletion       120 B    8.82 %  1 block
          ▒ metaindex             64 B    4.71 %  1 block
          ░ footer                53 B    3.90 %
          ▞ index                 13 B   0.956 %  1 block

        index at 0, 8 bytes
          restart points: 0
        range deletion at 13, 115 bytes, rocksdb.range_del
               0 * key00001729 range_delete 0 => key00001757
              33 * key00001799 range_delete 0 => key00001827
              66 * key00001869 range_delete 0 => key00001897
          restart points: 0 33 66
        properties at 133, 1,105 bytes, rocksdb.properties
               0 * rocksdb.block.based.table.decoupled.partitioned.filters => 1
              59   rocksdb.block.based.table.index.type => \x00\x00\x00\x00
              76   rocksdb.block.based.table.prefix.filtering => 0
              96   rocksdb.block.based.table.whole.key.filtering => 1
             119   rocksdb.column.family.id => \xff\xff\xff\xff\x07
             143   rocksdb.comparator => leveldb.BytewiseComparator
             180   rocksdb.compression => NoCompression
             203   rocksdb.compression_options => window_bits=-14; level=32767; strategy=0; max_dict_bytes=0; zstd_max_train_bytes=0; enabled=0; max_dict_buffer_bytes=0; use_zstd_dict_trainer=1; max_compressed_bytes_per_kb=896; checksum=0; _type=0; 
             414   rocksdb.creating.db.identity => SST Writer
             446   rocksdb.creating.host.identity => vm
             464   rocksdb.creating.session.identity => G2X4VVQTF15JX0I3BT0D
             503   rocksdb.creation.time => \x00
             514   rocksdb.data.block.restart.interval => \x10
             545   rocksdb.data.size => \x00
             553   rocksdb.deleted.keys => \x03
             568   rocksdb.external_sst_file.global_seqno => \x00\x00\x00\x00\x00\x00\x00\x00
             609   rocksdb.external_sst_file.version => \x02\x00\x00\x00
             623   rocksdb.filter.policy => bloomfilter
             650   rocksdb.filter.size => \x00
             658   rocksdb.fixed.key.length => \x00
             676   rocksdb.format.version => \x02
             693   rocksdb.index.block.restart.interval => \x01
             725   rocksdb.index.key.is.user.key => \x00
             744   rocksdb.index.size => \x0d
             752   rocksdb.index.value.is.delta.encoded => \x00
             778   rocksdb.key.largest.seqno => \x00
             799   rocksdb.key.smallest.seqno => \x00
             817   rocksdb.merge.operands => \x00
             835   rocksdb.merge.operator => nullptr
             848   rocksdb.newest.key.time => \x00
             867   rocksdb.num.data.blocks => \x00
             885   rocksdb.num.entries => \x03
             896   rocksdb.num.filter_entries => \x00
             914   rocksdb.num.range-deletions => \x03
             933   rocksdb.num.uniform.blocks => \x00
             951   rocksdb.oldest.key.time => \x00
             970   rocksdb.original.file.number => \x01
             993   rocksdb.prefix.extractor.name => nullptr
            1024   rocksdb.property.collectors => []
            1046   rocksdb.raw.key.size => 9
            1062   rocksdb.raw.value.size => !
            1076   rocksdb.tail.start.offset => \x00
          restart points: 0
        metaindex at 1243, 59 bytes
               0 * rocksdb.properties => \x85\x01\xd1\x08
              25 * rocksdb.range_del => \x0ds
          restart points: 0 25
        footer at 1307, 53 bytes
        --- status 0
    "#]].assert_eq(&run(["layout", "--blocks", "tables/types-ranges-only.sst"]).all());
}

#[test]
fn filters_of_all_sorts() {
    expect![[r#"
        file                                                     kind                              size   keys  bits/key    fill  expected
        tables/leveldb-table-bloom10-c0.ldb                      leveldb bloom                    442 B    323     10.95  44.5 %    1.02 %
        tables/leveldb-table-bloom0-c0.ldb                       none
        tables/filter-bloomfilter_6.5-fv4.sst                    legacy bloom                   1.9 KiB  2,258      7.05  43.3 %    3.88 %
        tables/filter-bloomfilter_6.5-fv5.sst                    fast local bloom               1.0 KiB  1,243      6.62  45.2 %    4.40 %
        tables/filter-ribbonfilter_10-fv7.sst                    ribbon128                      1.6 KiB  1,769      7.40           0.949 %
        tables/partitioned-coupled-bloom-fv5-prefix-nowhole.sst  fast local bloom, 1 partition    167 B     84     15.90  38.4 %   0.323 %

        total
          files                   6, 1 without a filter
          size                    5.1 KiB
          keys                    5,677
          bits per key            7.42
          wasted reads, expected  1.1058 files per lookup of an absent key
          no false negatives: every key matches
        --- status 0
    "#]].assert_eq(
        &run([
            "filter",
            "tables/leveldb-table-bloom10-c0.ldb",
            "tables/leveldb-table-bloom0-c0.ldb",
            "tables/filter-bloomfilter_6.5-fv4.sst",
            "tables/filter-bloomfilter_6.5-fv5.sst",
            "tables/filter-ribbonfilter_10-fv7.sst",
            "tables/partitioned-coupled-bloom-fv5-prefix-nowhole.sst",
        ])
        .all(),
    );
}

#[test]
fn one_filter_measured() {
    expect![[r#"
        tables/partitioned-decoupled-bloom-fv7-prefix.sst
          kind                       fast local bloom, 6 partitions
          policy                     rocksdb.BuiltinBloomFilter
          keys                       3,805
          size                       4.9 KiB
          bits per key               10.54
          probes                     6
          fill                       44.6 %
          contains                   whole keys and prefixes (rocksdb.FixedPrefix.8)
          false positives, expected  0.940 %
          false positives, measured  0.995 % of 20,000 absent keys
          no false negatives: every key matches

        bits per key of its 6 parts, estimated from their bits
              9.94 …    10.16  ████████████████████████████████████████  4
             10.16 …    10.39  ██████████                                1
             10.39 …    10.62                                            0
             10.62 …    10.84                                            0
             10.84 …    11.07                                            0
             11.07 …    11.30  ██████████                                1
        --- status 0
    "#]]
    .assert_eq(
        &run(["filter", "--measure", "20000", "tables/partitioned-decoupled-bloom-fv7-prefix.sst"])
            .all(),
    );
}

#[test]
fn filters_of_a_database() {
    expect![[r#"
        file                                       level  kind              size   keys  bits/key    fill  expected
        databases/leveldb-bloom-snappy/000056.ldb      0  leveldb bloom    768 B    522     11.77  41.4 %   0.589 %
        databases/leveldb-bloom-snappy/000054.ldb      0  leveldb bloom    756 B    520     11.63  41.8 %   0.635 %
        databases/leveldb-bloom-snappy/000052.ldb      1  leveldb bloom  3.8 KiB  2,953     10.45  45.1 %   0.998 %
        databases/leveldb-bloom-snappy/000005.ldb      2  leveldb bloom    775 B    529     11.72  42.0 %   0.724 %

        total
          files                   4
          size                    6.0 KiB
          keys                    4,524
          bits per key            10.88
          wasted reads, expected  0.0294 files per lookup of an absent key
          no false negatives: every key matches
        --- status 0
    "#]].assert_eq(&run(["filter", "databases/leveldb-bloom-snappy"]).all());
    expect![[r#"
        file                                          level  kind                 size   keys  bits/key    fill  expected
        databases/rocksdb-column-families/000041.sst      0  fast local bloom    837 B    633     10.58  49.1 %   0.839 %
        databases/rocksdb-column-families/000035.sst      6  fast local bloom  1.8 KiB  1,418     10.14  49.5 %   0.839 %

        total
          files                   2
          size                    2.6 KiB
          keys                    2,051
          bits per key            10.27
          wasted reads, expected  0.0168 files per lookup of an absent key
          no false negatives: every key matches
        --- status 0
    "#]].assert_eq(
        &run(["filter", "databases/rocksdb-column-families", "--column-family", "meta"]).all(),
    );
}

#[test]
fn verify_of_what_is_sound() {
    expect![[r#"
        tables/types-all.sst: sound, 11 blocks, 503 entries
        databases/rocksdb-range-deletes/000044.sst: sound, 13 blocks, 478 entries
        databases/rocksdb-range-deletes/000042.sst: sound, 13 blocks, 570 entries
        databases/rocksdb-range-deletes: sound
        --- status 0
    "#]]
    .assert_eq(&run(["verify", "tables/types-all.sst", "databases/rocksdb-range-deletes"]).all());
}

#[test]
fn dump_begins_as_the_engine_s() {
    let ran = run(["dump", "tables/types-entities.sst"]);
    let start: Vec<&str> = ran.stdout.lines().take(12).collect();
    expect![[r#"
        Footer Details:
        --------------------------------------
          metaindex handle: BAA7036C offset: 54202 size: 108
          index handle: 0000 offset: 0 size: 0
          table_magic_number: 9863518390377041911
          format version: 7

        Block Checksum Type Legend:
        --------------------------------------
          0 = kNoChecksum
          1 = kCRC32c
          2 = kxxHash"#]]
    .assert_eq(&start.join("\n"));
}

#[test]
fn several_tables_have_a_line_each() {
    let tables =
        ["tables/leveldb-table-bloom10-c1.ldb", "tables/types-all.sst", "tables/one-entry.sst"];
    expect![[r#"
        file                                     size  entries  format     sequence numbers  filter            smallest key        largest key
        tables/leveldb-table-bloom10-c1.ldb   4.3 KiB      323  leveldb                      leveldb bloom     user00000/post0008  user00123/post0037
        tables/types-all.sst                 25.7 KiB      503  rocksdb 6  0 to 0            fast local bloom  key00001694         key00005187
        tables/one-entry.sst                  1.4 KiB        1  rocksdb 6  0 to 0            fast local bloom  key00001694         key00001694
        --- status 0
    "#]].assert_eq(&run([&["info"][..], &tables].concat()).all());
    let long = run([&["info", "--long"][..], &tables].concat()).stdout;
    assert_eq!(long.lines().filter(|line| line.starts_with("  kind ")).count(), tables.len());
    // One that is damaged does not hide the others.
    let folder = tempfile::tempdir().expect("a folder");
    let damaged = folder.path().join("damaged.sst").display().to_string();
    let mut bytes = std::fs::read(crate::run::testdata(tables[1])).expect("a table");
    let end = bytes.len();
    bytes[end - 60] ^= 0xff;
    std::fs::write(&damaged, bytes).expect("written");
    let ran = run(["info", tables[0], &damaged, tables[2]]);
    assert_eq!((ran.status, ran.stdout.lines().count()), (2, 3), "{}", ran.all());
}

/// A database of many tables is summarized by level; --files lists them all.
#[test]
fn many_tables_are_summarized_by_level() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    let built = run([
        "compact",
        "databases/rocksdb-leveled-bloom",
        "-o",
        &out,
        "--as",
        "database",
        "--max-file-size",
        "8KiB",
        "--for",
        "rocksdb-9.8",
    ]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let (short, all) = (run(["info", &out]).stdout, run(["info", "--files", &out]).stdout);
    let json = run(["info", "--json", &out]).json();
    let level = &json[0]["column_families"][0]["levels"][0];
    let files = level["files"].as_array().expect("files");
    assert!(files.len() > 20, "{}", files.len());
    let note = format!("  {} tables; use --files to list them", files.len());
    assert!(short.lines().any(|line| line == note), "{short}");
    assert!(short.lines().count() < all.lines().count() - 20, "{all}");
    for file in files {
        let name = format!("{:06}", file["number"].as_u64().expect("a number"));
        assert!(all.contains(&name) && !short.contains(&name), "{name}");
    }
}
