//! `sst diff`: what it prints, and the statuses it ends with.

use std::fs;
use std::path::Path;

use expect_test::expect;
use serde_json::Value;

use crate::run::{databases, names_in, run, run_with, tables, testdata};

/// Builds a table of these lines.
fn build(folder: &Path, name: &str, lines: &[&str], options: &[&str]) -> String {
    let path = folder.join(name).display().to_string();
    let arguments = [&["build", "-", "-o", &path][..], options].concat();
    let ran = run_with(lines.join("\n").as_bytes(), &arguments);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    path
}

const A: [&str; 4] = [
    r#"{"key":"alice","value":"1"}"#,
    r#"{"key":"bob","value":"2"}"#,
    r#"{"key":"carol","value":"3"}"#,
    r#"{"key":"dave\u001b[2J","value":"4"}"#,
];
const B: [&str; 4] = [
    r#"{"key":"alice","value":"1"}"#,
    r#"{"key":"carol","value":"33"}"#,
    r#"{"key":"dave\u001b[2J","value":"4"}"#,
    r#"{"key":"erin","value":"5"}"#,
];

#[test]
fn lines_of_both_sides() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = build(folder.path(), "a.sst", &A, &[]);
    // Another engine and another codec.
    let b = build(folder.path(), "b.ldb", &B, &["--profile", "leveldb", "--compression", "snappy"]);
    let diff = |options: &[&str]| run([&["diff", &a, &b][..], options].concat()).all();
    expect![[r#"
        - bob => 2
        - carol => 3
        + carol => 33
        + erin => 5
        --- status 1
    "#]]
    .assert_eq(&diff(&[]));
    expect![[r#"
        - bob
        ~ carol
        + erin
        --- status 1
    "#]]
    .assert_eq(&diff(&["--keys-only"]));
    expect![[r#"
        {"change":"removed","key":"bob","a":{"key":"bob","value":"2"}}
        {"change":"changed","key":"carol","a":{"key":"carol","value":"3"},"b":{"key":"carol","value":"33"}}
        {"change":"added","key":"erin","b":{"key":"erin","value":"5"}}
        --- status 1
    "#]]
    .assert_eq(&diff(&["--format", "json"]));
    expect![[r#"
        1 removed, 1 added, 1 changed
        --- status 1
    "#]]
    .assert_eq(&diff(&["--summary"]));
    expect![[r#"
        {"equal":false,"complete":false,"removed":1,"added":0,"changed":1}
        --- status 1
    "#]]
    .assert_eq(&diff(&["--summary", "--limit", "2", "--format", "json"]));
    expect![[r#"
        - bob => 2
        --- status 1
    "#]]
    .assert_eq(&diff(&["--limit", "1"]));
    assert_eq!(diff(&["--limit", "0"]), "--- status 1\n");
    assert_eq!(diff(&["--from", "carol", "--to", "d", "--keys-only"]), "~ carol\n--- status 1\n");
    assert_eq!(diff(&["--prefix", "e"]), "+ erin => 5\n--- status 1\n");
    assert_eq!(diff(&["--prefix", "alice"]), "--- status 0\n");
    assert_eq!(diff(&["--prefix", "alice", "--summary"]), "equal\n--- status 0\n");
    expect![[r#"
        - put 0 bob => 2
        - put 0 carol => 3
        + put 0 carol => 33
        + put 0 erin => 5
        --- status 1
    "#]]
    .assert_eq(&diff(&["--internal"]));
}

#[test]
fn stored_entries_and_range_deletions() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = [r#"{"key":"a","type":"delete"}"#, r#"{"key":"c","type":"range_delete","value":"f"}"#];
    let b = [
        r#"{"key":"a","value":"1"}"#,
        r#"{"key":"c","type":"range_delete","value":"f"}"#,
        r#"{"key":"g","type":"range_delete","value":"h"}"#,
    ];
    let a = build(folder.path(), "a.sst", &a, &[]);
    let b = build(folder.path(), "b.sst", &b, &[]);
    expect![[r#"
        - delete 0 a
        + put 0 a => 1
        + range_delete 0 g => h
        --- status 1
    "#]]
    .assert_eq(&run(["diff", &a, &b, "--internal"]).all());
    expect![[r#"
        - a => 1
        --- status 1
    "#]]
    .assert_eq(&run(["diff", &b, &a]).all());
    let ran = run(["diff", &a, &b, "--internal", "--keys-only", "--format", "json"]);
    expect![[r#"
        {"change":"changed","key":"a","a":{"type":"delete","key":"a","seq":0},"b":{"type":"put","key":"a","seq":0}}
        {"change":"added","key":"g","b":{"type":"range_delete","key":"g","seq":0}}
        --- status 1
    "#]]
    .assert_eq(&ran.all());
}

/// Every table and database is the same as itself, and as a copy of its visible state.
#[test]
fn the_same_as_itself() {
    for path in tables().into_iter().chain(databases()) {
        for internal in [&[][..], &["--internal"]] {
            let ran = run([&["diff", &path, &path, "--summary"][..], internal].concat());
            // Values in files that a table alone does not have are not compared.
            let is_equal = ran.stdout.ends_with("equal\n") && ran.status == 0;
            assert!(is_equal || ran.stderr.contains("unknown comparator"), "{path}: {}", ran.all());
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["rocksdb-range-deletes", "leveldb-zstd-log-tail", "rocksdb-blobs"] {
        let path = format!("databases/{name}");
        let scan = run(["scan", &path, "--format", "json"]).stdout;
        let copy = build(folder.path(), name, &scan.lines().collect::<Vec<_>>(), &[]);
        assert_eq!(run(["diff", &path, &copy, "--summary"]).all(), "equal\n--- status 0\n");
        assert_eq!(run(["diff", &copy, &path, "--internal", "--limit", "1"]).status, 1);
    }
}

/// A number of four digits as it is printed.
fn thousands(digits: &str) -> String {
    format!("{},{}", &digits[..1], &digits[1..])
}

#[test]
fn column_families_by_name() {
    let (families, plain) =
        ("databases/rocksdb-column-families", "databases/rocksdb-leveled-bloom");
    let ran = run(["diff", families, plain, "--summary", "--format", "json"]);
    let line: &Value = &ran.json()[0];
    assert_eq!((ran.status, &line["equal"], &line["complete"]), (1, &false.into(), &true.into()));
    let counts = line["column_families"].as_array().expect("a list");
    let of = |name: &str| counts.iter().find(|it| it["column_family"] == name).expect("is there");
    assert_eq!(of("meta")["only_in"], "a");
    assert!(of("default")["only_in"].is_null());
    let keys = run(["scan", families, "--column-family", "meta", "--count"]).stdout;
    assert_eq!(of("meta")["removed"].to_string(), keys.trim());

    let ran = run(["diff", plain, families, "--column-family", "meta", "--limit", "1"]);
    assert!(ran.stdout.starts_with("+ column family meta\n+ user"), "{}", ran.stdout);
    let ran = run(["diff", plain, families, "--column-family", "meta", "--format", "json"]);
    assert_eq!(ran.json()[0].to_string(), r#"{"change":"added","column_family":"meta"}"#);
    let ran = run(["diff", plain, families, "--column-family", "meta", "--summary"]);
    let lines = format!(
        "column family meta: only in B, 0 removed, {count} added, 0 changed\n\
         0 removed, {count} added, 0 changed\n",
        count = thousands(keys.trim())
    );
    assert_eq!((ran.status, ran.stdout), (1, lines));
    let ran = run(["diff", plain, families, "--keys-only"]);
    let headings = ran.stdout.lines().filter(|it| it.contains("column family"));
    let expected = ["column family default", "+ column family meta", "+ column family événements"];
    assert!(headings.eq(expected), "{}", ran.stdout);

    let ran = run(["diff", plain, families, "--column-family", "mata"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("no column family \"mata\""), "{}", ran.stderr);
    let table = "tables/one-entry.sst";
    let ran = run(["diff", table, families, "--column-family", "meta", "--summary"]);
    assert!(ran.status == 1 && ran.stdout.starts_with("1 removed, "), "{}", ran.all());
}

#[test]
fn what_cannot_be_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = build(folder.path(), "a.sst", &A, &[]);
    let reverse = ["--comparator", "rocksdb.ReverseBytewiseComparator"];
    let lines: Vec<&str> = A.into_iter().rev().collect();
    let reverse = build(folder.path(), "reverse.sst", &lines, &reverse);
    let ran = run(["diff", &a, &reverse]);
    expect![[r#"
        --- stderr
        sst: invalid argument: cannot compare keys in different orders: TMP/a.sst has the comparator "leveldb.BytewiseComparator", TMP/reverse.sst has "rocksdb.ReverseBytewiseComparator"
        --- status 2
    "#]]
    .assert_eq(&ran.all_in(folder.path()));
    assert_eq!(run(["diff", &a, &folder.path().join("none").display().to_string()]).status, 2);
    assert_eq!(run(["diff", &a]).status, 2);

    // The same damage in both.
    let mut bytes = fs::read(&a).expect("read");
    bytes[10] ^= 1;
    let damaged = folder.path().join("damaged.sst").display().to_string();
    fs::write(&damaged, bytes).expect("written");
    for paths in [[&damaged, &damaged], [&a, &damaged]] {
        let ran = run(["diff", paths[0], paths[1]]);
        assert_eq!(ran.status, 2);
        assert!(ran.stderr.contains("data block at offset 0"), "{}", ran.stderr);
    }

    // Without the MANIFEST it is not known what is visible.
    let source = testdata("databases/rocksdb-leveled-bloom");
    let broken = folder.path().join("broken");
    fs::create_dir(&broken).expect("a folder");
    for name in names_in(&source).iter().filter(|name| *name != "CURRENT") {
        fs::copy(source.join(name), broken.join(name)).expect("copied");
    }
    let broken = broken.display().to_string();
    assert_eq!(run(["diff", "databases/rocksdb-leveled-bloom", &broken, "--summary"]).status, 2);
}
