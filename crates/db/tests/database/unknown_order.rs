//! Databases whose comparator is not known: everything in them can be read.

use std::collections::BTreeMap;
use std::path::Path;

use sstkit_db::{CaveatKind, Compaction, CompactionOptions, Database, DatabaseOptions, ErrorKind};
use sstkit_table::raw::EntryKind::{Deletion, RangeDeletion, Value};
use sstkit_table::{Comparator, TableOptions};
use sstkit_testkit::orders::{short_first, short_first_backwards};

use crate::maker::{Batch, Edit, Item, Maker};

/// Two tables and a log. In the second column family, whose comparator can be chosen.
fn made(comparator: Comparator, tables: &[(u32, u64, &[Item<'_>])]) -> Maker {
    let mut db = Maker::new();
    let mut edit = Edit::default();
    edit.numbers(&[200, 1]).text(201, b"odd").text(1, comparator.name().as_bytes());
    db.edit(&edit);
    db.table_options(TableOptions::rocksdb().comparator(comparator));
    for &(level, number, items) in tables {
        let size = db.write_table(number, items);
        let mut edit = Edit::default();
        let bound = |item: &Item<'_>| crate::maker::internal(item.0, item.1, item.2);
        let (first, last) = (bound(&items[0]), bound(&items[items.len() - 1]));
        edit.numbers(&[200, 1]).new_file(level, number, size, &first, &last, 1, 9).numbers(&[4, 9]);
        db.edit(&edit);
    }
    let batch = Batch::new().write(1, 1, &[b"ccc", b"log"]).write(1, 0, &[b"z"]);
    db.log(20, &[batch.at(10)]);
    db.finish();
    db
}

const OLD: &[Item<'_>] = &[
    (b"z", 2, Value, b"2"),
    (b"b", 1, Value, b"1"),
    (b"aa", 3, Value, b"3"),
    (b"ccc", 4, Value, b"4"),
];
const NEW: &[Item<'_>] =
    &[(b"d", 7, Value, b"7"), (b"b", 6, Value, b"6"), (b"aa", 8, Deletion, b"")];

fn open(path: &Path) -> Database {
    let db = Database::open(path).unwrap();
    assert_eq!(db.caveats()[0].kind(), CaveatKind::UnknownOrder);
    assert!(db.caveats()[0].message().contains("test.ShortFirstBackwards"));
    db
}

fn pairs(db: &Database) -> Vec<(Vec<u8>, Vec<u8>)> {
    let odd = db.column_family("odd").unwrap();
    let pairs: Vec<_> = odd.iter().map(|it| it.unwrap()).map(|(k, v)| (k, v.to_vec())).collect();
    let mut backward: Vec<_> =
        odd.iter().rev().map(|it| it.unwrap()).map(|(k, v)| (k, v.to_vec())).collect();
    backward.reverse();
    assert_eq!(pairs, backward);
    for (key, value) in &pairs {
        assert_eq!(odd.get(key).unwrap().as_deref(), Some(&value[..]));
    }
    for absent in [&b"z"[..], b"aa", b"x"] {
        assert_eq!(odd.get(absent).unwrap(), None);
        assert_eq!(odd.get_many(&[absent]).unwrap(), [None]);
    }
    pairs
}

#[test]
fn keys_in_an_unknown_order_are_found_and_sorted() {
    let db = made(short_first_backwards(), &[(1, 11, OLD), (0, 12, NEW)]);
    let opened = open(db.path());
    let expected = [(b"b".to_vec(), b"6".to_vec()), (b"ccc".to_vec(), b"log".to_vec())];
    let last = (b"d".to_vec(), b"7".to_vec());
    assert_eq!(pairs(&opened), [expected[0].clone(), expected[1].clone(), last.clone()]);
    // Every entry as it is stored: the log as written, then each file.
    let odd = opened.column_family("odd").unwrap();
    let entries: Vec<_> = odd.entries().map(|it| it.unwrap()).collect();
    let shown: Vec<(&[u8], u64)> = entries.iter().map(|it| (&it.key[..], it.sequence)).collect();
    let tables = NEW.iter().chain(OLD).map(|item| (item.0, item.1));
    let log = [(&b"ccc"[..], 10), (&b"z"[..], 11)];
    assert_eq!(shown, log.into_iter().chain(tables).collect::<Vec<_>>());
    assert_eq!(odd.entries().next_back().unwrap().unwrap_err().kind(), ErrorKind::Unsupported);
    // What would carry the wrong name is not written.
    let options = CompactionOptions::new(TableOptions::rocksdb());
    let error = Compaction::new(&options).add_column_family(&odd, ..).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(odd.comparator().is_err());

    // In the order that is really theirs.
    let options = DatabaseOptions::default().comparator(short_first_backwards());
    let known = Database::open_with(db.path(), &options).unwrap();
    assert!(known.caveats().is_empty());
    assert_eq!(pairs(&known), [last, expected[0].clone(), expected[1].clone()]);
}

/// Common orders are recognised by the keys.
#[test]
fn an_order_that_fits_the_tables_is_used() {
    let old: &[Item<'_>] =
        &[(b"b", 1, Value, b"1"), (b"z", 2, Value, b"2"), (b"aa", 3, Value, b"3")];
    let db = made(short_first(), &[(1, 11, old)]);
    let opened = Database::open(db.path()).unwrap();
    assert_eq!(opened.caveats()[0].kind(), CaveatKind::UnknownOrder);
    let odd = opened.column_family("odd").unwrap();
    let keys: Vec<_> = odd.iter().map(|it| it.unwrap().0).collect();
    assert_eq!(keys, [&b"b"[..], b"aa", b"ccc"]);
    assert_eq!(odd.get(b"ccc").unwrap().as_deref(), Some(&b"log"[..]));
}

/// An order that is not theirs cannot make keys disappear.
#[test]
fn an_order_that_is_given_is_used() {
    let db = made(short_first_backwards(), &[(1, 11, OLD), (0, 12, NEW)]);
    let options = DatabaseOptions::default().comparator(Comparator::ReverseBytewise);
    let opened = Database::open_with(db.path(), &options).unwrap();
    assert_eq!(opened.caveats()[0].kind(), CaveatKind::UnknownOrder);
    let keys: Vec<_> = pairs(&opened).into_iter().map(|it| it.0).collect();
    assert_eq!(keys, [&b"d"[..], b"ccc", b"b"]);
}

/// What is in the order of bytes anyway is merged as it is, whatever its size.
#[test]
fn an_order_that_is_proven_takes_no_memory() {
    let old: &[Item<'_>] = &[(b"b", 1, Value, b"1"), (b"z", 2, Value, b"2")];
    let new: &[Item<'_>] = &[(b"aaa", 8, Deletion, b""), (b"bbb", 6, Value, b"6")];
    let db = made(short_first(), &[(1, 11, old), (0, 12, new)]);
    let limited = |bytes| {
        let options = DatabaseOptions::default().max_log_memory(bytes);
        Database::open_with(db.path(), &options).unwrap().column_family("odd").unwrap()
    };
    let found: BTreeMap<Vec<u8>, Vec<u8>> =
        limited(100).iter().map(|it| it.unwrap()).map(|(k, v)| (k, v.to_vec())).collect();
    assert_eq!(found.keys().collect::<Vec<_>>(), [&b"b"[..], b"bbb", b"ccc"]);

    let db = made(short_first_backwards(), &[(1, 11, OLD), (0, 12, NEW)]);
    let options = DatabaseOptions::default().max_log_memory(100);
    let odd = Database::open_with(db.path(), &options).unwrap().column_family("odd").unwrap();
    let error = odd.get(b"b").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("max_log_memory"), "{error}");
    assert_eq!(odd.entries().filter_map(Result::ok).count(), 9);
}

#[test]
fn range_deletions_mean_nothing_without_their_order() {
    let new: &[Item<'_>] =
        &[(b"b", 6, Value, b"6"), (b"aa", 8, Value, b""), (b"cc", 9, RangeDeletion, b"aa")];
    let db = made(short_first_backwards(), &[(1, 11, OLD), (0, 12, new)]);
    let odd = open(db.path()).column_family("odd").unwrap();
    let error = odd.get(b"b").unwrap_err();
    assert!(error.to_string().contains("range tombstones"), "{error}");
    assert_eq!(odd.entries().filter_map(Result::ok).count(), 8);
}

/// Entries are read as they are stored; their end is an error if not all could be read.
#[test]
fn entries_in_an_unknown_order_do_not_end_before_a_table_that_was_left_out() {
    let db = made(short_first_backwards(), &[(1, 11, OLD), (0, 14, NEW)]);
    std::fs::remove_file(db.path().join("CURRENT")).unwrap();
    let entries = || Database::open_tables(db.path()).unwrap().default_column_family().entries();
    let whole: Vec<_> = entries().map(|it| it.unwrap()).collect();
    assert_eq!(whole.len(), OLD.len() + NEW.len());
    std::fs::write(db.path().join("000016.sst"), b"not a table").unwrap();
    let mut entries = entries();
    assert_eq!(entries.by_ref().take(whole.len()).map(|it| it.unwrap()).collect::<Vec<_>>(), whole);
    assert!(entries.next().unwrap().unwrap_err().to_string().contains("000016.sst"));
    assert!(entries.next().is_none());
}
