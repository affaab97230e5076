//! Logs, MANIFESTs, OPTIONS and blob files on their own: `dump`, `scan --internal`, `info`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sstkit_db::raw::{FileMetaData, LogWriter, SubcompactionProgress, VersionEdit};
use sstkit_table::raw::{Engine, EntryKind, InternalKey};

use crate::run::{databases, run, testdata};
use crate::schemas::{schema, validate};

fn dump(path: &str) -> Vec<Value> {
    let ran = run(["dump", "--format", "json", path]);
    assert_eq!(ran.status, 0, "{path}: {}", ran.stderr);
    ran.json()
}

/// All files of the golden databases that are not tables.
fn files() -> Vec<(String, &'static str)> {
    let mut files = Vec::new();
    for database in databases() {
        for entry in fs::read_dir(testdata(&database)).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let kind = match name.as_str() {
                "CURRENT" => "current",
                "IDENTITY" => "identity",
                _ if name.ends_with(".log") => "log",
                _ if name.ends_with(".blob") => "blob-file",
                _ if name.starts_with("MANIFEST-") => "manifest",
                _ if name.starts_with("OPTIONS-") => "options",
                _ => continue,
            };
            files.push((format!("{database}/{name}"), kind));
        }
    }
    assert!(files.len() > 50, "{files:?}");
    files
}

#[test]
fn dumps_of_all_files_are_valid_and_whole() {
    let schema = schema("dump");
    for (file, kind) in files() {
        let ran = run(["dump", "--format", "json", &file]);
        assert_eq!(ran.status, 0, "{file}: {}", ran.stderr);
        // A log may be empty.
        if ran.stdout.is_empty() && kind == "log" {
            continue;
        }
        validate(&schema, &file, &ran);
        let info = run(["info", "--format", "json", &file]).json();
        let lines = ran.json();
        let count = |name: &str| lines.iter().filter(|line| line["record"] == name).count();
        let writes = || {
            let operations = lines.iter().filter_map(|line| line["operations"].as_array());
            operations.flatten().filter(|it| !it["key"].is_null()).count()
        };
        let (found, expected) = match kind {
            "log" => (writes(), &info[0]["entries"]),
            "manifest" => (count("edit"), &info[0]["entries"]),
            "blob-file" => (count("blob"), &info[0]["entries"]),
            "options" => (count("section").min(1), &json!(1)),
            name => (count(name), &json!(1)),
        };
        assert_eq!(json!(found), *expected, "{file}");
        assert_eq!(count("problem"), 0, "{file}");
        let text = run(["dump", &file]);
        assert!(text.status == 0 && !text.stdout.is_empty(), "{file}: {}", text.stderr);
    }
}

/// The physical records of a log follow one another from its start to its end.
#[test]
fn fragments_are_where_the_file_has_them() {
    for (file, _) in files().iter().filter(|(_, kind)| *kind == "log") {
        if file.contains("recycled") || file.contains("log-tail") {
            continue;
        }
        let size = fs::metadata(testdata(file)).expect("a file").len();
        let mut fragments = Vec::new();
        for line in dump(file) {
            let listed = line["fragments"].as_array().cloned().unwrap_or_default();
            let lengths = listed.iter().map(|it| it[1].as_u64().expect("a length"));
            assert_eq!(lengths.sum::<u64>(), line["length"].as_u64().unwrap_or(0), "{file}");
            fragments.extend(listed.iter().map(|it| (it[0].as_u64(), it[1].as_u64())));
        }
        let mut end = None;
        for (offset, length) in fragments {
            let (offset, length) = (offset.expect("an offset"), length.expect("a length"));
            // At the end of a block there may be fewer bytes than a header has.
            assert!(end.is_none_or(|end| offset - end < 7), "{file}: {offset}");
            end = Some(offset + length);
        }
        assert!(end.is_none_or(|end| end == size), "{file}");
    }
}

/// A record that does not fit into a block of 32 KiB continues in the next ones.
#[test]
fn a_long_record_has_several_fragments() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("000007.log");
    let mut writer = LogWriter::new(Vec::new());
    let mut batch = vec![9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, b'k', 0xf0, 0xa2, 0x04];
    batch.extend(vec![b'v'; 70_000]);
    writer.add_record(&batch).expect("written");
    fs::write(&path, writer.into_inner()).expect("written");
    let lines = dump(&path.display().to_string());
    let sizes = json!([[0, 32_768], [32_768, 32_768], [65_536, 4_503]]);
    assert_eq!((&lines[0]["fragments"], &lines[0]["fragment_count"]), (&sizes, &json!(3)));
    assert_eq!(lines[0]["operations"][0]["value"].as_str().map(str::len), Some(70_000));
    assert_eq!(lines[0]["operations"][0]["seq"], 9);
}

