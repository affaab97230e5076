//! Tables out of records.

use std::fs;
use std::path::Path;

use expect_test::expect;
use serde_json::json;

use crate::run::{names_in, run, run_with};

const RECORDS: &str = r#"{"key":"carol","value":"3"}
{"key":"alice","value":"1"}
{"key":"bob","type":"delete"}
{"key":"alice","value":"2"}
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        fs::write(self.0.path().join(name), text).expect("written");
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        names_in(self.0.path())
    }
}

fn scan(path: &str) -> String {
    let ran = run(["scan", path, "--internal"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.stdout
}

#[test]
fn unsorted_with_duplicates() {
    for (duplicates, alice) in [("last", "2"), ("first", "1")] {
        let folder = Folder::new();
        let out = folder.path("out.sst");
        let ran =
            run_with(RECORDS.as_bytes(), &["build", "-", "-o", &out, "--duplicates", duplicates]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let expected = format!("put 0 alice => {alice}\ndelete 0 bob\nput 0 carol => 3\n");
        assert_eq!(scan(&out), expected);
        assert_eq!(folder.names(), ["out.sst"]);
        assert_eq!(run(["verify", &out]).status, 0);
    }
    let folder = Folder::new();
    let ran = run_with(
        RECORDS.as_bytes(),
        &["build", "-", "-o", &folder.path("out.sst"), "--duplicates", "error"],
    );
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("alice"), "{}", ran.stderr);
    assert!(folder.names().is_empty());
}

#[test]
fn all_inputs_give_the_same_table() {
    let folder = Folder::new();
    let ndjson = folder.write(
        "in.ndjson",
        "{\"key\":\"b\",\"value\":\"2\"}\n{\"key\":\"a\\\\x00\",\"value\":\"1\"}\n",
    );
    let csv = folder.write("in.csv", "value,key\n2,b\n1,a\\x00\n");
    let tsv = folder.write("in.tsv", "b\t2\na\\x00\t1\n");
    let out = |name: &str| folder.path(name);
    for (arguments, name) in [
        (vec!["build", ndjson.as_str()], "1.sst"),
        (vec!["build", csv.as_str(), "--encoding", "escape"], "2.sst"),
        (
            vec![
                "build",
                tsv.as_str(),
                "--no-header",
                "--key",
                "1",
                "--value",
                "2",
                "--encoding",
                "escape",
            ],
            "3.sst",
        ),
    ] {
        let ran = run(arguments.into_iter().chain(["-o", &out(name)]));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    }
    let first = fs::read(out("1.sst")).expect("a table");
    assert!(first == fs::read(out("2.sst")).expect("a table"));
    assert!(first == fs::read(out("3.sst")).expect("a table"));
    assert_eq!(scan(&out("1.sst")), "put 0 a\\x00 => 1\nput 0 b => 2\n");
}

#[test]
fn settings_reach_the_table() {
    let folder = Folder::new();
    let input: String =
        (0..5000).map(|i| format!("{{\"key\":\"key{i:06}\",\"value\":\"{i}\"}}\n")).collect();
    let built = |arguments: &[&str]| {
        let out = folder.path("out.sst");
        let all = [&["build", "-", "-o", &out, "--force"], arguments].concat();
        let ran = run_with(input.as_bytes(), &all);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        assert_eq!(run(["verify", &out]).status, 0, "{arguments:?}");
        run(["info", &out, "--format", "json"]).json().remove(0)
    };
    let info = built(&[]);
    assert_eq!((&info["format_version"], &info["checksum"]), (&json!(7), &json!("xxh3")));
    assert_eq!(info["codecs"][0]["codec"], "lz4");
    assert_eq!(
        (&info["filter"]["kind"], &info["filter"]["keys"]),
        (&json!("fast_local_bloom"), &json!(5000))
    );
    let info = built(&["--format-version", "4", "--checksum", "crc32c", "--compression", "zstd:9"]);
    assert_eq!((&info["format_version"], &info["checksum"]), (&json!(4), &json!("crc32c")));
    assert_eq!(
        (&info["codecs"][0]["codec"], &info["filter"]["kind"]),
        (&json!("zstd"), &json!("legacy_bloom"))
    );
    let info = built(&[
        "--filter",
        "ribbonfilter:10",
        "--partition-filters",
        "--metadata-block-size",
        "1KiB",
    ]);
    assert_eq!(
        (&info["index"]["kind"], &info["filter"]["kind"]),
        (&json!("two-level"), &json!("ribbon128"))
    );
    assert!(info["filter"]["partitions"].as_u64() > Some(1), "{info}");
    let info = built(&["--filter", "ribbonfilter:10:3", "--level", "1"]);
    assert_eq!(info["filter"]["kind"], "fast_local_bloom");
    let info = built(&["--prefix-extractor", "fixed:6", "--no-whole-key-filtering"]);
    assert_eq!(info["filter"]["whole_key"], false);
    assert_eq!(info["filter"]["prefix_extractor"], "rocksdb.FixedPrefix.6");
    let info = built(&[
        "--index",
        "first-key",
        "--block-size",
        "1KiB",
        "--restart-interval",
        "4",
        "--data-block-hash-index",
        "--filter",
        "none",
    ]);
    assert_eq!((&info["index"]["kind"], &info["filter"]), (&json!("first-key"), &json!(null)));
    assert_eq!(info["properties"]["rocksdb.data.block.restart.interval"], 4);
    let info = built(&["--comparator", "rocksdb.ReverseBytewiseComparator"]);
    assert_eq!(
        (&info["smallest_key"], &info["largest_key"]),
        (&json!("key004999"), &json!("key000000"))
    );
    let info = built(&["--profile", "leveldb", "--compression", "zstd"]);
    assert_eq!(
        (&info["kind"], &info["codecs"][0]["codec"]),
        (&json!("leveldb-table"), &json!("zstd"))
    );
    assert_eq!(info["filter"]["kind"], "leveldb_bloom");
}

#[test]
fn a_folder_of_files_that_do_not_overlap() {
    let folder = Folder::new();
    let input: String = (0..20_000)
        .rev()
        .map(|i| format!("{{\"key\":\"{i:06}\",\"value\":\"{i:050}\"}}\n"))
        .collect();
    let out = folder.path("out");
    let arguments = [
        "build",
        "-",
        "-o",
        &out,
        "--max-file-size",
        "100KiB",
        "--memory",
        "1MiB",
        "--compression",
        "none",
        "--threads",
        "1",
    ];
    let ran = run_with(input.as_bytes(), &arguments);
    let summary = ran.all_in(folder.0.path());
    let (first, rest) = summary.split_once('\n').expect("lines");
    assert!(first.starts_with("TMP/out: 20,000 entries, "), "{first}");
    expect![[r#"
          file             size  entries  smallest key  largest key
          000001.sst  102.0 KiB    1,600  000000        001599
          000002.sst  102.0 KiB    1,600  001600        003199
          000003.sst  102.0 KiB    1,600  003200        004799
          000004.sst  102.0 KiB    1,600  004800        006399
          000005.sst  102.0 KiB    1,600  006400        007999
          000006.sst  102.0 KiB    1,600  008000        009599
          000007.sst  102.0 KiB    1,600  009600        011199
          000008.sst  102.0 KiB    1,600  011200        012799
          000009.sst  102.0 KiB    1,600  012800        014399
          000010.sst  102.0 KiB    1,600  014400        015999
          000011.sst  102.0 KiB    1,600  016000        017599
          000012.sst  102.0 KiB    1,600  017600        019199
          000013.sst   51.6 KiB      800  019200        019999
        --- status 0
    "#]]
    .assert_eq(rest);
    assert!(Path::new(&out).join("manifest.json").exists());
    let mut counts = 0;
    for name in names_in(Path::new(&out)).iter().filter(|name| name.ends_with(".sst")) {
        let path = format!("{out}/{name}");
        assert_eq!(run(["verify", &path]).status, 0);
        counts += run(["scan", &path, "--count"]).stdout.trim().parse::<u64>().expect("a number");
    }
    assert_eq!(counts, 20_000);
}

#[test]
fn nothing_is_left_of_what_fails() {
    let folder = Folder::new();
    let there = folder.write("there.sst", "not to be touched");
    fs::create_dir(folder.path("folder")).expect("a folder");
    let before = folder.names();
    let mut all = String::new();
    for (input, arguments) in [
        ("{\"key\":\"a\"}", vec!["build", "-", "-o", "TMP/new.sst"]),
        ("{\"key\":\"a\",\"value\":\"1\"}\nnonsense", vec!["build", "-", "-o", "TMP/new.sst"]),
        ("{\"key\":\"\\\\x0\",\"value\":\"1\"}", vec!["build", "-", "-o", "TMP/new.sst"]),
        (
            "{\"key\":\"b\",\"value\":\"\"}\n{\"key\":\"a\",\"value\":\"\"}",
            vec!["build", "-", "-o", "TMP/new.sst", "--sorted"],
        ),
        ("", vec!["build", "-", "-o", "TMP/new.sst"]),
        ("", vec!["build", "TMP/none.ndjson", "-o", "TMP/new.sst"]),
        (RECORDS, vec!["build", "-", "-o", "TMP/there.sst"]),
        (RECORDS, vec!["build", "-", "-o", "TMP/folder"]),
        (RECORDS, vec!["build", "-", "-o", "TMP/none/new.sst"]),
        (RECORDS, vec!["build", "-", "-o", "TMP/there.sst/new.sst"]),
        (RECORDS, vec!["build", "-", "-o", "TMP/there.sst", "--max-file-size", "1MiB"]),
        (RECORDS, vec!["build", "-", "-o", "TMP/new", "--max-file-size", "0"]),
        (RECORDS, vec!["build", "-", "-o", "/proc/new.sst"]),
    ] {
        let tmp = folder.0.path().display().to_string();
        let arguments: Vec<String> = arguments.iter().map(|it| it.replace("TMP", &tmp)).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = run_with(input.as_bytes(), &arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        // The name of a temporary file is drawn at random.
        let message = ran.stderr.split(" at path").next().unwrap_or_default().trim_end();
        all.push_str(&message.replace(&tmp, "TMP"));
        all.push('\n');
        assert_eq!(folder.names(), before, "{arguments:?}");
    }
    expect![[r#"
        sst: standard input: line 1: the object has no "value"
        sst: standard input: line 2: column 2: expected ident
        sst: standard input: line 1: the "key" "\\x0" is not valid escape: at byte 0: a backslash is written \\, any byte \xHH
        sst: standard input: line 2: invalid argument: entry 2 is out of order: "a" sorts before "b" (the input must be sorted)
        sst: the input has no records; nothing was written
        sst: TMP/none.ndjson: No such file or directory (os error 2)
        sst: TMP/there.sst: already exists; use --force to replace it
        sst: TMP/folder: is a directory: pass a file name, or use --as folder for a directory of tables
        sst: TMP/none: no such directory; create it first
        sst: TMP/there.sst: not a directory
        sst: TMP/there.sst: is a file, but several tables need a directory
        sst: --max-file-size must be 1 or more
        sst: /proc/new.sst: not found: No such file or directory (os error 2)
    "#]].assert_eq(&all);
    assert_eq!(fs::read_to_string(&there).expect("text"), "not to be touched");
    assert_eq!(run_with(RECORDS.as_bytes(), &["build", "-", "-o", &there, "--force"]).status, 0);
    assert_eq!(run(["verify", &there]).status, 0);
}

#[test]
#[cfg(unix)]
fn an_unwritable_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(0o555)).expect("permitted");
    if fs::write(folder.path("probe"), "").is_ok() {
        return eprintln!(
            "skipped: the superuser may write everywhere; /proc, above, is where even they may not"
        );
    }
    let ran = run_with(RECORDS.as_bytes(), &["build", "-", "-o", &folder.path("out.sst")]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("Permission denied"), "{}", ran.stderr);
}

/// The default is refused by RocksDB before 10.4.
#[test]
fn tables_for_an_older_rocksdb() {
    let folder = Folder::new();
    let out = folder.path("out.sst");
    let build = |arguments: &[&str]| {
        let all = [&["build", "-", "-o", &out, "--force"], arguments].concat();
        run_with(b"{\"key\":\"a\",\"value\":\"1\"}\n", &all)
    };
    let readers = |arguments: &[&str]| {
        let ran = build(arguments);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        let info = run(["info", &out, "--format", "json"]).json().remove(0);
        let text = run(["info", &out]).stdout;
        let readers = info["readable_by"]["text"].as_str().unwrap().to_owned();
        assert!(text.contains(&readers), "{text}");
        (info["format_version"].as_u64().unwrap(), readers)
    };
    assert_eq!(readers(&[]), (7, "RocksDB 10.4 and later".into()));
    assert_eq!(readers(&["--for", "rocksdb-9.8"]), (6, "RocksDB 8.6 and later".into()));
    assert_eq!(readers(&["--for", "6.10"]), (5, "RocksDB 6.6 and later".into()));
    let leveldb = readers(&["--profile", "leveldb"]);
    assert_eq!(leveldb, (0, "LevelDB, RocksDB before 11.0".into()));
    let ran = build(&["--for", "rocksdb-9.8", "--format-version", "7"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("format_version = 7") && ran.stderr.contains("RocksDB 9.8"));
    assert_eq!(build(&["--for", "leveldb"]).status, 2);
    let merged = folder.path("merged.sst");
    readers(&[]);
    let ran = run(["compact", &out, "-o", &merged, "--for", "rocksdb-9.8"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let info = run(["info", &merged, "--format", "json"]).json().remove(0);
    assert_eq!(info["format_version"], 6);
}

/// A table of more than 4 MiB: its tail tells, and --full counts.
#[test]
fn info_counts_a_large_table_only_if_told_to() {
    let folder = Folder::new();
    let out = folder.path("out.sst");
    let value = "x".repeat(5000);
    let input: String =
        (0..1000).map(|i| format!("{{\"key\":\"key{i:06}\",\"value\":\"{value}\"}}\n")).collect();
    let ran = run_with(input.as_bytes(), &["build", "-", "-o", &out, "--compression", "none"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut bytes = std::fs::read(&out).unwrap();
    bytes[1 << 20] ^= 1;
    std::fs::write(&out, bytes).unwrap();
    let info = run(["info", &out, "--format", "json"]);
    assert_eq!((info.status, info.stderr.as_str()), (0, ""));
    let info = info.json().remove(0);
    assert_eq!((&info["full"], &info["entries"]), (&json!(false), &json!(1000)));
    assert!(info["codecs"].is_null() && info["entries_by_kind"].is_null());
    assert_eq!(
        (&info["smallest_key"], &info["largest_key"]),
        (&json!("key000000"), &json!("key000999"))
    );
    let text = run(["info", &out]).stdout;
    assert!(text.contains("1,000, from the properties; use --full to count"), "{text}");
    let full = run(["info", &out, "--format", "json", "--full"]);
    assert_eq!(full.status, 1);
    let full = full.json().remove(0);
    assert_eq!(full["full"], true);
    assert_eq!(full["problems"].as_array().unwrap().len(), 1);
}
