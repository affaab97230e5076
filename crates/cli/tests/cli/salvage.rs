//! `sst salvage`: what is left of damaged tables and databases, and what is said to be lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::Value;

use crate::run::{Ran, copy_folder, databases, names_in, run, run_with, tables, testdata};

/// What it prints, but for the time and the folder.
fn printed(ran: &Ran, folder: &Path) -> String {
    let text = ran.all_in(folder);
    let lines = text.lines().map(|line| match line.rsplit_once(", in ") {
        Some((before, _)) => format!("{before}, in TIME\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// A copy of a golden database that can be damaged, and a place for what is saved.
struct Damaged {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Damaged {
    fn copy_of(database: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("db");
        copy_folder(&testdata(database), &path);
        Self { folder, path }
    }

    /// Changes the bytes of a file.
    fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.path.join(name);
        let mut bytes = fs::read(&path).expect("read");
        change(&mut bytes);
        fs::write(&path, bytes).expect("written");
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path.join(name)).expect("removed");
    }

    /// Runs it without output.
    fn report(&self, options: &[&str]) -> Ran {
        let path = self.path.display().to_string();
        run([&["salvage", &path][..], options].concat())
    }

    /// Saves it as a database, which must be sound and have as many entries as the report says.
    fn save(&self, name: &str, options: &[&str]) -> (Value, String) {
        let before = contents_of(&self.path);
        let out = self.folder.path().join(name).display().to_string();
        let ran = self.report(&[&["-o", &out, "--format", "json"], options].concat());
        let report = ran.json().remove(0);
        assert_eq!(ran.stderr, "", "{name}");
        assert_eq!(ran.status == 0, report["complete"] == true, "{name}: {report}");
        assert!(ran.status < 2 && report["dry_run"] == false, "{name}: {report}");
        let verified = run(["verify", &out]);
        // A column family whose tables are all lost leaves a folder without any.
        let is_empty = report["written"]["tables"] == 0;
        assert!(verified.status == 0 || is_empty, "{name}: {}", verified.all());
        assert!(contents_of(&self.path) == before, "{name}: the source has changed");
        (report, out)
    }
}

fn contents_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let bytes = fs::read(folder.join(&name)).expect("read");
        (name, bytes)
    };
    names_in(folder).into_iter().map(read).collect()
}

/// The entries of all column families, as stored.
fn entries(database: &str, report: &Value) -> BTreeSet<String> {
    let mut entries = BTreeSet::new();
    for family in report["column_families"].as_array().expect("a list") {
        let name = family["name"].as_str().expect("a name");
        let scan = ["scan", database, "--internal", "--format", "json", "--column-family", name];
        let ran = run(scan);
        assert_eq!(ran.status, 0, "{database}: {}", ran.stderr);
        entries.extend(ran.stdout.lines().map(|line| format!("{name} {line}")));
    }
    entries
}

fn file<'r>(report: &'r Value, name: &str) -> &'r Value {
    let files = report["files"].as_array().expect("a list");
    let is_it = |file: &&Value| file["file"].as_str().is_some_and(|it| it.ends_with(name));
    files.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {report}"))
}

