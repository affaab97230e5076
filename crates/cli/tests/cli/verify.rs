//! Verdicts: of directories, of what cannot be read, of files that are no tables.

use std::fs;
use std::path::Path;

use serde_json::Value;
use sstkit_table::raw::TableKind;

use crate::run::{Ran, names_in, run, run_with, sst, testdata};

/// A copy of a database of the repository.
pub(crate) fn copy_of(database: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let source = testdata(&format!("databases/{database}"));
    for file in names_in(&source) {
        fs::copy(source.join(&file), folder.path().join(&file)).expect("copied");
    }
    folder
}

pub(crate) fn verify(path: &Path) -> (i32, Vec<Value>) {
    let ran = run(["verify".as_ref(), "--format".as_ref(), "json".as_ref(), path.as_os_str()]);
    (ran.status, ran.json())
}

/// Exit status and the status of the last report, which is the directory's.
pub(crate) fn verdict(path: &Path) -> (i32, String) {
    let (status, reports) = verify(path);
    let directory = reports.last().expect("a report");
    assert_eq!(directory["sound"], directory["status"] == "sound", "{directory}");
    let problems = directory["problems"].as_array().expect("a list");
    assert_eq!(directory["sound"], problems.is_empty(), "{directory}");
    (status, directory["status"].as_str().expect("a status").to_owned())
}

pub(crate) fn flip(path: &Path, offset: usize) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[offset] ^= 1;
    fs::write(path, bytes).expect("written");
}

#[test]
fn a_directory_is_not_sound_if_anything_in_it_is_damaged() {
    let damage: [(&str, &str, Option<usize>); 6] = [
        ("rocksdb-wal-plus-tables", "000013.sst", Some(100)),
        ("rocksdb-wal-plus-tables", "000013.sst", None),
        ("rocksdb-wal-plus-tables", "000012.log", Some(100)),
        ("rocksdb-blobs", "000105.blob", Some(100)),
        ("rocksdb-blobs", "000105.blob", None),
        ("leveldb-zstd-log-tail", "000055.log", Some(100)),
    ];
    for (database, file, offset) in damage {
        let folder = copy_of(database);
        assert_eq!(verdict(folder.path()), (0, "sound".into()), "{database}");
        match offset {
            Some(offset) => flip(&folder.path().join(file), offset),
            None => fs::remove_file(folder.path().join(file)).expect("removed"),
        }
        assert_eq!(verdict(folder.path()), (1, "damaged".into()), "{database} {file} {offset:?}");
        let text = run(["verify".as_ref(), folder.path().as_os_str()]);
        assert!(!text.stdout.lines().last().expect("a line").contains("sound"), "{}", text.stdout);
    }
}

/// A link to itself cannot be opened, not even by root.
#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_not_damaged() {
    let folder = copy_of("rocksdb-wal-plus-tables");
    let path = folder.path().join("000013.sst");
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink(&path, &path).expect("a link");
    assert_eq!(verdict(folder.path()), (2, "unreadable".into()));

    // Damage determines the status, even if other files could not be read.
    flip(&folder.path().join("000014.sst"), 100);
    assert_eq!(verdict(folder.path()), (1, "damaged".into()));
    let (status, reports) = verify(folder.path());
    assert_eq!(status, 1);
    let of = |name: &str| {
        let is_it = |report: &&Value| report["file"].as_str().is_some_and(|it| it.ends_with(name));
        reports.iter().find(is_it).expect("a report")["status"].clone()
    };
    assert_eq!((of("000013.sst"), of("000014.sst")), ("unreadable".into(), "damaged".into()));
}

#[test]
fn tables_of_other_kinds_are_unsupported() {
    let folder = copy_of("rocksdb-wal-plus-tables");
    let path = folder.path().join("000013.sst");
    for kind in [TableKind::Plain, TableKind::Cuckoo] {
        let mut bytes = fs::read(&path).expect("a table");
        let at = bytes.len() - TableKind::MAGIC_LENGTH;
        bytes[at..].copy_from_slice(&kind.magic());
        fs::write(&path, bytes).expect("written");
        assert_eq!(verdict(&path), (2, "unsupported".into()));
        assert_eq!(verdict(folder.path()), (2, "unsupported".into()));
    }
}

