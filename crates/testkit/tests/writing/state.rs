//! A place to write to, and what may be in it after a writer was stopped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sstkit_db::raw::FileName;
use sstkit_db::{BulkManifest, Database, MANIFEST_NAME};
use sstkit_table::Table;
use sstkit_testkit::faults::{Kind, Pause, Work};
use tempfile::TempDir;

/// What was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing of the result's name.
    Nothing,
    /// A folder of the result's name, with files of another program.
    Folder,
    /// The result of an earlier run.
    Result,
}

/// A folder with a file of another program, for a writer to write to.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) work: Work,
    before: Before,
}

/// What has the result's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Found {
    Nothing,
    /// A folder without a manifest.
    NotWhole,
    Old,
    New,
}

/// The seed of an earlier run.
const OLD_SEED: u64 = 7;

impl Place {
    pub(crate) fn new(work: &Work, before: Before) -> Self {
        // Not hidden itself.
        let folder = tempfile::Builder::new().prefix("faults").tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        let work = Work { replace: before == Before::Result, ..work.clone() };
        let place = Self { folder, work, before };
        match before {
            Before::Nothing => {}
            Before::Folder => {
                fs::create_dir(place.out()).unwrap();
                fs::write(place.out().join("notes.txt"), "mine").unwrap();
            }
            Before::Result => place.old().run(&place.out(), &|_| {}).unwrap(),
        }
        place
    }

    /// The earlier run.
    fn old(&self) -> Work {
        let count = self.work.count * 2 / 3;
        Work { seed: OLD_SEED, count, replace: false, pause: Pause::Never, ..self.work.clone() }
    }

    pub(crate) fn out(&self) -> PathBuf {
        let kind = self.work.kind;
        let name = if kind.is_folder() || kind.is_database() { "out" } else { "000007.sst" };
        self.folder.path().join(name)
    }

    /// The writer, to be run on its own.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writer"));
        command.arg(self.work.to_string()).arg(self.out());
        command
    }

    /// Looks at everything, and finds what must not be.
    pub(crate) fn check(&self, what: &str) -> Found {
        let found = self.found(what);
        match self.before {
            Before::Nothing => assert!(matches!(found, Found::Nothing | Found::New), "{what}"),
            Before::Folder => assert!(matches!(found, Found::NotWhole | Found::New), "{what}"),
            Before::Result => {
                assert!(matches!(found, Found::Old | Found::New), "{what}: the old one is lost");
            }
        }
        self.check_files(self.folder.path(), what);
        if self.work.kind.is_folder() && self.out().exists() {
            self.check_files(&self.out(), what);
        }
        found
    }

    /// What has the result's name: always complete.
    fn found(&self, what: &str) -> Found {
        let out = self.out();
        if !out.exists() {
            return Found::Nothing;
        }
        if self.work.kind.is_database() {
            return self.compare(database_entries(&out, what), what);
        }
        if !self.work.kind.is_folder() {
            return self.compare(entries(&[out], what), what);
        }
        if !out.join(MANIFEST_NAME).exists() {
            return Found::NotWhole;
        }
        let manifest = BulkManifest::read(out.join(MANIFEST_NAME)).unwrap();
        manifest.verify(&out).unwrap_or_else(|error| panic!("{what}: {error}"));
        let paths: Vec<_> = manifest.files.iter().map(|file| out.join(&file.name)).collect();
        self.compare(entries(&paths, what), what)
    }

    fn compare(&self, found: Vec<(Vec<u8>, Vec<u8>)>, what: &str) -> Found {
        if found == self.work.entries() {
            return Found::New;
        }
        assert_eq!(self.before, Before::Result, "{what}: other entries");
        assert!(found == self.old().entries(), "{what}: neither old nor new");
        Found::Old
    }

    /// Each file belongs to another program, is a complete table under its own name, or is hidden.
    fn check_files(&self, folder: &Path, what: &str) {
        let mut tables = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            match FileName::parse(&name) {
                FileName::Table(_) => {
                    entries(&[path], what);
                    tables += 1;
                }
                _ if name == "notes.txt" => {
                    assert_eq!(fs::read_to_string(path).unwrap(), "mine", "{what}");
                }
                _ if name == "out" || name == MANIFEST_NAME => {}
                _ => assert!(name.starts_with('.') && name.ends_with(".tmp"), "{what}: {name}"),
            }
        }
        // Opening the table files without a manifest shows these and no others.
        let db = Database::open_tables(folder).unwrap();
        let caveats = db.caveats();
        assert!(caveats.iter().all(|it| !it.message().contains(".tmp")), "{what}: {caveats:?}");
        let seen: usize = db
            .column_families()
            .flat_map(|family| family.levels().into_iter().map(|level| level.files.len()))
            .sum();
        assert_eq!(seen, tables, "{what}: {caveats:?}");
    }

    /// No hidden file is left.
    pub(crate) fn check_clean(&self, what: &str) {
        let out = self.out();
        let folders = [self.folder.path(), &out];
        for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
            for entry in fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(!name.starts_with('.'), "{what}: {name} is left behind");
            }
        }
    }

    /// A fresh run into the same place works, whatever the other one has left. It may have to be
    /// told to replace: of a folder that was there, tables may have their names already.
    pub(crate) fn run_again(&self, found: Found, what: &str) {
        if self.work.kind.is_only_new() && found == Found::New {
            let error = self.work.run(&self.out(), &|_| {}).unwrap_err();
            assert!(error.to_string().contains("already exists"), "{what}: {error}");
            return;
        }
        let replace = self.before != Before::Nothing || found != Found::Nothing;
        let work = Work { replace, pause: Pause::Never, ..self.work.clone() };
        work.run(&self.out(), &|_| {}).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(self.check(what), Found::New, "{what}, and again");
    }
}

/// The entries of tables, which are whole.
fn entries(paths: &[PathBuf], what: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    for path in paths {
        let table = Table::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
        table.verify().into_result().unwrap_or_else(|error| panic!("{what}: {error}"));
        entries.extend(table.iter().map(|entry| {
            let (key, value) = entry.unwrap();
            (key, value.to_vec())
        }));
    }
    entries
}

/// The entries of a database, which is whole.
fn database_entries(path: &Path, what: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let db = Database::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    db.verify(|file| assert!(file.is_sound(), "{what}: {file:?}"));
    for entry in fs::read_dir(path).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.starts_with('.'), "{what}: {name}");
    }
    let entry = |entry: sstkit_db::Result<(Vec<u8>, sstkit_table::Value)>| {
        let (key, value) = entry.unwrap_or_else(|error| panic!("{what}: {error}"));
        (key, value.to_vec())
    };
    db.default_column_family().iter().map(entry).collect()
}

/// All places for one writer: a file cannot take the place of a folder, and some take that of nothing.
pub(crate) fn places(kind: Kind, count: u32, threads: usize) -> Vec<(Work, Before)> {
    let work = Work { kind, seed: 1, count, threads, replace: false, pause: Pause::Never };
    [Before::Nothing, Before::Folder, Before::Result]
        .into_iter()
        .filter(|before| kind.is_folder() || *before != Before::Folder)
        .filter(|before| !kind.is_only_new() || *before == Before::Nothing)
        .map(|before| (work.clone(), before))
        .collect()
}
