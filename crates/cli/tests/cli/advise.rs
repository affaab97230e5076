//! `sst advise`: whole outputs, and what it says compared with other commands.

use expect_test::expect;

use crate::run::{run, testdata};

const LEVELED: &str = "databases/rocksdb-leveled-bloom";

#[test]
fn a_database() {
    expect![[r#"
        databases/rocksdb-leveled-bloom
          filters                 4.9 KiB, 5.2 KiB with jemalloc
          indexes                 1.7 KiB
          wasted reads, expected  0.0100 (12 B) per lookup, if 90.0 % find their key
                                  3.0088 per seek to a prefix without keys

          level  files  entries  filter            bits per key  filters  indexes  false positives  wasted reads
          0          2    1,271  fast_local_bloom          10.5  1.6 KiB    544 B          0.779 %        0.0091
          6          1    2,621  fast_local_bloom          10.2  3.3 KiB  1.1 KiB          0.858 %        0.0009

        advice: Distribute the same memory over the levels so that lookups waste the fewest reads: bloomfilter:16.11 in level 0, ribbonfilter:10.05 in level 6.
          memory of filters        4.9 KiB -> 4.9 KiB
          wasted reads per lookup  0.0100 -> 0.0016

        it depends: No filter in the last level: the filter saves more reads than its memory would as block cache, if 90 % of the lookups find their key.
          memory of filters                           4.9 KiB -> 1.6 KiB
          wasted reads per lookup                     0.0100 -> 0.1091
          reads saved by more block cache per lookup  0.0000 -> 0.0118
          optimize_filters_for_hits=true;

        best filters in this memory: 4.9 KiB, 0.0016 wasted reads per lookup, if 90.0 % find their key
          level  policy              filters  false positives  wasted reads
          0      bloomfilter:16.11   2.6 KiB          0.058 %        0.0007
          6      ribbonfilter:10.05  2.3 KiB          0.898 %        0.0009
          now: sst refilter databases/rocksdb-leveled-bloom -o databases/rocksdb-leveled-bloom.new --per-level 0=bloomfilter:16.11 --per-level 6=ribbonfilter:10.05
          options (4.8 KiB, 0.0036 wasted reads): block_based_table_factory={filter_policy=ribbonfilter:12.8:1;};

        wasted reads per lookup, by memory of filters
            1.3e0 |* o o
                  |  * * o o
                  |      *   o o
                  |        * * * o o o o
           3.5e-2 |              * *     o o o
                  |                  * * *     o o @
                  |                        * *      o o o
                  |                            * * *      o o o o
           9.4e-4 |                                 * *           o o o o
                  |                                     * * *             o o o
                  |                                           * * *             o o
                  |                                                 * * *
           2.5e-5 |                                                       * * *
                  |                                                             * *
                  '----------------------------------------------------------------
                   0 B                                                      9.8 KiB
                   o one policy for all levels
                   * best policies for each level
                   @ now
        --- status 0
    "#]].assert_eq(&run(["advise", LEVELED, "--hit-rate", "0.9"]).all());
}

#[test]
fn a_leveldb_database_with_a_budget() {
    let arguments = ["advise", "databases/leveldb-bloom-snappy", "--budget", "4KiB"];
    expect![[r#"
        databases/leveldb-bloom-snappy
          filters                 6.0 KiB, 6.4 KiB with jemalloc
          indexes                 1.8 KiB
          wasted reads, expected  0.0294 (36 B) per lookup of a key that is not found
                                  3.9990 per seek to a prefix without keys

          level  files  entries  filter         bits per key  filters  indexes  false positives  wasted reads
          0          2    1,160  leveldb_bloom          11.7  1.5 KiB    470 B          0.612 %        0.0122
          1          1    2,953  leveldb_bloom          10.4  3.8 KiB  1.1 KiB          0.998 %        0.0100
          2          1      589  leveldb_bloom          11.5    775 B    241 B          0.724 %        0.0072

        advice: Distribute the budget over the levels so that lookups waste the fewest reads: leveldb.BuiltinBloomFilter2:9 in level 0, leveldb.BuiltinBloomFilter2:5 in level 1, leveldb.BuiltinBloomFilter2:8 in level 2.
          memory of filters        6.0 KiB -> 4.0 KiB
          wasted reads per lookup  0.0294 -> 0.1265

        best filters in this memory: 4.0 KiB, 0.1265 wasted reads per lookup of a key that is not found
          level  policy                         filters  false positives  wasted reads
          0      leveldb.BuiltinBloomFilter2:9  1.4 KiB          0.936 %        0.0187
          1      leveldb.BuiltinBloomFilter2:5  2.0 KiB           9.16 %        0.0916
          2      leveldb.BuiltinBloomFilter2:8    633 B           1.63 %        0.0162
          now: sst refilter databases/leveldb-bloom-snappy -o databases/leveldb-bloom-snappy.new --per-level 0=leveldb.BuiltinBloomFilter2:9 --per-level 1=leveldb.BuiltinBloomFilter2:5 --per-level 2=leveldb.BuiltinBloomFilter2:8
          options (3.8 KiB, 0.1942 wasted reads): filter_policy = NewBloomFilterPolicy(6);

        wasted reads per lookup, by memory of filters
            4.0e0 |* o o
                  |  * * o o o
                  |      * * * o
                  |            * * o
           2.7e-1 |                * * o
                  |                    * * o o
                  |                        * * o
                  |                            * * @o
           1.9e-2 |                                ** * o
                  |                                     * * o o
                  |                                         * * *
                  |                                               * * *
           1.3e-3 |                                                     * * * o o
                  |                                                           * * *
                  '----------------------------------------------------------------
                   0 B                                                     12.0 KiB
                   o one policy for all levels
                   * best policies for each level
                   @ now
        --- status 0
    "#]].assert_eq(&run(arguments).all());
}

#[test]
fn what_if() {
    let choice = "filter=ribbonfilter:8;filter.0=bloomfilter:12;partition_filters=true";
    let ran = run(["advise", LEVELED, "--what-if", choice]);
    let (_, what_if) = ran.stdout.split_once("what if").expect("it is printed");
    expect![[r#"
        : 3.7 KiB, 0.0305 wasted reads per lookup of a key that is not found
          level  policy          filters  false positives  wasted reads
          0      bloomfilter:12  1.9 KiB          0.394 %        0.0079
          6      ribbonfilter:8  1.8 KiB           2.27 %        0.0227
          now: sst refilter databases/rocksdb-leveled-bloom -o databases/rocksdb-leveled-bloom.new --per-level 0=bloomfilter:12 --per-level 6=ribbonfilter:8 --partition-filters
          options (3.7 KiB, 0.0330 wasted reads): block_based_table_factory={filter_policy=ribbonfilter:9.6:1;partition_filters=true;index_type=kTwoLevelIndexSearch;};"#]].assert_eq(what_if.split_once("\n\n").expect("a plot follows").0);
}

/// The line does what it says: the new database has the filters, and lookups waste as few reads.
#[test]
fn the_printed_line_works() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, name) in
        ["rocksdb-leveled-bloom", "rocksdb-column-families", "leveldb-bloom-snappy"]
            .into_iter()
            .enumerate()
    {
        let source = testdata(&format!("databases/{name}")).display().to_string();
        let advice = run(["advise", &source, "--budget", "5KiB", "--format", "json"]).json();
        let plan = &advice[0]["plan"];
        let line = plan["refilter"].as_str().expect("a line");
        let target = folder.path().join(number.to_string()).display().to_string();
        let line = line.replace(&format!("{source}.new"), &target);
        let script = line.replacen("sst ", &format!("{} ", env!("CARGO_BIN_EXE_sst")), 1);
        let ran = std::process::Command::new("sh").args(["-c", &script]).output().expect("runs");
        assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
        let after = run(["advise", &target, "--format", "json"]).json();
        let reads = after[0]["now"]["wasted_reads"].as_f64().expect("a number");
        let expected = plan["wasted_reads"].as_f64().expect("a number");
        assert!((reads / expected - 1.0).abs() < 0.15, "{line}: {reads}, expected {expected}");
    }
}

#[test]
fn what_cannot_work_is_refused() {
    for (arguments, message) in [
        (&["tables/types-all.sst"][..], "a single table has no levels"),
        (&[LEVELED, "--hit-rate", "2"], "--hit-rate must be from 0 to 1"),
        (&[LEVELED, "--measure=0"], "--measure must be 1 or more"),
        (&[LEVELED, "--what-if", "filters=none"], "expected one of filter, filter.LEVEL"),
        (&[LEVELED, "--what-if", "filter"], "expected NAME=VALUE"),
        (&[LEVELED, "--what-if", "filter.9=none"], "the database has no tables in level 9"),
        (&["databases/rocksdb-wal-only"], "no tables, and so no filters"),
    ] {
        let ran = run([&["advise"][..], arguments].concat());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stdout);
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
}
