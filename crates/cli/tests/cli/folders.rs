//! Folders of tables with a manifest.json, as `sst build` and `sst compact` write them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::{run, run_with, testdata};

/// Four tables or so: 300 keys and two range deletions, one of which reaches over several of them.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut input = String::new();
    for key in 0..300 {
        input.push_str(&format!("{{\"key\":\"key{key:04}\",\"value\":\"{key:0>60}\"}}\n"));
    }
    for (start, end) in [("key0050", "key0250"), ("key0290", "key9999")] {
        input.push_str(&format!(
            "{{\"type\":\"range_delete\",\"key\":\"{start}\",\"value\":\"{end}\"}}\n"
        ));
    }
    let output = folder.path().join("out").display().to_string();
    let ran = run_with(
        input.as_bytes(),
        &["build", "-", "-o", &output, "--max-file-size", "6KiB", "--compression", "none"],
    );
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    folder
}

fn manifest(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("manifest.json")).expect("a manifest");
    serde_json::from_str(&text).expect("JSON")
}

fn write_manifest(folder: &Path, manifest: &Value) {
    fs::write(folder.join("manifest.json"), manifest.to_string()).expect("written");
}

#[test]
fn a_folder_is_known_by_its_manifest() {
    let folder = folder();
    let path = folder.path().join("out").display().to_string();
    let files = manifest(Path::new(&path))["files"].as_array().expect("files").len();
    assert!(files > 2, "{files}");

    let verified = run(["verify", &path, "--format", "json"]);
    assert_eq!((verified.status, verified.stderr.as_str()), (0, ""), "{}", verified.stdout);
    assert_eq!(verified.json().len(), files + 1);

    let info = run(["info", &path, "--format", "json"]);
    assert_eq!((info.status, info.stderr.as_str()), (0, ""));
    let info = &info.json()[0];
    assert_eq!(info["kind"], "rocksdb-tables");
    assert_eq!(info["entries"], manifest(Path::new(&path))["entries"]);
    assert_eq!(info["size"], manifest(Path::new(&path))["bytes"]);
    assert!(info["last_seq"].is_null() && info["caveats"].is_null());

    // A range deletion deletes nothing in the table it comes with: the sequence numbers are equal.
    for (arguments, stdout) in [
        (vec!["scan", &path, "--count"], "300\n"),
        (vec!["scan", &path, "--reverse", "--limit", "1", "--keys-only"], "key0299\n"),
        (vec!["scan", &path, "--from", "key0123", "--limit", "1", "--keys-only"], "key0123\n"),
        (
            vec!["get", &path, "6b657930303037", "--encoding", "hex"],
            &format!("{}37\n", "30".repeat(59)),
        ),
    ] {
        let ran = run(&arguments);
        assert_eq!(ran.stdout, stdout, "{arguments:?}: {}", ran.stderr);
    }
    let merged = folder.path().join("merged.sst").display().to_string();
    assert_eq!(run(["compact", &path, "-o", &merged]).status, 0);
    assert_eq!(run(["scan", &merged, "--count"]).stdout, "300\n");
}

/// Only the tables count that the manifest names: others may be there, of a run that was stopped.
#[test]
fn other_tables_do_not_count() {
    let folder = folder();
    let path = folder.path().join("out");
    fs::copy(path.join("000001.sst"), path.join("000077.sst")).expect("copied");
    let mut short = manifest(&path);
    let dropped = short["files"].as_array_mut().expect("files").pop().expect("a file");
    write_manifest(&path, &short);
    let count = run(["scan", &path.display().to_string(), "--count"]);
    let left =
        300 - (dropped["entries"].as_u64().unwrap() - dropped["range_deletions"].as_u64().unwrap());
    assert_eq!((count.stdout, count.stderr.as_str()), (format!("{left}\n"), ""));
}

/// Each way in which files and manifest may differ, and how it is named.
#[test]
fn what_differs_from_the_manifest_is_reported() {
    type Change = fn(&Path, &mut Value);
    let changes: [(Change, &str); 11] = [
        (|folder, _| fs::remove_file(folder.join("000002.sst")).unwrap(), "file not found"),
        (
            |folder, _| {
                fs::copy(folder.join("000001.sst"), folder.join("000077.sst")).unwrap();
            },
            "000077.sst: manifest.json does not name this table",
        ),
        (|folder, _| flip(&folder.join("000001.sst")), "its checksum does not match manifest.json"),
        (
            |_, manifest| manifest["files"][0]["bytes"] = 7.into(),
            "the file size does not match the manifest",
        ),
        (
            |_, manifest| manifest["files"][0]["checksum"] = "00000000".into(),
            "its checksum does not match manifest.json (expected 00000000, found ",
        ),
        (
            |_, manifest| manifest["files"][1]["entries"] = 1.into(),
            "the number of entries does not match manifest.json (expected 1, found ",
        ),
        (
            |_, manifest| manifest["files"][1]["range_deletions"] = 9.into(),
            "the number of range deletions does not match manifest.json (expected 9, found ",
        ),
        (
            |_, manifest| manifest["files"][0]["smallest"] = "61".into(),
            "its smallest key does not match manifest.json (expected \"a\", found \"key0000\")",
        ),
        (
            |_, manifest| manifest["files"][0]["largest_seq"] = 7.into(),
            "its largest sequence number does not match manifest.json (expected 7, found 0)",
        ),
        (
            |_, manifest| manifest["files"][0]["largest"] = "7a".into(),
            "manifest.json: corrupt: 000001.sst and 000002.sst overlap",
        ),
        (|_, manifest| manifest["bytes"] = 1.into(), "the total of bytes is wrong"),
    ];
    for (change, message) in changes {
        let folder = folder();
        let path = folder.path().join("out");
        let mut changed = manifest(&path);
        change(&path, &mut changed);
        write_manifest(&path, &changed);
        let ran = run(["verify", &path.display().to_string()]);
        assert_eq!(ran.status, 1, "{message}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(message), "{message}: {}", ran.stdout);
    }
}

/// Changes one bit of the first key.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("a table");
    bytes[5] ^= 1;
    fs::write(path, bytes).expect("written");
}