#[test]
fn other_files_of_a_database_are_verified_as_what_they_are() {
    let folder = copy_of("rocksdb-blobs");
    let other = copy_of("leveldb-zstd-log-tail");
    let log = copy_of("rocksdb-wal-plus-tables");
    for (folder, name, kind, entries) in [
        (&folder, "CURRENT", "current", 0),
        (&folder, "MANIFEST-000005", "manifest", 50),
        (&folder, "OPTIONS-000007", "options", 0),
        (&folder, "IDENTITY", "identity", 0),
        (&folder, "000105.blob", "blob-file", 10),
        (&log, "000012.log", "log", 1000),
        (&other, "MANIFEST-000002", "manifest", 10),
        (&other, "000055.log", "log", 100),
    ] {
        let path = folder.path().join(name);
        let (status, reports) = verify(&path);
        let report = &reports[0];
        assert_eq!((status, reports.len()), (0, 1), "{report}");
        assert_eq!((&report["kind"], &report["status"]), (&kind.into(), &"sound".into()));
        assert!(report["entries"].as_u64() >= Some(entries), "{report}");

        // Under a name that says nothing, the contents tell.
        if kind != "identity" {
            let elsewhere = tempfile::tempdir().expect("a folder");
            let copy = elsewhere.path().join("copy");
            fs::copy(&path, &copy).expect("copied");
            let (_, reports) = verify(&copy);
            assert_eq!(reports[0]["kind"], kind, "{name}: {}", reports[0]);
        }

        let bytes = fs::read(&path).expect("a file");
        let nonsense = vec![0x80; bytes.len()];
        fs::write(&path, nonsense).expect("written");
        assert_eq!(verdict(&path), (1, "damaged".into()), "{name}");
    }
}

#[test]
fn a_torn_log_is_noted_and_not_damaged() {
    for (database, log) in
        [("rocksdb-wal-plus-tables", "000012.log"), ("leveldb-zstd-log-tail", "000055.log")]
    {
        let folder = copy_of(database);
        let path = folder.path().join(log);
        let bytes = fs::read(&path).expect("a log");
        fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
        for path in [path.as_path(), folder.path()] {
            let (status, reports) = verify(path);
            let report = reports.last().expect("a report");
            assert_eq!((status, &report["sound"]), (0, &true.into()), "{report}");
            let notes = report["notes"].to_string();
            assert!(notes.contains(log) && notes.contains("torn"), "{notes}");
        }
    }
}

#[test]
fn what_is_no_file_of_a_database_is_not_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("letter.txt");
    fs::write(&path, "Dear reader, this is not a table of any kind.\n").expect("written");
    assert_eq!(verdict(&path), (2, "unsupported".into()));
}

/// Tables are opened one after another: a limit far below their number does no harm.
#[cfg(unix)]
#[test]
fn more_tables_than_files_may_be_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("many").display().to_string();
    let mut input = String::new();
    for i in 0..3000 {
        input.push_str(&format!("{{\"key\":\"key{i:05}\",\"value\":\"{}\"}}\n", "v".repeat(100)));
    }
    let build = ["build", "-", "-o", &out, "--max-file-size", "2KiB", "--compression", "none"];
    assert_eq!(run_with(input.as_bytes(), &build).status, 0);
    let tables = names_in(Path::new(&out)).len();
    assert!(tables > 100, "{tables}");
    let script = "ulimit -n 40; exec \"$@\"";
    let sst = sst().get_program().to_owned();
    let ran = std::process::Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(sst)
        .args(["verify", &out])
        .output()
        .expect("runs");
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(0), "{stdout}");
    let ran: Ran = run(["verify", &out]);
    assert_eq!(ran.stdout, stdout);
}

/// The same records in reverse: each is sound, and none is where a table expects it.
#[test]
fn references_that_lead_to_no_value_are_damage() {
    let folder = copy_of("rocksdb-blobs");
    let path = folder.path().join("000105.blob");
    let bytes = fs::read(&path).expect("a blob file");
    let (header, footer) = (&bytes[..30], &bytes[bytes.len() - 32..]);
    let mut rest = &bytes[30..bytes.len() - 32];
    let mut records = Vec::new();
    while !rest.is_empty() {
        let length = |at: usize| {
            u64::from_le_bytes(rest[at..at + 8].try_into().expect("eight bytes")) as usize
        };
        let (record, behind) = rest.split_at(32 + length(0) + length(8));
        records.push(record);
        rest = behind;
    }
    assert!(records.len() > 10);
    records.reverse();
    fs::write(&path, [header, &records.concat(), footer].concat()).expect("written");
    assert_eq!(verdict(&path), (0, "sound".into()));
    assert_eq!(verdict(folder.path()), (1, "damaged".into()));
    let (_, reports) = verify(folder.path());
    let problems = reports.iter().flat_map(|report| report["problems"].as_array().expect("a list"));
    let messages: Vec<String> = problems.map(|problem| problem["message"].to_string()).collect();
    assert!(messages.iter().any(|it| it.contains("from blob file 105")), "{messages:?}");
}

