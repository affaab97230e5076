//! Verification of logs, and of other files in their place.

use std::fs;
use std::path::Path;

use crate::run::{Ran, names_in, run, sst};
use crate::verify::{copy_of, flip, verdict, verify};

/// A pipe without a writer: opening it would block forever.
#[cfg(unix)]
#[test]
fn pipes_in_a_database_are_unreadable_and_do_not_block() {
    for name in ["IDENTITY", "OPTIONS-000001", "000105.blob", "MANIFEST-000005", "000104.sst"] {
        let folder = copy_of("rocksdb-blobs");
        let path = folder.path().join(name);
        let _ = fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        assert_eq!(verdict(folder.path()), (2, "unreadable".into()), "{name}");
        let text = format!("{:?}", verify(folder.path()).1);
        assert!(text.contains(name) && text.contains("a named pipe"), "{text}");
    }
}

/// In a recycled log, a record that cannot be read is followed by stale bytes, which carry the number of
/// another log, or by records of this one.
#[test]
fn damage_in_a_recycled_log_is_distinguished_from_stale_bytes() {
    let folder = copy_of("rocksdb-wal-recycled");
    for (log, is_directory) in [("000019.log", false), ("000022.log", true)] {
        let path = folder.path().join(log);
        let bytes = fs::read(&path).expect("a log");
        let of = |at: usize| {
            let length = usize::from(u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]));
            (bytes.get(at + 7..at + 11) == bytes.get(7..11)).then_some(at + 11 + length)
        };
        let (second, third) = (of(0).expect("a record"), of(of(0).expect("one")).expect("two"));
        // Its checksum, length, number and payload.
        for at in [0, 4, 5, 7, 11] {
            let mut damaged = bytes.clone();
            damaged[second + at] ^= 0x40;
            fs::write(&path, &damaged).expect("written");
            assert_eq!(verdict(&path), (1, "damaged".into()), "{log} {at}");
            if is_directory {
                assert_eq!(verdict(folder.path()), (1, "damaged".into()), "{log} {at}");
            }
            // Nothing of this log follows: that is how a crash leaves it.
            for byte in &mut damaged[third..] {
                *byte = 0x55;
            }
            fs::write(&path, &damaged).expect("written");
            let (status, reports) = verify(&path);
            let notes = reports[0]["notes"].to_string();
            assert_eq!((status, &reports[0]["status"]), (0, &"sound".into()), "{log} {at}");
            assert_eq!(reports[0]["entries"].as_u64(), Some(1), "{log} {at}");
            // A record with the number of another log is how a whole one ends.
            assert_eq!(notes.contains(log), at != 7, "{log} {at}: {notes}");
        }
        fs::write(&path, &bytes).expect("written");
        assert_eq!(verdict(&path), (0, "sound".into()), "{log}");
    }
}

#[test]
fn a_recycled_log_under_another_name_is_recognised() {
    let folder = copy_of("rocksdb-wal-recycled");
    let copy = folder.path().join("copy");
    fs::copy(folder.path().join("000022.log"), &copy).expect("copied");
    let (status, reports) = verify(&copy);
    assert_eq!((status, &reports[0]["kind"]), (0, &"log".into()), "{}", reports[0]);
    assert!(reports[0]["entries"].as_u64() > Some(0), "{}", reports[0]);
}

#[test]
fn a_log_that_expands_beyond_the_limit_is_unsupported() {
    let folder = copy_of("rocksdb-wal-zstd");
    let logs = names_in(folder.path());
    let largest = logs
        .iter()
        .filter(|name| name.ends_with(".log"))
        .max_by_key(|name| fs::metadata(folder.path().join(name)).expect("a file").len());
    let path = folder.path().join(largest.expect("a log")).display().to_string();
    assert_eq!(run(["verify", &path]).status, 0);
    let ran = run(["verify", &path, "--max-log-memory", "1KiB"]);
    assert_eq!(ran.status, 2, "{}", ran.stdout);
    assert!(ran.stdout.contains("--max-log-memory"), "{}", ran.stdout);
    assert!(ran.stdout.contains("unsupported"), "{}", ran.stdout);
}

