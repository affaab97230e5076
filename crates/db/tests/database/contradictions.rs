//! Directories whose levels and logs contradict the sequence numbers: files were mixed up, an old
//! log was restored. All readers agree on which entry is newer: the one with the larger number, and
//! of equal numbers that of the newer source.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use sstkit_coding::varint::put_length_prefixed_slice;
use sstkit_db::{Answer, ColumnFamily, Compaction, CompactionOptions, Database, DatabaseOptions};
use sstkit_table::raw::EntryKind::{self, Deletion, Merge, RangeDeletion, Value};
use sstkit_table::{Table, TableOptions};

use crate::maker::{Batch, Edit, Item, Maker, internal, sentinel};

type State = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(path: &Path) -> Database {
    let append = sstkit_db::merge_operator("stringappend").unwrap();
    let options = DatabaseOptions::default().default_merge_operator(append);
    Database::open_with(path, &options).unwrap()
}

/// What all readers say, if they agree.
fn agreed(family: &ColumnFamily, folder: &Path) -> State {
    let pair = |it: sstkit_db::Result<(Vec<u8>, sstkit_table::Value)>| {
        let (key, value) = it.unwrap();
        (key, value.to_vec())
    };
    let forward: State = family.iter().map(pair).collect();
    let backward: State = family.iter().rev().map(pair).collect();
    assert_eq!(forward, backward, "forward and backward");
    let mut keys: Vec<Vec<u8>> = family.entries().map(|entry| entry.unwrap().key).collect();
    keys.dedup();
    let many = family.get_many(&keys).unwrap();
    for (key, many) in keys.iter().zip(many) {
        let expected = forward.get(key).map(Vec::as_slice);
        assert_eq!(family.get(key).unwrap().as_deref(), expected, "get {}", key.escape_ascii());
        assert_eq!(many.as_deref(), expected, "get_many {}", key.escape_ascii());
        let found = matches!(family.explain(key).unwrap().answer, Answer::Found(_));
        assert_eq!(found, expected.is_some(), "explain {}", key.escape_ascii());
    }
    assert_eq!(compacted(family, folder), forward, "compact");
    forward
}

fn compacted(family: &ColumnFamily, folder: &Path) -> State {
    let options = CompactionOptions::new(TableOptions::rocksdb()).bottommost(true).replace(true);
    let path = folder.join("compacted");
    Compaction::new(&options).add_column_family(family, ..).unwrap().run(&path).unwrap();
    let entries = Table::open(&path).unwrap().entries();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.user_key.to_vec(), entry.value.to_vec())
        })
        .collect()
}

fn shows(db: &Maker, expected: &[(&[u8], &[u8])]) {
    let family = open(db.path()).default_column_family();
    let expected = expected.iter().map(|&(key, value)| (key.to_vec(), value.to_vec()));
    assert_eq!(agreed(&family, db.path()), expected.collect());
}

#[test]
fn a_log_older_than_the_tables() {
    let mut db = Maker::new();
    db.table(1, 11, &[(b"k", 9, Value, b"new"), (b"l", 8, Deletion, b"")]);
    db.log(20, &[Batch::new().put(b"k", b"old").put(b"l", b"old").at(3)]);
    db.finish();
    shows(&db, &[(b"k", b"new")]);
}

#[test]
fn a_level_older_than_those_below() {
    let mut db = Maker::new();
    db.table(0, 11, &[(b"k", 2, Value, b"old"), (b"m", 3, Merge, b"old")]);
    db.table(1, 12, &[(b"k", 5, Value, b"new"), (b"m", 7, Merge, b"new")]);
    db.table(2, 13, &[(b"k", 4, Value, b"middle"), (b"m", 1, Value, b"base")]);
    db.finish();
    shows(&db, &[(b"k", b"new"), (b"m", b"base,old,new")]);
}

