//! Databases of other software equal what their owners saw (`testdata/real`).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{Ran, listing, run, testdata};

const JSON: [&str; 4] = ["--format", "json", "--encoding", "hex"];

fn scan(database: &str, options: &[&str]) -> Ran {
    let arguments = ["scan", database].into_iter().chain(JSON).chain(options.iter().copied());
    let ran = run(arguments);
    assert_eq!(ran.status, 0, "{database} {options:?}: {}", ran.stderr);
    ran
}

/// Keys and values of a scan.
fn pairs(records: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("null").to_owned();
    records.iter().map(|record| (text(&record["key"]), text(&record["value"]))).collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// A copy of a folder of `testdata/real` that may be changed.
pub(crate) fn copy(folder: &str) -> TempDir {
    fn copy_into(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            let target = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => copy_into(&entry.path(), &target),
                false => drop(fs::copy(entry.path(), target).unwrap()),
            }
        }
    }
    let copied = tempfile::tempdir().unwrap();
    copy_into(&testdata(&format!("real/{folder}")), copied.path());
    copied
}

fn verify(path: &str) -> (i32, String) {
    let ran = run(["verify", path]);
    (ran.status, ran.stdout)
}

#[test]
fn owners_saw_the_same() {
    for (database, list, options) in [
        ("chromium/LocalStorage.leveldb", "chromium/LocalStorage", &[][..]),
        ("goleveldb/bloom", "goleveldb/bloom", &[]),
        ("rocksdict-blobs/db", "rocksdict-blobs/default", &[]),
        ("rocksdict-blobs/db", "rocksdict-blobs/two_level", &["--column-family", "two level"]),
        ("rocksdict-blobs/db", "rocksdict-blobs/blobs", &["--column-family", "blobs"]),
        ("plyvel/reverse", "plyvel/reverse", &[]),
        ("plyvel/reverse", "plyvel/reverse", &["--comparator", "my.reverse=reverse"]),
    ] {
        let database = format!("real/{database}");
        let expected = pairs(&listing(&testdata(&format!("real/{list}.ndjson.zst"))));
        assert_eq!(pairs(&scan(&database, options).json()), expected, "{database}");
        let mut backward = pairs(&scan(&database, &[options, &["--reverse"]].concat()).json());
        backward.reverse();
        assert_eq!(backward, expected, "{database}");
        let (key, value) = &expected[expected.len() / 3];
        let get = ["get", &database, key].into_iter().chain(JSON);
        let got = run(get.chain(options.iter().copied())).json();
        assert_eq!(got[0]["value"], json!(value), "{database}");
        let (status, text) = verify(&database);
        assert!(status == 0 && text.ends_with("sound\n"), "{text}");
    }
}

/// The list is in byte order, since the reader that made it does not know `idb_cmp1`.
#[test]
fn indexeddb_is_in_its_own_order() {
    let database = "real/chromium/IndexedDB.leveldb";
    let ran = scan(database, &[]);
    assert_eq!(ran.stderr, "");
    let records = ran.json();
    let mut found = pairs(&records);
    found.sort();
    assert!(found == pairs(&listing(&testdata("real/chromium/IndexedDB.unordered.ndjson.zst"))));
    // The page had 2,657, 300 and 18 records in its object stores.
    for (store, count) in [(1, 2657), (2, 300), (3, 18)] {
        let start = format!("database 1, object store {store}: ");
        let meanings = records.iter().filter_map(|it| it["decoded_key"].as_str());
        assert_eq!(meanings.filter(|it| it.starts_with(&start)).count(), count, "{store}");
    }
    // A part of a key is not between keys.
    for bound in [["--from", "000101"], ["--to", "0001"]] {
        for command in ["scan", "stats"] {
            let ran = run([command, database, "--hex"].into_iter().chain(bound));
            assert!(ran.status == 2 && ran.stderr.contains("use --prefix"), "{}", ran.stderr);
        }
    }
    let (key, upper) = (&found[0].0, "00010101");
    assert_ne!(scan(database, &["--from", key, "--to", upper, "--count"]).json()[0]["count"], 0);
    // The order is checked, in the database and in the table alone.
    let (status, text) = verify(database);
    assert!(status == 0 && !text.contains("unknown"), "{text}");
    let (status, text) = verify(&format!("{database}/000005.ldb"));
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("the comparator \"idb_cmp1\" that the MANIFEST names"), "{text}");
    let info = run(["info", &format!("{database}/000005.ldb"), "--format", "json"]).json();
    assert_eq!(info[0]["comparator"], "idb_cmp1");

    let text = run(["scan", database, "--decode-keys", "--keys-only", "--limit", "1"]).stdout;
    assert_eq!(text, "schema version\n");
}

