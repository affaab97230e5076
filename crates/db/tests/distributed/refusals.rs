//! What plans, attempts and commits refuse, and what the engine makes of the result.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use sstkit_db::{
    Commit, CommitOptions, Database, Duplicates, ErrorKind, PLAN_FOLDER, PartOptions, PartWriter,
    Plan, PlanOptions,
};
use sstkit_filter::PrefixExtractor;
use sstkit_table::raw::{Codec, EntryKind, IndexKind};
use sstkit_table::{Comparator, TableOptions};
use sstkit_testkit::engines::{call, read_entries};

use super::{tables_in, temporary_folder};

fn options() -> PlanOptions {
    PlanOptions::new(TableOptions::rocksdb().readable_by("8.0".parse().unwrap()))
}

/// Writes an attempt with these keys.
fn attempt(plan: &Plan, part: usize, name: &str, keys: &[&str]) -> PathBuf {
    let mut writer = PartWriter::create(plan, part, name, &PartOptions::default()).unwrap();
    for key in keys {
        writer.put(key.as_bytes(), name.as_bytes()).unwrap();
    }
    writer.finish().unwrap().folder
}

fn commit(output: &Path, options: CommitOptions) -> sstkit_db::Result<sstkit_db::CommitSummary> {
    Commit::new(output, options)?.run()
}

#[test]
fn the_engine_ingests_what_was_committed() {
    let folder = temporary_folder();
    let out = folder.path().join("new/out");
    let plan = Plan::create(&out, &options().splits([b"h", b"p"]).max_file_size(64)).unwrap();
    assert_eq!((plan.part_of(b"g~"), plan.part_of(b"h"), plan.part_of(b"z")), (0, 1, 2));
    attempt(&plan, 0, "a", &["alice", "bob"]);
    attempt(&plan, 1, "1", &["h", "harry"]);
    attempt(&plan, 1, "2", &["h", "harry"]);
    attempt(&plan, 2, "a", &[]);
    let chosen = [(1, "2".to_owned())];
    let summary = commit(&out, CommitOptions::default().attempts(chosen).entries(Some(4))).unwrap();
    let losers: Vec<_> =
        summary.losers.iter().map(|it| it.file_name().unwrap().to_string_lossy()).collect();
    assert_eq!(losers, ["part-000001.attempt-1"]);
    assert_eq!(summary.manifest.plan.as_deref(), Some(plan.id()));
    let tables: Vec<_> = tables_in(&out).into_iter().map(|name| out.join(name)).collect();
    let request =
        json!({ "path": folder.path().join("db"), "settings": {}, "tables": tables, "gets": [] });
    let seen = read_entries(&call("rocksdb_ingest", &request), "entries");
    let pair = |key: &str, value: &str| (key.as_bytes().to_vec(), value.as_bytes().to_vec());
    assert_eq!(seen, [pair("alice", "a"), pair("bob", "a"), pair("h", "2"), pair("harry", "2")]);
    // Once more, and then with everything removed.
    let again = commit(&out, CommitOptions::default().clean(true)).unwrap();
    assert_eq!((again.manifest, again.losers.len()), (summary.manifest, 0));
    assert!(!out.join(PLAN_FOLDER).exists());
    assert_eq!(commit(&out, CommitOptions::default()).unwrap().manifest.entries, 4);
    let db = Database::open_bulk(&out).unwrap();
    db.verify(|file| assert!(file.is_sound(), "{file:?}"));
}

