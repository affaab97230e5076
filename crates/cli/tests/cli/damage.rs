//! Damaged files: named, and the others still looked at.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use expect_test::expect;

use crate::run::{names_in, run, testdata};

/// A folder with a table, and some that were it once.
fn damaged() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let sound = fs::read(testdata("tables/types-all.sst")).expect("a table");
    let write =
        |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("written");
    let flipped = |place: usize| {
        let mut bytes = sound.clone();
        bytes[place] ^= 1;
        bytes
    };
    write("sound.sst", &sound);
    write("data.sst", &flipped(100));
    write("footer.sst", &flipped(sound.len() - 20));
    write("cut.sst", &sound[..sound.len() / 2]);
    write("empty.sst", b"");
    folder
}

fn paths(folder: &Path) -> Vec<String> {
    let names = names_in(folder);
    names.iter().map(|name| folder.join(name).display().to_string()).collect()
}

#[test]
fn verify_names_every_problem() {
    let folder = damaged();
    let ran = run(["verify".to_owned()].into_iter().chain(paths(folder.path())));
    expect![[r#"
        TMP/cut.sst: the footer at offset 13120 is corrupt: not a table, or truncated: unknown magic number (expected 57fb808b247547db or f7cff485b741e288, found 73756d2d33393303)
        TMP/cut.sst: damaged, 1 problem
        TMP/data.sst: the data block at offset 0 is corrupt: the kXXH3 checksum does not match (expected 0x1e1e03a4, found 0xf5373d4a)
        TMP/data.sst: damaged, 1 problem
        TMP/empty.sst: the footer at offset 0 is corrupt: too short for a table (expected 48 bytes or more, found 0)
        TMP/empty.sst: damaged, 1 problem
        TMP/footer.sst: the footer at offset 26294 is corrupt: the checksum does not match (expected 0x0812fd22, found 0xb74cb124)
        TMP/footer.sst: damaged, 1 problem
        TMP/sound.sst: sound, 11 blocks, 503 entries
        --- status 1
    "#]].assert_eq(&ran.all_in(folder.path()));
}

/// The filter is separate from the rest: everything else is still shown.
#[test]
fn a_damaged_filter_hides_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, offset) in [
        ("types-all.sst", 24_200),
        ("leveldb-table-bloom10-c0.ldb", 16_300),
        ("partitioned-decoupled-ribbon-fv7.sst", 115_000),
    ] {
        let mut bytes = fs::read(testdata(&format!("tables/{name}"))).expect("a table");
        bytes[offset] ^= 1;
        let path = folder.path().join(name).display().to_string();
        fs::write(&path, bytes).expect("written");
        let sound = format!("tables/{name}");
        let layout = |path: &str| run(["layout", path, "--format", "json"]);
        let (damaged, whole) = (layout(&path), layout(&sound).json());
        assert_eq!((damaged.status, damaged.stderr.as_str()), (1, ""), "{name}");
        assert_eq!(damaged.json().len(), whole.len(), "{name}");
        let info = run(["info", &path, "--format", "json"]);
        assert_eq!((info.status, info.stderr.as_str()), (1, ""), "{name}");
        let info = &info.json()[0];
        assert!(info["problems"][0]["offset"].is_u64(), "{info}");
        assert_eq!(info["entries"], run(["info", &sound, "--format", "json"]).json()[0]["entries"]);
        let verified = &run(["verify", &path, "--format", "json"]).json()[0];
        let problems = verified["problems"].as_array().expect("a list");
        let different: HashSet<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(different.len(), problems.len(), "{verified}");
    }
}