#[test]
fn equal_numbers_in_log_and_table() {
    for (in_log, shown) in [(Merge, &b"log"[..]), (Value, b"log")] {
        let mut db = Maker::new();
        db.table(1, 11, &[(b"k", 5, Value, b"table")]);
        db.log(20, &[Batch::new().write(0, in_log as u8, &[b"k", b"log"]).at(5)]);
        db.finish();
        shows(&db, &[(b"k", shown)]);
    }
}

#[test]
fn equal_numbers_in_one_log() {
    let db = Maker::new();
    db.log(20, &[Batch::new().put(b"k", b"first").at(5), Batch::new().put(b"k", b"second").at(5)]);
    db.finish();
    shows(&db, &[(b"k", b"second")]);
}

/// A range deletion deletes what is older, wherever it is, and no more.
#[test]
fn range_deletions_in_the_wrong_level() {
    let mut db = Maker::new();
    db.table(0, 11, &[(b"a", 3, Value, b"old"), (b"c", 9, Value, b"new")]);
    db.table(1, 12, &[(b"a", 6, RangeDeletion, b"z")]);
    let many: Vec<Vec<u8>> = (0..40).map(|n| format!("k{n:02}").into_bytes()).collect();
    let items: Vec<Item<'_>> = many
        .iter()
        .zip(0..)
        .map(|(key, n)| (&key[..], if n % 20 == 15 { 8 } else { 2 }, Value, &b"v"[..]))
        .collect();
    db.table(2, 13, &items);
    db.finish();
    shows(&db, &[(b"c", b"new"), (b"k15", b"v"), (b"k35", b"v")]);
}

/// An entry of some source: the source, a key, a number, what it does, where a range ends.
type Piece = (usize, u8, u64, u8, u8);

/// The log, three files of level 0, one each of levels 1 and 2.
const SOURCES: usize = 6;
const LEVELS: [u32; SOURCES] = [9, 0, 0, 0, 1, 2];

type Owned = (Vec<u8>, u64, EntryKind, Vec<u8>);

fn key(n: u8) -> Vec<u8> {
    format!("k{n}").into_bytes()
}

fn owned(&(source, n, sequence, what, end): &Piece, at: usize) -> Owned {
    let value = format!("{source}.{at}").into_bytes();
    match what {
        0..4 => (key(n), sequence, Value, value),
        4..6 => (key(n), sequence, Deletion, Vec::new()),
        6..9 => (key(n), sequence, Merge, value),
        _ => (key(n.min(end)), sequence, RangeDeletion, key(n.max(end) + 1)),
    }
}

/// The entries of each source; of a table each key and number once.
fn sources(pieces: &[Piece]) -> Vec<Vec<Owned>> {
    let mut sources: Vec<Vec<Owned>> = vec![Vec::new(); SOURCES];
    for (at, piece) in pieces.iter().enumerate() {
        let entry = owned(piece, at);
        let source = &mut sources[piece.0];
        let is_same = |it: &Owned| it.0 == entry.0 && it.1 == entry.1 && entry.2 != RangeDeletion;
        if piece.0 == 0 || !source.iter().any(is_same) {
            source.push(entry);
        }
    }
    sources
}

/// By the rule: numbers, then sources, then the later record.
fn expected(sources: &[Vec<Owned>], view: u64) -> State {
    let mut state = State::new();
    for key in (0..7).map(key) {
        let mut versions: Vec<(u64, usize, usize, &Owned)> = Vec::new();
        let mut deletions: Vec<(u64, usize)> = Vec::new();
        for (rank, entries) in sources.iter().enumerate() {
            for (at, entry) in entries.iter().enumerate().filter(|(_, it)| it.1 <= view) {
                match entry.2 {
                    RangeDeletion if entry.0 <= key && key < entry.3 => {
                        deletions.push((entry.1, rank));
                    }
                    RangeDeletion => {}
                    _ if entry.0 == key => versions.push((entry.1, rank, at, entry)),
                    _ => {}
                }
            }
        }
        versions.sort_by_key(|&(sequence, rank, at, _)| {
            (std::cmp::Reverse(sequence), rank, std::cmp::Reverse(at))
        });
        versions.dedup_by_key(|&mut (sequence, ..)| sequence);
        let mut operands: Vec<&[u8]> = Vec::new();
        for (sequence, rank, _, entry) in versions {
            let deletes =
                |&(by, source): &(u64, usize)| by > sequence || by == sequence && source < rank;
            if deletions.iter().any(deletes) || entry.2 == Deletion {
                break;
            }
            operands.push(&entry.3);
            if entry.2 == Value {
                break;
            }
        }
        operands.reverse();
        if !operands.is_empty() {
            state.insert(key, operands.join(&b","[..]));
        }
    }
    state
}