/// Transactions and their markers, with ids that are no text.
#[test]
fn markers_of_transactions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("000007.log");
    let mut writer = LogWriter::new(Vec::new());
    let head = |count: u8| vec![5, 0, 0, 0, 0, 0, 0, 0, count, 0, 0, 0];
    let prepared = [&[0x09, 0x05, 3, 1, b'k', 1, b'v'][..], &[0x0a, 2, b'x', 0x1b]].concat();
    for records in [&prepared[..], &[0x0b, 2, b'x', 0x1b], &[0x0c, 1, b'y', 0x03, 1, b'!']] {
        let count = u8::from(records[0] == 0x09);
        writer.add_record(&[head(count), records.to_vec()].concat()).expect("written");
    }
    fs::write(&path, writer.into_inner()).expect("written");
    let path = path.display().to_string();
    let all: Vec<Value> = dump(&path).iter().map(|line| line["operations"].clone()).collect();
    assert_eq!(
        json!(all),
        json!([
            [
                {"type": "begin_prepare"},
                {"type": "put", "key": "k", "seq": 5, "value": "v", "column_family": 3},
                {"type": "end_prepare", "xid": "x\\x1b"},
            ],
            [{"type": "commit", "xid": "x\\x1b"}],
            [{"type": "rollback", "xid": "y"}, {"type": "log_data", "data": "!"}],
        ])
    );
    let info = &run(["info", "--format", "json", &path]).json()[0];
    let log = &info["log"];
    assert_eq!(
        (&log["prepared"], &log["committed"], &log["rolled_back"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(log["column_families"], json!({"3": 1}));
    let text = run(["dump", &path]).stdout;
    assert!(text.contains("  commit x\\x1b\n") && !text.contains('\x1b'), "{text}");
}

/// The writes of a log are those that a database with only this log shows.
#[test]
fn writes_of_a_log_are_those_of_the_database() {
    let schema = schema("scan-internal");
    let database = "databases/rocksdb-wal-only";
    let log = files().into_iter().find(|(file, kind)| file.starts_with(database) && *kind == "log");
    let log = log.expect("a log").0;
    let ran = run(["scan", "--internal", "--format", "json", &log]);
    validate(&schema, &log, &ran);
    // The last write of a key counts.
    let mut model = BTreeMap::new();
    for write in ran.json() {
        let key = write["key"].as_str().expect("a key").to_owned();
        match write["type"].as_str() {
            Some("put") => drop(model.insert(key, write["value"].clone())),
            Some("delete") => drop(model.remove(&key)),
            Some("range_delete") => {
                let end = write["value"].as_str().expect("an end").to_owned();
                model.retain(|it: &String, _| *it < key || *it >= end);
            }
            other => panic!("{other:?}"),
        }
    }
    let visible = run(["scan", "--format", "json", database]).json();
    let visible: BTreeMap<String, Value> = visible
        .iter()
        .map(|it| (it["key"].as_str().expect("a key").to_owned(), it["value"].clone()))
        .collect();
    assert_eq!(model, visible);
    let count = run(["scan", "--internal", "--count", &log]).stdout;
    assert_eq!(count.trim(), ran.json().len().to_string());
    let two = run(["scan", "--internal", "--limit", "2", "--keys-only", "--format", "json", &log]);
    assert_eq!(two.json().len(), 2);
    assert!(two.json()[0]["value"].is_null());
}

#[test]
fn values_of_a_blob_file() {
    let file = "databases/rocksdb-blobs/000105.blob";
    let ran = run(["scan", "--internal", "--format", "json", file]);
    validate(&schema("scan-internal"), file, &ran);
    let visible = run(["scan", "--format", "json", "databases/rocksdb-blobs"]).json();
    let values: BTreeMap<&str, &Value> =
        visible.iter().map(|it| (it["key"].as_str().expect("a key"), &it["value"])).collect();
    let same = ran
        .json()
        .iter()
        .filter(|it| {
            values
                .get(it["key"].as_str().expect("a key"))
                .is_some_and(|value| **value == it["value"])
        })
        .count();
    assert!(same > 100 && ran.json()[0]["blob"]["file"] == 105, "{same}");
}

/// The state of a MANIFEST has the files that the database has.
#[test]
fn the_state_is_that_of_the_database() {
    for database in databases() {
        let (file, _) = files()
            .into_iter()
            .find(|(file, kind)| Path::new(file).starts_with(&database) && *kind == "manifest")
            .expect("a MANIFEST");
        let state = dump(&file).pop().expect("lines");
        assert_eq!(state["record"], "state", "{file}");
        let mut in_state: Vec<(u64, u64)> = state["column_families"]
            .as_array()
            .expect("a list")
            .iter()
            .flat_map(|family| family["files"].as_array().expect("a list").clone())
            .map(|it| {
                (it["level"].as_u64().expect("level"), it["number"].as_u64().expect("number"))
            })
            .collect();
        let info = run(["info", "--format", "json", &database]).json().remove(0);
        let mut in_database = Vec::new();
        for family in info["column_families"].as_array().expect("a list") {
            for level in family["levels"].as_array().expect("a list") {
                for file in level["files"].as_array().expect("a list") {
                    let number = file["number"].as_u64().expect("a number");
                    in_database.push((level["level"].as_u64().expect("a level"), number));
                }
            }
        }
        in_state.sort_unstable();
        in_database.sort_unstable();
        assert_eq!(in_state, in_database, "{database}");
    }
}

/// What a file is follows from its contents, whatever it is called.
#[test]
fn contents_come_before_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let kind = |source: &str, name: &str| {
        let path = folder.path().join(name);
        fs::copy(testdata(source), &path).expect("copied");
        let info = run(["info", "--format", "json", &path.display().to_string()]).json();
        fs::remove_file(&path).expect("removed");
        info[0]["kind"].as_str().expect("a kind").to_owned()
    };
    let (log, manifest) =
        ("databases/rocksdb-wal-plus-tables/000012.log", "databases/rocksdb-blobs/MANIFEST-000005");
    for name in ["000001.sst", "MANIFEST-000001", "CURRENT", "x"] {
        assert_eq!(kind(log, name), "log", "{name}");
    }
    for name in ["000001.sst", "000001.log", "OPTIONS-000001", "x"] {
        assert_eq!(kind(manifest, name), "manifest", "{name}");
    }
    assert_eq!(kind("tables/one-entry.sst", "000001.log"), "rocksdb-table");
    assert_eq!(kind("tables/one-entry.sst", "000001.blob"), "rocksdb-table");
    assert_eq!(kind("databases/rocksdb-blobs/000105.blob", "000001.sst"), "blob-file");
    assert_eq!(kind("databases/rocksdb-blobs/OPTIONS-000007", "000001.log"), "options");
    assert_eq!(kind("databases/rocksdb-blobs/CURRENT", "000001.sst"), "current");
}

/// Damage is shown where it is, and does not hide what follows.
#[test]
fn damage_is_a_record_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let damage = |source: &str, name: &str, at: usize| {
        let path = folder.path().join(name);
        let mut bytes = fs::read(testdata(source)).expect("a file");
        bytes[at] ^= 0x55;
        fs::write(&path, bytes).expect("written");
        let path = path.display().to_string();
        let ran = run(["dump", "--format", "json", &path]);
        assert_eq!(ran.status, 1, "{source}: {}", ran.stderr);
        assert_eq!(run(["verify", &path]).status, 1, "{source}");
        validate(&schema("dump"), source, &ran);
        assert!(run(["dump", &path]).status == 1);
        ran.json()
    };
    let log = "databases/leveldb-bloom-snappy/000055.log";
    let lines =
        damage(log, "000055.log", fs::metadata(testdata(log)).expect("a file").len() as usize / 2);
    assert!(lines.iter().any(|line| line["record"] == "problem"), "{lines:?}");
    assert_eq!(lines[0]["record"], "batch");
    let lines = damage("databases/rocksdb-blobs/000105.blob", "000105.blob", 3000);
    let problems: Vec<&Value> = lines.iter().filter(|it| it["record"] == "problem").collect();
    assert!(problems.len() == 1 && lines.len() > 3, "{problems:?}");
    let lines = damage("databases/rocksdb-blobs/MANIFEST-000005", "MANIFEST-000005", 100);
    assert!(lines.iter().any(|line| line["record"] == "problem"), "{lines:?}");
    assert!(lines.iter().all(|line| line["record"] != "state"));
}