/// A manifest that cannot be used is a problem, and the tables are still read. One of a newer
/// version is not damaged.
#[test]
fn a_broken_manifest_json() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str, i32); 4] = [
        (
            |manifest| manifest["files"][1]["name"] = manifest["files"][0]["name"].clone(),
            "000001.sst has the same file number as another table",
            1,
        ),
        (|manifest| manifest["files"][0]["name"] = "../x.sst".into(), "is not a file name", 1),
        (
            |manifest| manifest["files"][0]["name"] = "LOG".into(),
            "\"LOG\" is not a table file name",
            1,
        ),
        (|manifest| manifest["version"] = 2.into(), "manifest version 2", 2),
    ];
    for (change, message, status) in changes {
        let folder = folder();
        let path = folder.path().join("out");
        let mut changed = manifest(&path);
        change(&mut changed);
        write_manifest(&path, &changed);
        let path = path.display().to_string();
        let ran = run(["verify", &path]);
        assert_eq!(ran.status, status, "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(message), "{message}: {}", ran.stdout);
        assert_eq!(run(["scan", &path, "--count"]).stdout, "300\n");
    }
}

/// There was never a database, so nothing is lost; assumptions about the tables are reported.
#[test]
fn a_plain_folder_of_tables_is_not_a_damaged_database() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, key) in [("000001.sst", "a"), ("000002.sst", "b")] {
        let output = folder.path().join(name).display().to_string();
        let input = format!("{{\"key\":\"{key}\",\"value\":\"1\"}}\n");
        let ran = run_with(input.as_bytes(), &["build", "-", "-o", &output]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let path = folder.path().display().to_string();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let output = elsewhere.path().join("out.sst").display().to_string();
    for (arguments, stdout) in [
        (&["scan", &path, "--keys-only"][..], "a\nb\n"),
        (&["get", &path, "b"], "1\n"),
        (&["scan", &path, "--count"], "2\n"),
    ] {
        let ran = run(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, stdout), "{}", ran.stderr);
        assert!(ran.stderr.contains("opened without the MANIFEST"), "{}", ran.stderr);
    }
    let info = run(["info", &path, "--format", "json"]);
    assert_eq!((info.status, &info.json()[0]["kind"]), (0, &"rocksdb-tables".into()));
    assert_eq!((run(["filter", &path]).status, run(["verify", &path]).status), (0, 0));
    // Which table is newer is for the user to say.
    let compacted = run(["compact", &path, "-o", &output]);
    assert_eq!(compacted.status, 2);
    assert!(
        compacted.stderr.contains("pass the tables themselves instead"),
        "{}",
        compacted.stderr
    );

    // With a MANIFEST or a log it was a database, and is damaged.
    fs::write(folder.path().join("000003.log"), []).expect("written");
    assert_eq!((run(["scan", &path]).status, run(["verify", &path]).status), (2, 1));
}

/// Tables that LevelDB's `TableBuilder` wrote without a database: keys without sequence numbers.
#[test]
fn folders_of_tables_with_bare_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["leveldb-table-bloom10-c1.ldb", "leveldb-table-bloom5-c0.ldb"];
    for name in names {
        fs::copy(testdata("tables").join(name), folder.path().join(name)).expect("copied");
    }
    let path = folder.path().display().to_string();
    let mut keys: Vec<String> = names
        .iter()
        .flat_map(|name| run(["scan", "-k", &format!("tables/{name}")]).lines())
        .collect();
    keys.sort();
    keys.dedup();
    let scanned = run(["scan", "-k", &path]);
    assert_eq!((scanned.status, scanned.lines()), (0, keys.clone()));
    let caveat = "keys have no sequence numbers; of tables with the same key, the last one counts";
    assert!(scanned.stderr.contains(caveat), "{}", scanned.stderr);
    // The second table is the last one.
    let key = run(["scan", "-k", "--limit=1", &format!("tables/{}", names[1])]).lines().remove(0);
    let value = run(["get", &format!("tables/{}", names[1]), &key]).stdout;
    assert_eq!(run(["get", &path, &key]).stdout, value);

    let outputs = tempfile::tempdir().expect("a folder");
    let output = |name: &str| outputs.path().join(name).display().to_string();
    let [first, second] = names.map(|name| format!("{path}/{name}"));
    for arguments in [
        &["info", &path][..],
        &["verify", &path],
        &["stats", &path],
        &["stats", "--sample", &path],
        &["filter", &path],
        &["advise", &path, "--measure=100", "--hit-rate=0.5"],
        &["scan", "--internal", "--count", &path],
        &["dump", &path],
        &["diff", &path, &path],
        &["refilter", &path, "-o", &output("refiltered"), "--bits-per-key=8"],
        &["compact", &first, &second, "-o", &output("compacted")],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.all());
        assert!(!ran.stderr.contains("corrupt"), "{arguments:?}: {}", ran.stderr);
    }
    for written in ["refiltered", "compacted"] {
        let scanned = run(["scan", "-k", &output(written)]);
        assert_eq!(scanned.lines(), keys, "{written}: {}", scanned.stderr);
    }
}
