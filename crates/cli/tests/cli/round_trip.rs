//! What `scan` prints, `build` reads back as the same table, or refuses it by name.

use serde_json::Value;

use crate::run::{Ran, databases, names_in, run, run_with, tables};

/// What a table holds is written in it; in which file a value was kept is not.
fn as_built(mut record: Value) -> Value {
    if let Some(fields) = record.as_object_mut() {
        fields.remove("blob");
        fields.remove("preferred_seq");
        if matches!(
            fields.get("type").and_then(Value::as_str),
            Some("blob_index" | "put_preferred_seqno")
        ) {
            fields.insert("type".into(), "put".into());
        }
    }
    record
}

fn records(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut records: Vec<Value> = ran.json().into_iter().map(as_built).collect();
    // Range deletions come after the points, those of a database in no order.
    let points = records.iter().take_while(|record| record["type"] != "range_delete").count();
    records[points..].sort_by_key(Value::to_string);
    records
}

struct Source<'s> {
    path: &'s str,
    family: Option<&'s str>,
    comparator: &'s str,
}

impl Source<'_> {
    fn scan(&self, options: &[&str]) -> Ran {
        let mut arguments = vec!["scan", self.path, "--format", "json"];
        arguments.extend(self.family.iter().flat_map(|name| ["--column-family", name]));
        arguments.extend(options);
        run(arguments)
    }

    /// Builds what was scanned, as JSON or through a file of this name; the error if that is refused.
    fn round_trip(&self, options: &[&str], file: Option<&str>) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (out, file) = (path("out.sst"), file.map(path));
        let mut arguments = vec!["build", file.as_deref().unwrap_or("-"), "-o", &out];
        arguments.extend(["--comparator", self.comparator]);
        let scanned = self.scan(options);
        let built = match &file {
            None => {
                let encoding = options.windows(2).filter(|pair| pair[0] == "--encoding").flatten();
                arguments.extend(encoding);
                run_with(scanned.stdout.as_bytes(), &arguments)
            }
            Some(file) => {
                let mut scan = vec!["scan", self.path, "-o", file];
                scan.extend(self.family.iter().flat_map(|name| ["--column-family", name]));
                scan.extend(options);
                let written = run(scan);
                if written.status != 0 {
                    assert_eq!(written.status, 2, "{}", written.stderr);
                    assert_eq!(names_in(folder.path()), Vec::<String>::new());
                    return Err(written.stderr);
                }
                run(arguments)
            }
        };
        if built.status != 0 {
            assert_eq!(built.status, 2, "{}", built.stderr);
            assert!(!folder.path().join("out.sst").exists());
            return Err(built.stderr);
        }
        let copy = Source { path: &out, family: None, comparator: self.comparator };
        let place = format!("{} {:?} {options:?}", self.path, self.family);
        assert!(records(&copy.scan(options)) == records(&scanned), "{place}");
        let verified = run(["verify", &out]);
        assert_eq!(verified.status, 0, "{place}: {}", verified.stdout);
        Ok(())
    }
}

const OPTIONS: [&[&str]; 4] =
    [&[], &["--internal"], &["--encoding", "hex"], &["--internal", "--encoding", "base64"]];

#[test]
fn every_table_is_rebuilt_identically() {
    for table in tables() {
        let info = &run(["info", &table, "--format", "json"]).json()[0];
        let comparator = info["comparator"].as_str().unwrap_or("leveldb.BytewiseComparator");
        let source = Source { path: &table, family: None, comparator };
        for options in OPTIONS {
            if let Err(refused) = source.round_trip(options, None) {
                // Operands without an operator, and a table without anything visible.
                let has_merges = source.scan(options).stdout.contains("\"merge\":[");
                let reason = if has_merges { "\"merge\"" } else { "no records" };
                assert!(!options.contains(&"--internal"), "{table} {refused}");
                assert!(refused.contains(reason), "{table} {options:?} {refused}");
            }
        }
    }
}

#[test]
fn every_column_family_is_rebuilt_identically() {
    let mut families = 0;
    for database in databases() {
        let info = &run(["info", &database, "--format", "json"]).json()[0];
        for family in info["column_families"].as_array().expect("column families") {
            let comparator = family["comparator"].as_str().expect("a comparator");
            let name = family["name"].as_str().filter(|&name| name != "default");
            let source = Source { path: &database, family: name, comparator };
            families += 1;
            for options in OPTIONS {
                let done = source.round_trip(options, None);
                assert_eq!(done, Ok(()), "{database} {name:?} {options:?}");
            }
        }
    }
    assert!(families > databases().len());
}

/// Parquet has everything that JSON has. Compressed values of a table are in it if they are in the
/// table.
#[test]
#[cfg(feature = "parquet")]
fn parquet_is_rebuilt_identically() {
    for table in tables() {
        let info = &run(["info", &table, "--format", "json"]).json()[0];
        let comparator = info["comparator"].as_str().unwrap_or("leveldb.BytewiseComparator");
        let source = Source { path: &table, family: None, comparator };
        for options in [&[][..], &["--internal"]] {
            if let Err(refused) = source.round_trip(options, Some("out.parquet")) {
                let is_known = ["no records", "merge operands", "the value is null"]
                    .iter()
                    .any(|reason| refused.contains(reason));
                assert!(is_known, "{table} {options:?} {refused}");
            }
        }
    }
    for database in databases() {
        let info = &run(["info", &database, "--format", "json"]).json()[0];
        for family in info["column_families"].as_array().expect("column families") {
            let comparator = family["comparator"].as_str().expect("a comparator");
            let name = family["name"].as_str().filter(|&name| name != "default");
            let source = Source { path: &database, family: name, comparator };
            for options in [&[][..], &["--internal"]] {
                let done = source.round_trip(options, Some("out.parquet"));
                assert_eq!(done, Ok(()), "{database} {name:?} {options:?}");
            }
        }
    }
}

