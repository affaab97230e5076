//! Each file of each golden database, deleted or damaged.

use std::fs;
use std::path::Path;

use sstkit_db::raw::FileName;
use sstkit_db::{Database, DatabaseUncertainty, FileOutcome, SalvagedFile};
use sstkit_table::Table;
use sstkit_table::raw::{Block, BlockKind, InternalKey};
use sstkit_testkit::goldens::golden_databases;
use sstkit_testkit::{Random, cases};

use crate::contents::{Contents, Damaged, assert_same, by_file, contents, visible};

/// The files of a database, by name.
fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn file<'r>(files: &'r [SalvagedFile], name: &str) -> &'r SalvagedFile {
    files.iter().find(|it| it.path.ends_with(name)).unwrap_or_else(|| panic!("{name}: {files:#?}"))
}

#[test]
fn a_sound_database_is_saved_whole() {
    for path in golden_databases() {
        let what = name_of(&path);
        let original = Database::open(&path).unwrap();
        let (report, db) = Damaged::copy_of(&path).salvage(false, &what);
        assert!(report.is_complete(), "{what}: {report:?}");
        assert_eq!(report.entries_lost(), Some(0), "{what}");
        assert_same(&contents(&db), &contents(&original), &what);
        assert_eq!(visible(&db), visible(&original), "{what}");
        let levels = |db: &Database| {
            let families = db.manifest().unwrap().column_families.values();
            let files =
                families.flat_map(|it| it.files().map(|(level, file)| (file.number, level)));
            files.collect::<std::collections::BTreeMap<_, _>>()
        };
        for (number, level) in levels(&original) {
            // LevelDB's level 0 is ordered by number.
            let is_kept = levels(&db).get(&number) == Some(&level) || level == 0;
            assert!(is_kept, "{what}: table {number} of level {level}");
        }
    }
}

/// CURRENT, MANIFEST, OPTIONS and IDENTITY hold no entries: nothing is lost with them.
#[test]
fn without_what_holds_no_entries() {
    let mut random = Random::new(5);
    for path in golden_databases() {
        let original = Database::open(&path).unwrap();
        let (all, shown) = (contents(&original), visible(&original));
        for name in names(&path) {
            let is_data = matches!(
                FileName::parse(&name),
                FileName::Table(_) | FileName::Log(_) | FileName::Blob(_)
            );
            if is_data {
                continue;
            }
            let all_ways = ["deleted", "zeros", "noise", "half", "empty"];
            // All of them with more than the usual number of cases.
            let ways = if cases() > 1 { &all_ways[..] } else { &all_ways[..3] };
            for &how in ways {
                let what = format!("{}: {name}, {how}", name_of(&path));
                let damaged = Damaged::copy_of(&path);
                let mut bytes = damaged.bytes(&name);
                let middle = bytes.len() / 2;
                let range = middle - middle / 4..middle + middle / 4;
                match how {
                    "deleted" => damaged.remove(&name),
                    "zeros" => bytes[range].fill(0),
                    "noise" => {
                        let noise = random.bytes(range.len() as u64);
                        bytes[range].copy_from_slice(&noise);
                    }
                    "half" => bytes.truncate(middle),
                    _ => bytes.clear(),
                }
                if how != "deleted" {
                    damaged.write(&name, &bytes);
                }
                let (report, db) = damaged.salvage(false, &what);
                // Of a table that a MANIFEST lists, only the deletion may be unreadable.
                let is_gone = |it: &SalvagedFile| it.entries_lost.is_none() && !it.path.exists();
                let is_manifest = matches!(FileName::parse(&name), FileName::Manifest(_));
                let mut lost = report.files.iter().filter(|it| it.has_losses());
                assert!(lost.all(|it| is_manifest && is_gone(it)), "{what}: {report:?}");
                // Without a MANIFEST it is not known which logs are obsolete.
                let found = contents(&db);
                let known = contents(&Database::open_tables(&damaged.path).unwrap());
                assert!(found.is_superset(&all) && found.is_subset(&known), "{what}: {report:?}");
                let is_known =
                    |it: &DatabaseUncertainty| !matches!(it, DatabaseUncertainty::LiveTables(_));
                if report.uncertain.iter().all(is_known) {
                    assert_same(&found, &all, &what);
                }
                let options_lost = matches!(FileName::parse(&name), FileName::Options(_));
                // Without OPTIONS some merge operators are not known in full.
                if !options_lost || !path.to_string_lossy().contains("merge") {
                    assert_eq!(visible(&db), shown, "{what}");
                }
                let live =
                    |it: &DatabaseUncertainty| matches!(it, DatabaseUncertainty::LiveTables(_));
                if is_manifest && how == "deleted" {
                    assert!(report.uncertain.iter().any(live), "{what}: {report:?}");
                    assert_eq!(file(&report.files, &name).outcome, FileOutcome::Rebuilt, "{what}");
                }
            }
        }
    }
}