#[test]
fn settings_come_back() {
    let folder = temporary_folder();
    let table = TableOptions::rocksdb()
        .readable_by("9.8".parse().unwrap())
        .filter("ribbonfilter:9.9:2".parse().unwrap())
        .compression(Codec::Zstd)
        .prefix_extractor(PrefixExtractor::Fixed(4))
        .index_kind(IndexKind::TwoLevel)
        .partition_filters(true)
        .block_size(777);
    let options = PlanOptions::new(table.clone())
        .comparator(Comparator::ReverseBytewise)
        .compression_level(Some(7))
        .duplicates(Duplicates::Last)
        .splits([b"p", b"h"]);
    let plan = Plan::create(folder.path(), &options).unwrap();
    let opened = Plan::open(folder.path()).unwrap();
    assert_eq!((opened.id(), opened.splits()), (plan.id(), &[b"p".to_vec(), b"h".to_vec()][..]));
    assert_eq!(opened.comparator(), &Comparator::ReverseBytewise);
    assert_eq!(opened.table_options().unwrap().rocksdb_options(), table.rocksdb_options());
    assert_eq!((opened.part_of(b"z"), opened.part_of(b"p"), opened.part_of(b"a")), (0, 1, 2));
    // A setting of a newer version is not ignored.
    let path = folder.path().join(PLAN_FOLDER).join("plan.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"block_size\"", "\"block_shape\"")).unwrap();
    assert_eq!(Plan::open(folder.path()).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn plans_that_are_refused() {
    let folder = temporary_folder();
    let path = |name: &str| folder.path().join(name);
    for splits in [[b"p", b"h"], [b"h", b"h"]] {
        assert!(Plan::create(path("out"), &options().splits(splits)).is_err());
    }
    let leveldb = PlanOptions::new(TableOptions::leveldb());
    assert!(Plan::create(path("out"), &leveldb).is_err());
    assert!(!path("out").exists());
    Plan::create(path("out"), &options()).unwrap();
    let again = Plan::create(path("out"), &options()).unwrap_err().to_string();
    assert!(again.contains("plan already"), "{again}");
    for name in ["manifest.json", "000001.sst", "CURRENT"] {
        fs::create_dir(path(name)).unwrap();
        fs::write(path(name).join(name), b"").unwrap();
        let error = Plan::create(path(name), &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    assert!(Plan::open(path("none")).is_err());
    assert!(Commit::new(path("none"), CommitOptions::default()).is_err());
}

#[test]
fn attempts_that_are_refused() {
    let folder = temporary_folder();
    let plan = Plan::create(folder.path(), &options().splits([b"m"])).unwrap();
    let create = |part, name: &str| PartWriter::create(&plan, part, name, &PartOptions::default());
    for name in ["", ".", "a/b", "a b", "ü"] {
        assert!(create(0, name).is_err(), "{name:?}");
    }
    assert!(create(2, "a").is_err());
    let mut writer = create(0, "a").unwrap();
    let error = writer.put(b"m", b"").unwrap_err().to_string();
    assert!(error.contains("belongs to part 1, not 0"), "{error}");
    writer.put(b"b", b"").unwrap();
    assert!(writer.put(b"a", b"").is_err(), "out of order");
    assert!(writer.put(b"b", b"").is_err(), "a duplicate");
    drop(writer);
    // Two of the same name: the first one counts.
    let (one, other) = (create(1, "same").unwrap(), create(1, "same").unwrap());
    one.finish().unwrap();
    assert!(other.finish().is_err());
    assert!(create(1, "same").is_err());
    // A range deletion must not reach into the next part.
    let mut writer = create(0, "range").unwrap();
    writer.add(EntryKind::RangeDeletion, b"c", b"m").unwrap();
    writer.finish().unwrap();
    let mut writer = create(0, "wide").unwrap();
    writer.add(EntryKind::RangeDeletion, b"c", b"n").unwrap();
    writer.finish().unwrap();
    let with = |name: &str| CommitOptions::default().attempts([(0, name.to_owned())]);
    assert_eq!(commit(folder.path(), with("wide")).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(commit(folder.path(), with("range")).unwrap().manifest.range_deletions, 1);
}

#[test]
fn commits_that_are_refused() {
    let folder = temporary_folder();
    let out = folder.path();
    let plan = Plan::create(out, &options().splits([b"m"])).unwrap();
    attempt(&plan, 0, "a", &["alice"]);
    let error = commit(out, CommitOptions::default()).unwrap_err().to_string();
    assert!(error.contains("1 of 2 parts have no finished attempt: 1"), "{error}");
    let second = attempt(&plan, 1, "a", &["zoe"]);
    let error = commit(out, CommitOptions::default().entries(Some(3))).unwrap_err().to_string();
    assert!(error.contains("expected 3, found 2"), "{error}");
    let unknown = CommitOptions::default().attempts([(1, "b".to_owned())]);
    assert!(commit(out, unknown).is_err());
    // A flipped bit, and a table that is cut off.
    let table = second.join("000001.sst");
    let sound = fs::read(&table).unwrap();
    let mut damaged = sound.clone();
    damaged[10] ^= 1;
    fs::write(&table, &damaged).unwrap();
    assert_eq!(commit(out, CommitOptions::default()).unwrap_err().kind(), ErrorKind::Corrupt);
    fs::write(&table, &sound[1..]).unwrap();
    let sizes = CommitOptions::default().checksums(false);
    assert_eq!(commit(out, sizes).unwrap_err().kind(), ErrorKind::Corrupt);
    fs::write(&table, &sound).unwrap();
    // An attempt of another plan under this one's name.
    let other = temporary_folder();
    let theirs = Plan::create(other.path(), &options().splits([b"m"])).unwrap();
    let theirs = attempt(&theirs, 1, "A", &["zoe"]);
    copy(&theirs, &second.with_file_name("part-000001.attempt-A"));
    assert_eq!(commit(out, CommitOptions::default()).unwrap_err().kind(), ErrorKind::Corrupt);
    fs::remove_dir_all(second.with_file_name("part-000001.attempt-A")).unwrap();
    // Nothing has appeared so far, and what another process has put there stays.
    assert!(tables_in(out).is_empty());
    fs::write(out.join("000001.sst"), b"theirs").unwrap();
    let error = commit(out, CommitOptions::default()).unwrap_err().to_string();
    assert!(error.contains("in the way"), "{error}");
    assert!(!out.join("manifest.json").exists());
    fs::remove_file(out.join("000001.sst")).unwrap();
    assert_eq!(commit(out, CommitOptions::default()).unwrap().manifest.entries, 2);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