/// Problems of the directory are in the JSON, and the tables are still read.
#[test]
fn a_broken_manifest_is_among_the_problems() {
    for (broken, name) in [("CURRENT", "CURRENT"), ("MANIFEST-000005", "MANIFEST-000005")] {
        let folder = tempfile::tempdir().expect("a folder");
        let source = testdata("databases/rocksdb-leveled-bloom");
        for file in names_in(&source) {
            fs::copy(source.join(&file), folder.path().join(&file)).expect("copied");
        }
        fs::write(folder.path().join(broken), "nonsense").expect("written");
        let path = folder.path().display().to_string();
        let verified = run(["verify", &path, "--format", "json"]);
        assert_eq!(verified.status, 1, "{}", verified.stderr);
        let reports = verified.json();
        let (directory, tables) = reports.split_last().expect("reports");
        assert_eq!(directory["file"], path.as_str());
        let message = directory["problems"][0]["message"].as_str().expect("a sentence");
        assert!(message.contains(name), "{message}");
        assert!(tables.iter().all(|table| table["sound"] == true) && tables.len() == 3);

        let info = run(["info", &path, "--format", "json"]);
        assert_eq!(info.status, 2, "{}", info.stderr);
        let info = &info.json()[0];
        assert_eq!(info["problems"][0]["message"], message);
        assert_eq!((info["last_seq"].is_null(), &info["entries"]), (true, &4288.into()));

        let first = run(["scan", &path, "--limit", "1", "--keys-only"]);
        assert_eq!((first.status, first.stdout.as_str()), (2, "user00000/post0001\n"));
        assert!(first.stderr.contains("reading only the table files"), "{}", first.stderr);
        assert_eq!(run(["get", &path, "user00000/post0001"]).status, 2);
        // No file has the last sequence number: it is left out, instead of being the largest.
        let explained = run(["get", &path, "user00000/post0001", "--explain", "--format", "json"]);
        assert_eq!(explained.status, 2, "{}", explained.stderr);
        assert!(explained.json()[0]["seq"].is_null(), "{}", explained.stdout);
    }
}

