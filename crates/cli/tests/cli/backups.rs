//! Folders of backups, and other folders of tables, are recognised by what they are.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::real::copy;
use crate::run::{listing, run, testdata};
use crate::schemas::{schema, validate};

const BACKUPS: &str = "real/ldb/backups";

fn scan(path: &str, options: &[&str]) -> Vec<Value> {
    let scan = ["scan", path, "--format", "json", "--encoding", "hex"];
    let ran = run([&scan[..], options].concat());
    assert_eq!(ran.status, 0, "{path} {options:?}: {}", ran.stderr);
    ran.json()
}

/// `ldb restore` gave the same.
#[test]
fn each_backup_is_what_its_owner_restored() {
    for id in ["1", "2"] {
        let expected = listing(&testdata(&format!("{BACKUPS}.{id}.ndjson.zst")));
        assert_eq!(scan(BACKUPS, &["--backup", id]), expected, "{id}");
        assert_eq!(run(["verify", BACKUPS, "--backup", id]).status, 0);
    }
    // The newest, if none is chosen.
    assert_eq!(scan(BACKUPS, &[]), scan(BACKUPS, &["--backup", "2"]));
    let got = run(["get", BACKUPS, "user1003"]);
    assert_eq!((got.status, got.stdout.trim()), (0, "again"));
    assert_eq!(run(["get", BACKUPS, "user1003", "--backup", "1"]).status, 1);
    assert!(run(["scan", BACKUPS, "--count"]).stderr.contains("backup 2, the newest of 2"));
    assert_eq!(scan("real/ldb/backup", &[]).len(), 8000);
}

#[test]
fn backups_are_listed() {
    let ran = run(["info", "--format", "json", BACKUPS]);
    validate(&schema("info"), BACKUPS, &ran);
    let info = &ran.json()[0];
    assert_eq!(info["kind"], "backup-folder");
    let backups: Vec<(u64, u64)> = info["backups"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (it["id"].as_u64().expect("an id"), it["seq"].as_u64().expect("a number")))
        .collect();
    assert_eq!(backups, [(1, 122), (2, 125)]);
    let text = run(["info", BACKUPS]);
    assert!(text.status == 0 && text.stdout.contains("backup-folder"), "{}", text.stdout);
    let one = run(["info", "--format", "json", "--backup", "1", BACKUPS]);
    assert_eq!(one.json()[0]["kind"], "rocksdb-database");
    validate(&schema("info"), "--backup 1", &one);
    let missing = run(["info", "--backup", "7", BACKUPS]);
    assert!(missing.status == 2 && missing.stderr.contains("(found 1, 2)"), "{}", missing.stderr);
    let none = run(["scan", "databases/rocksdb-blobs", "--backup", "1"]);
    assert!(none.status == 2 && none.stderr.contains("not a folder of backups"), "{}", none.stderr);
}

/// Every byte of every file of a backup counts: there are checksums of all.
#[test]
fn damage_of_any_file_is_found() {
    let sound = run(["verify", "--format", "json", BACKUPS]);
    assert_eq!(sound.status, 0, "{}", sound.stdout);
    validate(&schema("verify"), BACKUPS, &sound);
    let files = ["private/1/OPTIONS-000025", "private/1/MANIFEST-000023", "private/2/CURRENT"];
    let shared = fs::read_dir(testdata(BACKUPS).join("shared_checksum")).expect("a folder");
    let shared = shared.map(|it| {
        format!("shared_checksum/{}", it.expect("an entry").file_name().to_string_lossy())
    });
    for file in files.map(str::to_owned).into_iter().chain(shared) {
        let folder = copy("ldb/backups");
        let path = folder.path().join(&file);
        let mut bytes = fs::read(&path).expect("a file");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).expect("written");
        let ran = run(["verify", "--format", "json", &folder.path().display().to_string()]);
        assert_eq!(ran.status, 1, "{file}: {}", ran.stdout);
        let problems: Vec<Value> = ran.json().iter().map(|it| it["problems"].clone()).collect();
        assert!(
            json!(problems).to_string().contains("does not match the backup's meta file"),
            "{file}"
        );
        fs::remove_file(&path).expect("removed");
        let ran = run(["verify", &folder.path().display().to_string()]);
        assert!(ran.status == 1 && ran.stdout.contains("file not found"), "{file}: {}", ran.stdout);
    }
}

