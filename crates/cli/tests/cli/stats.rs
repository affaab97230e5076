//! `sst stats`: whole outputs, and the numbers against other commands.

use expect_test::expect;

use crate::run::{databases, run, testdata};

#[test]
fn a_table() {
    expect![].assert_eq(&run(["stats", "tables/types-all.sst", "--top", "2"]).all());
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
    expect![].assert_eq(&ran.all());
}

#[test]
fn an_estimate_says_so() {
    let ran = run(["stats", "databases/leveldb-bloom-snappy", "--sample", "--by-prefix", "9"]);
    expect![].assert_eq(&ran.all());
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
        (&["--by-delimiter", "/:0"], "--by-delimiter needs a delimiter"),
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