#[test]
fn other_commands_say_where_they_stop() {
    let folder = damaged();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut all = String::new();
    for arguments in [
        vec!["scan".into(), path("data.sst"), "--count".into()],
        vec!["get".into(), path("data.sst"), "key00001694".into()],
        vec!["dump".into(), path("footer.sst")],
        vec!["layout".into(), path("cut.sst")],
        vec!["filter".into(), path("empty.sst"), path("sound.sst")],
    ] {
        let ran = run(&arguments);
        all.push_str(&format!("$ sst {}\n{}", arguments.join(" "), ran.all()));
    }
    expect![[r#"
        $ sst scan TMP/data.sst --count
        --- stderr
        sst: TMP/data.sst: the data block at offset 0 is corrupt: the kXXH3 checksum does not match (expected 0x1e1e03a4, found 0xf5373d4a)
        --- status 2
        $ sst get TMP/data.sst key00001694
        --- stderr
        sst: TMP/data.sst: the data block at offset 0 is corrupt: the kXXH3 checksum does not match (expected 0x1e1e03a4, found 0xf5373d4a)
        --- status 2
        $ sst dump TMP/footer.sst
        --- stderr
        sst: TMP/footer.sst: the footer at offset 26294 is corrupt: the checksum does not match (expected 0x0812fd22, found 0xb74cb124)
        --- status 2
        $ sst layout TMP/cut.sst
        --- stderr
        sst: TMP/cut.sst: the footer at offset 13120 is corrupt: not a table, or truncated: unknown magic number (expected 57fb808b247547db or f7cff485b741e288, found 73756d2d33393303)
        --- status 2
        $ sst filter TMP/empty.sst TMP/sound.sst
        TMP/sound.sst
          kind                       fast local bloom
          policy                     rocksdb.BuiltinBloomFilter
          keys                       500
          size                       645 B
          bits per key               10.32
          probes                     6
          fill                       44.4 %
          contains                   whole keys
          false positives, expected  0.873 %
          no false negatives: every key matches
        --- stderr
        sst: TMP/empty.sst: the footer at offset 0 is corrupt: too short for a table (expected 48 bytes or more, found 0)
        --- status 2
    "#]].assert_eq(&all.replace(&folder.path().display().to_string(), "TMP"));
}

#[test]
fn what_is_sound_in_a_damaged_file_is_shown() {
    let folder = damaged();
    let path = folder.path().join("data.sst").display().to_string();
    for command in ["layout", "info", "dump"] {
        let ran = run([command, &path]);
        assert_eq!(ran.status, 1, "{command}: {}", ran.stderr);
        assert!(
            ran.stdout.contains("properties") || ran.stdout.contains("Properties"),
            "{command}"
        );
    }
}

#[test]
fn a_database_without_its_manifest() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = testdata("databases/rocksdb-range-deletes");
    for name in names_in(&source) {
        if !name.starts_with("MANIFEST") && name != "CURRENT" {
            fs::copy(source.join(&name), folder.path().join(&name)).expect("copied");
        }
    }
    let path = folder.path().display().to_string();
    let before = names_in(folder.path());
    let ran = run(["scan", &path, "--count"]);
    expect![[r#"
        982
        --- stderr
        sst: TMP/CURRENT: corrupt: file not found: not a database, or a damaged one; reading only the table files
        sst: TMP: opened without the MANIFEST: obsolete tables are included, and deleted keys may reappear
        --- status 2
    "#]].assert_eq(&ran.all_in(folder.path()));
    assert_eq!(run(["verify", &path]).status, 1);
    assert_eq!(names_in(folder.path()), before, "nothing is written into a database");
}

#[test]
fn any_cut_of_a_file_is_answered() {
    let sound = fs::read(testdata("tables/types-ranges-only.sst")).expect("a table");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.sst");
    for length in (0..sound.len()).step_by(97) {
        fs::write(&path, &sound[..length]).expect("written");
        for command in ["info", "verify", "scan", "dump", "layout", "filter"] {
            let ran = run([command, &path.display().to_string()]);
            assert!(ran.status == 1 || ran.status == 2, "{command} {length}: {}", ran.stderr);
            assert!(!ran.stderr.contains("panicked"), "{command} {length}: {}", ran.stderr);
        }
    }
}

/// A copy of a database of the repository whose logs are not empty.
fn database_with_log() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = testdata("databases/leveldb-bloom-snappy");
    let mut logs = Vec::new();
    for name in names_in(&source) {
        let path = folder.path().join(&name);
        fs::copy(source.join(&name), &path).expect("copied");
        if name.ends_with(".log") && fs::metadata(&path).expect("a file").len() > 0 {
            logs.push(path);
        }
    }
    let log = logs.pop().expect("a log with writes in it");
    (folder, log)
}

/// What is only in the log would be missing.
#[test]
fn a_log_that_cannot_be_read_is_trouble() {
    let (folder, log) = database_with_log();
    fs::remove_file(&log).expect("removed");
    fs::create_dir(&log).expect("in its place");
    let path = folder.path().display().to_string();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let output = elsewhere.path().join("out.sst").display().to_string();
    let commands: [&[&str]; 6] = [
        &["scan", &path],
        &["get", &path, "key"],
        &["info", &path],
        &["filter", &path],
        &["compact", &path, "-o", &output],
        &["scan", &path, "--internal"],
    ];
    for command in commands {
        let ran = run(command);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{command:?}");
        assert!(ran.stderr.contains("a directory, not a regular file"), "{}", ran.stderr);
        assert!(names_in(elsewhere.path()).is_empty(), "{command:?}");
    }
    let ran = run(["verify", &path]);
    assert_eq!(ran.status, 2, "{}", ran.stdout);
    assert!(ran.stdout.contains("a directory, not a regular file"), "{}", ran.stdout);
    assert!(ran.stdout.contains("unreadable"), "{}", ran.stdout);
    let ran = run(["compact", &path, "-o", &output, "--ignore-log"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(names_in(elsewhere.path()), ["out.sst"]);
}

/// Engines tolerate it, and so do we, but not in silence.
#[test]
fn a_log_that_ends_inside_a_record_is_reported() {
    let (folder, log) = database_with_log();
    let bytes = fs::read(&log).expect("a log");
    fs::write(&log, &bytes[..bytes.len() - 1]).expect("cut");
    let path = folder.path().display().to_string();
    for command in [&["scan", &path, "--count"][..], &["info", &path], &["verify", &path]] {
        let ran = run(command);
        assert_eq!(ran.status, 0, "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("ends inside a record"), "{}", ran.stderr);
    }
    let info = run(["info", &path, "--format", "json"]);
    let caveats = info.json()[0]["caveats"].to_string();
    assert!(caveats.contains("ends inside a record"), "{caveats}");
}
