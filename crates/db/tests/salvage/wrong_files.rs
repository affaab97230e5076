//! Files that are missing, renamed, emptied, or of another database, together with a damaged MANIFEST.

use std::fs;
use std::path::PathBuf;

use sstkit_db::{Database, DatabaseSalvageReport, DatabaseUncertainty, FileOutcome, SalvagedFile};
use sstkit_testkit::goldens::golden_databases;

use crate::contents::{Contents, Damaged, assert_same, by_file, contents, visible};

fn golden(name: &str) -> PathBuf {
    golden_databases().into_iter().find(|it| it.ends_with(name)).unwrap()
}

const LEVELED: &str = "rocksdb-leveled-bloom";

fn file<'r>(report: &'r DatabaseSalvageReport, name: &str) -> &'r SalvagedFile {
    let found = report.files.iter().find(|it| it.path.ends_with(name));
    found.unwrap_or_else(|| panic!("{name}: {report:#?}"))
}

/// Whether it is said that deletions of this file may be lost.
fn has_lost_deletions(report: &DatabaseSalvageReport, name: &str) -> bool {
    report.uncertain.iter().any(|it| match it {
        DatabaseUncertainty::Deletions { file, .. } => file.ends_with(name),
        _ => false,
    })
}

/// The live tables of a golden database, with their names.
fn tables(path: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".sst") || name.ends_with(".ldb"))
        .collect();
    names.sort();
    names
}

/// A table that a MANIFEST lists does not exist: it counts as lost, also if the end of the MANIFEST is.
#[test]
fn a_missing_table_without_a_whole_manifest() {
    for name in [LEVELED, "leveldb-nofilter"] {
        let path = golden(name);
        let original = Database::open(&path).unwrap();
        let manifest = format!("MANIFEST-{:06}", original.manifest_number().unwrap());
        let table = &tables(&path)[0];
        for how in ["CURRENT deleted", "a bit of the MANIFEST flipped"] {
            let what = format!("{name}: {table} deleted and {how}");
            let damaged = Damaged::copy_of(&path);
            damaged.remove(table);
            if how.starts_with("CURRENT") {
                damaged.remove("CURRENT");
            } else {
                let mut bytes = damaged.bytes(&manifest);
                let at = bytes.len() - 3;
                bytes[at] ^= 1;
                damaged.write(&manifest, &bytes);
            }
            let (report, _) = damaged.salvage(false, &what);
            assert!(report.has_losses(), "{what}");
            assert_eq!(report.entries_lost(), None, "{what}");
            let lost = file(&report, table);
            assert_eq!((lost.outcome, lost.entries_lost), (FileOutcome::Lost, None), "{what}");
            assert!(lost.recorded_size.is_some() && lost.bounds.is_some(), "{what}");
            assert!(has_lost_deletions(&report, table), "{what}: {report:#?}");
        }
    }
}

/// Tables are known by what they are, not by their names.
#[test]
fn renamed_tables() {
    for name in [LEVELED, "leveldb-nofilter"] {
        let path = golden(name);
        let original = Database::open(&path).unwrap();
        let names = tables(&path);
        let (one, other) = (&names[0], &names[1]);
        let damaged = Damaged::copy_of(&path);
        let (first, second) = (damaged.bytes(one), damaged.bytes(other));
        damaged.write(one, &second);
        damaged.write(other, &first);
        let what = format!("{name}: {one} and {other} swapped");
        let (report, db) = damaged.salvage(false, &what);
        assert_same(&contents(&db), &contents(&original), &what);
        assert_eq!(visible(&db), visible(&original), "{what}");
        assert!(!report.has_losses(), "{what}");
        for name in [one, other] {
            let notes = &file(&report, name).notes;
            assert!(notes.iter().any(|it| it.contains("renamed")), "{what}: {notes:?}");
            let mut said = report.uncertain.iter().filter_map(DatabaseUncertainty::file);
            assert!(said.any(|it| it.ends_with(name)), "{what}: {:#?}", report.uncertain);
        }

        // A second copy of a table instead of another one.
        let damaged = Damaged::copy_of(&path);
        damaged.write(one, &second);
        let what = format!("{name}: {other} copied over {one}");
        let (report, db) = damaged.salvage(false, &what);
        let lost: u64 = one[..6].parse().unwrap();
        let others = by_file(&original).into_iter().filter(|(file, _)| *file != Some(lost));
        let expected: Contents = others.flat_map(|(_, entries)| entries).collect();
        assert_same(&contents(&db), &expected, &what);
        assert!(report.has_losses() && has_lost_deletions(&report, one), "{what}: {report:#?}");
    }
}

