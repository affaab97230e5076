//! `--as database`: new databases of `build` and `compact`, which the engines open as their own.

use std::fs;
use std::path::Path;

use expect_test::expect;
use serde_json::{Value, json};
use sstkit_testkit::engines::{call, entries, read_entries};
use tempfile::TempDir;

use crate::run::{Ran, databases, names_in, run, run_with, testdata};

const RECORDS: &[u8] = br#"{"key":"bob","value":"2"}
{"key":"alice","value":"1"}
{"key":"carol","value":"3"}
"#;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn build(path: &str, options: &[&str]) -> Ran {
    let ran =
        run_with(RECORDS, &[&["build", "-", "-o", path, "--as", "database"], options].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    ran
}

fn compact(source: &str, out: &str, options: &[&str]) -> Ran {
    run([&["compact", source, "-o", out, "--as", "database"], options].concat())
}

/// No difference, and no damage.
fn assert_same(out: &str, source: &str, what: &str) {
    let difference = run(["diff", out, source]);
    assert_eq!((difference.status, difference.stdout.as_str()), (0, ""), "{what}");
    let verified = run(["verify", out]);
    assert_eq!((verified.status, verified.stderr.as_str()), (0, ""), "{what}: {}", verified.stdout);
}

fn info(path: &str) -> Value {
    run(["info", path, "--format", "json"]).json().remove(0)
}

fn options_file(path: &str) -> String {
    let names = names_in(Path::new(path));
    let name = names.iter().find(|name| name.starts_with("OPTIONS-")).expect("OPTIONS");
    fs::read_to_string(Path::new(path).join(name)).expect("readable")
}

/// Times differ.
fn without_time(ran: &Ran) -> String {
    let text = ran.all();
    let (start, rest) = text.split_once(", in ").expect("a time");
    let (_, rest) = rest.split_once('\n').expect("a line");
    format!("{start}, in TIME\n{rest}")
}

