//! All JSON against the schemas of `docs/schemas`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run::{Ran, copy_folder, databases, run, run_with, tables, testdata};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

pub(crate) fn schema(name: &str) -> jsonschema::Validator {
    let path = folder().join(format!("{name}.schema.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    jsonschema::validator_for(&schema).expect("a schema")
}

pub(crate) fn validate(schema: &jsonschema::Validator, what: &str, ran: &Ran) {
    let lines = ran.json();
    assert!(!lines.is_empty(), "{what}: {}", ran.stderr);
    for line in lines {
        let problems: Vec<String> = schema
            .iter_errors(&line)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{what}: {problems:#?}\n{line}");
    }
}

/// Commands that describe tables and databases.
const OF_BOTH: [(&str, &[&str]); 14] = [
    ("info", &["info"]),
    ("verify", &["verify"]),
    ("scan", &["scan"]),
    ("scan", &["scan", "--keys-only", "--limit", "3"]),
    ("scan-internal", &["scan", "--internal", "--encoding", "base64"]),
    ("scan-internal", &["scan", "--internal", "--reverse", "--at", "5000", "--limit", "9"]),
    ("scan-count", &["scan", "--count"]),
    ("scan-count", &["scan", "--internal", "--count", "--prefix", "user0"]),
    ("get", &["get"]),
    ("get-explain", &["get", "--explain"]),
    ("filter", &["filter", "--measure", "100"]),
    ("stats", &["stats", "--by-prefix", "6"]),
    ("stats", &["stats", "--by-delimiter", "2f:2", "--encoding", "hex", "--top", "3"]),
    ("stats", &["stats", "--sample", "--by-prefix", "4", "--from", "k"]),
];

#[test]
fn of_every_table_and_database() {
    for (name, command) in OF_BOTH {
        let schema = schema(name);
        for path in tables().into_iter().chain(databases()) {
            let mut arguments = command.to_vec();
            arguments.extend(["--format", "json", path.as_str()]);
            if command[0] == "get" {
                arguments.push("user00000/post0001");
            }
            let ran = run(&arguments);
            // Some have nothing visible, or no table with a filter.
            if ran.status == 0 && ran.stdout.is_empty() && matches!(name, "scan" | "filter") {
                continue;
            }
            validate(&schema, &format!("{arguments:?}"), &ran);
        }
    }
}

#[test]
fn of_advice_on_every_database() {
    let schema = schema("advise");
    let choice = "filter=ribbonfilter:8;partition_filters=true;block_size=8192";
    for path in databases() {
        for options in [
            &["--measure=200"][..],
            &["--budget", "3KiB", "--hit-rate", "0.9999", "--cache-size", "64KiB"],
            &["--what-if", choice],
        ] {
            let ran = run([&["advise", "--format", "json", &path][..], options].concat());
            // Some have no tables.
            if ran.stderr.contains("no tables") {
                continue;
            }
            validate(&schema, &format!("{path} {options:?}"), &ran);
        }
    }
}

#[test]
fn of_every_block() {
    let schema = schema("layout");
    for table in tables() {
        let arguments = ["layout", "--blocks", "--format", "json", &table];
        validate(&schema, &format!("{arguments:?}"), &run(arguments));
    }
}

/// Files of a database that are no tables are described and verified as what they are.
#[test]
fn of_single_files_of_a_database() {
    for (file, kind, field) in [
        ("rocksdb-wal-plus-tables/000012.log", "log", "largest_seq"),
        ("leveldb-bloom-snappy/000055.log", "log", "entries"),
        ("rocksdb-blobs/MANIFEST-000005", "manifest", "tables"),
        ("leveldb-bloom-snappy/MANIFEST-000002", "manifest", "next_file_number"),
        ("rocksdb-blobs/CURRENT", "current", "manifest"),
        ("rocksdb-blobs/OPTIONS-000007", "options", "rocksdb_version"),
        ("rocksdb-blobs/IDENTITY", "identity", "db_id"),
        ("rocksdb-blobs/000105.blob", "blob-file", "compression"),
    ] {
        let path = format!("databases/{file}");
        for command in ["info", "verify"] {
            let ran = run([command, "--format", "json", &path]);
            assert_eq!(ran.json()[0]["kind"], kind, "{command} {file}");
            assert!(command == "verify" || !ran.json()[0][field].is_null(), "{}", ran.stdout);
            validate(&schema(command), file, &ran);
        }
        let text = run(["info", &path]);
        assert_eq!(text.status, 0, "{}", text.stderr);
        assert!(text.stdout.contains(kind), "{}", text.stdout);
    }
}

#[test]
fn of_what_is_built() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let input = br#"{"key":"b","value":"1"}
{"key":"a","value":"2"}
{"key":"c","type":"range_delete","value":"d"}"#;
    let (one, out) = (path("one.sst"), path("out"));
    let build = ["build", "-", "--format", "json", "--output"];
    validate(&schema("build"), "build", &run_with(input, &[&build[..], &[&one]].concat()));
    let compact = ["compact", &one, "-o", &out, "--max-file-size", "1MiB", "--format", "json"];
    validate(&schema("compact"), "compact", &run(compact));
    let codecs = run(["compact", &one, "--compression", "all", "--format", "json"]);
    validate(&schema("compact-codecs"), "codecs", &codecs);
    let database = path("database");
    let build = [&build[..], &[&database, "--as", "database", "--column-family", "meta"]].concat();
    validate(&schema("build"), "build --as database", &run_with(input, &build));
    for (name, option) in [("merged", "--inline-blobs"), ("levels", "--keep-levels")] {
        let copy = path(name);
        let as_database = ["compact", &database, "-o", &copy, "--as", "database"];
        let compact = [&as_database[..], &[option, "--format", "json"]].concat();
        validate(&schema("compact"), option, &run(compact));
        validate(&schema("verify"), option, &run(["verify", &copy, "--format", "json"]));
    }
    for (number, source) in
        [one.as_str(), &out, "databases/rocksdb-column-families", "databases/leveldb-bloom-snappy"]
            .iter()
            .enumerate()
    {
        let (new, budget) = (path(&format!("new{number}")), ["--budget", "10KiB"]);
        let refilter = ["refilter", source, "-o", &new, "--format", "json"];
        validate(
            &schema("refilter"),
            source,
            &run([&refilter[..], &["--dry-run"], &budget].concat()),
        );
        validate(&schema("refilter"), source, &run([&refilter[..], &budget].concat()));
    }
    let manifest = fs::read_to_string(Path::new(&out).join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert!(schema("manifest").is_valid(&manifest), "{manifest}");
    for (name, command) in OF_BOTH {
        let mut arguments = [command, &["--format", "json", &out]].concat();
        if command[0] == "get" {
            arguments.push("a");
        }
        validate(&schema(name), &format!("{arguments:?}"), &run(&arguments));
    }
}

#[test]
#[cfg(feature = "serve")]
fn of_reports() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("report.html").display().to_string();
    let ran = run(["report", "tables/one-entry.sst", "-o", &out, "--format", "json"]);
    validate(&schema("report"), "report", &ran);
}

#[test]
fn of_ingestions() {
    for table in ["tables/fv7-bloom10.sst", "tables/types-all.sst", "tables/one-entry.sst"] {
        for version in ["6.0", "9.8", "11.0"] {
            let into = ["--into", "databases/rocksdb-leveled-bloom", "--for", version];
            let arguments =
                [&["ingest-check", table, table, "--format", "json"][..], &into].concat();
            validate(&schema("ingest-check"), &format!("{arguments:?}"), &run(&arguments));
        }
    }
}

#[test]
fn of_differences() {
    let pairs = [
        ["tables/types-all.sst", "tables/one-entry.sst"],
        ["databases/rocksdb-entities", "databases/rocksdb-column-families"],
        ["databases/rocksdb-blobs", "databases/rocksdb-range-deletes"],
    ];
    for [a, b] in pairs {
        for option in ["--internal", "--keys-only", "--encoding=hex", "--limit=7"] {
            validate(&schema("diff"), a, &run(["diff", a, b, "--format", "json", option]));
        }
        let summary = run(["diff", a, b, "--format", "json", "--summary"]);
        validate(&schema("diff-summary"), a, &summary);
    }
}

/// All tables and databases as they are, and without a file or a part of one.
#[test]
fn of_what_is_salvaged() {
    let schema = schema("salvage");
    for path in tables().into_iter().chain(databases()) {
        validate(&schema, &path, &run(["salvage", &path, "--format", "json"]));
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (number, database) in databases().iter().enumerate() {
        let copy = folder.path().join(number.to_string());
        copy_folder(&testdata(database), &copy);
        for (nth, name) in crate::run::names_in(&copy).iter().enumerate() {
            let file = copy.join(name);
            let bytes = fs::read(&file).expect("read");
            match nth % 3 {
                0 => fs::remove_file(&file).expect("removed"),
                1 => fs::write(&file, &bytes[..bytes.len() / 2]).expect("written"),
                _ => continue,
            }
            let out = folder.path().join("out").display().to_string();
            let copy = copy.display().to_string();
            let arguments = ["salvage", &copy, "-o", &out, "--encoding", "hex", "--format", "json"];
            validate(&schema, &format!("{database} without {name}"), &run(arguments));
            fs::remove_dir_all(&out).expect("removed");
            fs::write(&file, &bytes).expect("written");
        }
    }
}

#[test]
fn of_benches() {
    let filter = ["bench", "filter", "--memory", "20KiB", "--queries", "1000", "--format", "json"];
    validate(&schema("bench-filter"), "bench filter", &run(filter));
    let table = ["bench", "table", "--entries", "1000", "--gets", "1000", "--format", "json"];
    validate(&schema("bench-table"), "bench table", &run(table));
}

/// A schema that everything satisfies would prove nothing.
#[test]
fn schemas_refuse_what_is_wrong() {
    for file in fs::read_dir(folder()).expect("a folder") {
        let name = file.expect("an entry").file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".schema.json") {
            assert!(!schema(name).is_valid(&serde_json::json!({})), "{name}");
        }
    }
    let wrong = serde_json::json!({"file": "a", "sound": "yes", "problems": []});
    assert!(!schema("verify").is_valid(&wrong));
}