/// A meta file cannot lead out of the folder, and a damaged one hides no other.
#[test]
fn forged_meta_files_are_refused() {
    let folder = copy("ldb/backups");
    let path = folder.path().display().to_string();
    let meta = folder.path().join("meta/2");
    let text = fs::read_to_string(&meta).expect("a file");
    for (from, to) in [
        ("shared_checksum/000040_sD9ZWQ4IMC9QC9USR3EVE_1013.sst", "../secret.sst"),
        ("\n9\n", "\n8\n"),
        ("\n9\n", "\n999999999999\n"),
        ("125", "\x1b[31m"),
    ] {
        fs::write(&meta, text.replacen(from, to, 1)).expect("written");
        let ran = run(["scan", &path]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{from}");
        assert!(ran.stderr.contains("meta/2") && !ran.stderr.contains('\x1b'), "{}", ran.stderr);
        assert_eq!(run(["verify", &path]).status, 1, "{from}");
        let info = run(["info", "--format", "json", &path]);
        assert_eq!(info.status, 1, "{}", info.stdout);
        assert_eq!(info.json()[0]["backups"][0]["seq"], 122);
        assert_eq!(run(["scan", "--backup", "1", &path]).status, 0);
    }
}

/// Tables with names of other software, and with any name.
#[test]
fn folders_of_tables_of_any_name() {
    let all = scan("real/spark/checkpoint/SSTs", &[]);
    assert_eq!(all.len(), 985, "as in the database that Spark makes of them");
    let checkpoint = run(["scan", "real/spark/checkpoint"]);
    assert_eq!(checkpoint.status, 2);
    assert!(
        checkpoint.stderr.contains("did you mean real/spark/checkpoint/SSTs?"),
        "{}",
        checkpoint.stderr
    );
    let folder = tempfile::tempdir().expect("a folder");
    for (source, name) in [("one-entry.sst", "part-00000"), ("fv5-bloom10.sst", "users.sst")] {
        fs::copy(testdata("tables").join(source), folder.path().join(name)).expect("copied");
    }
    fs::write(folder.path().join("notes.txt"), "no table").expect("written");
    let path = folder.path().display().to_string();
    let info = run(["info", "--format", "json", &path]);
    validate(&schema("info"), &path, &info);
    assert_eq!(info.json()[0]["kind"], "rocksdb-tables");
    let text = run(["info", &path]).stdout;
    assert!(text.contains("part-00000") && text.contains("users.sst"), "{text}");
    assert!(!text.contains("notes.txt") && !text.contains("manifest.json"), "{text}");
    let entries =
        |name: &str| scan(&testdata("tables").join(name).display().to_string(), &[]).len();
    let merged = scan(&path, &[]).len();
    assert!(merged >= entries("fv5-bloom10.sst"), "{merged}");
    assert_eq!(run(["verify", &path]).status, 0);
    assert!(Path::new(&path).join("users.sst").exists());
}

/// A checkpoint is a database without IDENTITY and LOCK.
#[test]
fn a_checkpoint_is_a_database() {
    let folder = tempfile::tempdir().expect("a folder");
    for file in fs::read_dir(testdata("databases/rocksdb-blobs")).expect("a folder") {
        let file = file.expect("an entry");
        if file.file_name() != "IDENTITY" {
            fs::copy(file.path(), folder.path().join(file.file_name())).expect("copied");
        }
    }
    let path = folder.path().display().to_string();
    assert_eq!(run(["info", "--format", "json", &path]).json()[0]["kind"], "rocksdb-database");
    assert_eq!(scan(&path, &[]), scan("databases/rocksdb-blobs", &[]));
    assert_eq!(run(["verify", &path]).status, 0);
}