#[test]
fn records_become_a_database_of_either_engine() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (rocksdb, leveldb) = (path("rocksdb"), path("leveldb"));
    let ran = build(&rocksdb, &["--for", "rocksdb-9.8"]);
    expect![[r#"
        TMP/rocksdb: 3 entries, 1.3 KiB, in TIME
          column family  level  files     size  entries
          default            6      1  1.3 KiB        3
        --- status 0
    "#]]
    .assert_eq(&without_time(&ran).replace(&path(""), "TMP/"));
    let names = ["000001.sst", "CURRENT", "IDENTITY", "MANIFEST-000002", "OPTIONS-000003"];
    assert_eq!(names_in(Path::new(&rocksdb)), names);
    build(&leveldb, &["--profile", "leveldb"]);
    assert_eq!(names_in(Path::new(&leveldb)), ["000001.ldb", "CURRENT", "MANIFEST-000002"]);
    for (path, kind) in [(&rocksdb, "rocksdb-database"), (&leveldb, "leveldb-database")] {
        assert_eq!(run(["scan", path]).stdout, "alice => 1\nbob => 2\ncarol => 3\n");
        assert_eq!(info(path)["kind"], kind);
        assert_eq!(run(["verify", path]).status, 0);
    }
    // Into the other engine and back.
    let (there, back) = (path("there"), path("back"));
    assert_eq!(compact(&rocksdb, &there, &["--profile", "leveldb"]).status, 0);
    assert_same(&there, &leveldb, "there");
    assert_eq!(compact(&there, &back, &[]).status, 0);
    assert_same(&back, &rocksdb, "back");
    assert_eq!(names_in(folder.path()), ["back", "leveldb", "rocksdb", "there"]);
}

#[test]
fn the_engine_version_decides_format_and_options() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = "databases/rocksdb-wal-plus-tables";
    for (version, format, knows) in [("9.8", 6, false), ("6.5", 4, false), ("11.9", 7, true)] {
        let out = path(version);
        let ran = compact(source, &out, &["--for", version]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{version}");
        assert_same(&out, source, version);
        let options = options_file(&out);
        assert!(options.contains(&format!("rocksdb_version={version}.")), "{options}");
        assert!(options.contains(&format!("format_version={format}\n")), "{version}: {options}");
        assert_eq!(options.contains("async_wal_precreate"), knows, "{version}");
        assert_eq!(info(&out)["format_version"], format);
    }
    let old = compact(source, &path("old"), &["--for", "rocksdb-4.1"]);
    assert_eq!(old.status, 2);
    assert!(old.stderr.contains("4.2 and later"), "{}", old.stderr);
    // What it does not know is named.
    let entities = compact("databases/rocksdb-entities", &path("old"), &["--for", "6.5"]);
    assert_eq!(entities.status, 2);
    assert!(entities.stderr.contains("WideColumnEntity"), "{}", entities.stderr);
    assert!(!Path::new(&path("old")).exists());
}

#[test]
fn every_database_is_kept() {
    let folder = folder();
    let out = folder.path().join("out").display().to_string();
    for source in databases() {
        for options in [
            &[][..],
            &["--keep-levels"],
            &["--inline-blobs", "--max-file-size", "10KiB", "--threads", "3"],
            &["--level", "2", "--filter", "ribbonfilter:10:3", "--compression", "zstd:3"],
        ] {
            let ran = compact(&source, &out, options);
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{source} {options:?}");
            assert_same(&out, &source, &format!("{source} {options:?}"));
            let blobs = names_in(Path::new(&out)).iter().any(|name| name.ends_with(".blob"));
            let expected = source.ends_with("blobs") && !options.contains(&"--inline-blobs");
            assert_eq!(blobs, expected, "{source} {options:?}");
            fs::remove_dir_all(&out).expect("removed");
        }
    }
}

/// Tables and OPTIONS are like those of the source, except for what is given.
#[test]
fn the_source_says_how_tables_are_written() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = "databases/rocksdb-universal-ribbon-partitioned";
    let (like, unlike, given) = (path("like"), path("unlike"), path("given"));
    assert_eq!(compact(source, &like, &[]).status, 0);
    let filter = |path: &str| run(["filter", path, "--format", "json"]).json().remove(0);
    assert_eq!(filter(&like)["kind"], "ribbon128");
    assert_eq!(filter(&like)["partitioned"], true);
    let options = ["--filter", "bloomfilter:7", "--index", "binary", "--compression", "none"];
    assert_eq!(compact(source, &unlike, &options).status, 0);
    assert_eq!(filter(&unlike)["kind"], "fast_local_bloom");
    assert_eq!(filter(&unlike)["partitioned"], false);
    let text = options_file(&unlike);
    for line in [
        "filter_policy=bloomfilter:7:false",
        "index_type=kBinarySearch",
        "compression=kNoCompression",
        "compaction_style=kCompactionStyleUniversal",
    ] {
        assert!(text.contains(&format!("  {line}\n")), "{line}: {text}");
    }
    // An OPTIONS file that is given counts before that of the source.
    let file = path("OPTIONS-1");
    let text = "[Version]\nrocksdb_version=9.8.4\n[DBOptions]\nmax_open_files=77\n\
                [CFOptions \"default\"]\nnum_levels=4\n\
                [TableOptions/BlockBasedTable \"default\"]\nfilter_policy=bloomfilter:5:false\n\
                format_version=5\n";
    fs::write(&file, text).expect("written");
    assert_eq!(compact(source, &given, &["--options", &file]).status, 0);
    let text = options_file(&given);
    assert!(text.contains("max_open_files=77") && text.contains("rocksdb_version=9.8.4"), "{text}");
    assert!(!text.contains("kCompactionStyleUniversal"), "{text}");
    let summary = info(&given);
    assert_eq!(summary["format_version"], 5);
    assert_eq!(summary["column_families"][0]["levels"][0]["level"], 3, "{summary}");
    assert_same(&given, source, "given");
}

