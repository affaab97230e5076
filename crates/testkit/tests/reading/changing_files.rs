//! Files of a database that are cut, overwritten or removed while it is open, and before.

use std::fs;
use std::path::{Path, PathBuf};

use sstkit_db::raw::FileName;
use sstkit_db::{ColumnFamily, Database, DatabaseOptions, ErrorKind};
use sstkit_testkit::goldens::{Shown, families_with_lists, golden_databases};
use sstkit_testkit::{Random, cases};
use tempfile::TempDir;

/// What happens to a file.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Half of it is cut off, in place.
    Cut,
    /// Nothing is left of it, in place.
    Emptied,
    /// Random bytes in its second half, in place.
    Overwritten,
    /// Another file of the same size has its name.
    Replaced,
    /// It is gone.
    Removed,
}

const CHANGES: [Change; 5] =
    [Change::Cut, Change::Emptied, Change::Overwritten, Change::Replaced, Change::Removed];

impl Change {
    fn make(self, path: &Path, bytes: &[u8]) {
        let mut random = Random::new(bytes.len() as u64);
        let mut other = bytes.to_vec();
        other[bytes.len() / 2..].fill_with(|| random.next_u64() as u8);
        let in_place = |bytes: &[u8]| fs::write(path, bytes);
        match self {
            Self::Cut => in_place(&bytes[..bytes.len() / 2]),
            Self::Emptied => in_place(&[]),
            Self::Overwritten => in_place(&other),
            Self::Replaced => {
                let beside = path.with_extension("new");
                fs::write(&beside, &other).and_then(|()| fs::rename(&beside, path))
            }
            Self::Removed => fs::remove_file(path),
        }
        .unwrap();
    }
}

/// A copy of a database that may be spoilt.
struct Copy {
    folder: TempDir,
    golden: PathBuf,
    files: Vec<PathBuf>,
}

impl Copy {
    fn of(golden: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        for entry in fs::read_dir(golden).unwrap() {
            let from = entry.unwrap().path();
            let to = folder.path().join(from.file_name().unwrap());
            fs::copy(&from, &to).unwrap();
            files.push(to);
        }
        files.sort();
        Self { folder, golden: golden.to_owned(), files }
    }

    fn open(&self) -> sstkit_db::Result<Database> {
        // One file open at a time: they are opened again and again.
        let options = DatabaseOptions::default().hold_files(false).max_open_files(1);
        let options = options.block_cache_size(10_000);
        Database::open_with(self.folder.path(), &options)
    }

    fn families(&self, db: &Database) -> Vec<(ColumnFamily, Vec<Shown>)> {
        families_with_lists(&self.golden, db)
    }
}

/// Reads a column family. Returns the number of errors.
fn ask(family: &ColumnFamily, shown: &[Shown], what: &str) -> usize {
    let mut errors = 0;
    let mut fail = |error: sstkit_db::Error| {
        let kind = error.kind();
        assert!(matches!(kind, ErrorKind::Io | ErrorKind::Corrupt | ErrorKind::Changed), "{error}");
        errors += 1;
    };
    let some: Vec<&Shown> = shown.iter().step_by((shown.len() / 15).max(1)).collect();
    for it in &some {
        match family.get(&it.key) {
            Ok(value) => assert_eq!(value.as_deref(), Some(&it.value[..]), "{what}"),
            Err(error) => fail(error),
        }
        match family.get(&[&it.key[..], b"\0none"].concat()) {
            Ok(value) => assert_eq!(value, None, "{what}"),
            Err(error) => fail(error),
        }
    }
    match family.get_many(&some.iter().map(|it| &it.key).collect::<Vec<_>>()) {
        Ok(values) => {
            let expected = some.iter().map(|it| Some(&it.value[..]));
            assert!(values.iter().map(|it| it.as_deref()).eq(expected), "{what}");
        }
        Err(error) => fail(error),
    }
    let mut expected = shown.iter();
    let mut complete = true;
    for entry in family {
        match entry {
            Ok((key, value)) => {
                let it = expected.next().unwrap_or_else(|| panic!("{what}: one too many"));
                assert_eq!((&key, &value[..]), (&it.key, &it.value[..]), "{what}");
            }
            Err(error) => {
                fail(error);
                complete = false;
                break;
            }
        }
    }
    assert!(!complete || expected.next().is_none(), "{what}: ends too soon");
    errors
}

/// Each file of each database in turn, after the database was opened and used.
#[test]
fn files_that_change_while_a_database_is_open() {
    let (mut tried, mut errors) = (0, 0);
    for golden in golden_databases() {
        let copy = Copy::of(&golden);
        let step = (copy.files.len() / (8 * cases())).max(1);
        for path in copy.files.iter().step_by(step) {
            let bytes = fs::read(path).unwrap();
            for change in CHANGES {
                let what = format!("{} {change:?}", path.display());
                let db = copy.open().unwrap();
                let families = copy.families(&db);
                for (family, shown) in &families {
                    let _ = family.get(&shown[0].key).unwrap();
                }
                let mut iter = families[0].0.iter();
                let _ = iter.next().transpose().unwrap();
                change.make(path, &bytes);
                for (family, shown) in &families {
                    errors += ask(family, shown, &what);
                }
                // Begun before, ended after.
                let shown = &families[0].1;
                let rest: Vec<_> = iter.collect();
                let complete = rest.iter().all(Result::is_ok);
                assert!(!complete || rest.len() == shown.len() - 1, "{what}: ends too soon");
                for ((key, value), it) in rest.into_iter().flatten().zip(&shown[1..]) {
                    assert_eq!((&key, &value[..]), (&it.key, &it.value[..]), "{what}");
                }
                fs::write(path, &bytes).unwrap();
                // What has failed is opened and read again.
                for (family, shown) in &families {
                    if matches!(change, Change::Removed | Change::Cut | Change::Emptied) {
                        assert_eq!(ask(family, shown, &what), 0, "{what}: back again");
                    }
                }
                tried += 1;
            }
        }
    }
    println!("{tried} changes under open databases, {errors} errors");
    assert!(tried > 100 && errors > tried / 10);
}

/// Tables and blob files are checked when they are read, whenever they were spoilt. (Of a log
/// what precedes the damage counts, as in the engines.)
#[test]
fn tables_and_blob_files_that_changed_before() {
    let (mut tried, mut errors) = (0, 0);
    for golden in golden_databases() {
        let copy = Copy::of(&golden);
        let is_data = |path: &&PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            matches!(FileName::parse(&name), FileName::Table(_) | FileName::Blob(_))
        };
        let files: Vec<&PathBuf> = copy.files.iter().filter(is_data).collect();
        for path in files.iter().step_by((files.len() / (5 * cases())).max(1)) {
            let bytes = fs::read(path).unwrap();
            for change in CHANGES {
                let what = format!("{} {change:?}", path.display());
                change.make(path, &bytes);
                let db = copy.open().unwrap();
                for (family, shown) in copy.families(&db) {
                    errors += ask(&family, &shown, &what);
                }
                fs::write(path, &bytes).unwrap();
                tried += 1;
            }
        }
        let db = copy.open().unwrap();
        for (family, shown) in copy.families(&db) {
            assert_eq!(ask(&family, &shown, "all is back"), 0);
        }
    }
    println!("{tried} changes before opening, {errors} errors");
    assert!(tried > 100 && errors > tried / 10);
}