/// Behind a log that cannot be read, damaged tables are found.
#[cfg(unix)]
#[test]
fn an_unreadable_log_does_not_hide_damage() {
    let folder = copy_of("rocksdb-wal-plus-tables");
    let log = folder.path().join("000012.log");
    fs::remove_file(&log).expect("removed");
    std::os::unix::fs::symlink(&log, &log).expect("a link");
    assert_eq!(verdict(folder.path()), (2, "unreadable".into()));
    let (_, reports) = verify(folder.path());
    assert!(reports.len() > 1, "tables are verified, too");
    let directory = reports.last().expect("a report");
    assert!(directory["problems"].to_string().contains("000012.log"), "{directory}");
    assert!(directory["notes"].to_string().contains("logs were not verified"), "{directory}");
    flip(&folder.path().join("000013.sst"), 100);
    assert_eq!(verdict(folder.path()), (1, "damaged".into()));

    // So does a limit.
    let folder = copy_of("rocksdb-wal-plus-tables");
    let path = folder.path().display().to_string();
    let limited = ["verify", &path, "--max-log-memory", "1KiB"];
    let ran = run(limited);
    assert_eq!((ran.status, ran.stdout.contains("--max-log-memory")), (2, true), "{}", ran.stdout);
    flip(&folder.path().join("000013.sst"), 100);
    assert_eq!(run(limited).status, 1);
}

#[test]
fn logs_that_are_not_verified_are_noted() {
    let folder = copy_of("rocksdb-wal-plus-tables");
    let ran = run(["verify", &folder.path().display().to_string(), "--ignore-log"]);
    assert_eq!(ran.status, 0);
    assert!(ran.stdout.contains("the write-ahead logs were not verified"), "{}", ran.stdout);
}

/// A directory is not a file that can be opened, not even by root.
#[test]
fn a_manifest_that_cannot_be_opened_has_not_changed() {
    let folder = copy_of("rocksdb-wal-plus-tables");
    let manifest = folder.path().join("MANIFEST-000005");
    fs::remove_file(&manifest).expect("removed");
    fs::create_dir(&manifest).expect("a folder");
    fs::write(manifest.join("file"), "").expect("written");
    let (status, reports) = verify(folder.path());
    let text = reports[0]["problems"].to_string();
    assert_eq!((status, &reports[0]["status"]), (2, &"unreadable".into()), "{text}");
    assert!(text.contains("MANIFEST-000005") && text.contains("not a regular file"), "{text}");
    assert!(!text.contains("changed while"), "{text}");
}

