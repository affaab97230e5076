//! `sst ingest-check`: whole outputs. What RocksDB really does is compared in `sstkit-db`.

use expect_test::expect;

use crate::run::{run, run_with};

/// A table with these lines of NDJSON.
fn table(folder: &std::path::Path, name: &str, lines: &str, options: &[&str]) -> String {
    let path = folder.join(name).display().to_string();
    let ran = run_with(lines.as_bytes(), &[&["build", "-", "-o", &path][..], options].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    path
}

const DATABASE: &str = "databases/rocksdb-leveled-bloom";

#[test]
fn accepted_tables() {
    let folder = tempfile::tempdir().unwrap();
    let new = r#"{"key":"zebra","value":"1"}"#;
    let new = table(folder.path(), "new.sst", new, &["--for", "rocksdb-8.0"]);
    let over = r#"{"key":"user00001/post0001","value":"1"}
{"key":"user00002","type":"range_delete","value":"user00003"}"#;
    let over = table(folder.path(), "over.sst", over, &["--for=8.0", "--filter=none"]);
    let ran = run(["ingest-check", &new, &over, "--into", DATABASE, "--for", "9.8"]);
    expect![[r#"
        into databases/rocksdb-leveled-bloom, column family default, by RocksDB 9.8
        TMP/new.sst  to level 6
          keys  zebra to zebra
          no key of the database is in its range: entries keep sequence number 0, and are visible to all snapshots
          no other file is in its range: a lookup there reads this file only
        TMP/over.sst  to level 0, with sequence number 10865
          keys     user00001/post0001 to user00003, exclusive
          overlap  keys in the write-ahead log
          entries get sequence number 10865: they replace those of the same keys, and are not visible to older snapshots
          a lookup in its range considers up to 5 sorted runs instead of 4
          no filter: each lookup in its range reads a data block of it
        the write-ahead log has keys in the range of a table: the memtable is flushed first, and writes wait
        level 0 has 4 files instead of 2
        a compaction starts: level0_file_num_compaction_trigger is 3
        accepted
        --- status 0
    "#]].assert_eq(&ran.all_in(folder.path()));
}

#[test]
fn refused_tables() {
    let folder = tempfile::tempdir().unwrap();
    let line = r#"{"key":"zebra","value":"1"}"#;
    let new = table(folder.path(), "new.sst", line, &[]);
    let reverse = ["--comparator", "rocksdb.ReverseBytewiseComparator", "--for=6.29"];
    let reverse = table(folder.path(), "reverse.sst", line, &reverse);
    let own = "databases/rocksdb-leveled-bloom/000044.sst";
    let arguments = ["ingest-check", &new, &reverse, own, "--into", DATABASE, "--for", "9.8"];
    expect![[r#"
        into databases/rocksdb-leveled-bloom, column family default, by RocksDB 9.8
        TMP/new.sst
          keys  zebra to zebra
          refused: format version 7 is read by RocksDB 10.4 and later, not by 9.8: build the table with --for rocksdb-9.8 (Corruption)
        TMP/reverse.sst
          keys  zebra to zebra
          refused: its comparator is "rocksdb.ReverseBytewiseComparator", that of the column family is leveldb.BytewiseComparator (InvalidArgument)
        databases/rocksdb-leveled-bloom/000044.sst
          keys  user00000/post0003 to user00074/post0038
          refused: it was not written for ingestion: rewrite it with sst compact (Corruption: External file version not found)
          refused: it has entries with sequence numbers up to 9754, not 0 (Corruption: External file has non zero largest sequence number)
          refused: its entries have sequence numbers: rewrite it with sst compact (Corruption: External file has non zero sequence number)
        refused: no table would be ingested
        --- status 1
    "#]].assert_eq(&run(arguments).all_in(folder.path()));
    // Older versions do not look at the comparator.
    let ran = run(["ingest-check", &reverse, "--into", DATABASE, "--for", "8.0"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("warning: its comparator is"), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_ingested_into() {
    let table = "tables/one-entry.sst";
    for (into, message) in [
        ("databases/leveldb-bloom-snappy", "LevelDB cannot ingest tables"),
        ("databases", "not a database"),
    ] {
        let ran = run(["ingest-check", table, "--into", into]);
        assert_eq!(ran.status, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
}

/// Only a database with this option has reserved its last level.
#[test]
fn ingest_behind_needs_an_option() {
    let folder = tempfile::tempdir().unwrap();
    let line = r#"{"key":"zebra","value":"1"}"#;
    let new = table(folder.path(), "new.sst", line, &["--for", "rocksdb-8.0"]);
    let check = |database: &str| {
        run(["ingest-check", &new, "--into", database, "--ingest-behind", "--for", "9.8"])
    };
    let refused = check(DATABASE);
    assert_eq!(refused.status, 1);
    assert!(refused.stdout.contains("without the option allow_ingest_behind"), "{}", refused.all());

    let copy = folder.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for file in std::fs::read_dir(crate::run::testdata(DATABASE)).unwrap() {
        let file = file.unwrap();
        let mut bytes = std::fs::read(file.path()).unwrap();
        if file.file_name().to_string_lossy().starts_with("OPTIONS") {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains("allow_ingest_behind=false"));
            let allowed = text.replace("allow_ingest_behind=false", "allow_ingest_behind=true");
            bytes = allowed.into_bytes();
        }
        std::fs::write(copy.join(file.file_name()), bytes).unwrap();
    }
    let text = check(&copy.display().to_string()).stdout;
    assert!(!text.contains("allow_ingest_behind, which"), "{text}");
}

/// RocksDB does not refuse such a file: it cannot read it.
#[test]
fn a_file_that_cannot_be_read_is_a_failure() {
    let ran = run(["ingest-check", "/no/such.sst", "--into", DATABASE]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("/no/such.sst: not found"), "{}", ran.stderr);
}
