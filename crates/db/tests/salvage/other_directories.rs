//! Tables in other directories (`db_paths`): beside that of the database, or named.

use std::fs;

use sstkit_db::{Database, FileOutcome};
use sstkit_testkit::goldens::golden_databases;

use crate::contents::{Damaged, assert_same, contents};

#[test]
fn tables_beside_the_database() {
    for path in golden_databases() {
        let original = contents(&Database::open(&path).unwrap());
        let damaged = Damaged::copy_of(&path);
        let beside = damaged.path.with_file_name("source_2");
        fs::create_dir(&beside).unwrap();
        let mut moved = Vec::new();
        for entry in fs::read_dir(&damaged.path).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if [".sst", ".ldb", ".blob"].iter().any(|it| name.ends_with(it)) {
                fs::rename(damaged.path.join(&name), beside.join(&name)).unwrap();
                moved.push(name);
            }
        }
        // A table that the MANIFEST does not list, with a large number, is not of this database.
        let Some(table) = moved.first() else { continue };
        fs::copy(beside.join(table), beside.join("900000.sst")).unwrap();
        let what = path.display().to_string();
        let (report, db) = damaged.salvage(false, &what);
        assert!(!report.has_losses(), "{what}: {report:#?}");
        assert_same(&contents(&db), &original, &what);
        let said = report.uncertain.iter().map(ToString::to_string);
        assert!(said.into_iter().any(|it| it.contains("source_2")), "{what}: {report:#?}");
        assert!(report.files.iter().all(|it| it.outcome != FileOutcome::Orphaned), "{what}");
    }
}