/// How a MANIFEST tells of the newest entry of a table: by its number, by that of the database
/// (LevelDB), or not at all.
#[derive(Clone, Copy, Debug)]
enum Told {
    Number,
    WhenAdded,
    Nothing,
}

fn make(sources: &[Vec<Owned>], told: Told) -> Maker {
    let mut db = Maker::new();
    let options = TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap());
    db.table_options(options.block_size(64));
    // The newest file of level 0 has the largest number.
    for (rank, entries) in sources.iter().enumerate().skip(1).filter(|it| !it.1.is_empty()) {
        let mut entries = entries.clone();
        entries.sort_by(|a, b| {
            let is_range = |it: &Owned| it.2 == RangeDeletion;
            (is_range(a), &a.0, std::cmp::Reverse(a.1)).cmp(&(
                is_range(b),
                &b.0,
                std::cmp::Reverse(b.1),
            ))
        });
        let items: Vec<Item<'_>> =
            entries.iter().map(|it| (&it.0[..], it.1, it.2, &it.3[..])).collect();
        let number = 100 - rank as u64;
        let size = db.write_table(number, &items);
        let mut edit = Edit::default();
        let last = entries.iter().map(|it| it.1).max().unwrap();
        // Bounds around everything, which is what a file may have.
        let (first, end) = (internal(&key(0), 99, Value), sentinel(&key(9)));
        edit.numbers(&[7, u64::from(LEVELS[rank]), number, size]);
        if let Told::Number = told {
            edit = Edit::default();
            edit.numbers(&[103, u64::from(LEVELS[rank]), number, size]);
        }
        put_length_prefixed_slice(&mut edit.0, &first);
        put_length_prefixed_slice(&mut edit.0, &end);
        match told {
            // Without the epoch level 0 would be ordered by the numbers of its entries.
            Told::Number => {
                edit.numbers(&[0, last, 13]).numbers(&[1, number, 1]);
            }
            Told::WhenAdded => {
                edit.numbers(&[4, last]);
            }
            Told::Nothing => {}
        }
        db.edit(&edit);
    }
    let mut last = Edit::default();
    last.numbers(&[4, 50]);
    db.edit(&last);
    let batches: Vec<Vec<u8>> = sources[0]
        .iter()
        .map(|(key, sequence, kind, value)| {
            let slices: &[&[u8]] = match kind {
                Deletion => &[key],
                _ => &[key, value],
            };
            Batch::new().write(0, *kind as u8, slices).at(*sequence)
        })
        .collect();
    db.log(900, &batches);
    db.finish();
    db
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn all_readers_agree(
        pieces in prop::collection::vec((0..SOURCES, 0u8..7, 1u64..9, 0u8..10, 0u8..7), 1..40),
        told in prop_oneof![Just(Told::Number), Just(Told::WhenAdded), Just(Told::Nothing)],
    ) {
        let sources = sources(&pieces);
        let db = make(&sources, told);
        let family = open(db.path()).default_column_family();
        for view in [4, 50] {
            let seen = family.at(view);
            prop_assert_eq!(agreed(&seen, db.path()), expected(&sources, view), "at {}", view);
        }
    }
}