#[test]
fn a_damaged_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: String = (0..300).map(|number| format!("key{number:04},{number:040}\n")).collect();
    let source = folder.path().join("source.sst").display().to_string();
    let build = ["build", "-", "-o", &source, "--input-format", "csv", "--block-size", "1KiB"];
    let build = [&build[..], &["--compression", "none", "--format-version", "5"]].concat();
    assert_eq!(run_with(format!("key,value\n{rows}").as_bytes(), &build).status, 0);
    let mut bytes = fs::read(&source).expect("read");
    let end = bytes.len();
    bytes[5000] ^= 1;
    // The footer.
    bytes[end - 30..].fill(0);
    fs::write(&source, bytes).expect("written");
    let saved = folder.path().join("saved.sst").display().to_string();
    let ran = run(["salvage", &source, "-o", &saved]);
    expect![[r#"
        TMP/source.sst: rocksdb-table, 281 entries saved, 19 entries lost (1019 B)
          written to TMP/saved.sst: 1 table, in TIME

          file                            size  outcome   saved  lost
          TMP/source.sst  17.6 KiB  salvaged    281    19

        lost
          TMP/source.sst: data block, 1,019 bytes at offset 4075, keys from key0075 to key0095: no block with a valid checksum was found here

        rebuilt
          TMP/source.sst: footer block, 53 bytes at offset 17929: not a table, or truncated: unknown magic number (expected 57fb808b247547db or f7cff485b741e288, found 0000000000000000)
        --- status 1
    "#]].assert_eq(&printed(&ran, folder.path()));
    assert_eq!(run(["verify", &saved]).status, 0);
    let count = |path: &str| run(["scan", path, "--count"]).stdout;
    assert_eq!(count(&saved), "281\n");
    assert_eq!(names_in(folder.path()), ["saved.sst", "source.sst"]);

    // It is not replaced, unless that is wanted.
    let again = run(["salvage", &source, "-o", &saved]);
    assert_eq!((again.status, again.stdout.as_str()), (2, ""));
    assert!(again.stderr.contains("use --force to replace it"), "{}", again.stderr);
    assert_eq!(run(["salvage", &source, "-o", &saved, "--force"]).status, 1);

    // As a directory and as a database.
    for kind in ["folder", "database"] {
        let out = folder.path().join(kind).display().to_string();
        assert_eq!(run(["salvage", &source, "-o", &out, "--as", kind]).status, 1);
        assert_eq!(run(["verify", &out]).status, 0);
        assert_eq!(run(["diff", &saved, &out]).status, 0, "{kind}");
    }
}

#[test]
fn a_damaged_database() {
    let damaged = Damaged::copy_of("databases/rocksdb-column-families");
    damaged.change("000032.sst", |bytes| bytes[3000] ^= 0xff);
    damaged.change("CURRENT", Vec::clear);
    damaged.remove("000041.sst");
    expect![[r#"
        TMP/db: rocksdb-database, 7,161 entries saved, 13.3 KiB with at least 62 entries lost
          nothing was written: use -o OUT to save it

          column family  tables  entries  comparator
          default             1    2,373  leveldb.BytewiseComparator
          meta                1    2,083  leveldb.BytewiseComparator
          événements          3    2,705  leveldb.BytewiseComparator

          file                 size  outcome   saved  lost  note
          CURRENT               0 B  rebuilt                corrupt: CURRENT does not end with a newline
          MANIFEST-000005   2.7 KiB  rebuilt                it lists table 000041, which does not exist
          000041.sst            0 B  lost          0     ?  file not found: lost, or deleted after the last edit that is readable
          000032.sst       22.8 KiB  salvaged  1,360    62
          8 other files: sound

        lost
          000041.sst: all of it, keys from user00000/post0002 to user00074/post0038
          000032.sst: data block, 863 bytes at offset 2812, keys from user00010/post0012 to user00013/post0007: the kXXH3 checksum does not match (expected 0x2f8a146c, found 0x9fb40d96)

        uncertain
          which tables were in use is not recorded any more (the end of the MANIFEST is lost: it lists table 000041, which does not exist): tables that had been replaced, but not deleted yet, are used, too
          607 writes in logs are not newer than the tables, and are taken to be in them
          000037.log: whether the writes to column family "default" were flushed is not recorded any more: if so, overwritten keys may have old values, and deleted ones may be back (keys "user00000/post0006" to "user00072/post0029")
          000037.log: whether the writes to column family "événements" were flushed is not recorded any more: if so, overwritten keys may have old values, and deleted ones may be back (keys "user00010/post0018" to "user00013/post0002")
          000039.log: whether the writes to column family "événements" were flushed is not recorded any more: if so, overwritten keys may have old values, and deleted ones may be back (keys "user00010/post0012" to "user00013/post0000")
          000041.sst: deleted keys between "user00000/post0002" and "user00074/post0038" may be back, overwritten ones may have old values
        --- status 1
    "#]].assert_eq(&printed(&damaged.report(&[]), damaged.folder.path()));
    let out = damaged.folder.path().join("new").display().to_string();
    let wide = printed(&damaged.report(&["-o", &out, "--files"]), damaged.folder.path());
    expect![[r#"
        TMP/db: rocksdb-database, 7,161 entries saved, 13.3 KiB with at least 62 entries lost
          written to TMP/new: 7 tables (3 as before, 4 new); 2 tables merged, since their order is not known, in TIME

          column family  tables  entries  comparator
          default             1    2,373  leveldb.BytewiseComparator
          meta                1    2,083  leveldb.BytewiseComparator
          événements          3    2,705  leveldb.BytewiseComparator

          file                  size  outcome   saved  lost  note
          CURRENT                0 B  rebuilt                corrupt: CURRENT does not end with a newline
          MANIFEST-000005    2.7 KiB  rebuilt                it lists table 000041, which does not exist
          OPTIONS-000011    19.9 KiB  sound
          000041.sst             0 B  lost          0     ?  file not found: lost, or deleted after the last edit that is readable
          000043.sst        27.6 KiB  sound     1,743     0
          000035.sst        22.7 KiB  sound     1,418     0
          000032.sst        22.8 KiB  salvaged  1,360    62
          000040.sst        12.7 KiB  sound       643     0
          000045.sst        12.2 KiB  sound       633     0
          000037.log        17.7 KiB  sound       145     0
          000039.log       130.4 KiB  sound     1,073     0
          000044.log        11.6 KiB  sound       146     0

        lost
          000041.sst: all of it, keys from user00000/post0002 to user00074/post0038
          000032.sst: data block, 863 bytes at offset 2812, keys from user00010/post0012 to user00013/post0007: the kXXH3 checksum does not match (expected 0x2f8a146c, found 0x9fb40d96)

        uncertain
          which tables were in use is not recorded any more (the end of the MANIFEST is lost: it lists table 000041, which does not exist): tables that had been replaced, but not deleted yet, are used, too
          607 writes in logs are not newer than the tables, and are taken to be in them
          000037.log: whether the writes to column family "default" were flushed is not recorded any more: if so, overwritten keys may have old values, and deleted ones may be back (keys "user00000/post0006" to "user00072/post0029")
          000037.log: whether the writes to column family "événements" were flushed is not recorded any more: if so, overwritten keys may have old values, and deleted ones may be back (keys "user00010/post0018" to "user00013/post0002")
          000039.log: whether the writes to column family "événements" were flushed is not recorded any more: if so, overwritten keys may have old values, and deleted ones may be back (keys "user00010/post0012" to "user00013/post0000")
          000041.sst: deleted keys between "user00000/post0002" and "user00074/post0038" may be back, overwritten ones may have old values
        --- status 1
    "#]].assert_eq(&wide);
    assert_eq!(run(["verify", &out]).status, 0);
    assert_eq!(names_in(damaged.folder.path()), ["db", "new"]);
}

/// Each file of each golden database, deleted or damaged: what is saved is sound and was there, and what
/// is missing is counted.
#[test]
fn each_file_of_each_database() {
    for database in databases() {
        let whole = Damaged::copy_of(&database);
        let (report, out) = whole.save("whole", &[]);
        assert_eq!(report["uncertain"], serde_json::json!([]), "{database}");
        let all = entries(&out, &report);
        assert_eq!(report["entries_saved"], all.len(), "{database}");
        assert_eq!(report["entries_lost"], 0, "{database}");
        let original = whole.path.display().to_string();
        assert_eq!(run(["diff", &original, &out, "--internal"]).status, 0, "{database}");
        for name in names_in(&whole.path) {
            let is_data = [".sst", ".ldb", ".log", ".blob"].iter().any(|it| name.ends_with(it));
            for how in ["deleted", "damaged"] {
                let what = format!("{database}: {name} {how}");
                let damaged = Damaged::copy_of(&database);
                match how {
                    "deleted" => damaged.remove(&name),
                    _ => damaged.change(&name, |bytes| {
                        let middle = bytes.len() / 2;
                        bytes[middle..(middle + 20).min(middle * 2)].fill(0xa5);
                    }),
                }
                let (report, out) = damaged.save("saved", &[]);
                let saved = entries(&out, &report);
                let is_exact = report["uncertain"].as_array().is_some_and(Vec::is_empty);
                if !is_data {
                    // The edits that are lost may be the deletions of tables.
                    let files = report["files"].as_array().unwrap().iter();
                    let lost: Vec<_> = files.filter(|it| it["outcome"] == "lost").collect();
                    let is_gone = |it: &&Value| it["entries_lost"].is_null() && it["size"] == 0;
                    assert!(lost.iter().all(is_gone), "{what}: {report}");
                    assert!(lost.is_empty() || name.starts_with("MANIFEST"), "{what}: {report}");
                    assert_eq!(report["complete"], lost.is_empty(), "{what}: {report}");
                    assert!(saved.is_superset(&all), "{what}");
                    assert!(!is_exact || saved == all, "{what}");
                    continue;
                }
                // Values taken out of a damaged blob file are inline.
                let has_blobs = database.ends_with("rocksdb-blobs");
                assert!(has_blobs || saved.is_subset(&all), "{what}");
                // Nothing tells that there was a log, or only the sequence numbers of those around it.
                let reasons = report["uncertain"].to_string();
                let has_no_log = reasons.contains("no tables and no logs: if there was a log");
                assert!(
                    !has_no_log || database.contains("wal-only") || database.contains("wal-zstd")
                );
                let has_gap = reasons.contains("if there was a log between this one");
                assert!(
                    !has_gap || (name.ends_with(".log") && how == "deleted"),
                    "{what}: {report}"
                );
                let is_unknown = has_no_log || has_gap;
                let is_known = !has_blobs && !is_unknown;
                if let Some(lost) = report["entries_lost"].as_u64().filter(|_| is_known) {
                    assert_eq!(all.len() - saved.len(), lost as usize, "{what}: {report}");
                }
                let (folder, tables) = damaged.save("tables", &["--as", "folder"]);
                assert_eq!(folder["entries_saved"], report["entries_saved"], "{what}");
                assert!(!Path::new(&tables).join("CURRENT").exists(), "{what}");
            }
        }
    }
}

/// Each golden table with a part of it overwritten, and cut: what is saved is sound and was there.
#[test]
fn every_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let entries = |path: &str| -> BTreeSet<String> {
        let ran = run(["scan", path, "--internal", "--format", "json"]);
        assert_eq!(ran.status, 0, "{path}: {}", ran.stderr);
        ran.stdout.lines().map(str::to_owned).collect()
    };
    for table in tables() {
        let bytes = fs::read(testdata(&table)).expect("read");
        let all = entries(&table);
        let (middle, end) = (bytes.len() / 2, bytes.len());
        for (number, damage) in
            [end..end, middle..middle + 1, end - 40..end, middle..end].iter().enumerate()
        {
            let what = format!("{table}: {damage:?}");
            let mut damaged = bytes.clone();
            match number {
                3 => damaged.truncate(damage.start),
                _ => damaged[damage.clone()].iter_mut().for_each(|byte| *byte ^= 0xff),
            }
            let source = folder.path().join("source.sst").display().to_string();
            fs::write(&source, damaged).expect("written");
            let out = folder.path().join("out.sst").display().to_string();
            let ran = run(["salvage", &source, "-o", &out, "--force", "--format", "json"]);
            let report = &ran.json()[0];
            assert_eq!(ran.status == 0, report["complete"] == true, "{what}: {report}");
            if !Path::new(&out).exists() {
                assert_eq!(report["entries_saved"], 0, "{what}");
                continue;
            }
            assert_eq!(run(["verify", &out]).status, 0, "{what}");
            let saved = entries(&out);
            assert_eq!(report["entries_saved"], saved.len(), "{what}: {report}");
            if number == 0 {
                assert_eq!(ran.status, 0, "{what}: {report}");
                assert_eq!(saved.len(), all.len(), "{what}");
            }
            fs::remove_file(&out).expect("removed");
        }
    }
}

/// Up to the damage by default, past it on request.
#[test]
fn damaged_logs() {
    let damaged = Damaged::copy_of("databases/rocksdb-wal-plus-tables");
    let log = names_in(&damaged.path).into_iter().find(|name| name.ends_with(".log")).expect("one");
    damaged.change(&log, |bytes| {
        let place = bytes.len() / 3;
        bytes[place..place + 9].fill(0x5a);
    });
    let (until, _) = damaged.save("until", &[]);
    let (past, out) = damaged.save("past", &["--past-damage"]);
    assert!(until["complete"] == false && past["complete"] == false);
    let number = |report: &Value, name: &str| report[name].as_u64().expect("a number");
    assert!(number(&until, "entries_saved") < number(&past, "entries_saved"));
    assert!(number(&until, "bytes_lost") > number(&past, "bytes_lost"));
    let losses = &file(&until, &log)["losses"];
    // What follows is readable, and only not used.
    let readable = number(&past, "entries_saved") - number(&until, "entries_saved");
    assert_eq!(losses[0]["entries"], readable, "{losses}");
    assert_eq!(entries(&out, &past).len() as u64, number(&past, "entries_saved"));
    assert!(until["uncertain"].to_string().contains("may be back"), "{until}");
}

/// A value that is lost with its blob file is named, and no older one is visible in its place.
#[test]
fn a_missing_blob_file() {
    let damaged = Damaged::copy_of("databases/rocksdb-blobs");
    let blob = names_in(&damaged.path).into_iter().rfind(|it| it.ends_with(".blob")).expect("one");
    damaged.remove(&blob);
    let (report, out) = damaged.save("saved", &[]);
    assert_eq!(file(&report, &blob)["outcome"], "lost");
    let lost = report["lost_values"].as_array().expect("a list");
    assert_eq!(report["lost_value_count"], lost.len());
    assert!(!lost.is_empty() && report["complete"] == false);
    let original = testdata("databases/rocksdb-blobs").display().to_string();
    let mut not_found = 0;
    for value in lost {
        let key = value["key"].as_str().expect("a key");
        let [before, after] = [&original, &out].map(|path| run(["get", path, key]));
        // A newer version of it may be elsewhere.
        assert!(after.status == 1 || after.stdout == before.stdout, "{key}");
        not_found += after.status;
        assert!(value["reason"] == "file not found", "{value}");
    }
    assert!(not_found > 10, "{not_found}");
    let text = damaged.report(&[]).stdout;
    assert!(text.contains(&format!("{blob}: the value of key ")), "{text}");
}

/// Files that nothing refers to are named, and not used.
#[test]
fn orphans() {
    let damaged = Damaged::copy_of("databases/rocksdb-leveled-bloom");
    let table = names_in(&damaged.path).into_iter().find(|it| it.ends_with(".sst")).expect("one");
    fs::copy(damaged.path.join(table), damaged.path.join("000001.sst")).expect("copied");
    fs::write(damaged.path.join("000002.blob"), b"nothing").expect("written");
    let (report, out) = damaged.save("saved", &[]);
    assert_eq!(report["complete"], true);
    for name in ["000001.sst", "000002.blob"] {
        assert_eq!(file(&report, name)["outcome"], "orphaned", "{name}");
        assert!(!Path::new(&out).join(name).exists(), "{name}");
    }
    let original = damaged.path.display().to_string();
    assert_eq!(run(["diff", &original, &out]).status, 0);
}

/// A directory of tables stays one; it has no MANIFEST, and none is missed.
#[test]
fn a_directory_of_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String =
        (0..2000).map(|i| format!("{{\"key\":\"key{i:05}\",\"value\":\"{i:050}\"}}\n")).collect();
    let source = folder.path().join("tables").display().to_string();
    let build = ["build", "-", "-o", &source, "--max-file-size", "20KiB"];
    assert_eq!(run_with(lines.as_bytes(), &build).status, 0);
    let damaged = folder.path().join("tables/000002.sst");
    let mut bytes = fs::read(&damaged).expect("read");
    bytes[1000] ^= 1;
    fs::write(&damaged, bytes).expect("written");
    let out = folder.path().join("out").display().to_string();
    let ran = run(["salvage", &source, "-o", &out]);
    expect![[r#"
        TMP/tables: rocksdb-tables, 1,936 entries saved, 64 entries lost (453 B)
          written to TMP/out: 7 tables (6 as before, 1 new), in TIME

          file              size  outcome   saved  lost  note
          manifest.json  2.9 KiB  obsolete               it describes the tables as they were, and is not taken over
          000002.sst     3.9 KiB  salvaged    247    64
          6 other files: sound

        lost
          000002.sst: data block, 453 bytes at offset 903, keys from key00438 to key00503: the kXXH3 checksum does not match (expected 0x019a0eda, found 0xba3c0684)
        --- status 1
    "#]].assert_eq(&printed(&ran, folder.path()));
    assert_eq!(run(["verify", &out]).status, 0);
    let before = names_in(Path::new(&source));
    let before: Vec<_> = before.into_iter().filter(|name| name != "manifest.json").collect();
    assert_eq!(names_in(Path::new(&out)), before);
    let database = folder.path().join("database").display().to_string();
    assert_eq!(run(["salvage", &source, "-o", &database, "--as", "database"]).status, 1);
    assert_eq!(run(["verify", &database]).status, 0);
    assert_eq!(run(["diff", &database, &out]).status, 0);
}

/// Names and keys of a file cannot do anything to a terminal.
#[test]
fn hostile_names_are_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("a\u{1b}[8mb.sst").display().to_string();
    let lines: String = (0..200)
        .map(|i| format!("{{\"key\":\"\\\\x1b[2J{i:04}\",\"value\":\"{i:050}\"}}\n"))
        .collect();
    let build = ["build", "-", "-o", &source, "--compression", "none", "--block-size", "512"];
    assert_eq!(run_with(lines.as_bytes(), &build).status, 0);
    let mut bytes = fs::read(&source).expect("read");
    bytes[5000] ^= 1;
    fs::write(&source, bytes).expect("written");
    for options in [&[][..], &["--format", "json"], &["--as", "database", "-o", "/nowhere/db"]] {
        let ran = run([&["salvage", &source][..], options].concat());
        let text = ran.all();
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(ran.status == 2 || text.contains("[2J00"), "{text}");
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(folder.path().join("taken"), b"theirs").expect("written");
    fs::create_dir(folder.path().join("empty")).expect("a folder");
    fs::write(folder.path().join("zeros.sst"), [0; 5000]).expect("written");
    let before = names_in(folder.path());
    let (database, table) = ("databases/rocksdb-leveled-bloom", "tables/fv7-bloom10.sst");
    let mut lines = String::new();
    for arguments in [
        &[database, "-o", &path("taken")][..],
        &[database, "-o", &path("taken"), "--force"],
        &[database, "-o", &path("new"), "--as", "table"],
        &[database, "-o", &path("nowhere/new")],
        &[database, "-o", database],
        &[database, "--as", "folder"],
        &[database, "--key-form", "user"],
        &[database, "--threads", "0"],
        &[table, "-o", &path("taken")],
        &[table, "-o", &path("new"), "--past-damage"],
        &[table, "-o", &path("new"), "--wal-dir", "."],
        &[table, "-o", table, "--force"],
        &["tables/README.md"],
        &["tables/none.sst"],
        &["/dev/null"],
        &[&path("empty")],
        &["tables"],
    ] {
        let ran = run([&["salvage"][..], arguments].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        let line = ran.stderr.lines().next().unwrap_or_default();
        lines.push_str(&line.replace(&folder.path().display().to_string(), "TMP"));
        lines.push('\n');
    }
    expect![[r#"
        sst: TMP/taken: already exists; pass a new path for the directory
        sst: --force has no effect: directories are never replaced
        sst: --as table is for a table: use --as folder, or `sst compact` to merge what is saved
        sst: TMP/nowhere: no such directory; create it first
        sst: databases/rocksdb-leveled-bloom: is the input: pass another path
        sst: the following required arguments were not provided:
        sst: --key-form has no effect: no PATH is a table
        sst: --threads must be 1 or more
        sst: TMP/taken: already exists; use --force to replace it
        sst: --past-damage has no effect: no PATH is a database
        sst: --wal-dir has no effect: no PATH is a database
        sst: tables/fv7-bloom10.sst: is the input: pass another path
        sst: tables/README.md: nothing of a table was found in it
        sst: tables/none.sst: No such file or directory (os error 2)
        sst: /dev/null: neither a regular file nor a directory
        sst: TMP/empty: invalid argument: not a database: no tables, no logs and no MANIFEST
        sst: tables: invalid argument: not a database: no tables, no logs and no MANIFEST
    "#]]
    .assert_eq(&lines);

    // Nothing is left of a table: that is an answer, but no table.
    let ran = run(["salvage", &path("zeros.sst"), "-o", &path("new.sst")]);
    expect![[r#"
        TMP/zeros.sst: rocksdb-table, 0 entries saved, 4.9 KiB with an unknown number of entries lost
          nothing was written: use -o OUT to save it

          file                          size  outcome  saved  lost
          TMP/zeros.sst  4.9 KiB  lost         0     ?

        lost
          TMP/zeros.sst: 5,000 bytes at offset 0: no block with a valid checksum was found here

        rebuilt
          TMP/zeros.sst: footer block, 0 bytes at offset 5000: not a table, or truncated: unknown magic number (expected 57fb808b247547db or f7cff485b741e288, found 0000000000000000)

        uncertain
          TMP/zeros.sst: the comparator is not recorded any more; leveldb.BytewiseComparator fits the keys
          TMP/zeros.sst: the engine is not recorded any more; RocksDB is assumed
          TMP/zeros.sst: the end of the file is lost: more entries may have followed
          TMP/zeros.sst: range tombstones may be lost: keys that they deleted may be back
          TMP/zeros.sst: deleted keys anywhere in the table may be back, overwritten ones may have old values
        --- stderr
        sst: TMP/new.sst: not written: nothing is saved
        --- status 1
    "#]].assert_eq(&printed(&ran, folder.path()));
    assert_eq!(names_in(folder.path()), before);
}
