//! Directories of more than any database has.

use std::fmt::Write as _;
use std::fs;

use sstkit_coding::varint::put_length_prefixed_slice;
use sstkit_db::{Database, DatabaseSalvage, DatabaseSalvageOptions};
use tempfile::TempDir;

use crate::Case;
use crate::manifests::{manifest, numbers, scalars};
use crate::memory::MIB;

/// Column families. With work for each pair of them there would be no end.
const FAMILIES: u64 = 40_000;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::of("40000 column families with options of their own", 256 * MIB, || {
            let folder = many_families();
            let database = Database::open(folder.path()).expect("a database");
            assert_eq!(database.column_families().count() as u64, FAMILIES);
        }),
        // Salvaged without CURRENT, so that everything is gathered again, and written.
        Case::of("40000 column families of which CURRENT is lost", 512 * MIB, || {
            let folder = many_families();
            fs::remove_file(folder.path().join("CURRENT")).expect("removed");
            let salvage = DatabaseSalvage::open(folder.path(), &DatabaseSalvageOptions::default());
            let saved = folder.path().join("saved");
            salvage.and_then(|it| it.write_database(&saved)).expect("a database");
            let database = Database::open(&saved).expect("a database");
            assert_eq!(database.column_families().count() as u64, FAMILIES);
        }),
    ]
}

/// A database of nothing but column families.
fn many_families() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let families = (1..FAMILIES).map(|id| {
        let mut edit = numbers(&[200, id, 201]);
        put_length_prefixed_slice(&mut edit, format!("f{id}").as_bytes());
        edit
    });
    let log = manifest([scalars()].into_iter().chain(families));
    let mut options = String::from("[DBOptions]\n[CFOptions \"default\"]\n");
    for id in 1..FAMILIES {
        write!(options, "[CFOptions \"f{id}\"]\nnum_levels=7\n").expect("memory");
    }
    fs::write(folder.path().join("MANIFEST-000001"), log).expect("a file");
    fs::write(folder.path().join("CURRENT"), "MANIFEST-000001\n").expect("a file");
    fs::write(folder.path().join("OPTIONS-000002"), options).expect("a file");
    folder
}