/// CSV and TSV have keys, values, types, sequence numbers and timestamps, or it is said why not.
#[test]
fn csv_and_tsv_are_rebuilt_identically() {
    let mut rebuilt = [[0, 0]; 2];
    let mut with_timestamps = 0;
    for table in tables() {
        let info = &run(["info", &table, "--format", "json"]).json()[0];
        let comparator = info["comparator"].as_str().unwrap_or("leveldb.BytewiseComparator");
        let source = Source { path: &table, family: None, comparator };
        for (form, options) in [&[][..], &["--internal"]].into_iter().enumerate() {
            for (number, file) in ["out.csv", "out.tsv"].into_iter().enumerate() {
                match source.round_trip(options, Some(file)) {
                    Ok(()) => {
                        rebuilt[form][number] += 1;
                        with_timestamps += u32::from(comparator.ends_with("u64ts"));
                    }
                    Err(refused) => {
                        let reasons = [
                            "no records",
                            "merge operands",
                            "has columns",
                            "in another file",
                            "TSV cannot represent",
                        ];
                        let is_known = reasons.iter().any(|reason| refused.contains(reason));
                        assert!(is_known, "{table} {options:?} {refused}");
                    }
                }
            }
        }
    }
    assert!(rebuilt.iter().all(|[csv, tsv]| *csv > 30 && *tsv > 5), "{rebuilt:?}");
    assert!(with_timestamps > 0);
}

/// Timestamps are neither dropped nor made a part of the keys.
#[test]
#[cfg(feature = "parquet")]
fn timestamps_need_a_comparator_with_timestamps() {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, expected) in [
        ("out.csv", "line 2: the timestamp has 8 bytes, but leveldb.BytewiseComparator expects 0"),
        ("out.parquet", "the keys have timestamps, but leveldb.BytewiseComparator expects none"),
    ] {
        let path = folder.path().join(file).display().to_string();
        let out = folder.path().join("out.sst").display().to_string();
        assert_eq!(run(["scan", "databases/rocksdb-timestamps", "-o", &path]).status, 0);
        let built = run(["build", &path, "-o", &out]);
        assert_eq!((built.status, built.stderr), (2, format!("sst: {path}: {expected}\n")));
    }
}

/// A line with columns and no type was read as a plain value.
#[test]
fn entities_keep_their_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.sst").display().to_string();
    let lines = "{\"key\":\"a\",\"value\":\"\",\"columns\":[[\"x\",\"1\"]]}\n\
                 {\"key\":\"b\",\"value\":\"2\",\"columns\":[[\"\",\"2\"],[\"y\",\"3\"]]}\n";
    let built = run_with(lines.as_bytes(), &["build", "-", "-o", &out]);
    assert_eq!((built.status, built.stderr.as_str()), (0, ""));
    assert_eq!(run(["scan", &out, "--format", "json"]).stdout, lines);
}

/// All versions of a key, in any order; duplicates are reported.
#[test]
fn versions_keep_their_sequence_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.sst").display().to_string();
    let lines = "{\"type\":\"put\",\"key\":\"a\",\"seq\":9,\"value\":\"new\"}\n\
                 {\"type\":\"delete\",\"key\":\"a\",\"seq\":7,\"value\":\"\"}\n\
                 {\"type\":\"put\",\"key\":\"a\",\"seq\":0,\"value\":\"old\"}\n\
                 {\"type\":\"single_delete\",\"key\":\"b\",\"seq\":8,\"value\":\"\"}\n\
                 {\"type\":\"range_delete\",\"key\":\"a\",\"seq\":5,\"value\":\"c\"}\n";
    let reversed: String = lines.lines().rev().flat_map(|line| [line, "\n"]).collect();
    for input in [lines, &reversed] {
        // With hardly any memory, so that runs are merged.
        for memory in ["256MiB", "1"] {
            let arguments = ["build", "-", "-o", &out, "--force", "--memory", memory];
            let built = run_with(input.as_bytes(), &arguments);
            assert_eq!((built.status, built.stderr.as_str()), (0, ""));
            assert_eq!(run(["scan", &out, "--internal", "--format", "json"]).stdout, lines);
            assert_eq!(run(["verify", &out]).status, 0);
        }
    }
    let twice = format!("{lines}{lines}");
    let arguments = ["build", "-", "-o", &out, "--force", "--duplicates", "error"];
    let refused = run_with(twice.as_bytes(), &arguments);
    assert!(refused.status == 2 && refused.stderr.contains("duplicate key"), "{}", refused.stderr);
    let arguments = ["build", "-", "-o", &out, "--force", "--sorted"];
    let refused = run_with(lines.as_bytes(), &arguments);
    assert!(refused.status == 2 && refused.stderr.contains("line 1: "), "{}", refused.stderr);
}
