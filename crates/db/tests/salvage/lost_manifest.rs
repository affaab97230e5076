//! Databases whose MANIFEST is lost: obsolete tables, lost ends, column families without a name.

use sstkit_db::raw::{LogWriter, VersionEdit};
use sstkit_db::{
    Database, DatabaseSalvage, DatabaseSalvageOptions, DatabaseUncertainty, DatabaseWriterOptions,
    FileOutcome,
};
use sstkit_table::raw::Engine;

use crate::contents::Damaged;
use crate::small_database::{
    DELETE, Entry, MERGE, PUT, SmallTable, database, database_with, pairs, shown, without_manifest,
};

/// Levels whose sequence numbers interleave: the versions of each key say which table is newer.
#[test]
fn levels_are_found_by_the_versions_of_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let upper: &[Entry<'_>] = &[("a", 7, PUT, "new"), ("m", 20, PUT, "x"), ("q", 9, DELETE, "")];
    let lower: &[Entry<'_>] = &[("a", 3, PUT, "old"), ("n", 30, PUT, "y"), ("q", 8, PUT, "gone")];
    database(&path, "default", &[(6, lower), (5, upper)]);
    let (report, db) = without_manifest(&path).salvage(false, "interleaved");
    assert_eq!(shown(&db, "default"), pairs(&[("a", "new"), ("m", "x"), ("n", "y")]));
    assert!(!report.has_losses() && !report.is_complete());
    for key in ["a", "m", "n"] {
        assert!(db.get(key.as_bytes()).unwrap().is_some());
    }
    let state = &db.manifest().unwrap().column_families[&0];
    let levels: Vec<_> = state.files().map(|(level, file)| (level, file.number)).collect();
    assert_eq!(levels, [(5, 2), (6, 1)]);
}

/// A MANIFEST whose levels contradict the sequence numbers, as after a log or a table of an old copy was
/// put back: the engine would find the old version with a lookup and the new one with a scan.
#[test]
fn recorded_levels_that_contradict_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let newer: &[Entry<'_>] = &[("a", 7, PUT, "new"), ("m", 9, PUT, "x")];
    let older: &[Entry<'_>] = &[("a", 3, PUT, "old"), ("n", 4, PUT, "y")];
    database(&path, "default", &[(6, newer), (5, older)]);
    assert!(!is_sound(&Database::open(&path).unwrap()));
    let salvage = DatabaseSalvage::open(&path, &DatabaseSalvageOptions::default()).unwrap();
    let target = folder.path().join("saved");
    let summary = salvage.write_database(&target).unwrap();
    assert_eq!((summary.reordered, summary.copied), (vec!["default".to_owned()], 2));
    let db = Database::open(&target).unwrap();
    assert!(is_sound(&db));
    assert_eq!(shown(&db, "default"), pairs(&[("a", "new"), ("m", "x"), ("n", "y")]));
    assert_eq!(db.get(b"a").unwrap().unwrap(), b"new"[..]);
}

fn is_sound(db: &Database) -> bool {
    let mut is_sound = true;
    db.verify(|file| is_sound &= file.is_sound());
    is_sound
}

/// Tables of which neither is newer, and operands that are in both, end up in one run.
#[test]
fn contradicting_tables_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let one: &[Entry<'_>] = &[("a", 7, PUT, "new"), ("c", 2, MERGE, "1"), ("q", 3, PUT, "old")];
    let two: &[Entry<'_>] = &[("a", 3, PUT, "old"), ("c", 2, MERGE, "1"), ("q", 8, PUT, "new")];
    database(&path, "default", &[(0, one), (0, two)]);
    let (_, db) = without_manifest(&path).salvage(false, "contradicting");
    assert_eq!(shown(&db, "default"), pairs(&[("a", "new"), ("c", "1"), ("q", "new")]));
    for (key, value) in [("a", "new"), ("q", "new"), ("c", "1")] {
        assert_eq!(db.get(key.as_bytes()).unwrap().unwrap(), value.as_bytes());
    }
}

/// A table that was compacted, but not deleted yet: it is not known to be obsolete without a MANIFEST,
/// and that is said. With what is left of a MANIFEST it is.
#[test]
fn an_obsolete_table_does_not_come_back_silently() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    let old: &[Entry<'_>] = &[("a", 5, PUT, "1"), ("b", 6, PUT, "2"), ("c", 7, PUT, "3")];
    let compacted: &[Entry<'_>] = &[("a", 0, PUT, "1"), ("c", 0, PUT, "3")];
    database(&before, "default", &[(0, old)]);
    // The number 1 is the obsolete table's.
    let options = DatabaseWriterOptions::rocksdb().first_file_number(9);
    let table = SmallTable { level: 6, entries: compacted, end: None };
    database_with(&after, options, "default", &[table], 7);

    let damaged = Damaged::copy_of(&after);
    std::fs::copy(before.join("000001.sst"), damaged.path.join("000001.sst")).unwrap();
    let (report, db) = damaged.salvage(false, "with its MANIFEST");
    assert_eq!(shown(&db, "default"), pairs(&[("a", "1"), ("c", "3")]));
    let outcome =
        |name: &str| report.files.iter().find(|it| it.path.ends_with(name)).map(|it| it.outcome);
    assert_eq!(outcome("000001.sst"), Some(FileOutcome::Orphaned));
    assert!(report.is_complete(), "{report:?}");

    let lost = without_manifest(&after);
    std::fs::copy(before.join("000001.sst"), lost.path.join("000001.sst")).unwrap();
    let (report, db) = lost.salvage(false, "without its MANIFEST");
    assert_eq!(shown(&db, "default"), pairs(&[("a", "1"), ("b", "2"), ("c", "3")]));
    let suspect = report.uncertain.iter().find_map(|it| match it {
        DatabaseUncertainty::MaybeObsolete { table, newer, bounds } => {
            Some((table.clone(), newer.clone(), bounds.clone()))
        }
        _ => None,
    });
    let (table, newer, bounds) = suspect.expect("it is said");
    assert!(table.ends_with("000001.sst") && newer.ends_with("000009.sst"));
    assert_eq!(bounds, (b"a".to_vec(), b"c".to_vec()));
}

/// The end of a MANIFEST is cut off exactly between two edits: newer tables show it.
#[test]
fn a_manifest_that_ends_early() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let first: &[Entry<'_>] = &[("a", 5, PUT, "1")];
    database(&path, "default", &[(0, first)]);
    let damaged = Damaged::copy_of(&path);
    // A table of later writes, which no log has.
    let other = folder.path().join("other");
    let second: &[Entry<'_>] = &[("b", 90, PUT, "2")];
    database(&other, "default", &[(0, second)]);
    std::fs::copy(other.join("000001.sst"), damaged.path.join("000020.sst")).unwrap();
    let (report, db) = damaged.salvage(false, "ends early");
    assert_eq!(shown(&db, "default"), pairs(&[("a", "1"), ("b", "2")]));
    let live = |it: &DatabaseUncertainty| matches!(it, DatabaseUncertainty::LiveTables(_));
    assert!(report.uncertain.iter().any(live), "{report:?}");
}

/// Names of column families come from tables.
#[test]
fn column_families_are_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    database(&path, "événements", &[(0, &[("a", 5, PUT, "1")])]);
    let damaged = without_manifest(&path);
    let (_, db) = damaged.salvage(false, "named by tables");
    assert_eq!(shown(&db, "événements"), pairs(&[("a", "1")]));
    assert_eq!(shown(&db, "default"), []);
}

/// A compaction has written a table, and its inputs are not deleted yet. If that table is lost, the MANIFEST lists
/// none of those that exist. It is that of this database nevertheless, since it once listed the inputs.
#[test]
fn a_missing_table_beside_its_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let old: &[Entry<'_>] = &[("a", 5, PUT, "1"), ("b", 6, PUT, "2")];
    database(&path, "default", &[(0, old)]);
    // RocksDB would know its database by IDENTITY.
    std::fs::remove_file(path.join("IDENTITY")).unwrap();
    let damaged = Damaged::copy_of(&path);
    let name = std::fs::read_to_string(damaged.path.join("CURRENT")).unwrap();
    let mut manifest = damaged.bytes(name.trim_end());
    // Table 1 of level 0 is deleted, and table 9 of level 6 is in its place.
    let source = Database::open(&path).unwrap();
    let state = &source.manifest().unwrap().column_families[&0];
    let mut table = state.files().next().unwrap().1.clone();
    (table.number, table.size, table.unique_id) = (9, table.size + 1, None);
    let mut edit = VersionEdit::default();
    edit.deleted_files.push((0, 1));
    edit.new_files.push((6, table));
    edit.next_file_number = Some(10);
    let mut record = Vec::new();
    edit.encode_to(&mut record, Engine::RocksDb);
    let mut log = LogWriter::new(Vec::new());
    log.add_record(&record).unwrap();
    manifest.extend(log.into_inner());
    damaged.write(name.trim_end(), &manifest);
    let (report, _) = damaged.salvage(false, "the output of a compaction is missing");
    let outcome =
        |name: &str| report.files.iter().find(|it| it.path.ends_with(name)).map(|it| it.outcome);
    assert_eq!(outcome("000009.sst"), Some(FileOutcome::Lost), "{report:#?}");
    assert_eq!(outcome("000001.sst"), Some(FileOutcome::Orphaned), "{report:#?}");
    assert!(report.has_losses());
}