#[test]
fn files_without_anything_to_verify_are_noted() {
    let folder = copy_of("rocksdb-wal-plus-tables");
    fs::write(folder.path().join("LOG"), "RocksDB version: 9.8.4\n").expect("written");
    fs::write(folder.path().join("LOCK"), "").expect("written");
    let paths = names_in(folder.path()).into_iter().map(|name| folder.path().join(name));
    let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    let ran = run([&["verify".to_owned()], &paths[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    for name in ["LOG", "LOCK"] {
        let path = folder.path().join(name).display().to_string();
        let lines: Vec<&str> =
            ran.stdout.lines().filter(|line| line.starts_with(&format!("{path}:"))).collect();
        assert_eq!(
            lines,
            [format!("{path}: not verified: this kind of file has no contents to verify")]
        );
    }
}

/// A copy with one OPTIONS setting more.
fn with_option(database: &str, line: &str) -> tempfile::TempDir {
    let folder = copy_of(database);
    let options = folder.path().join("OPTIONS-000007");
    let text = fs::read_to_string(&options).expect("OPTIONS");
    let kept = text.lines().filter(|it| !it.trim_start().starts_with("wal_dir="));
    let changed = kept.flat_map(|it| match it.trim() {
        "[DBOptions]" => vec![it, line],
        _ => vec![it],
    });
    fs::write(&options, changed.collect::<Vec<_>>().join("\n") + "\n").expect("written");
    folder
}

#[test]
fn a_folder_of_logs_that_is_left_out_is_unreadable() {
    let folder = with_option("rocksdb-wal-only", "  wal_dir=/no/such/folder");
    for name in names_in(folder.path()).iter().filter(|name| name.ends_with(".log")) {
        fs::remove_file(folder.path().join(name)).expect("removed");
    }
    assert_eq!(verdict(folder.path()), (2, "unreadable".into()));
    let (_, reports) = verify(folder.path());
    assert!(reports.last().expect("a report")["problems"].to_string().contains("/no/such/folder"));
}

/// With few open files everything is verified, or something is unreadable: never sound instead.
#[cfg(unix)]
#[test]
fn what_too_few_open_files_leave_unread_is_not_sound() {
    let path = copy_of("rocksdb-blobs");
    let limited = |files: u32| -> (Option<i32>, String) {
        let ran = std::process::Command::new("sh")
            .args(["-c", &format!("ulimit -n {files}; exec \"$@\""), "sh"])
            .arg(sst().get_program())
            .args([Path::new("verify"), path.path()])
            .output()
            .expect("runs");
        (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    let mut verdicts = Vec::new();
    for files in 5..20 {
        let (status, stdout) = limited(files);
        let is_unchecked = stdout.contains("was not checked") || stdout.contains("unreadable");
        let last = stdout.lines().last().unwrap_or_default();
        assert_eq!(status == Some(0), last.ends_with("sound"), "{files}: {stdout}");
        assert!(!is_unchecked || status == Some(2), "{files}: {stdout}");
        verdicts.push((status, is_unchecked));
    }
    assert!(verdicts.iter().all(|it| [(Some(0), false), (Some(2), true)].contains(it)));
    assert!(verdicts.contains(&(Some(0), false)));
    let ran: Ran = run([Path::new("verify"), path.path()]);
    assert_eq!(ran.status, 0);
}

/// A record of a MANIFEST that adds table 3 to level 0, in this folder of `db_paths`.
fn new_table(path_id: Option<u8>) -> Vec<u8> {
    const NEW_FILE4: u8 = 103;
    const PATH_ID: u8 = 65;
    const END: u8 = 1;
    let key = [&b"\x09a"[..], &[1, 1, 0, 0, 0, 0, 0, 0]].concat();
    let mut edit = [&[NEW_FILE4, 0, 3, 100][..], &key, &key, &[1, 1]].concat();
    if let Some(path_id) = path_id {
        edit.extend_from_slice(&[PATH_ID, 1, path_id]);
    }
    edit.push(END);
    let record = [&[1][..], &edit].concat();
    let crc = crc32c::crc32c(&record).rotate_right(15).wrapping_add(0xa282_ead8);
    [&crc.to_le_bytes()[..], &(edit.len() as u16).to_le_bytes(), &record].concat()
}

/// OPTIONS does not say which folders there are.
#[test]
fn tables_in_folders_that_are_not_known_are_unreadable() {
    for (path_id, expected) in [(None, (1, "damaged")), (Some(1), (2, "unreadable"))] {
        let folder = copy_of("rocksdb-wal-plus-tables");
        let manifest = folder.path().join("MANIFEST-000005");
        let bytes = [fs::read(&manifest).expect("a MANIFEST"), new_table(path_id)].concat();
        fs::write(&manifest, bytes).expect("written");
        assert_eq!(verdict(folder.path()), (expected.0, expected.1.to_owned()), "{path_id:?}");
        let text = format!("{:?}", verify(folder.path()).1);
        assert_eq!(text.contains("db_paths"), path_id.is_some(), "{text}");
    }
}
