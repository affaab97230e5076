//! An option that would have no effect is an error.

use std::fs;

use crate::run::{run, run_with};

#[test]
fn options_without_effect_are_refused() {
    let table = "tables/one-entry.sst";
    let database = "databases/rocksdb-wal-only";
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
    ] {
        let ran = run(arguments);
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
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