#[test]
fn each_table_deleted() {
    for path in golden_databases() {
        let original = Database::open(&path).unwrap();
        let files = by_file(&original);
        for name in names(&path) {
            let FileName::Table(number) = FileName::parse(&name) else { continue };
            let what = format!("{}: {name} deleted", name_of(&path));
            let damaged = Damaged::copy_of(&path);
            damaged.remove(&name);
            let (report, db) = damaged.salvage(false, &what);
            let others = files.iter().filter(|(file, _)| **file != Some(number));
            let expected: Contents = others.flat_map(|(_, entries)| entries.clone()).collect();
            assert_same(&contents(&db), &expected, &what);
            assert!(report.has_losses() && !report.is_complete(), "{what}");
            let lost = file(&report.files, &format!("{number:06}.{}", &name[name.len() - 3..]));
            assert_eq!(lost.outcome, FileOutcome::Lost, "{what}");
            assert!(lost.bounds.is_some(), "{what}");
        }
    }
}

/// Entries of the table that are in a block, as `contents` has them.
fn entries_in(bytes: &[u8], at: usize) -> (std::ops::Range<usize>, Vec<(Vec<u8>, u64)>) {
    let table = Table::from_bytes(bytes.to_vec()).unwrap();
    let mut index = table.view().index().unwrap();
    for _ in 0..=at {
        assert!(index.advance().unwrap());
    }
    let handle = index.handle();
    let contents = table.view().block(BlockKind::Data, handle).unwrap();
    let mut entries = Block::parse(contents).unwrap().into_entries();
    let mut found = Vec::new();
    while entries.advance().unwrap() {
        let key = InternalKey::decode_from(entries.key()).unwrap();
        found.push((key.user_key.to_vec(), key.sequence));
    }
    (handle.offset as usize..(handle.offset + handle.size) as usize, found)
}

fn block_count(bytes: &[u8]) -> usize {
    let table = Table::from_bytes(bytes.to_vec()).unwrap();
    let mut index = table.view().index().unwrap();
    let mut count = 0;
    while index.advance().unwrap() {
        count += 1;
    }
    count
}

#[test]
fn a_block_of_each_table_damaged() {
    let mut random = Random::new(9);
    for path in golden_databases() {
        let original = Database::open(&path).unwrap();
        let files = by_file(&original);
        for name in names(&path) {
            let FileName::Table(number) = FileName::parse(&name) else { continue };
            let bytes = fs::read(path.join(&name)).unwrap();
            let count = block_count(&bytes);
            if count == 0 {
                continue;
            }
            let what = format!("{}: a block of {name}", name_of(&path));
            let (range, lost) = entries_in(&bytes, random.index(count));
            let damaged = Damaged::copy_of(&path);
            let mut bytes = bytes;
            bytes[range.start + range.len() / 2] ^= 0x10;
            damaged.write(&name, &bytes);
            let (report, db) = damaged.salvage(false, &what);
            // Keys in a block have their timestamps.
            let is_lost = |it: &&crate::contents::Stored| {
                let key = [&it.1[..], &it.2].concat();
                it.4 != 0x0f
                    && lost.iter().any(|(lost, sequence)| *lost == key && *sequence == it.3)
            };
            let expected: Contents = files
                .iter()
                .flat_map(|(file, entries)| {
                    entries.iter().filter(move |it| *file != Some(number) || !is_lost(it))
                })
                .cloned()
                .collect();
            assert_same(&contents(&db), &expected, &what);
            let found = file(&report.files, &name);
            assert_eq!(found.outcome, FileOutcome::Salvaged, "{what}");
            assert_eq!(
                found.entries_lost,
                Some(lost.len() as u64).filter(|_| found.entries_lost.is_some()),
                "{what}"
            );
            assert_eq!(found.bytes_lost(), range.len() as u64 + 5, "{what}: {found:#?}");
            assert!(report.has_losses(), "{what}");
        }
    }
}

/// Everything behind the data blocks is gone: the entries are still found.
#[test]
fn each_table_without_its_tail() {
    for path in golden_databases() {
        let original = Database::open(&path).unwrap();
        let all: Contents = contents(&original).into_iter().filter(|it| it.4 != 0x0f).collect();
        for name in names(&path) {
            let FileName::Table(_) = FileName::parse(&name) else { continue };
            let mut bytes = fs::read(path.join(&name)).unwrap();
            let count = block_count(&bytes);
            if count == 0 {
                continue;
            }
            let what = format!("{}: {name} without its tail", name_of(&path));
            let (last, _) = entries_in(&bytes, count - 1);
            bytes.truncate(last.end + 5);
            let damaged = Damaged::copy_of(&path);
            damaged.write(&name, &bytes);
            let (report, db) = damaged.salvage(false, &what);
            let found: Contents = contents(&db).into_iter().filter(|it| it.4 != 0x0f).collect();
            assert_same(&found, &all, &what);
            assert!(!report.is_complete(), "{what}");
        }
    }
}
