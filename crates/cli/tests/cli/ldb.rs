//! The same answers as RocksDB's `ldb`, where it is installed: the commands of `docs/ldb.md`.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::run::run;

/// Whether `ldb` can be run.
///
/// # Panics
///
/// If it cannot, where the environment variable `CI` is set.
fn is_installed() -> bool {
    let is_installed = Command::new("ldb").arg("--version").output().is_ok();
    if !is_installed {
        assert!(std::env::var_os("CI").is_none(), "ldb is not installed (Debian: rocksdb-tools)");
        println!("not run: ldb is not installed (Debian: rocksdb-tools)");
    }
    is_installed
}

/// What `ldb` prints.
///
/// # Panics
///
/// If it fails.
fn ldb(database: &Path, arguments: &[&str]) -> String {
    let output = Command::new("ldb")
        .arg(format!("--db={}", database.display()))
        .args(arguments)
        .output()
        .expect("ldb runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Each `ldb` opens the database and writes the log of the one before as a table.
const NO_COMPACTION: &str = "--auto_compaction=false";

/// A database with two column families, all kinds of writes that `ldb` knows, and a log.
fn database() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db");
    let blobs = ["--enable_blob_files", "--min_blob_size=60", NO_COMPACTION];
    ldb(&path, &["put", "first", "0", "--create_if_missing"]);
    ldb(&path, &["create_column_family", "meta"]);
    for part in 0..3 {
        let mut arguments = vec!["batchput".to_owned()];
        for number in (part..300).step_by(3) {
            arguments.push(format!("user/{}/{number:04}", number % 7));
            arguments.push("v".repeat(number % 80 + 1));
        }
        arguments.extend(blobs.map(str::to_owned));
        ldb(&path, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    }
    ldb(&path, &["deleterange", "user/3/", "user/3/0150", NO_COMPACTION]);
    ldb(&path, &["put", NO_COMPACTION, "--column_family=meta", "key", "é"]);
    ldb(&path, &["delete", "user/1/0001", NO_COMPACTION]);
    ldb(&path, &["batchput", "zoe", "1", "zoe", "2", NO_COMPACTION]);
    folder
}

fn json(command: &[&str], path: &Path) -> Vec<Value> {
    let path = path.display().to_string();
    let ran = run([command, &["--format", "json", &path]].concat());
    assert_eq!(ran.status, 0, "{command:?}: {}", ran.stderr);
    ran.json()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_else(|| panic!("{field}: {value}"))
}

/// The file of a database whose name starts or ends like this, with the largest number.
fn newest(database: &Path, is_it: impl Fn(&str) -> bool) -> std::path::PathBuf {
    let names = fs::read_dir(database).expect("a folder").map(|it| it.expect("an entry").path());
    let named = names.filter(|path| is_it(&path.file_name().expect("a name").to_string_lossy()));
    named.max().expect("a file")
}

fn hex(text: &str) -> String {
    text.trim_start_matches("0x").to_lowercase()
}

/// `docs/ldb.md` has every command and option that the help texts list.
#[test]
fn the_map_is_complete() {
    if !is_installed() {
        return;
    }
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ldb.md");
    let map = fs::read_to_string(map).expect("a document");
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let mapped: Vec<&str> = map.split(|it| !is_word(it)).collect();
    let help = |program: &str| {
        let output = Command::new(program).arg("--help").output().expect("runs");
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    };
    let ldb = help("ldb");
    let (_, commands) = ldb.split_once("Data Access Commands:").expect("commands");
    let commands: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && name.chars().all(is_word))
        .collect();
    assert!(commands.len() > 30, "{commands:?}");
    let sst_dump = help("sst_dump");
    let options: Vec<&str> = sst_dump
        .lines()
        .filter_map(|line| line.trim().strip_prefix("--")?.split(|it| !is_word(it)).next())
        .collect();
    assert!(options.len() > 15, "{options:?}");
    for name in commands {
        assert!(mapped.contains(&name), "ldb {name}");
        // Typed by habit, it is a command or has a tip.
        let typed = run([name, "--help"]);
        assert!(typed.status == 0 || typed.stderr.contains("tip: "), "{name}: {}", typed.stderr);
    }
    for name in options {
        assert!(mapped.contains(&format!("--{name}").as_str()), "sst_dump --{name}");
    }
}

#[test]
fn scans_and_internal_dumps() {
    if !is_installed() {
        return;
    }
    let folder = database();
    let path = folder.path().join("db");
    for family in ["default", "meta"] {
        let theirs = ldb(&path, &["scan", "--hex", &format!("--column_family={family}")]);
        let theirs: Vec<(String, String)> = theirs
            .lines()
            .map(|line| line.split_once(" : ").expect("a pair"))
            .map(|(key, value)| (hex(key), hex(value)))
            .collect();
        let ours = json(&["scan", "--encoding", "hex", "--column-family", family], &path);
        let ours: Vec<(String, String)> =
            ours.iter().map(|it| (text(it, "key").into(), text(it, "value").into())).collect();
        assert_eq!(ours, theirs, "{family}");
    }
    // 'user/0/0000' seq:1, type:1 => v
    let theirs = ldb(&path, &["idump"]);
    let numbers = |line: &str| -> Option<(String, u64, u64)> {
        let (key, rest) = line.strip_prefix('\'')?.split_once("' seq:")?;
        let (seq, rest) = rest.split_once(", type:")?;
        let kind = rest.split(' ').next()?;
        Some((key.into(), seq.parse().ok()?, kind.parse().ok()?))
    };
    let mut theirs: Vec<_> = theirs.lines().filter_map(numbers).collect();
    let number = |kind: &str| match kind {
        "delete" => 0,
        "put" => 1,
        "blob_index" => 17,
        other => panic!("{other}"),
    };
    let ours = json(&["scan", "--internal"], &path);
    // `ldb` leaves out what a range tombstone covers.
    let ranges: Vec<&Value> = ours.iter().filter(|it| it["type"] == "range_delete").collect();
    let is_covered = |entry: &Value| {
        ranges.iter().any(|range| {
            let keys = text(range, "key")..text(range, "value");
            keys.contains(&text(entry, "key")) && entry["seq"].as_u64() < range["seq"].as_u64()
        })
    };
    let points = ours.iter().filter(|it| it["type"] != "range_delete" && !is_covered(it));
    let mut ours: Vec<(String, u64, u64)> = points
        .map(|it| {
            (text(it, "key").into(), it["seq"].as_u64().expect("seq"), number(text(it, "type")))
        })
        .collect();
    theirs.sort();
    ours.sort();
    assert!(theirs.len() > 200, "{}", theirs.len());
    assert_eq!(ours, theirs);
}

#[test]
fn write_ahead_logs() {
    if !is_installed() {
        return;
    }
    let folder = database();
    let path = folder.path().join("db");
    let log = newest(&path, |name| name.ends_with(".log"));
    let walfile = format!("--walfile={}", log.display());
    let theirs = ldb(&path, &["dump_wal", &walfile, "--print_value"]);
    // 304,1,26,0,DELETE_RANGE(0) : 0x6B65792F35 0x6B65792F3531
    let mut ours = String::new();
    for batch in json(&["dump", "--encoding", "hex"], &log) {
        let number = |field: &str| batch[field].as_u64().expect("a number");
        let (seq, count) = (number("seq"), number("count"));
        ours += &format!("{seq},{count},{},{},", number("bytes"), number("offset"));
        for write in batch["operations"].as_array().expect("a list") {
            let family = write["column_family"].as_u64().expect("an id");
            let (key, value) =
                (text(write, "key").to_uppercase(), text(write, "value").to_uppercase());
            ours += &match text(write, "type") {
                "put" => format!("PUT({family}) : 0x{key} : 0x{value} "),
                "delete" => format!("DELETE({family}) : 0x{key} "),
                "range_delete" => format!("DELETE_RANGE({family}) : 0x{key} 0x{value} "),
                other => panic!("{other}"),
            };
        }
        ours.push('\n');
    }
    assert!(ours.contains("PUT(0)"), "{ours}");
    assert_eq!(ours, theirs);
}

#[test]
fn manifests() {
    if !is_installed() {
        return;
    }
    let folder = database();
    let path = folder.path().join("db");
    let manifest = newest(&path, |name| name.starts_with("MANIFEST-"));
    let theirs = ldb(&path, &["manifest_dump", "--verbose"]);
    let lines = json(&["dump"], &manifest);
    let edits: Vec<&Value> = lines.iter().filter(|it| it["record"] == "edit").collect();
    assert_eq!(theirs.matches("VersionEdit {").count(), edits.len());
    // One by one: what both print.
    let blocks: Vec<&str> = theirs.split("VersionEdit {").skip(1).collect();
    for (block, edit) in blocks.iter().zip(&edits) {
        let block = block.split("\n}").next().expect("a block");
        let value = |name: &str| {
            let line = block.lines().find_map(|line| line.trim().strip_prefix(name));
            line.and_then(|line| line.strip_prefix(": ")).map(str::to_owned)
        };
        let number = |field: &str| edit[field].as_u64().map(|it| it.to_string());
        let name = |field: &str| edit[field].as_str().map(str::to_owned);
        assert_eq!(number("log_number"), value("LogNumber"), "{block}");
        assert_eq!(number("prev_log_number"), value("PrevLogNumber"), "{block}");
        assert_eq!(number("next_file_number"), value("NextFileNumber"), "{block}");
        assert_eq!(number("min_log_number_to_keep"), value("MinLogNumberToKeep"), "{block}");
        assert_eq!(number("last_seq"), value("LastSeq"), "{block}");
        assert_eq!(number("column_family"), value("ColumnFamily"), "{block}");
        assert_eq!(name("column_family_add"), value("ColumnFamilyAdd"), "{block}");
        assert_eq!(name("comparator"), value("Comparator"), "{block}");
        // AddFile: 0 25 982 'zz' seq:302, type:1 .. 'zz' seq:302, type:1 ... public_unique_id: 44…
        let added: Vec<&str> =
            block.lines().filter_map(|line| line.trim().strip_prefix("AddFile: ")).collect();
        let files = edit["new_files"].as_array().cloned().unwrap_or_default();
        assert_eq!(added.len(), files.len(), "{block}");
        for (line, file) in added.iter().zip(&files) {
            let bound = |bound: &Value| {
                let kind = match text(bound, "type") {
                    "delete" => 0,
                    "put" => 1,
                    "range_delete" => 15,
                    "blob_index" => 17,
                    other => panic!("{other}"),
                };
                format!("'{}' seq:{}, type:{kind}", text(bound, "key"), bound["seq"])
            };
            let (level, number, size) = (&file["level"], &file["number"], &file["size"]);
            let (smallest, largest) = (bound(&file["smallest"]), bound(&file["largest"]));
            let expected = format!("{level} {number} {size} {smallest} .. {largest}");
            assert!(line.starts_with(&expected), "{line}\n{expected}");
            assert!(line.contains(text(file, "unique_id")), "{line}\n{file}");
        }
    }
    // The state.
    let state = lines.last().expect("lines");
    let totals = format!(
        "next_file_number {} last_sequence {}  prev_log_number {} max_column_family {} \
         min_log_number_to_keep {}",
        // The number that `ldb` would use next.
        state["next_file_number"].as_u64().expect("a number") + 1,
        state["last_seq"],
        state["prev_log_number"],
        state["max_column_family"],
        state["min_log_number_to_keep"]
    );
    assert!(theirs.contains(&totals), "{totals}\n{theirs}");
}

#[test]
fn files_column_families_and_checksums() {
    if !is_installed() {
        return;
    }
    let folder = database();
    let path = folder.path().join("db");
    let info = json(&["info"], &path).remove(0);
    let families = info["column_families"].as_array().expect("a list");
    let names: Vec<&str> = families.iter().map(|it| text(it, "name")).collect();
    let theirs = ldb(&path, &["list_column_families"]);
    assert!(theirs.contains(&format!("{{{}}}", names.join(", "))), "{theirs}");
    // db/000018.sst : level 1, column family 'default'
    let theirs = ldb(&path, &["list_live_files_metadata", "--sort_by_filename"]);
    let mut ours = BTreeMap::new();
    for family in families {
        for level in family["levels"].as_array().expect("a list") {
            for file in level["files"].as_array().expect("a list") {
                let place =
                    format!("level {}, column family '{}'", level["level"], text(family, "name"));
                ours.insert(text(file, "file").to_owned(), place);
            }
        }
        for blob in family["blob_files"].as_array().into_iter().flatten() {
            let file = path.join(format!("{:06}.blob", blob["number"].as_u64().expect("a number")));
            ours.insert(
                file.display().to_string(),
                format!("column family '{}'", text(family, "name")),
            );
        }
    }
    let listed: BTreeMap<String, String> = theirs
        .lines()
        .filter_map(|line| line.split_once(" : ").or(line.split_once(", ")))
        .map(|(file, place)| (file.to_owned(), place.to_owned()))
        .collect();
    assert_eq!(ours.keys().collect::<Vec<_>>(), listed.keys().collect::<Vec<_>>(), "{theirs}");
    for (file, place) in ours.iter().filter(|(file, _)| file.ends_with(".sst")) {
        assert_eq!(*place, listed[file]);
    }
    // 18, Unknown,
    let manifest = newest(&path, |name| name.starts_with("MANIFEST-"));
    let theirs = ldb(&path, &["file_checksum_dump", "--hex"]);
    let state = json(&["dump"], &manifest).pop().expect("lines");
    for family in state["column_families"].as_array().expect("a list") {
        for file in family["files"].as_array().expect("a list") {
            let name = file["file_checksum_func_name"].as_str().unwrap_or("Unknown");
            let line = format!("{}, {name}, ", file["number"]);
            assert!(theirs.contains(&line), "{line}\n{theirs}");
        }
    }
}

#[test]
fn range_tombstones_counts_and_sizes() {
    if !is_installed() {
        return;
    }
    let folder = database();
    let path = folder.path().join("db");
    // start: 757365722F332F end: 757365722F332F30313530 seq: 302
    let theirs = ldb(&path, &["list_file_range_deletes"]);
    let ranges = json(&["scan", "--internal", "--encoding", "hex"], &path);
    let ranges: Vec<&Value> = ranges.iter().filter(|it| it["type"] == "range_delete").collect();
    assert_eq!(ranges.len(), 1);
    let [start, end] = ["key", "value"].map(|field| text(ranges[0], field).to_uppercase());
    let expected = format!("start: {start} end: {end} seq: {}", ranges[0]["seq"]);
    assert!(theirs.contains(&expected), "{expected}\n{theirs}");
    // user => count:299	size:12345
    let theirs = ldb(&path, &["dump", "--count_delim=/"]);
    let visible = json(&["scan"], &path);
    let users: Vec<&Value> =
        visible.iter().filter(|it| text(it, "key").starts_with("user/")).collect();
    let size: usize = users.iter().map(|it| text(it, "key").len() + text(it, "value").len()).sum();
    let expected = format!("user => count:{}\tsize:{size}", users.len());
    assert!(theirs.contains(&expected), "{expected}\n{theirs}");
    let groups = json(&["stats", "--by-delimiter", "/"], &path);
    let groups = groups[0].to_string();
    assert!(groups.contains("\"user/\""), "{groups}");
    // To the precision of a block in each file.
    let theirs = ldb(&path, &["approxsize", "--from=a", "--to=zzz"]);
    let theirs: f64 = theirs.trim().parse().expect("a number");
    let ours = json(&["stats", "--sample", "--from", "a", "--to", "zzz"], &path);
    let family = &ours[0]["column_families"][0];
    let stored = family["stored_bytes"].as_f64().expect("a size");
    let all: f64 = family["levels"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|level| level["size"].as_f64().expect("a size"))
        .sum();
    assert!(stored <= all && theirs <= all && stored > 0.0, "{stored} {theirs} {all}");
    let files = family["levels"].as_array().expect("a list").iter();
    let files: usize = files.map(|it| it["files"].as_array().expect("a list").len()).sum();
    // `ldb` counts the parts of a table behind the data blocks as well.
    let tails = 1200.0 * files as f64;
    assert!((stored - theirs).abs() <= tails + 4096.0, "{stored} {theirs}");
}

#[test]
fn backups_that_ldb_makes() {
    if !is_installed() {
        return;
    }
    let folder = database();
    let (path, backups) = (folder.path().join("db"), folder.path().join("backups"));
    let backup_dir = format!("--backup_dir={}", backups.display());
    ldb(&path, &["backup", &backup_dir]);
    let first = json(&["scan"], &path);
    ldb(&path, &["put", "new", "1"]);
    ldb(&path, &["compact"]);
    ldb(&path, &["backup", &backup_dir]);
    assert_eq!(json(&["scan", "--backup", "1"], &backups), first);
    let restored = folder.path().join("restored");
    ldb(&restored, &["restore", &backup_dir]);
    assert_eq!(json(&["scan"], &backups), json(&["scan"], &restored));
    let verified = run(["verify", &backups.display().to_string()]);
    assert_eq!(verified.status, 0, "{}", verified.stdout);
    // A checkpoint is read as the database it is.
    let checkpoint = folder.path().join("checkpoint");
    ldb(&path, &["checkpoint", &format!("--checkpoint_dir={}", checkpoint.display())]);
    assert_eq!(json(&["scan"], &checkpoint), json(&["scan"], &path));
}

/// Databases of newer versions, written for the version of `ldb`: it loads their OPTIONS, and shows what
/// they showed.
#[test]
fn ldb_opens_what_is_written_for_its_version() {
    if !is_installed() {
        return;
    }
    let version = Command::new("ldb").arg("--version").output().expect("ldb runs").stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    let mut digits = version.split(|it: char| !it.is_ascii_digit() && it != '.');
    let version = digits.rfind(|it| it.contains('.')).expect("a version").to_owned();
    let (major_minor, _) = version.rsplit_once('.').expect("three numbers");
    let folder = tempfile::tempdir().expect("a folder");
    for name in [
        "rocksdb-blobs",
        "rocksdb-column-families",
        "rocksdb-leveled-bloom",
        "rocksdb-merge-stringappend",
        "rocksdb-universal-ribbon-partitioned",
        "rocksdb-wal-plus-tables",
    ] {
        let source = format!("databases/{name}");
        let target = folder.path().join(name);
        let to = target.display().to_string();
        let engine = format!("rocksdb-{major_minor}");
        let ran = run(["compact", &source, "-o", &to, "--as", "database", "--for", &engine]);
        assert_eq!(ran.status, 0, "{name}: {}", ran.stderr);
        let shown = ldb(&target, &["scan", "--hex", "--try_load_options"]);
        let shown: Vec<String> = shown.lines().map(hex_pair).collect();
        let ran = run(["scan", &source, "--format", "json", "--hex"]);
        assert_eq!(ran.status, 0, "{name}: {}", ran.stderr);
        let expected: Vec<String> = ran
            .json()
            .iter()
            .map(|it| format!("{} {}", text(it, "key"), text(it, "value")).to_lowercase())
            .collect();
        assert!(!expected.is_empty() && shown == expected, "{name}");
    }
}

/// `0xAB ==> 0xCD` as `ab cd`.
fn hex_pair(line: &str) -> String {
    let (key, value) = line.split_once(" ==> ").or(line.split_once(" : ")).expect("key and value");
    format!("{} {}", hex(key), hex(value))
}