/// A log of one batch with one write.
pub(crate) fn log_with(sequence: u64, tag: u8, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut batch = sequence.to_le_bytes().to_vec();
    batch.extend_from_slice(&[1, 0, 0, 0, tag]);
    for bytes in [key, value] {
        batch.push(bytes.len() as u8);
        batch.extend_from_slice(bytes);
    }
    let record = [&[1][..], &batch].concat();
    let crc = crc32c::crc32c(&record).rotate_right(15).wrapping_add(0xa282_ead8);
    [&crc.to_le_bytes()[..], &(batch.len() as u16).to_le_bytes(), &record].concat()
}

#[test]
fn values_in_a_log_that_do_not_decode_are_damage() {
    const ENTITY: u8 = 0x16;
    const BLOB_INDEX: u8 = 0x11;
    const PUT: u8 = 0x01;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("000009.log");
    for (tag, expected) in
        [(PUT, (0, "sound")), (ENTITY, (1, "damaged")), (BLOB_INDEX, (1, "damaged"))]
    {
        fs::write(&path, log_with(9, tag, b"k", b"\xff nonsense")).expect("written");
        assert_eq!(verdict(&path), (expected.0, expected.1.to_owned()), "{tag:#x}");
    }
}

/// LevelDB's tables do not name the order of their keys.
#[test]
fn a_leveldb_table_in_reverse_is_not_damaged() {
    const REVERSE: &str = "rocksdb.ReverseBytewiseComparator";
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("reverse.ldb").display().to_string();
    let input: String =
        (0..1000).map(|i| format!("{{\"key\":\"k{i:04}\",\"value\":\"v\"}}\n")).collect();
    let build = ["build", "-", "-o", &table, "--profile", "leveldb", "--comparator", REVERSE];
    assert_eq!(run_with(input.as_bytes(), &build).status, 0);
    let ran = run(["verify", &table, "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert!(ran.json()[0]["notes"].to_string().contains(REVERSE), "{}", ran.stdout);
    let ran = run(["verify", &table, "--format", "json", "--comparator", REVERSE]);
    assert_eq!((ran.status, &ran.json()[0]["notes"]), (0, &Value::Null), "{}", ran.stdout);

    // What is damaged in either order is damaged.
    flip(Path::new(&table), 10);
    assert_eq!(run(["verify", &table]).status, 1);
}

/// The MANIFEST names an unknown comparator: then the order is not assumed to be bytewise.
#[test]
fn an_unknown_order_is_not_damage() {
    let folder = copy_of("leveldb-bloom-snappy");
    let manifest = folder.path().join("MANIFEST-000002");
    let bytes = fs::read(&manifest).expect("a MANIFEST");
    let name = b"leveldb.BytewiseComparator";
    let at = bytes.windows(name.len()).position(|it| it == name).expect("a name");
    // It is in the first record, behind the checksum, the length and the type of the record.
    let mut changed = bytes.clone();
    changed[at..at + name.len()].copy_from_slice(b"example.LengthFirstCompare");
    let length = usize::from(u16::from_le_bytes([changed[4], changed[5]]));
    let crc = crc32c::crc32c(&changed[6..7 + length]).rotate_right(15).wrapping_add(0xa282_ead8);
    changed[..4].copy_from_slice(&crc.to_le_bytes());
    fs::write(&manifest, changed).expect("written");
    let (status, reports) = verify(folder.path());
    assert_eq!(status, 0, "{reports:?}");
    assert!(reports.iter().all(|report| report["order_checked"] == false), "{reports:?}");
}

/// A log that was restored from an old copy: what is in it is older than the tables.
#[test]
fn sequence_numbers_that_contradict_the_order_are_reported() {
    let folder = copy_of("rocksdb-wal-plus-tables");
    let path = folder.path().display().to_string();
    let first = run(["scan", &path, "--ignore-log", "--keys-only", "--limit", "1"]);
    let key = first.stdout.trim_end();
    for (sequence, is_sound) in [(0, false), (1 << 32, true)] {
        let log = log_with(sequence, 1, key.as_bytes(), b"other");
        fs::write(folder.path().join("000012.log"), log).expect("written");
        let (status, reports) = verify(folder.path());
        let directory = reports.last().expect("a report");
        assert_eq!((status, &directory["sound"]), (i32::from(!is_sound), &is_sound.into()));
        let problems = directory["problems"].to_string();
        assert_eq!(problems.contains("contradict the order of logs and levels"), !is_sound);
    }
}