/// A torn end is how a crash leaves a log: shown, but no damage.
#[test]
fn a_torn_end_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("000012.log");
    let bytes = fs::read(testdata("databases/rocksdb-wal-plus-tables/000012.log")).expect("a log");
    fs::write(&path, &bytes[..bytes.len() - 3]).expect("written");
    let path = path.display().to_string();
    let ran = run(["dump", "--format", "json", &path]);
    let last = ran.json().pop().expect("lines");
    assert_eq!((ran.status, &last["record"]), (0, &json!("problem")), "{}", ran.stderr);
    assert!(ran.stderr.contains("torn tail"), "{}", ran.stderr);
    assert_eq!(run(["scan", "--internal", "--count", &path]).status, 0);
}

/// Every file of a database in turn.
#[test]
fn all_live_files_of_a_database() {
    let ran = run(["dump", "databases/rocksdb-blobs"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let names: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("==> databases/rocksdb-blobs/")?.strip_suffix(" <=="))
        .collect();
    for name in
        ["CURRENT", "MANIFEST-000005", "OPTIONS-000007", "000103.log", "000104.sst", "000105.blob"]
    {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let refused = run(["dump", "databases/rocksdb-blobs", "--format", "json"]);
    assert_eq!(refused.status, 2, "{}", refused.stdout);
    let refused = run(["scan", "databases/rocksdb-blobs/000103.log"]);
    assert!(refused.status == 2 && refused.stderr.contains("--internal"), "{}", refused.stderr);
}

/// Two records of a compaction that was interrupted.
#[test]
fn the_progress_of_a_compaction_is_shown() {
    let key = |user_key| {
        let mut key = Vec::new();
        InternalKey { user_key, sequence: 7, kind: EntryKind::Value }.encode_to(&mut key);
        key
    };
    let mut log = LogWriter::new(Vec::new());
    for (first, last, next, records) in [(b"a", b"c", b"d", 30), (b"d", b"f", b"g", 70)] {
        let mut progress = SubcompactionProgress::default();
        progress.next_key = Some(key(next));
        progress.input_records = records + 5;
        progress.output.records = records;
        progress.output.new_files = vec![FileMetaData::new(records, 4096, key(first), key(last))];
        let mut edit = VersionEdit::default();
        edit.subcompaction_progress = Some(progress);
        let mut bytes = Vec::new();
        edit.encode_to(&mut bytes, Engine::RocksDb);
        log.add_record(&bytes).expect("written");
    }
    let log = log.into_inner();
    let folder = tempfile::tempdir().expect("a folder");
    // By its name, and by what is in it.
    for name in ["COMPACTION_PROGRESS-1700000000000000", "copy"] {
        let path = folder.path().join(name);
        fs::write(&path, &log).expect("written");
        let path = path.to_str().expect("UTF-8");
        let ran = run(["dump", path]);
        assert_eq!((ran.status, &ran.stderr[..]), (0, ""));
        expect_test::expect![[r#"
            edit 0 at 0  column family 0, 76 bytes
              entries read by the compaction  35
              it continues at                 d @7 put
              output level: 30 entries in all files so far
              + table 000030 of the output level, 4096 bytes, a @7 put .. c @7 put
            edit 1 at 76  column family 0, 76 bytes
              entries read by the compaction  75
              it continues at                 g @7 put
              output level: 70 entries in all files so far
              + table 000070 of the output level, 4096 bytes, d @7 put .. f @7 put
        "#]]
        .assert_eq(&ran.stdout);

        let ran = run(["dump", "--format", "json", path]);
        validate(&schema("dump"), path, &ran);
        let lines = ran.json();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["subcompaction_progress"]["next_key"]["key"], "g");
        assert_eq!(lines[1]["subcompaction_progress"]["output"]["new_files"][0]["number"], 70);

        let ran = run(["info", "--format", "json", path]);
        validate(&schema("info"), path, &ran);
        let info = ran.json();
        assert_eq!(info[0]["kind"], "compaction-progress");
        assert_eq!(info[0]["entries"], 2);
        let ran = run(["verify", "--format", "json", path]);
        assert_eq!(ran.status, 0, "{}", ran.stdout);
        validate(&schema("verify"), path, &ran);
    }
}
