//! A database before and after: every entry of it, with the file that it is in.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sstkit_db::{
    Database, DatabaseOptions, DatabaseSalvage, DatabaseSalvageOptions, DatabaseSalvageReport,
};
use tempfile::TempDir;

/// Column family, user key, timestamp, sequence number, kind, value or end of a range.
pub(crate) type Stored = (String, Vec<u8>, Vec<u8>, u64, u8, Vec<u8>);

/// All entries of a database.
pub(crate) type Contents = BTreeSet<Stored>;

/// The kind of a range tombstone.
const RANGE: u8 = 0x0f;

/// The entries of each file of a database; those of the logs have none.
pub(crate) fn by_file(db: &Database) -> BTreeMap<Option<u64>, Contents> {
    let mut files: BTreeMap<_, Contents> = BTreeMap::new();
    for family in db.column_families() {
        let name = || family.name().to_owned();
        for entry in family.entries() {
            let entry = entry.unwrap();
            let (kind, value) = (entry.kind as u8, entry.value.to_vec());
            let stored = (name(), entry.key, entry.timestamp, entry.sequence, kind, value);
            files.entry(entry.file).or_default().insert(stored);
        }
        for found in family.range_deletions().unwrap() {
            let it = found.tombstone;
            let stored = (name(), it.start, it.timestamp, it.sequence, RANGE, it.end);
            files.entry(found.file).or_default().insert(stored);
        }
    }
    files
}

pub(crate) fn contents(db: &Database) -> Contents {
    by_file(db).into_values().flatten().collect()
}

/// Keys and values.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// What each column family shows.
pub(crate) fn visible(db: &Database) -> BTreeMap<String, Pairs> {
    db.column_families()
        .map(|family| {
            let entries = family.iter().map(|entry| {
                let (key, value) = entry.unwrap();
                (key, value.to_vec())
            });
            (family.name().to_owned(), entries.collect())
        })
        .collect()
}

/// A copy of a database, to be damaged.
pub(crate) struct Damaged {
    folder: TempDir,
    pub path: PathBuf,
}

impl Damaged {
    pub(crate) fn copy_of(source: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("source");
        fs::create_dir(&path).unwrap();
        for entry in fs::read_dir(source).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
        }
        Self { folder, path }
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path.join(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path.join(name), bytes).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path.join(name)).unwrap();
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(&self.path).unwrap().map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let bytes = self.bytes(&name);
            (name, bytes)
        });
        files.collect()
    }

    /// Salvages it as a database and as a folder of tables, which must have the same entries.
    pub(crate) fn salvage(
        &self,
        past_damage: bool,
        what: &str,
    ) -> (DatabaseSalvageReport, Database) {
        let (report, db, tables) = self.save(past_damage, what);
        let of_tables = tables.as_ref().map(contents).unwrap_or_default();
        assert!(of_tables == contents(&db), "{what}: the folder of tables differs");
        (report, db)
    }

    /// Salvages it as a database and as a folder of tables, which is `None` without tables.
    pub(crate) fn save(
        &self,
        past_damage: bool,
        what: &str,
    ) -> (DatabaseSalvageReport, Database, Option<Database>) {
        let before = self.files();
        let options = DatabaseSalvageOptions::default().past_damage(past_damage).threads(2);
        let salvage = DatabaseSalvage::open(&self.path, &options)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let suffix = if past_damage { "-past" } else { "" };
        let target = self.folder.path().join(format!("database{suffix}"));
        let summary =
            salvage.write_database(&target).unwrap_or_else(|error| panic!("{what}: {error}"));
        let tables = self.folder.path().join(format!("tables{suffix}"));
        salvage.write_tables(&tables).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(self.files() == before, "{what}: the source has changed");
        let db = Database::open(&target).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(db.caveats(), &[], "{what}");
        db.verify(|file| assert!(file.is_sound(), "{what}: {file:#?}"));
        let found = contents(&db);
        let report = salvage.report();
        // Without the MANIFEST, a table and the one that was made from it may have the same entry.
        let stored: usize = by_file(&db).values().map(Contents::len).sum();
        let saved = report.entries() + report.lost_value_count;
        match summary.merged {
            0 => assert_eq!(stored as u64, saved, "{what}"),
            _ => assert!(found.len() as u64 <= saved, "{what}: {} {saved}", found.len()),
        }
        assert!(fs::read_dir(&tables).unwrap().all(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            [".sst", ".ldb", ".blob"].iter().any(|it| name.ends_with(it))
        }));
        let is_empty = fs::read_dir(&tables).unwrap().next().is_none();
        let options = DatabaseOptions::default();
        let of_tables = (!is_empty).then(|| Database::open_tables_with(&tables, &options).unwrap());
        (report.clone(), db, of_tables)
    }
}

/// Compares without printing thousands of entries.
#[track_caller]
pub(crate) fn assert_same(found: &Contents, expected: &Contents, what: &str) {
    let missing: Vec<_> = expected.difference(found).take(2).collect();
    let invented: Vec<_> = found.difference(expected).take(2).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "{what}: {} entries, {} expected; missing {missing:?}, invented {invented:?}",
        found.len(),
        expected.len()
    );
}