/// A MANIFEST of another database says nothing about this one.
#[test]
fn the_manifest_of_another_database() {
    let path = golden(LEVELED);
    let original = Database::open(&path).unwrap();
    for other in ["rocksdb-column-families", "rocksdb-blobs"] {
        let what = format!("the MANIFEST of {other}");
        let damaged = Damaged::copy_of(&path);
        damaged.remove(&format!("MANIFEST-{:06}", original.manifest_number().unwrap()));
        for entry in fs::read_dir(golden(other)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name == "CURRENT" || name.starts_with("MANIFEST") {
                damaged.write(&name, &fs::read(golden(other).join(&name)).unwrap());
            }
        }
        let (report, db) = damaged.salvage(false, &what);
        assert_same(&contents(&db), &contents(&original), &what);
        assert_eq!(visible(&db), visible(&original), "{what}");
        assert!(!report.has_losses(), "{what}: {report:#?}");
        let is_said = report.uncertain.iter().any(|it| match it {
            DatabaseUncertainty::LiveTables(reason) => reason.contains("another database"),
            _ => false,
        });
        assert!(is_said, "{what}: {:#?}", report.uncertain);
    }
}

/// Nothing is left of a table: what was in it is not known, but where it was is.
#[test]
fn a_table_without_contents() {
    let path = golden(LEVELED);
    for (how, contents) in [("empty", Vec::new()), ("junk", vec![0x5a; 900])] {
        let damaged = Damaged::copy_of(&path);
        let size = damaged.bytes("000046.sst").len() as u64;
        damaged.write("000046.sst", &contents);
        let (report, _) = damaged.salvage(false, how);
        let lost = file(&report, "000046.sst");
        assert_eq!((lost.outcome, lost.entries_lost), (FileOutcome::Lost, None), "{how}");
        assert_eq!(lost.bytes_lost(), size, "{how}");
        let bounds = lost.bounds.clone().expect("the MANIFEST says them");
        let said = report.uncertain.iter().find_map(|it| match it {
            DatabaseUncertainty::Deletions { after, before, .. } => {
                after.clone().zip(before.clone())
            }
            _ => None,
        });
        assert_eq!(said, Some(bounds), "{how}: {:#?}", report.uncertain);
    }
}

/// LevelDB cannot read a table of RocksDB; the others are saved.
#[test]
fn a_table_of_the_other_engine() {
    let path = golden("leveldb-nofilter");
    let original = Database::open(&path).unwrap();
    let damaged = Damaged::copy_of(&path);
    damaged.remove(&format!("MANIFEST-{:06}", original.manifest_number().unwrap()));
    damaged.write("999999.ldb", &fs::read(golden(LEVELED).join("000042.sst")).unwrap());
    let (report, db) = damaged.salvage(false, "a table of RocksDB");
    assert!(contents(&db).is_superset(&contents(&original)));
    assert_eq!(file(&report, "999999.ldb").outcome, FileOutcome::Lost);
}

/// Numbers that no engine gives would leave none for the files of the result.
#[test]
fn names_with_impossible_numbers() {
    let path = golden(LEVELED);
    let original = Database::open(&path).unwrap();
    for name in ["18446744073709551615.log", "18446744073709551615.sst", "4611686018427387903.blob"]
    {
        let damaged = Damaged::copy_of(&path);
        damaged.write(name, b"");
        let (report, db) = damaged.salvage(false, name);
        assert_same(&contents(&db), &contents(&original), name);
        assert_eq!(file(&report, name).outcome, FileOutcome::Orphaned, "{name}");
        assert!(!report.has_losses(), "{name}");
    }
}

/// Overwritten bytes of OPTIONS are no options, which RocksDB would refuse to open a database with. The older file
/// is used.
#[test]
fn damaged_options() {
    let path = golden(LEVELED);
    let names = || std::fs::read_dir(&path).unwrap().map(|it| it.unwrap().file_name());
    let names = names().filter_map(|name| name.into_string().ok());
    let newest = names.filter(|name| name.starts_with("OPTIONS")).max().unwrap();
    let text = String::from_utf8(fs::read(path.join(&newest)).unwrap()).unwrap();
    let middle = text.find("num_levels").unwrap();
    let with = |noise: &[u8]| {
        let (before, after) =
            (&text.as_bytes()[..middle], &text.as_bytes()[middle + noise.len()..]);
        [before, noise, after].concat()
    };
    for (contents, reason) in [
        (with(b"\xb3\xff=\xfe\n\x80=1\n"), "not text"),
        (with(b"\nab\x01=1\n"), "is no option"),
        (with(b"\n%7s =1\n"), "is no option"),
        (text.as_bytes()[..middle + 12].to_vec(), "ends inside a line"),
    ] {
        let damaged = Damaged::copy_of(&path);
        damaged.write(&newest, &contents);
        damaged.write("OPTIONS-000001", text.replace("num_levels=7", "num_levels=9").as_bytes());
        let (report, db) = damaged.salvage(false, reason);
        let notes = &file(&report, &newest).notes;
        assert_eq!(file(&report, &newest).outcome, FileOutcome::Rebuilt, "{reason}: {notes:?}");
        assert!(notes.iter().any(|it| it.contains(reason)), "{reason}: {notes:?}");
        assert_eq!(db.options_file().column_family("default").num_levels(), Some(9), "{reason}");
    }
}