#[test]
fn column_families_are_chosen() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = "databases/rocksdb-column-families";
    let (meta, leveldb, all) = (path("meta"), path("leveldb"), path("all"));
    assert_eq!(compact(source, &meta, &["--column-family", "meta"]).status, 0);
    let names = |path: &str| -> Vec<String> {
        let families = info(path)["column_families"].as_array().expect("a list").clone();
        families.iter().map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&meta), ["default", "meta"]);
    let only = ["diff", &meta, source, "--column-family", "meta", "--summary"];
    assert_eq!(run(only).stdout, "equal\n");
    assert_eq!(run(["scan", &meta, "--count"]).stdout, "0\n");
    // LevelDB has one.
    let refused = compact(source, &leveldb, &["--profile", "leveldb"]);
    expect![[r#"
        --- stderr
        sst: LevelDB has no column families: choose one with --column-family (found default, meta, événements)
        --- status 2
    "#]]
    .assert_eq(&refused.all());
    let options = ["--profile", "leveldb", "--column-family", "meta"];
    assert_eq!(compact(source, &leveldb, &options).status, 0);
    let of_leveldb = run(["scan", &leveldb]).stdout;
    assert_eq!(of_leveldb, run(["scan", source, "--column-family", "meta"]).stdout);
    let missing = compact(source, &path("none"), &["--column-family", "mata"]);
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.contains("did you mean \"meta\""), "{}", missing.stderr);
    // Several inputs: what they have in common is merged, the last one counts.
    let table = path("table.sst");
    let records = b"{\"key\":\"user00001/post0001\",\"value\":\"new\",\"seq\":99999}\n";
    assert_eq!(run_with(records, &["build", "-", "-o", &table]).status, 0);
    let ran = run(["compact", source, &table, "-o", &all, "--as", "database"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(names(&all), ["default", "meta", "événements"]);
    assert_eq!(run(["get", &all, "user00001/post0001"]).stdout, "new\n");
    let others = ["diff", &all, source, "--column-family", "événements", "--summary"];
    assert_eq!(run(others).stdout, "equal\n");
    // Tables alone go to the column family that is given.
    let of_table = path("of_table/");
    let into = ["compact", &table, "-o", &of_table, "--as", "database", "--column-family", "x"];
    let ran = run(into);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(names(&of_table), ["default", "x"]);
    assert_eq!(run(["scan", &of_table, "--column-family", "x", "--count"]).stdout, "1\n");
    let built = path("built");
    build(&built, &["--column-family", "événements"]);
    assert_eq!(names(&built), ["default", "événements"]);
    assert_eq!(run(["get", &built, "--column-family", "événements", "bob"]).stdout, "2\n");
    let both = run_with(
        RECORDS,
        &[
            "build",
            "-",
            "-o",
            &path("no"),
            "--as",
            "database",
            "--profile",
            "leveldb",
            "--column-family",
            "meta",
        ],
    );
    assert!(both.status == 2 && both.stderr.contains("no column families"), "{}", both.stderr);
}

#[test]
fn keys_are_clipped_and_files_split() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = "databases/rocksdb-range-deletes";
    let visible = |path: &str, options: &[&str]| run([&["scan", path], options].concat()).stdout;
    for (name, options) in [
        ("range", &["--from", "user00010", "--to", "user00020/post0005"][..]),
        ("prefix", &["--prefix", "user00031/"]),
    ] {
        let out = path(name);
        let ran = compact(source, &out, options);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{name}");
        let expected = visible(source, options);
        assert!(!expected.is_empty());
        assert_eq!(visible(&out, &[]), expected, "{name}");
        assert_eq!(run(["verify", &out]).status, 0);
    }
    let out = path("split");
    let split = ["--split-at", "user00020", "user00050", "--format", "json"];
    let ran = compact(source, &out, &split);
    let files = ran.json()[0]["column_families"][0]["files"].as_array().expect("files").clone();
    let starts: Vec<&str> =
        files.iter().map(|it| it["smallest"].as_str().expect("a key")).collect();
    assert_eq!(starts.len(), 3, "{starts:?}");
    assert!(starts[1] >= "757365723030303230" && starts[2] >= "757365723030303530", "{starts:?}");
    assert_same(&out, source, "split");
    // Tables alone: a folder, split there and nowhere else.
    let tables = path("tables");
    let ran =
        run(["compact", source, "-o", &tables, "--split-at", "user00020", "--drop-tombstones"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(names_in(Path::new(&tables)), ["000001.sst", "000002.sst", "manifest.json"]);
    assert_eq!(visible(&tables, &[]), visible(source, &[]));
    // A folder of tables is an input like any other.
    let again = path("again");
    assert_eq!(compact(&tables, &again, &[]).status, 0);
    assert_same(&again, source, "again");
}

#[test]
fn levels_are_kept() {
    let folder = folder();
    let out = folder.path().join("out").display().to_string();
    let source = "databases/rocksdb-blobs";
    let ran = compact(source, &out, &["--keep-levels", "--format", "json"]);
    let report = &ran.json()[0]["column_families"][0];
    assert!(report["blob_files"].as_u64() > Some(20), "{report}");
    let levels = |path: &str| -> Vec<(u64, usize)> {
        let info = info(path);
        let levels = info["column_families"][0]["levels"].as_array().expect("levels").clone();
        let count = |level: &Value| level["files"].as_array().expect("files").len();
        levels.iter().map(|it| (it["level"].as_u64().expect("a number"), count(it))).collect()
    };
    let (found, expected) = (levels(&out), levels(source));
    // The log becomes one more table of level 0.
    let top = expected[0].0 == 0;
    let more = (0, 1 + if top { expected[0].1 } else { 0 });
    assert_eq!(found[0], more);
    assert_eq!(found[1..], expected[usize::from(top)..]);
    let zero =
        compact(source, &format!("{out}2"), &["--keep-levels", "--sequence-numbers", "zero"]);
    assert!(zero.status == 2 && zero.stderr.contains("sequence numbers"), "{}", zero.stderr);
}

#[test]
fn an_existing_path_is_never_touched() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::create_dir(path("empty")).expect("a folder");
    fs::write(path("file"), "mine").expect("written");
    for name in ["empty", "file"] {
        let ran = run_with(RECORDS, &["build", "-", "-o", &path(name), "--as", "database"]);
        assert_eq!(ran.status, 2);
        assert!(ran.stderr.contains("already exists"), "{}", ran.stderr);
        let ran = compact("databases/rocksdb-wal-only", &path(name), &[]);
        assert!(ran.status == 2 && ran.stderr.contains("already exists"), "{}", ran.stderr);
    }
    assert_eq!(names_in(folder.path()), ["empty", "file"]);
    assert_eq!(fs::read(path("file")).expect("there"), b"mine");
}

/// What a LevelDB table cannot express is refused, and nothing is left.
#[test]
fn what_leveldb_does_not_have_is_refused() {
    let folder = folder();
    let out = folder.path().join("out").display().to_string();
    for (name, options) in [
        ("rocksdb-entities", &[][..]),
        ("rocksdb-timestamps", &["--keep-levels"]),
        ("rocksdb-range-deletes", &["--keep-levels"]),
    ] {
        let source = format!("databases/{name}");
        let options = [&["--profile", "leveldb"], options].concat();
        let ran = compact(&source, &out, &options);
        assert_eq!(ran.status, 2, "{name}: {}", ran.stdout);
        assert!(ran.stderr.contains("LevelDB"), "{name}: {}", ran.stderr);
        assert_eq!(names_in(folder.path()), Vec::<String>::new());
    }
    // Merged, it has what a LevelDB table can express.
    for name in ["rocksdb-range-deletes", "rocksdb-merge-uint64add", "rocksdb-single-deletes"] {
        let source = format!("databases/{name}");
        let ran = compact(&source, &out, &["--profile", "leveldb"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{name}");
        assert_same(&out, &source, name);
        fs::remove_dir_all(&out).expect("removed");
    }
    assert!(testdata("databases/rocksdb-entities").is_dir());
}

/// What a column family shows, in the encoding of the engines.
fn visible(path: &str, options: &[&str]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let scan = ["scan", path, "--format", "json", "--encoding", "hex"];
    let bytes = |digits: &Value| sstkit_testkit::engines::unhex(digits);
    let pair = |line: &Value| (bytes(&line["key"]), bytes(&line["value"]));
    run([&scan[..], options].concat()).json().iter().map(pair).collect()
}

fn column_families(path: &str) -> Vec<String> {
    let families = info(path)["column_families"].as_array().cloned().unwrap_or_default();
    families.iter().map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
}

/// RocksDB loads OPTIONS, reads the same, writes, flushes and compacts; then we read the same again.
fn rocksdb_continues(out: &str, source: &str, what: &str) {
    let names = column_families(out);
    let new = ("zzz", "new");
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let step = |name: &String| {
        [
            json!(["put", name, hex(new.0), hex(new.1)]),
            json!(["flush", name]),
            json!(["compact", name]),
        ]
    };
    let steps: Vec<Value> = names.iter().flat_map(step).collect();
    let answer = call("rocksdb_continue_database", &json!({ "path": out, "steps": steps }));
    for name in &names {
        let family = ["--column-family", name.as_str()];
        let mut expected = visible(source, &family);
        let views = |look: usize| &answer["looks"][look]["views"][name];
        assert!(read_entries(views(0), "entries") == expected, "{what}: {name}");
        expected.push((new.0.into(), new.1.into()));
        assert!(read_entries(views(2), "entries") == expected, "{what}: {name}, afterwards");
        assert!(visible(out, &family) == expected, "{what}: {name}, read by us");
    }
    let verified = run(["verify", out]);
    assert_eq!(verified.status, 0, "{what}: {}", verified.stdout);
}

#[test]
fn rocksdb_opens_every_database_that_is_kept() {
    let folder = folder();
    let out = folder.path().join("out").display().to_string();
    for source in databases() {
        // Python cannot read keys with timestamps.
        if source.ends_with("timestamps") {
            continue;
        }
        for options in [&[][..], &["--keep-levels"]] {
            let what = format!("{source} {options:?}");
            let options = [&["--for", "rocksdb-9.8"], options].concat();
            let ran = compact(&source, &out, &options);
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{what}");
            rocksdb_continues(&out, &source, &what);
            fs::remove_dir_all(&out).expect("removed");
        }
    }
}

#[test]
fn leveldb_opens_what_was_built_and_compacted() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    build(&path("built"), &["--profile", "leveldb"]);
    for (name, source) in [
        ("levels", "databases/leveldb-bloom-snappy"),
        ("rocksdb", "databases/rocksdb-range-deletes"),
        ("blobs", "databases/rocksdb-blobs"),
    ] {
        let options: &[&str] = if name == "levels" { &["--keep-levels"] } else { &[] };
        let options = [&["--profile", "leveldb", "--filter", "bloomfilter:12"], options].concat();
        let ran = compact(source, &path(name), &options);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{name}");
        assert_same(&path(name), source, name);
    }
    for name in ["built", "levels", "rocksdb", "blobs"] {
        let expected = visible(&path(name), &[]);
        let steps = json!([["put", "7a7a", "31"], ["compact"], ["reopen"], ["delete", "7a7a"]]);
        let arguments =
            json!({ "path": path(name), "settings": { "bits_per_key": 12 }, "steps": steps });
        let answer = call("leveldb_continue_database", &arguments);
        for look in answer["looks"].as_array().expect("looks") {
            assert_eq!(look["entries"], entries(expected.clone()), "{name}");
        }
        assert!(visible(&path(name), &[]) == expected, "{name}");
    }
}
