//! Every command over every table and database: the right data, and no complaint.

use serde_json::{Value, json};
use sstkit_inspect::InspectedTable;
use sstkit_table::raw::{Codec, EntryKind, IndexKind, InternalKey};
use sstkit_table::{TableOptions, TableReadOptions, TableWriter};

use crate::run::{databases, listing, run, tables, testdata};

/// What a listing knows of an entry.
fn known(entry: &Value) -> Value {
    let get = |name: &str| entry.get(name).cloned().unwrap_or(Value::Null);
    json!({
        // Tables of bare keys list no type.
        "type": entry.get("type").cloned().unwrap_or(json!("put")),
        "key": get("key"),
        "timestamp": get("timestamp"),
        "value": match entry.get("type").and_then(Value::as_str) {
            Some("delete" | "single_delete") => json!(""),
            _ => get("value"),
        },
    })
}

#[test]
fn internal_scans_are_what_was_written() {
    for table in tables() {
        let ran = run(["scan", &table, "--internal", "--format", "json", "--encoding", "hex"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{table}");
        let stem = testdata(&table).with_extension("ndjson.zst");
        let mut expected: Vec<Value> = listing(&stem).iter().map(known).collect();
        let mut found: Vec<Value> = ran.json().iter().map(known).collect();
        let is_range = |entry: &Value| entry["type"] == "range_delete";
        // Ranges come last, in the order of their starts.
        expected.sort_by_key(is_range);
        found.iter_mut().filter(|it| it["type"] == "delete_with_timestamp").for_each(|it| {
            it["type"] = json!("delete");
        });
        assert_eq!(found.len(), expected.len(), "{table}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{table}");
        }
    }
}

/// A plain value may be listed as its default column alone.
fn without_lone_column(mut record: Value) -> Value {
    let lone = record["columns"].as_array().is_some_and(|it| it.len() == 1 && it[0][0] == "");
    if let Some(fields) = record.as_object_mut().filter(|_| lone) {
        fields.remove("columns");
    }
    record
}

#[test]
fn databases_are_what_the_engine_showed() {
    for database in databases() {
        for (family, suffix) in [("default", ""), ("meta", ".1"), ("événements", ".2")] {
            let list = testdata(&format!("{database}{suffix}.ndjson.zst"));
            if !list.exists() {
                continue;
            }
            let expected: Vec<Value> =
                listing(&list).into_iter().map(without_lone_column).collect();
            let scan = ["scan", &database, "--column-family", family, "--format", "json"];
            let ran = run(scan.into_iter().chain(["--encoding", "hex"]));
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{database} {family}");
            let found: Vec<Value> = ran.json().into_iter().map(without_lone_column).collect();
            assert_eq!(found, expected, "{database} {family}");

            let mut backwards =
                run(scan.into_iter().chain(["--encoding", "hex", "--reverse"])).json();
            backwards.reverse();
            let backwards: Vec<Value> = backwards.into_iter().map(without_lone_column).collect();
            assert_eq!(backwards, expected, "{database} {family}");
        }
    }
}

#[test]
fn a_count_is_of_what_a_scan_shows() {
    for table in tables() {
        let shown = run(["scan", &table, "--keys-only"]).stdout.lines().count();
        let ran = run(["scan", &table, "--count"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{table}");
        assert_eq!(ran.stdout.trim(), shown.to_string(), "{table}");
    }
}

/// Large enough for several threads, with several versions of each key at every border.
#[test]
fn a_large_table_is_counted_in_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.sst");
    for kind in [IndexKind::BinarySearch, IndexKind::TwoLevel] {
        let options =
            TableOptions::rocksdb().external_file(false).compression(Codec::None).index_kind(kind);
        let mut writer = TableWriter::create(&path, &options).expect("a writer");
        for number in 0..3000u32 {
            let key = format!("{number:06}");
            for sequence in (1..=4).rev() {
                let is_deleted = number % 3 == 0 && sequence == 4;
                let kind = if is_deleted { EntryKind::Deletion } else { EntryKind::Value };
                let value = if is_deleted { &[][..] } else { &[b'v'; 1000] };
                let key = InternalKey { user_key: key.as_bytes(), sequence, kind };
                writer.add(&key, value).expect("added");
            }
        }
        assert!(writer.finish().expect("finished").file_size > 8 << 20);
        let ran = run(["scan", &path.display().to_string(), "--count"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, "2000\n"), "{kind:?}");
        let file = InspectedTable::open(&path, &TableReadOptions::default()).expect("a table");
        let keys = file.split_keys(8).expect("keys");
        assert_eq!(keys.len(), 7, "{kind:?}");
        assert!(keys.is_sorted(), "{kind:?}");
    }
}

#[test]
fn a_lookup_finds_what_a_scan_shows() {
    for path in tables().into_iter().chain(databases()) {
        let scan = run(["scan", &path, "--format", "json", "--encoding", "hex", "--limit", "3"]);
        for record in scan.json() {
            let key = record["key"].as_str().expect("a key");
            let ran = run(["get", &path, key, "--format", "json", "--encoding", "hex"]);
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{path} {key}");
            let found = &ran.json()[0];
            assert_eq!(
                (&found["found"], &found["value"]),
                (&json!(true), &record["value"]),
                "{path}"
            );
        }
        let ran = run(["get", &path, "no such key", "--format", "json"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (1, ""), "{path}");
        assert_eq!(ran.json(), [json!({"key": "no such key", "found": false, "value": null})]);
    }
}

#[test]
fn all_is_sound_and_described() {
    for path in tables().into_iter().chain(databases()) {
        for command in ["info", "verify", "filter"] {
            for format in ["text", "json"] {
                let ran = run([command, &path, "--format", format]);
                assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command} {path}");
                // A database that has nothing but a log has no table with a filter.
                let may_be_empty = command == "filter" && format == "json";
                assert!(may_be_empty || !ran.stdout.is_empty(), "{command} {path}");
            }
        }
        let ran = run(["verify", &path, "--format", "json"]);
        assert!(ran.json().iter().all(|report| report["sound"] == true), "{path}");
        let ran = run(["filter", &path, "--measure", "1000", "--format", "json"]);
        for report in ran.json() {
            let negatives = &report["false_negatives"];
            assert!(negatives.is_null() || negatives == 0, "{path}: {report}");
        }
    }
}

#[test]
fn tables_are_taken_apart() {
    for table in tables() {
        for arguments in [
            &["dump", &table][..],
            &["layout", &table],
            &["layout", "--blocks", &table],
            &["layout", "--blocks", "--format", "json", &table],
            &["get", "--explain", &table, "key"],
        ] {
            let ran = run(arguments);
            let expected = i32::from(arguments[0] == "get");
            assert_eq!(ran.status, expected, "{arguments:?}: {}", ran.stderr);
            assert!(!ran.stdout.is_empty(), "{arguments:?}");
        }
        // Blocks do not overlap, and all entries are in some data block.
        let blocks = run(["layout", "--format", "json", &table]).json();
        let mut end = 0;
        let mut entries = 0;
        for block in &blocks {
            let offset = block["offset"].as_u64().expect("an offset");
            assert!(offset >= end, "{table}");
            end = offset + block["length"].as_u64().expect("a length");
            if block["kind"] == "data" || block["kind"] == "range_deletion" {
                entries += block["entries"].as_u64().expect("entries");
            }
        }
        let list = listing(&testdata(&table).with_extension("ndjson.zst"));
        assert_eq!(entries as usize, list.len(), "{table}");
    }
}
