//! Range tombstones that reach beyond the bounds of their table, where they do not apply.

use std::path::Path;

use sstkit_db::{Database, DatabaseUncertainty, DatabaseWriterOptions};
use sstkit_table::Table;

use crate::contents::{Damaged, visible};
use crate::small_database::{
    End, Entry, PUT, RANGE, SmallTable, database_with, pairs, shown, without_manifest,
};

/// Values that need a block each.
const LONG: &str =
    "a value of more than sixty-four bytes, so that each entry has a block of its own";

/// The range tombstone is that of a table before "k", or up to its last point. A key behind the bounds
/// was written later, and has lost its sequence number in the last level.
const CUT: &[Entry<'_>] =
    &[("a", 40, PUT, LONG), ("b", 41, PUT, LONG), ("e", 60, PUT, "kept"), ("d", 50, RANGE, "z")];
const NEXT: &[Entry<'_>] = &[("k", 0, PUT, "newer"), ("x", 0, PUT, "newer, too")];
/// Older than the range tombstone, and covered by it.
const BELOW: &[Entry<'_>] = &[("e", 3, PUT, "deleted"), ("z", 9, PUT, "behind")];

fn database(path: &Path, end: End) {
    let tables = [
        SmallTable { level: 6, entries: BELOW, end: None },
        SmallTable { level: 5, entries: NEXT, end: None },
        SmallTable { level: 5, entries: CUT, end: Some(end) },
    ];
    database_with(path, DatabaseWriterOptions::rocksdb(), "default", &tables, 0);
}

/// Flips a bit in the second data block of the table with range tombstones.
fn damage(path: &Path) -> Damaged {
    let damaged = Damaged::copy_of(path);
    let name = tombstone_table(path);
    let mut bytes = damaged.bytes(&name);
    let table = Table::from_bytes(bytes.clone()).unwrap();
    let mut index = table.view().index().unwrap();
    assert!(index.advance().unwrap() && index.advance().unwrap());
    bytes[index.handle().offset as usize + 5] ^= 0x10;
    damaged.write(&name, &bytes);
    damaged
}

/// The name of the table with range tombstones.
fn tombstone_table(path: &Path) -> String {
    let db = Database::open(path).unwrap();
    let family = db.column_families().next().unwrap();
    let found = family.range_deletions().unwrap();
    format!("{:06}.sst", found[0].file.unwrap())
}

#[test]
fn a_damaged_table_keeps_its_bounds() {
    for end in [End::Before("k"), End::AtLastPoint] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        database(&path, end);
        let what = format!("{end:?}");
        let mut expected = shown(&Database::open(&path).unwrap(), "default");
        let newer = pairs(&[("e", "kept"), ("k", "newer"), ("x", "newer, too")]);
        assert!(newer.iter().all(|it| expected.contains(it)), "{what}: {expected:?}");
        let damaged = damage(&path);
        let (report, db, tables) = damaged.save(false, &what);
        expected.retain(|(key, _)| key != "b");
        assert_eq!(shown(&db, "default"), expected, "{what}");
        assert_eq!(report.entries_lost(), Some(1), "{what}");
        assert_eq!(visible(&tables.unwrap()), visible(&db), "{what}");
    }
}

/// Two tables have versions of the same key, and so the same range tombstones. Those of one are lost.
#[test]
fn neighbours_have_the_same_range_tombstones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let first: &[Entry<'_>] =
        &[("a", 20, PUT, "1"), ("k", 12, PUT, "2"), ("b", 9, RANGE, "m"), ("a", 4, RANGE, "b")];
    let second: &[Entry<'_>] =
        &[("k", 5, PUT, "3"), ("l", 3, PUT, "deleted"), ("t", 2, PUT, "4"), ("b", 9, RANGE, "m")];
    // Not a neighbour: its range tombstone was dropped where it does not apply any more.
    let third: &[Entry<'_>] = &[("x", 7, PUT, "5"), ("s", 6, RANGE, "z")];
    let table = |entries| SmallTable { level: 6, entries, end: Some(End::AtLastPoint) };
    let tables = [table(first), table(second), table(third)];
    database_with(&path, DatabaseWriterOptions::rocksdb(), "default", &tables, 0);
    let original = Database::open(&path).unwrap();
    let expected = pairs(&[("a", "1"), ("k", "2"), ("t", "4"), ("x", "5")]);
    assert_eq!(shown(&original, "default"), expected);
    for is_cut in [false, true] {
        let damaged = Damaged::copy_of(&path);
        let mut bytes = damaged.bytes("000002.sst");
        let table = Table::from_bytes(bytes.clone()).unwrap();
        let ranges = table.view().metaindex().range_deletions().unwrap();
        match is_cut {
            true => bytes.truncate(ranges.offset as usize),
            false => bytes[ranges.offset as usize + 5] ^= 0x10,
        }
        damaged.write("000002.sst", &bytes);
        let what = format!("cut: {is_cut}");
        let (report, db, tables) = damaged.save(false, &what);
        assert_eq!(shown(&db, "default"), expected, "{what}");
        assert_eq!(visible(&tables.unwrap()), visible(&db), "{what}");
        assert_eq!(report.entries_lost().unwrap_or(0), 0, "{what}: {report:#?}");
        assert!(!report.is_complete(), "{what}: {report:#?}");
    }
}

/// Without a MANIFEST the bounds are not known, and that is said.
#[test]
fn bounds_that_are_not_recorded_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    database(&path, End::Before("k"));
    let name = tombstone_table(&path);
    let (report, _) = without_manifest(&path).salvage(false, "no MANIFEST");
    let said = report.uncertain.iter().find_map(|it| match it {
        DatabaseUncertainty::RangeTombstones { file, start, end, .. } if file.ends_with(&name) => {
            Some((start.clone(), end.clone()))
        }
        _ => None,
    });
    assert_eq!(said, Some((b"d".to_vec(), b"z".to_vec())), "{:#?}", report.uncertain);

    // What is left of a MANIFEST is enough.
    let damaged = Damaged::copy_of(&path);
    damaged.remove("CURRENT");
    let (report, db, tables) = damaged.save(false, "no CURRENT");
    for saved in [&db, &tables.unwrap()] {
        assert_eq!(visible(saved), visible(&Database::open(&path).unwrap()));
    }
    let is_said =
        |it: &DatabaseUncertainty| matches!(it, DatabaseUncertainty::RangeTombstones { .. });
    assert!(!report.uncertain.iter().any(is_said), "{:#?}", report.uncertain);
}
