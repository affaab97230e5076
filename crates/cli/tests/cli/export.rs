//! `scan -o` and its formats, and what other software reads of them.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};
use sstkit_testkit::engines::call;

use crate::run::{names_in, run, run_with, sst, testdata};

fn table(lines: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.sst").display().to_string();
    let built = run_with(lines.as_bytes(), &["build", "-", "-o", &path]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    (folder, path)
}

const LINES: &str = r#"{"key":"a,b","value":"x \"y\""}
{"key":"b","value":"1\\n2"}
{"key":"c","value":""}
{"key":"d\\xff","value":"z"}
"#;

#[test]
fn formats() {
    let (_folder, path) = table(LINES);
    let scan = |options: &[&str]| {
        let output = sst().args(["scan", &path]).args(options).output().expect("runs");
        assert_eq!(output.status.code(), Some(0), "{options:?}");
        output.stdout.escape_ascii().to_string().replace("\\n", "\n").replace("\\\"", "\"")
    };
    expect![[r#"
        key,value
        "a,b","x ""y"""
        b,"1
        2"
        c,
        d\xff,z
    "#]]
    .assert_eq(&scan(&["--format", "csv"]));
    expect![[r#"
        type,key,seq,value
        put,612c62,0,7820227922
        put,62,0,310a32
    "#]]
    .assert_eq(&scan(&["--format", "csv", "--hex", "--internal", "--limit", "2"]));
    assert_eq!(scan(&["--format", "csv", "--keys-only", "--no-header"]), "\"a,b\"\nb\nc\nd\\xff\n");
    assert_eq!(
        scan(&["--format", "tsv", "--encoding", "escape", "--from", "b", "--no-header"]),
        "b\\t1\\\\x0a2\nc\\t\nd\\\\xff\\tz\n"
    );
    assert_eq!(scan(&["--format", "raw", "--prefix", "b"]), "b\\t1\n2\n");
    assert_eq!(scan(&["--format", "raw", "--keys-only", "--reverse", "-n1"]), "d\\xff\n");
}

/// The extension names the format, and the file appears as a whole.
#[test]
fn output_files() {
    let (folder, path) = table(LINES);
    let out = |name: &str| folder.path().join(name).display().to_string();
    for (name, options, format) in [
        ("a.csv", &[][..], "csv"),
        ("a.ndjson", &[], "json"),
        ("a.txt", &[], "text"),
        ("b.txt", &["--format", "csv"], "csv"),
        ("a.tsv", &["--encoding", "hex"], "tsv"),
    ] {
        let out = out(name);
        let written = run([&["scan", &path, "-o", &out][..], options].concat());
        assert_eq!(written.all(), "--- status 0\n", "{name}");
        let mut printed = sst();
        printed.args(["scan", &path, "--format", format]).args(&options[..options.len() / 2 * 2]);
        if options.contains(&"--format") {
            printed = sst();
            printed.args(["scan", &path, "--format", format]);
        }
        assert_eq!(
            fs::read(&out).expect("a file"),
            printed.output().expect("runs").stdout,
            "{name}"
        );
        let again = run(["scan", &path, "-o", &out]);
        assert!(again.status == 2 && again.stderr.contains("--force"), "{}", again.stderr);
    }
    assert_eq!(run(["scan", &path, "-o", &out("a.csv"), "--force", "--limit", "1"]).status, 0);
    assert_eq!(fs::read_to_string(out("a.csv")).expect("a file").lines().count(), 2);
    assert_eq!(run(["scan", &path, "-o", "-", "--limit", "1"]).stdout, "a,b => x \"y\"\n");
}

/// After an error there is no file, whole or partial, and an old one stays.
#[test]
fn nothing_is_left_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let damaged = folder.path().join("damaged.sst").display().to_string();
    let mut bytes = fs::read(testdata("tables/block64k.sst")).expect("a table");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&damaged, bytes).expect("written");
    for name in ["o.txt", "o.json", "o.csv", "o.tsv", "o.parquet"] {
        let out = folder.path().join(name).display().to_string();
        let ran = run(["scan", &damaged, "-o", &out]);
        assert_eq!(ran.status, 2, "{name}: {}", ran.stderr);
        assert_eq!(names_in(folder.path()), ["damaged.sst"], "{name}");
    }
    let out = folder.path().join("old.csv").display().to_string();
    fs::write(&out, "old").expect("written");
    assert_eq!(run(["scan", &damaged, "-o", &out, "--force"]).status, 2);
    assert_eq!(fs::read_to_string(&out).expect("a file"), "old");
}

#[test]
fn what_a_format_cannot_represent_is_an_error() {
    let entity = r#"{"key":"e","columns":[["","1"],["n","2"]]}"#;
    let (_folder, entities) = table(entity);
    let mut all = String::new();
    for arguments in [
        &["scan", &entities, "--format", "csv", "--no-header"][..],
        &["scan", "tables/types-all.sst", "--format", "tsv", "--no-header", "--internal"],
        &["scan", &entities, "--format", "csv", "--count"],
        &["scan", &entities, "--no-header"],
        &["scan", &entities, "--format", "raw", "--hex"],
        &["scan", &entities, "-o", "/nowhere/x.csv"],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.status, 2, "{arguments:?}");
        all.push_str(&ran.stderr);
    }
    expect![[r#"
        sst: the value of e has columns, which CSV and TSV cannot represent: use --format json or parquet
        sst: TSV cannot represent a tab or line end, as in "\xa5lorem-ipsum-431lorem-ipsum-941lorem-ips": use --encoding escape, or --format csv
        sst: --count prints a number: use --format text or json
        sst: --no-header applies only to CSV and TSV
        sst: --encoding has no effect: Parquet and raw output have the bytes themselves
        sst: /nowhere: no such directory; create it first
    "#]].assert_eq(&all);
}

/// pyarrow reads what `scan --json` prints.
#[test]
#[cfg(feature = "parquet")]
fn pyarrow_reads_our_parquet() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, (path, options)) in [
        ("databases/rocksdb-entities", &[][..]),
        ("databases/rocksdb-blobs", &["--internal"]),
        ("tables/types-all.sst", &["--internal", "--reverse"]),
        ("tables/types-all.sst", &["--keys-only", "--limit", "7"]),
    ]
    .into_iter()
    .enumerate()
    {
        let out = folder.path().join(format!("{number}.parquet")).display().to_string();
        let ran = run([&["scan", path, "-o", &out][..], options].concat());
        assert_eq!(ran.all(), "--- status 0\n");
        let read = call("parquet_read", &json!({ "path": out }));
        let rows = read["rows"].as_array().expect("rows");
        let expected = run([&["scan", path, "--json", "--hex"][..], options].concat()).json();
        assert_eq!(rows.len(), expected.len(), "{path}");
        for (row, record) in rows.iter().zip(&expected) {
            assert_eq!(row["key"], record["key"], "{path}");
            if options.contains(&"--keys-only") {
                assert_eq!(row.as_object().expect("a row").len(), 1);
                continue;
            }
            assert_eq!(row["value"], record["value"], "{path}");
            assert_eq!(row["columns"], record["columns"], "{path}");
            if options.contains(&"--internal") {
                assert_eq!((&row["kind"], &row["sequence"]), (&record["type"], &record["seq"]));
            }
        }
    }
}

/// Files of pyarrow: keys in the order of their columns, values as entities or JSON.
#[test]
#[cfg(feature = "parquet")]
fn we_read_the_parquet_of_pyarrow() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let input = path("in.parquet");
    call("parquet_write", &json!({ "path": input, "rows": 3000 }));
    let build = |out: &str, options: &[&str]| {
        let ran = run([&["build", &input, "-o", out, "--key", "id"][..], options].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    };
    let (entities, objects, names) = (path("e.sst"), path("j.sst"), path("n.sst"));
    build(&entities, &["--value", "name", "--value", "note"]);
    build(
        &objects,
        &[
            "--value",
            "name",
            "--value",
            "score",
            "--value",
            "active",
            "--value",
            "note",
            "--values-as",
            "json",
        ],
    );
    build(&names, &["--key", "name", "--value", "name"]);
    let lines = run(["scan", &entities, "--json", "--hex"]).json();
    assert_eq!(lines.len(), 3000);
    for (number, line) in (-1500i32..).zip(&lines) {
        let key = format!("{:08x}", (number as u32) ^ 0x8000_0000);
        assert_eq!(line["key"], key);
        let columns = if number % 3 == 0 { 2 } else { 1 };
        assert_eq!(line["columns"].as_array().expect("columns").len(), columns);
    }
    let lines = run(["scan", &objects, "--json", "--encoding", "utf8"]).json();
    for (number, line) in (-1500i32..).zip(&lines) {
        let object: Value =
            serde_json::from_str(line["value"].as_str().expect("text")).expect("JSON");
        let note = if number % 3 == 0 { json!("x") } else { Value::Null };
        let expected = json!({
            "name": format!("name {number}"), "score": f64::from(number) / 4.0,
            "active": number % 2 == 0, "note": note,
        });
        assert_eq!(object, expected);
    }
    assert_eq!(run(["scan", &names, "--count"]).stdout, "3000\n");
    let refused = run([
        "build",
        &input,
        "-o",
        &path("x.sst"),
        "--key",
        "id",
        "--value",
        "*",
        "--values-as",
        "json",
    ]);
    assert!(
        refused.stderr.contains("\"day\" of type Date32 has no form in JSON"),
        "{}",
        refused.stderr
    );
}

/// Several columns of CSV, and compressed input.
#[test]
fn more_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let csv = "id,name,age\n1,alice,31\n2,bob,\n";
    fs::write(path("plain.csv"), csv).expect("written");
    fs::write(path("in.csv.zst"), zstd::encode_all(csv.as_bytes(), 0).expect("zstd"))
        .expect("written");
    let gzip = std::process::Command::new("gzip").args(["-k", &path("plain.csv")]).status();
    assert!(gzip.expect("gzip").success());
    for (number, (input, options, expected)) in [
        ("plain.csv.gz", &["--value", "name"][..], "1 => alice\n2 => bob\n"),
        ("in.csv.zst", &["--value", "name"], "1 => alice\n2 => bob\n"),
        (
            "in.csv.zst",
            &["--value", "age", "--value", "name"],
            "1 =>  {age=31, name=alice}\n2 =>  {age=, name=bob}\n",
        ),
        (
            "plain.csv.gz",
            &["--value", "*", "--values-as", "json"],
            "1 => {\"age\":\"31\",\"name\":\"alice\"}\n2 => {\"age\":\"\",\"name\":\"bob\"}\n",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let out = path(&format!("{number}.sst"));
        let ran = run([&["build", &path(input), "-o", &out, "--key", "id"][..], options].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(run(["scan", &out]).stdout, expected, "{input} {options:?}");
    }
    let truncated = fs::read(path("in.csv.zst")).expect("a file");
    fs::write(path("cut.csv.zst"), &truncated[..truncated.len() - 3]).expect("written");
    let refused = run([
        "build",
        &path("cut.csv.zst"),
        "-o",
        &path("x.sst"),
        "--key",
        "id",
        "--value",
        "name",
    ]);
    assert!(
        refused.status == 2 && !names_in(folder.path()).contains(&"x.sst".into()),
        "{}",
        refused.stderr
    );
}

/// Dictionaries that RocksDB's options describe, and that are refused where they have no effect.
#[test]
fn dictionaries() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let records: String = (0..4000)
        .map(|i| {
            format!(
                "{{\"key\":\"{i:08}\",\"value\":\"the same beginning of everything {:x}\"}}\n",
                i * 7919
            )
        })
        .collect();
    let build = |name: &str, options: &[&str]| {
        let small = ["build", "-", "-o", name, "--block-size", "512", "--compression"];
        run_with(records.as_bytes(), &[&small[..], options].concat())
    };
    let mut sizes = Vec::new();
    for (name, options) in [
        ("none.sst", &["zstd"][..]),
        ("raw.sst", &["zstd", "--max-dict-bytes", "4KiB"]),
        ("trained.sst", &["zstd", "--max-dict-bytes", "4KiB", "--zstd-max-train-bytes", "400KiB"]),
    ] {
        let out = path(name);
        let ran = build(&out, options);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(run(["scan", &out, "--count"]).stdout, "4000\n");
        let sst_dump = run(["info", &out, "--json"]).json();
        let options = sst_dump[0]["properties"]["rocksdb.compression_options"].to_string();
        assert_eq!(options.contains("max_dict_bytes=4096"), name != "none.sst", "{options}");
        sizes.push(fs::metadata(&out).expect("a file").len());
    }
    assert!(sizes[1] < sizes[0] && sizes[2] < sizes[0], "{sizes:?}");
    for (options, message) in [
        (&["snappy", "--max-dict-bytes", "4KiB"][..], "--max-dict-bytes has no effect"),
        (&["zstd", "--zstd-max-train-bytes", "4KiB"], "required"),
        (&["lz4", "--max-dict-bytes", "4KiB", "--zstd-max-train-bytes", "4KiB"], "has no effect"),
        (&["zstd", "--profile", "leveldb", "--max-dict-bytes", "4KiB"], "do not support"),
        (&["all"], "use it with sst compact"),
    ] {
        let ran = build(&path("x.sst"), options);
        assert!(ran.status == 2 && ran.stderr.contains(message), "{}", ran.stderr);
    }
}

#[test]
fn keys_from_a_file() {
    let (folder, path) = table(LINES);
    let keys = folder.path().join("keys.txt").display().to_string();
    fs::write(&keys, "a,b\r\nnone\nd\\xff\n").expect("written");
    let ran = run(["get", &path, "--keys-from", &keys, "c"]);
    expect![[r#"
        c => 
        a,b => x "y"
        d\xff => z
        --- stderr
        sst: none: not found
        --- status 1
    "#]]
    .assert_eq(&ran.all());
    let ran = run_with(b"62\n63", &["get", &path, "--keys-from", "-", "--hex", "--json"]);
    let values: Vec<Value> = ran.json().iter().map(|it| it["value"].clone()).collect();
    assert_eq!((ran.status, values), (0, vec![json!("310a32"), json!("")]));
    // Keys of any bytes come back, also those that look like blank lines.
    let (_odd, odd) = table("{\"key\":\"\",\"value\":\"1\"}\n{\"key\":\" \",\"value\":\"2\"}\n");
    let listed = run(["scan", &odd, "--keys-only"]).stdout;
    let ran = run_with(listed.as_bytes(), &["get", &odd, "--keys-from", "-"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, " => 1\n  => 2\n"), "{}", ran.stderr);
    let ran = run_with(b"\n", &["get", &path, "--keys-from", "-"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, "sst: the empty key: not found\n"));
    fs::write(&keys, "a\n\\q\n").expect("written");
    let refused = run(["get", &path, "--keys-from", &keys]);
    assert!(
        refused.status == 2 && refused.stderr.contains("keys.txt: line 2: "),
        "{}",
        refused.stderr
    );
    assert_eq!(run(["get", &path]).status, 2);
}

/// The name of the output file says how it is compressed, and what it is.
#[test]
fn output_files_are_what_their_names_say() {
    let (folder, path) = table(LINES);
    let out = |name: &str| folder.path().join(name).display().to_string();
    for name in ["a.csv.gz", "a.csv.zst"] {
        let ran = run(["scan", &path, "-o", &out(name)]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(!fs::read(out(name)).expect("written").starts_with(b"key"), "{name}");
        // The input of `build` is recognized by its first bytes.
        let copy = out("copy.sst");
        let ran =
            run(["build", &out(name), "-o", &copy, "--key", "key", "--value", "value", "--force"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(run(["diff", &path, &copy]).status, 0);
    }
    for (name, message) in [
        ("a.sst", "a scan is no table"),
        ("a.xml", "use --format"),
        ("a.parquet.gz", "Parquet is compressed as it is"),
    ] {
        let ran = run(["scan", &path, "-o", &out(name)]);
        assert!(ran.status == 2 && ran.stderr.contains(message), "{}", ran.stderr);
        assert!(!folder.path().join(name).exists());
    }
    for name in ["plain", "a.txt"] {
        assert_eq!(run(["scan", &path, "-o", &out(name)]).status, 0, "{name}");
    }
    assert_eq!(run(["scan", &path, "-o", &out("a.xml"), "--format", "raw"]).status, 0);
    let ran = run(["scan", &path, "--internal", "--ttl=on"]);
    assert!(ran.status == 2 && ran.stderr.contains("--ttl has no effect"), "{}", ran.stderr);
}