/// Nothing says in which order a copied table is: lookups do not rely on what they assumed.
#[test]
fn a_table_without_its_manifest_is_searched_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("copy.ldb");
    fs::copy(testdata("real/chromium/IndexedDB.leveldb/000005.ldb"), &table).unwrap();
    let table = table.to_str().unwrap();
    let records = scan("real/chromium/IndexedDB.leveldb/000005.ldb", &[]).json();
    assert_eq!(pairs(&scan(table, &[]).json()), pairs(&records));
    for record in records.iter().step_by(1500) {
        let key = record["key"].as_str().unwrap();
        let ran = run(["get", table, key].into_iter().chain(JSON));
        assert_eq!((ran.status, &ran.json()[0]["value"]), (0, &record["value"]), "{key}");
    }
    let ran = run(["get", table, "00010101ff", "--encoding", "hex"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("using idb_cmp1, whose order its keys are in"), "{}", ran.stderr);
    let found = scan(table, &["--prefix", "000102", "--count"]).json();
    assert_eq!(found[0]["count"], 600);
    let (status, text) = verify(table);
    assert!(status == 0 && text.contains("assuming idb_cmp1"), "{text}");
}

/// An order that is known nowhere: lookups read all keys.
#[test]
fn a_table_in_an_order_of_its_own_is_not_searched() {
    use sstkit_table::{TableOptions, TableWriter};
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("odd.ldb");
    let order = sstkit_testkit::orders::short_first_backwards();
    let mut writer =
        TableWriter::create(&table, &TableOptions::leveldb().comparator(order)).unwrap();
    for key in ["z", "a", "zz", "bb", "aa", "abc"] {
        writer.put(key.as_bytes(), key.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let table = table.to_str().unwrap();
    for key in ["z", "a", "zz", "bb", "aa", "abc"] {
        assert_eq!(run(["get", table, key]).stdout, format!("{key}\n"));
    }
    let ran = run(["get", table, "b"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("the keys are not in bytewise order"), "{}", ran.stderr);
    assert_eq!(verify(table).0, 2, "not damaged, but not supported");
    assert_eq!(run(["scan", table, "--internal", "--count"]).stdout, "6\n");
    assert_eq!(run(["scan", table, "--prefix", "a", "--count"]).stdout, "3\n");
    let ran = run(["scan", table, "--from", "a", "--count"]);
    assert!(ran.status == 2 && ran.stderr.contains("unknown comparator"), "{}", ran.stderr);
}

#[test]
fn logs_and_tables_are_found_beside_a_database() {
    let mut expected = pairs(&listing(&testdata("real/rocksdict-db-paths/pw.ndjson.zst")));
    expected.push((hex("zlast"), hex("only in wal")));
    let ran = scan("real/rocksdict-db-paths/pw", &[]);
    assert!(pairs(&ran.json()) == expected);
    for part in ["reading tables from", "pw_p2", "reading the logs in", "pw_wal", "--wal-dir"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_eq!(verify("real/rocksdict-db-paths/pw").0, 0);
    // What is given needs no guess.
    let folder = testdata("real/rocksdict-db-paths");
    let (wal, tables) = (folder.join("pw_wal"), folder.join("pw_p2"));
    let (wal, tables) = (wal.to_str().unwrap(), tables.to_str().unwrap());
    let given = ["--wal-dir", wal, "--db-path", tables, "--db-path", tables];
    let ran = scan("real/rocksdict-db-paths/pw", &given);
    assert!(pairs(&ran.json()) == expected);
    assert_eq!(ran.stderr, "");

    let ran = scan("real/rocksdict-wal-dir/wd", &[]);
    let keys: Vec<String> = pairs(&ran.json()).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, (0..100).map(|i| hex(&format!("k{i:03}"))).collect::<Vec<_>>());
    assert!(ran.stderr.contains("wd_wal_moved"), "{}", ran.stderr);
}

/// What is missing is said, and is not sound.
#[test]
fn missing_logs_and_tables_are_no_sound_database() {
    let folder = copy("rocksdict-wal-dir");
    let database = folder.path().join("wd");
    let database = database.to_str().unwrap();
    let warning = "writes that are only in logs are missing";
    // A log of another database is none of this one.
    fs::rename(folder.path().join("wd_wal_moved"), folder.path().join("other")).unwrap();
    let ran = scan(database, &[]);
    assert!(ran.stdout.is_empty() && ran.stderr.contains(warning), "{}", ran.stderr);
    let (status, text) = verify(database);
    assert!(status == 2 && text.contains(warning), "{text}");
    // Nor is a directory of logs that is empty, or one that was given by mistake.
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let ran = scan(database, &["--wal-dir", empty.to_str().unwrap()]);
    assert!(ran.stderr.contains("has no logs that are needed"), "{}", ran.stderr);
    let ran = run(["scan", database, "--wal-dir", "/no/such/folder"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let other = folder.path().join("other");
    assert_eq!(scan(database, &["--wal-dir", other.to_str().unwrap()]).json().len(), 100);
    assert_eq!(scan(database, &["--ignore-log"]).stderr, "");

    let folder = copy("rocksdict-db-paths");
    fs::remove_dir_all(folder.path().join("pw_p2")).unwrap();
    let database = folder.path().join("pw");
    let (status, text) = verify(database.to_str().unwrap());
    assert!(status == 2 && text.contains("use --db-path"), "{text}");
}

/// Directories of logs are often named like their databases.
#[test]
fn logs_are_found_in_a_directory_with_the_name_of_the_database() {
    let copied = copy("rocksdict-wal-dir");
    let folder = copied.path();
    let options = folder.join("wd/OPTIONS-000007");
    let text = fs::read_to_string(&options).unwrap();
    let set = |version: &str| {
        let text = text.replace("wal_dir=/data/wd_wal", "wal_dir=/data/logs/wd");
        fs::write(&options, text.replace("rocksdb_version=9.8.4", version)).unwrap();
    };
    set("rocksdb_version=9.8.4");
    fs::create_dir(folder.join("logs")).unwrap();
    fs::rename(folder.join("wd_wal_moved"), folder.join("logs/wd")).unwrap();
    let database = folder.join("wd").display().to_string();
    let count = || run(["scan", &database, "--count"]);
    let ran = count();
    assert_eq!(ran.stdout, "100\n");
    assert!(ran.stderr.contains("reading the logs in"), "{}", ran.stderr);

    fs::rename(folder.join("logs"), folder.join("lost")).unwrap();
    let ran = count();
    assert!(ran.stderr.contains("/data/logs/wd does not exist"), "{}", ran.stderr);
    assert_eq!(verify(&database).0, 2);
    // Older versions wrote their own directory. Of nothing at all that is no explanation.
    set("rocksdb_version=6.20.3");
    let ran = count();
    assert!(ran.stderr.contains("neither tables nor logs"), "{}", ran.stderr);
    assert_eq!(verify(&database).0, 2);
    fs::remove_file(&options).unwrap();
    assert!(count().stderr.contains("neither tables nor logs"), "{}", count().stderr);
}

/// RocksDB up to 6.23 wrote the directory of the database itself, which may have been moved since.
#[test]
fn the_own_directory_as_that_of_the_logs_is_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("moved");
    fs::create_dir(&database).unwrap();
    for file in fs::read_dir(testdata("databases/rocksdb-leveled-bloom")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), database.join(file.file_name())).unwrap();
    }
    for file in fs::read_dir(&database).unwrap().map(|it| it.unwrap().path()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("OPTIONS-") {
            let text = fs::read_to_string(&file).unwrap();
            let lines = text.lines().map(|line| match line.trim().split_once('=') {
                Some(("rocksdb_version", _)) => "  rocksdb_version=6.20.3",
                Some(("wal_dir", _)) => "  wal_dir=/data/moved",
                _ => line,
            });
            fs::write(&file, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
        }
    }
    let (status, text) = verify(database.to_str().unwrap());
    assert!(status == 0 && !text.contains("log directory"), "{text}");
}

/// Too far away to be found: every command that may need them takes the directories.
#[test]
fn directories_of_tables_are_named() {
    let folder = copy("rocksdict-db-paths");
    let far = folder.path().join("far");
    let [tables, logs] = ["tables", "logs"].map(|name| far.join(name).join("moved"));
    for (from, to) in [("pw_p2", &tables), ("pw_wal", &logs)] {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(folder.path().join(from), to).unwrap();
    }
    let [database, output] = ["pw", "refiltered"].map(|name| folder.path().join(name));
    let [database, output, tables, logs] =
        [&database, &output, &tables, &logs].map(|path| path.to_str().unwrap());
    let refilter = ["refilter", database, "-o", output, "--filter", "bloomfilter:5"];
    for command in [&["scan", database][..], &["advise", database], &refilter] {
        let ran = run(command);
        assert_eq!(ran.status, 2, "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("use --db-path to name these"), "{}", ran.stderr);
    }
    let given = ["--db-path", tables, "--db-path", tables];
    let ran = run(["advise", database].into_iter().chain(given));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let ran = run(refilter.into_iter().chain(given).chain(["--wal-dir", logs]));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let both = [&given[..], &["--wal-dir", logs]].concat();
    let before = pairs(&scan(database, &both).json());
    let after = scan(output, &[]);
    assert_eq!(pairs(&after.json()), before);
    assert_eq!((before.len(), verify(output).0), (3001, 0), "{}", after.stderr);
    let ran = run(["refilter", "tables/fv7-bloom10.sst", "--dry-run", "--wal-dir", logs]);
    assert!(ran.stderr.contains("--wal-dir has no effect"), "{}", ran.stderr);
}

#[test]
fn values_with_a_time_to_live() {
    let database = "real/ldb/ttl";
    let records = scan(database, &[]).json();
    let values = ["v1", "v2", "v3"].map(|value| json!(hex(value)));
    assert_eq!(records.iter().map(|it| it["value"].clone()).collect::<Vec<_>>(), values);
    assert_eq!(records[0]["written"], 1_794_829_050);
    assert_eq!(records[0].get("expires"), None, "the time to live is 0");
    assert_eq!(run(["get", database, "k2"]).stdout, "v2\n");
    let stored = run(["get", database, "k2", "--ttl=off"]).stdout;
    assert_eq!(stored, "v2\\xfa\\xea\\xfaj\n");
    let export = |format: &str| run(["scan", database, "--format", format, "--limit", "1"]).stdout;
    assert_eq!(export("csv"), "key,value,written\nk1,v1,1794829050\n");
    assert_eq!(export("raw"), "k1\tv1\n");
    let folder = tempfile::tempdir().unwrap();
    let [parquet, built] = ["ttl.parquet", "built.sst"].map(|name| folder.path().join(name));
    let [parquet, built] = [&parquet, &built].map(|path| path.to_str().unwrap());
    assert_eq!(run(["scan", database, "-o", parquet]).status, 0);
    assert_eq!(run(["build", parquet, "-o", built]).status, 0);
    assert_eq!(run(["scan", built]).stdout, "k1 => v1\nk2 => v2\nk3 => v3\n");
    // A table does not say so.
    let table = folder.path().join("ttl.sst");
    let table = table.to_str().unwrap();
    assert_eq!(run(["compact", database, "-o", table]).status, 0);
    assert_eq!(run(["get", table, "k2"]).stdout, "v2\\xfa\\xea\\xfaj\n");
    assert_eq!(run(["get", table, "k2", "--ttl"]).stdout, "v2\n");
    assert_eq!(run(["scan", table, "--ttl", "--limit", "1"]).stdout, "k1 => v1\n");
}

#[test]
fn myrocks_has_its_own_names_for_known_orders() {
    let database = "real/mariadb/rocksdb";
    for (family, count) in
        [("default", 1814), ("idx", 1814), ("rev:back", 1814), ("rev:r", 1899), ("__system__", 18)]
    {
        let ran = scan(database, &["--column-family", family]);
        assert_eq!(ran.stderr, "", "{family}");
        let mut keys: Vec<String> = pairs(&ran.json()).into_iter().map(|it| it.0).collect();
        assert_eq!(keys.len(), count, "{family}");
        if family.starts_with("rev:") {
            keys.reverse();
        }
        assert!(keys.is_sorted(), "{family}");
    }
    let (status, text) = verify(database);
    assert!(status == 0 && !text.contains("unknown"), "{text}");
}

/// What is visible of the log, only the server knows: the tables and a warning.
#[test]
fn write_prepared_transactions_are_left_out() {
    let ran = scan("real/mariadb/write-prepared", &[]);
    assert_eq!(ran.json().len(), 4);
    assert!(ran.stderr.contains("only writes in tables are visible"), "{}", ran.stderr);
    let (status, text) = verify("real/mariadb/write-prepared");
    assert!(status == 2 && text.contains("write-prepared"), "{text}");
    assert_eq!(scan("real/mariadb/write-prepared", &["--ignore-log"]).stderr, "");
}

#[test]
fn ceph_merges_by_prefix() {
    let database = "real/ceph/db";
    let get = |key: &str| {
        let ran = run(["get", database, "--encoding", "hex", key]);
        (ran.status, ran.stdout)
    };
    // As `ceph-kvstore-tool bluestore-kv get` shows them.
    let sums = "0010000000000000370200000000000000000000000000000000000000000000";
    assert_eq!(get("5400ffffffffffffffff"), (0, format!("{sums}0000000000000000\n")));
    let bits = "00000400000000000000000000000000";
    assert_eq!(get("62000000000000400000"), (0, format!("{bits}\n")));
    assert_eq!(verify(database).0, 0);
}

/// Operands that nothing combines are shown as they are stored, with a warning that a value beside
/// them is older.
#[test]
fn operands_without_an_operator_have_a_warning() {
    use sstkit_table::raw::{EntryKind, InternalKey};
    use sstkit_table::{TableOptions, TableWriter};
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("merge.sst");
    let options =
        TableOptions::rocksdb().external_file(false).merge_operator("CassandraValueMergeOperator");
    let mut writer = TableWriter::create(&table, &options).unwrap();
    for (sequence, kind, value) in [(7, EntryKind::Merge, "new"), (3, EntryKind::Value, "old")] {
        writer.add(&InternalKey { user_key: b"row", sequence, kind }, value.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let table = table.to_str().unwrap();
    for command in [&["get", table, "row"][..], &["scan", table]] {
        let ran = run(command);
        assert_eq!(ran.status, 0);
        assert!(ran.stdout.contains("merge old + [new]"), "{}", ran.stdout);
        assert!(ran.stderr.contains("is older than they are"), "{}", ran.stderr);
    }
}

/// A scan of keys alone reads no blob files: they may be gone.
#[test]
fn keys_alone_need_no_blobs() {
    let folder = copy("rocksdict-blobs");
    let database = folder.path().join("db");
    for entry in fs::read_dir(&database).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|it| it == "blob") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let database = database.to_str().unwrap();
    let family = ["--column-family", "blobs"];
    let expected = listing(&testdata("real/rocksdict-blobs/blobs.ndjson.zst"));
    let keys = |options: &[&str]| -> Vec<String> {
        let ran = scan(database, &[&family, options].concat());
        pairs(&ran.json()).into_iter().map(|it| it.0).collect()
    };
    let mut listed: Vec<String> = pairs(&expected).into_iter().map(|it| it.0).collect();
    assert_eq!(keys(&["--keys-only"]), listed);
    listed.reverse();
    assert_eq!(keys(&["--keys-only", "--reverse"]), listed);
    let count = scan(database, &[&family[..], &["--count"]].concat()).json();
    assert_eq!(count[0]["count"], listed.len());
    assert!(!keys(&["--internal", "--keys-only"]).is_empty());
    assert_eq!(run(["scan", database, "--column-family", "blobs"]).status, 2);
}

/// goleveldb calls LevelDB's filter by the name of its first version.
#[test]
fn filters_of_goleveldb_are_known() {
    let ran = run(["filter", "real/goleveldb/bloom", "--format", "json"]);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    for report in ran.json() {
        assert_eq!(report["kind"], "leveldb_bloom", "{report}");
        assert_eq!(report["false_negatives"], 0, "{report}");
    }
}

/// A table of Chromium's IndexedDB on its own: its order is found, so that nothing seems to be lost.
#[test]
fn the_order_of_a_table_alone_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(testdata("real/chromium/IndexedDB.leveldb")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "ldb") {
            continue;
        }
        let alone = folder.path().join("alone.ldb");
        fs::copy(&path, &alone).unwrap();
        let alone = alone.display().to_string();
        for report in run(["filter", &alone, "--format", "json"]).json() {
            assert_eq!(report["false_negatives"].as_u64().unwrap_or(0), 0, "{report}");
        }
        let found = run(["stats", &alone, "--format", "json"]);
        let given = run(["stats", &alone, "--format", "json", "--comparator", "idb_cmp1"]);
        assert_eq!(found.status, 0, "{}", found.stderr);
        assert_eq!(found.json(), given.json());
    }
}

/// Commands for tables say what another file is, and which commands read it.
#[test]
fn other_files_are_named() {
    let folder = "databases/rocksdb-blobs";
    for (file, what) in [("CURRENT", "a CURRENT file"), ("OPTIONS-000007", "an OPTIONS file")] {
        let path = format!("{folder}/{file}");
        for command in ["layout", "filter", "stats"] {
            let ran = run([command, &path]);
            assert_eq!(ran.status, 2, "{command} {file}");
            assert!(ran.stderr.contains(&format!("{what}; `sst info`")), "{}", ran.stderr);
        }
    }
}

/// The order of a comparator that only its owner knows, for every command that reads.
#[test]
fn the_order_of_an_unknown_comparator_is_given_in_one_way() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).display().to_string();
    let database = "real/plyvel/reverse";
    let expected = pairs(&scan(database, &[]).json());
    for order in ["my.reverse=reverse", "reverse"] {
        let ran = run(["stats", database, "--comparator", order]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let order = ["--comparator", "my.reverse=reverse"];
    let new = out("new.ldb");
    let ran =
        run(["compact", database, "-o", &new, "--profile", "leveldb"].into_iter().chain(order));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(pairs(&scan(&new, &order).json()), expected);
    let refiltered = out("refiltered");
    let refilter = ["refilter", database, "-o", &refiltered, "--filter", "bloomfilter:5"];
    assert_eq!(run(refilter.into_iter().chain(order)).status, 0);
    let ran = run(["advise", database].into_iter().chain(order));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    // Without it, that is said.
    for command in ["stats", "advise"] {
        let ran = run([command, database]);
        assert!(ran.stderr.contains("unknown comparator \"my.reverse\""), "{}", ran.stderr);
    }

    // A table of RocksDB names its comparator, whatever the order is called here.
    use sstkit_table::{Comparator, TableOptions, TableWriter};
    let table = out("named.sst");
    let order = Comparator::named("example.Backwards", &Comparator::ReverseBytewise);
    let mut writer =
        TableWriter::create(&table, &TableOptions::rocksdb().comparator(order)).unwrap();
    ["c", "b", "a"].iter().for_each(|it| writer.put(it.as_bytes(), it.as_bytes()).unwrap());
    writer.finish().unwrap();
    for order in ["reverse", "example.Backwards=reverse"] {
        assert_eq!(run(["get", &table, "b", "--comparator", order]).stdout, "b\n");
        let copy = out("copy.sst");
        let ran = run(["compact", &table, "-o", &copy, "--force", "--comparator", order]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let info = run(["info", &copy, "--format", "json"]).json();
        assert_eq!(info[0]["comparator"], "example.Backwards");
    }
}

/// A table of LevelDB alone, in an order that is found out.
#[test]
fn tables_in_another_order_can_be_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).display().to_string();
    let table = out("lonely.ldb");
    fs::copy(testdata("real/chromium/IndexedDB.leveldb/000005.ldb"), &table).unwrap();
    let expected = pairs(&scan(&table, &[]).json());
    for (command, options) in
        [("compact", ["--profile", "leveldb"]), ("refilter", ["--filter", "bloomfilter:8"])]
    {
        let new = out(&format!("{command}.ldb"));
        let ran = run([command, &table, "-o", &new].into_iter().chain(options));
        assert_eq!(ran.status, 0, "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains("using idb_cmp1"), "{}", ran.stderr);
        assert_eq!(pairs(&scan(&new, &[]).json()), expected, "{command}");
    }
}

/// The entries can be listed without the values that are missing.
#[test]
fn missing_blob_files_do_not_end_a_list_of_entries() {
    let folder = copy("rocksdict-blobs");
    let database = folder.path().join("db").display().to_string();
    let list = || run(["scan", &database, "--internal", "--column-family", "blobs", "--json"]);
    let before = list();
    assert_eq!((before.status, before.stderr.as_str()), (0, ""));
    let is_blob = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "blob");
    let blobs = fs::read_dir(&database).unwrap().map(|it| it.unwrap().path()).filter(is_blob);
    blobs.for_each(|path| fs::remove_file(path).unwrap());
    let after = list();
    assert_eq!(after.status, 0, "{}", after.stderr);
    assert_eq!(after.stderr.matches("values are missing").count(), 1, "{}", after.stderr);
    assert_eq!(after.json().len(), before.json().len());
    assert!(after.json().iter().any(|it| it["value"].is_null() && it["blob"].is_object()));
}

/// What is beside the tables of a database is not damaged, and logs can be searched.
#[test]
fn other_files_are_described_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    for (name, kind) in [("LOG", "info-log"), ("LOCK", "other")] {
        let path = folder.path().join(name).display().to_string();
        fs::write(&path, "2026/11/19 RocksDB version: 9.8.4\n").unwrap();
        let ran = run(["info", &path, "--json"]);
        assert_eq!((ran.status, &ran.json()[0]["kind"]), (0, &json!(kind)), "{}", ran.stderr);
    }
    let log = "databases/rocksdb-wal-plus-tables/000012.log";
    let list = |options: &[&str]| {
        let arguments = ["scan", "--internal", log].into_iter().chain(JSON);
        pairs(&run(arguments.chain(options.iter().copied())).json())
    };
    let all = list(&[]);
    let prefix = &all[0].0[..all[0].0.len() - 2];
    let expected: Vec<_> = all.iter().filter(|(key, _)| key.starts_with(prefix)).cloned().collect();
    assert_eq!(list(&["--prefix", prefix]), expected);
    assert_eq!(list(&["--prefix", &format!("0x{prefix}")]), expected);
    assert_eq!(run(["scan", "--internal", log, "--from", "a"]).status, 2);
}
