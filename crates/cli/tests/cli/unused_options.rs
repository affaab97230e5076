//! An option that would have no effect is an error.

use std::fs;

use crate::run::{run, run_with};

#[test]
fn options_without_effect_are_refused() {
    let table = "tables/one-entry.sst";
    let database = "databases/rocksdb-wal-only";
    let current = "databases/rocksdb-wal-only/CURRENT";
    for (arguments, message) in [
        (&["scan", table, "--column-family", "default"][..], "--column-family"),
        (&["get", table, "a", "--column-family", "meta"], "--column-family"),
        (&["filter", table, "--column-family", "default"], "--column-family"),
        (&["compact", table, "-o", "x.sst", "--column-family", "default"], "--column-family"),
        (&["scan", database, "--key-form", "user"], "--key-form"),
        (&["info", database, "--key-form", "internal"], "--key-form"),
        (&["compact", database, "-o", "x.sst", "--key-form", "user"], "--key-form"),
        (&["compact", table, "-o", "x.sst", "--filter", "bloomfilter:0"], "builds no filter"),
        (&["compact", table, "-o", "x.sst", "--filter", "ribbonfilter:-3"], "builds no filter"),
        (&["compact", table, "-o", "x.sst", "--no-whole-key-filtering"], "--prefix-extractor"),
        (&["scan", table, "--ignore-log"], "--ignore-log"),
        (&["get", table, "a", "--max-log-memory", "1GiB"], "--max-log-memory"),
        (&["verify", table, "--ignore-log"], "--ignore-log"),
        (&["info", table, "--max-log-memory", "1GiB"], "--max-log-memory"),
        (&["filter", table, "--ignore-log"], "--ignore-log"),
        (&["compact", table, "-o", "x.sst", "--ignore-log"], "--ignore-log"),
        (&["info", database, "--full"], "--full"),
        (&["info", current, "--full"], "--full"),
        (&["verify", current, "--key-form", "user"], "--key-form"),
        (&["verify", current, "--ignore-log"], "--ignore-log"),
        (&["verify", current, "--comparator", "leveldb.BytewiseComparator"], "--comparator"),
        (&["info", table, "--merge-operator", "put"], "--merge-operator"),
        (&["verify", database, "--merge-operator", "put"], "--merge-operator"),
        (&["dump", table, "--merge-operator", "put"], "--merge-operator"),
        (&["layout", table, "--merge-operator", "put"], "--merge-operator"),
        (&["filter", table, "--merge-operator", "put"], "--merge-operator"),
        (&["scan", table, "--internal", "--merge-operator", "put"], "--merge-operator"),
        (&["diff", table, table, "--column-family", "default"], "--column-family"),
        (&["diff", database, database, "--key-form", "user"], "--key-form"),
        (&["diff", table, table, "--ignore-log"], "--ignore-log"),
        (&["diff", table, database, "--internal", "--merge-operator", "put"], "--merge-operator"),
        (&["compact", table, "-o", "x.sst", "--level", "1"], "--level"),
        (
            &["compact", table, "-o", "x.sst", "--filter", "ribbonfilter:10:-1", "--level", "1"],
            "--level",
        ),
        (
            &["compact", table, "-o", "x.sst", "--metadata-block-size", "4KiB"],
            "--metadata-block-size",
        ),
        (&["build", "-", "-o", "x.sst", "--sorted", "--memory", "1MiB"], "--memory"),
        (&["build", "-", "-o", "x.sst", "--column-family", "meta"], "--column-family"),
        (&["build", "-", "-o", "x.sst", "--options", "OPTIONS"], "--options"),
        (&["build", "-", "-o", "x", "--as", "database", "--force"], "--force"),
        (&["build", "-", "-o", "x", "--as", "table", "--max-file-size", "1MiB"], "one file"),
        (&["compact", table, "-o", "x", "--as", "table", "--split-at", "a"], "one file"),
        (&["compact", database, "-o", "x", "--keep-levels"], "--as database"),
        (&["compact", table, "-o", "x", "--keep-levels", "--as", "database"], "one PATH"),
        (
            &["compact", database, "-o", "x", "--as", "database", "--keep-levels", "--level", "1"],
            "--level",
        ),
    ] {
        let ran = run(arguments);
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

/// One path that an option is about is enough, and a default is not an option that was given.
#[test]
fn options_with_effect_are_accepted() {
    let (table, database) = ("tables/one-entry.sst", "databases/rocksdb-wal-only");
    for arguments in [
        &["verify", table, database, "--ignore-log", "--key-form", "internal"][..],
        &["info", table, database, "--full"],
        &["filter", table, database, "--column-family", "default"],
        &["info", table, database],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn options_of_other_inputs_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.sst").display().to_string();
    let csv = folder.path().join("in.csv").display().to_string();
    fs::write(&csv, "id,value\na,1\n").expect("written");
    let ndjson = b"{\"key\":\"b\",\"value\":\"2\"}\n";
    for options in [&["--key", "id"][..], &["--value", "value"], &["--no-header"]] {
        let ran = run_with(ndjson, &[&["build", "-", "-o", &out], options].concat());
        assert_eq!(ran.status, 2, "{options:?}");
        assert!(ran.stderr.contains(options[0]), "{}", ran.stderr);
    }
    // One input is enough.
    let ran = run_with(ndjson, &["build", "-", &csv, "-o", &out, "--key", "id"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(run(["scan", &out]).stdout, "a => 1\nb => 2\n");
}
