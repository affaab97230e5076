//! `sst stats`: whole outputs, and the numbers against other commands.

use expect_test::expect;

use crate::run::{databases, run, testdata};

#[test]
fn a_table() {
    expect![[r#"
        tables/types-all.sst  25.7 KiB
          keys                   500, 459 of them visible
          entries                500: 41 delete, 39 merge, 420 put
          keys and values        5.4 KiB and 16.8 KiB
          data blocks as stored  23.5 KiB, 106 % of that

        what the space is used for, before compression
        ███████████████████████████████████████████████████████████▓
          █ visible       21.7 KiB    98.0 %  459 entries, about 23.1 KiB as stored
          ▓ tombstones       451 B    1.99 %  41 entries, about 478 B as stored
          space amplification 1.02

        key sizes: 11 B to 11 B, mean 11 B
          8 B …  ████████████████████████████████████████  500

        value sizes: 0 B to 59 B, mean 37 B
             0 B  ███                                       21
             1 B                                            0
           2 B …                                            0
           4 B …                                            0
           8 B …                                            0
          16 B …  ███████████████████                       137
          32 B …  ████████████████████████████████████████  301

        largest values
          size  key
          59 B  key00001750
          59 B  key00002149

        41 tombstones, 8.20 % of all entries; oldest: sequence number 0
          ranges with most tombstones per entry
            tombstones   share  from         to
                     5  9.62 %  key00004830  (end)
                     6  9.38 %  key00001694  key00002142

        3 range tombstones, the first 2
          from         to           sequence number
          key00001729  key00001757                0
          key00001799  key00001827                0
        --- status 0
    "#]]
    .assert_eq(&run(["stats", "tables/types-all.sst", "--top", "2"]).all());
}

#[test]
fn a_database_with_files_and_prefixes() {
    let ran = run([
        "stats",
        "databases/rocksdb-range-deletes",
        "--top",
        "2",
        "--files",
        "--by-delimiter",
        "/:2",
    ]);
    expect![[r#"
        databases/rocksdb-range-deletes  19.7 KiB

        column family default
          keys                   1,136, 982 of them visible
          entries                1,375: 64 delete, 1,311 put
          keys and values        24.2 KiB and 61.3 KiB
          data blocks as stored  15.2 KiB, 22.9 % of that

        what the space is used for, before compression
        ████████████████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▒▒▒▒░
          █ visible                        63.2 KiB    74.0 %  982 entries, about 10.5 KiB as stored
          ▓ older versions                 15.1 KiB    17.7 %  234 entries, about 3.1 KiB as stored
          ▒ covered by range tombstones     6.0 KiB    7.04 %  95 entries, about 1.4 KiB as stored
          ░ tombstones                      1.1 KiB    1.32 %  64 entries, about 194 B as stored
          space amplification 1.35

        levels
          level    file      size  entries  tombstones      keys    values  as stored   share  not visible  written
            log                        331          21   5.8 KiB  13.4 KiB                         1.7 KiB
              0  1 file   9.6 KiB      474          43   8.3 KiB  20.8 KiB    7.3 KiB  25.2 %      9.2 KiB  2026-11-15
                 000044   9.6 KiB      474          43   8.3 KiB  20.8 KiB    7.3 KiB  25.2 %      9.2 KiB  2026-11-15
              6  1 file  10.1 KiB      570              10.0 KiB  27.2 KiB    7.9 KiB  21.1 %     11.3 KiB  2026-11-15
                 000042  10.1 KiB      570              10.0 KiB  27.2 KiB    7.9 KiB  21.1 %     11.3 KiB  2026-11-15

        key sizes: 18 B to 18 B, mean 18 B
          16 B …  ████████████████████████████████████████  1,375

        value sizes: 22 B to 85 B, mean 48 B
          16 B …  ████████████████████████████████          418
          32 B …  ████████████████████████████████████████  532
          64 B …  ████████████████████████████              361

        largest values
          size  key                                level    file
          85 B  user00004/post0011                     6  000042
          85 B  user00004/post0013  older version      6  000042

        keys with most entries
          entries  key
                4  user00074/post0002
                3  user00000/post0022

        64 tombstones, 4.65 % of all entries; oldest: sequence number 9444 in 000044, written 2026-11-15 or before
          most entries that a scan skips from one key to the next
            entries  tombstones  from                to
                  9           2  user00045/post0019  user00046/post0013
                  8           0  user00042/post0011  user00043/post0023
          ranges with most tombstones per entry
            tombstones   share  from                to
                     7  10.9 %  user00044/post0002  user00050/post0005
                     7  10.9 %  user00050/post0005  user00054/post0019

        5 range tombstones, the first 2
          from                to                  sequence number  level    file
          user00018/post0004  user00022/post0010             9905      0  000044
          user00026/post0029  user00047/post0003            10148

        by prefix: 75 groups
           share  keys and values  as stored  entries  tombstones  prefix
          3.39 %          2.9 KiB      588 B       45           2  user00001/
          3.38 %          2.9 KiB      583 B       46           2  user00063/
          93.2 %         79.7 KiB   14.0 KiB    1,284          60  (73 more groups)
        --- status 0
    "#]].assert_eq(&ran.all());
}

#[test]
fn an_estimate_says_so() {
    let ran = run(["stats", "databases/leveldb-bloom-snappy", "--sample", "--by-prefix", "9"]);
    expect![[r#"
        databases/leveldb-bloom-snappy  104.3 KiB
        estimated from indexes and properties; no entries were read

        column family default
          data blocks as stored  96.1 KiB
          not included: 388 entries of the write-ahead log, not in tables yet

        levels
          level     file      size  as stored
              0  2 files  25.8 KiB   23.6 KiB
              1   1 file  65.5 KiB   60.6 KiB
              2   1 file  13.0 KiB   11.9 KiB

        by prefix: 55 groups
           share  as stored  prefix
          3.86 %    3.7 KiB  v
          3.85 %    3.7 KiB  user00007
          3.83 %    3.7 KiB  user00029
          3.79 %    3.6 KiB  user00014
          3.73 %    3.6 KiB  user00059
          2.72 %    2.6 KiB  user00070
          2.68 %    2.6 KiB  user00023
          2.61 %    2.5 KiB  user00038
          2.61 %    2.5 KiB  user00052
          2.57 %    2.5 KiB  user00030
          67.8 %   65.1 KiB  (45 more groups)
        --- status 0
    "#]]
    .assert_eq(&ran.all());
}

/// What is visible is what `scan` counts, of all keys and of some.
#[test]
fn visible_keys_are_those_of_a_scan() {
    for path in databases() {
        for range in [&[][..], &["--prefix", "user0001"], &["--from", "user00003", "--to", "z"]] {
            let stats = run([&["stats", &path, "--format", "json"][..], range].concat());
            assert_eq!(stats.status, 0, "{}", stats.stderr);
            for family in stats.json()[0]["column_families"].as_array().unwrap() {
                let name = family["name"].as_str().unwrap();
                let scan = ["scan", &path, "--count", "--column-family", name];
                let count = run([&scan[..], range].concat());
                let visible = family["visible_keys"].to_string();
                assert_eq!(visible, count.stdout.trim(), "{path} {name} {range:?}");
            }
        }
    }
}

#[test]
fn bad_arguments() {
    for (arguments, message) in [
        (&["--by-prefix", "0"][..], "--by-prefix must be 1 or more"),
        (&["--by-delimiter", "/:0"], "the depth of --by-delimiter"),
        (&["--by-delimiter", ""], "--by-delimiter needs a delimiter"),
        (&["--by-delimiter", "/", "--by-prefix", "2"], "cannot be used with"),
        (&["--threads", "0"], "--threads must be 1 or more"),
        (&["--column-family", "meta"], "--column-family has no effect"),
    ] {
        let ran = run([&["stats", "tables/one-entry.sst"][..], arguments].concat());
        assert_eq!(ran.status, 2);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
}

/// What could be read is shown; the status and a message say that it is not all.
#[test]
fn a_damaged_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.sst");
    let mut bytes = std::fs::read(testdata("tables/fv7-bloom10.sst")).unwrap();
    bytes[5000] ^= 0x40;
    std::fs::write(&path, bytes).unwrap();
    let ran = run(["stats".as_ref(), path.as_os_str()]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("checksum does not match"), "{}", ran.stderr);
    assert!(ran.stdout.contains("incomplete: not everything could be read"), "{}", ran.stdout);
}

/// What is only in the logs is not in an estimate.
#[test]
fn an_estimate_mentions_the_log() {
    let database = "databases/rocksdb-wal-plus-tables";
    let counted = run(["stats", database, "--format=json"]);
    let family = &counted.json()[0]["column_families"][0];
    let in_log = family["levels"].as_array().expect("levels").iter();
    let in_log: u64 = in_log
        .filter(|level| level["level"].is_null())
        .map(|level| level["entries"].as_u64().expect("a number"))
        .sum();
    assert!(in_log > 0, "{family}");
    let sampled = run(["stats", database, "--sample", "--format=json"]);
    assert_eq!(sampled.json()[0]["column_families"][0]["log_entries"], in_log);
    let text = run(["stats", database, "--sample"]).stdout;
    assert!(text.contains(" of the write-ahead log, not in tables yet"), "{text}");
    assert!(!run(["stats", database]).stdout.contains("not included"));
}
