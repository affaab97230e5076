//! Directories whose levels and logs contradict the sequence numbers: files were mixed up, an old
//! log was restored. All readers agree on which entry is newer, as in the engines: that of the newer
//! source, and within a source the one with the larger number. What cannot be written in that order is
//! not compacted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use sstkit_coding::varint::put_length_prefixed_slice;
use sstkit_db::{Answer, ColumnFamily, Compaction, CompactionOptions, Database, DatabaseOptions};
use sstkit_table::raw::EntryKind::{self, Deletion, Merge, RangeDeletion, Value};
use sstkit_table::{Comparator, TableOptions};

use crate::maker::{Batch, Edit, Item, Maker, internal, sentinel};

type State = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(path: &Path) -> Database {
    let append = sstkit_db::merge_operator("stringappend").unwrap();
    let options = DatabaseOptions::default().default_merge_operator(append);
    Database::open_with(path, &options).unwrap()
}

/// What all readers say, if they agree.
fn agreed(family: &ColumnFamily) -> State {
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
    for bottommost in [true, false] {
        if let Some(compacted) = compacted(family, bottommost) {
            assert_eq!(compacted, forward, "compact, bottommost: {bottommost}");
        }
    }
    forward
}

/// What a compaction comes to; `None` if it was refused because of the contradictions.
fn compacted(family: &ColumnFamily, bottommost: bool) -> Option<State> {
    let options = CompactionOptions::new(TableOptions::rocksdb()).bottommost(bottommost);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("000001.sst");
    let mut compaction = Compaction::new(&options);
    match compaction.add_column_family(family, ..).unwrap().run(&path) {
        Ok(_) => {}
        Err(error) => {
            assert!(error.to_string().contains("entries are out of order"), "{error}");
            return None;
        }
    }
    let append = sstkit_db::merge_operator("stringappend").unwrap();
    let options = DatabaseOptions::default().default_merge_operator(append);
    let tables = Database::open_tables_with(folder.path(), &options).unwrap();
    let pairs = tables.default_column_family();
    Some(pairs.iter().map(|it| it.map(|(key, value)| (key, value.to_vec())).unwrap()).collect())
}

/// All readers show this; a compaction as well, unless it is refused.
fn shows(db: &Maker, is_compacted: bool, expected: &[(&[u8], &[u8])]) {
    let family = open(db.path()).default_column_family();
    let expected = expected.iter().map(|&(key, value)| (key.to_vec(), value.to_vec()));
    assert_eq!(agreed(&family), expected.collect());
    assert_eq!(compacted(&family, true).is_some(), is_compacted);
}

#[test]
fn a_log_older_than_the_tables() {
    let mut db = Maker::new();
    db.table(1, 11, &[(b"k", 9, Value, b"new"), (b"l", 8, Deletion, b"")]);
    db.log(20, &[Batch::new().put(b"k", b"old").put(b"l", b"old").at(3)]);
    db.finish();
    shows(&db, false, &[(b"k", b"old"), (b"l", b"old")]);
}

#[test]
fn a_level_older_than_those_below() {
    let mut db = Maker::new();
    db.table(0, 11, &[(b"k", 2, Value, b"old"), (b"m", 3, Merge, b"old")]);
    db.table(1, 12, &[(b"k", 5, Value, b"new"), (b"m", 7, Merge, b"new")]);
    db.table(2, 13, &[(b"k", 4, Value, b"middle"), (b"m", 1, Value, b"base")]);
    db.finish();
    shows(&db, false, &[(b"k", b"old"), (b"m", b"base,new,old")]);
}

#[test]
fn equal_numbers_in_log_and_table() {
    for (in_log, shown) in [(Merge, &b"log"[..]), (Value, b"log")] {
        let mut db = Maker::new();
        db.table(1, 11, &[(b"k", 5, Value, b"table")]);
        db.log(20, &[Batch::new().write(0, in_log as u8, &[b"k", b"log"]).at(5)]);
        db.finish();
        shows(&db, true, &[(b"k", shown)]);
    }
}

#[test]
fn equal_numbers_in_one_log() {
    let db = Maker::new();
    db.log(20, &[Batch::new().put(b"k", b"first").at(5), Batch::new().put(b"k", b"second").at(5)]);
    db.finish();
    shows(&db, true, &[(b"k", b"second")]);
}

/// The same write counts once, also where others are between.
#[test]
fn equal_numbers_that_are_not_neighbours() {
    let mut db = Maker::new();
    db.table(0, 11, &[(b"k", 5, Merge, b"five"), (b"k", 3, Merge, b"three")]);
    db.table(1, 12, &[(b"k", 5, Value, b"other"), (b"k", 4, Merge, b"four")]);
    db.table(2, 13, &[(b"k", 3, Merge, b"other"), (b"k", 1, Value, b"one")]);
    db.finish();
    shows(&db, false, &[(b"k", b"one,four,three,five")]);
}

/// Two files of a level share a key: they are one source, in the order of the level.
#[test]
fn a_key_that_two_files_of_a_level_share() {
    let mut db = Maker::new();
    db.table(1, 11, &[(b"a", 9, Value, b"a"), (b"k", 3, Merge, b"first")]);
    db.table(1, 12, &[(b"k", 2, Value, b"second"), (b"z", 1, Value, b"z")]);
    db.table(2, 13, &[(b"k", 8, Value, b"below")]);
    db.finish();
    shows(&db, false, &[(b"a", b"a"), (b"k", b"second,first"), (b"z", b"z")]);

    // The range deletion of the second file covers smaller numbers in the first one, too.
    let mut db = Maker::new();
    db.table(1, 11, &[(b"a", 9, Value, b"a"), (b"k", 3, Value, b"first")]);
    db.table(1, 12, &[(b"k", 2, Value, b"second"), (b"k", 5, RangeDeletion, b"z")]);
    db.finish();
    shows(&db, true, &[(b"a", b"a")]);
}

/// The newer source counts before the later timestamp: lookups go no further than it.
#[test]
fn timestamps_that_contradict_the_order() {
    let stamped = |timestamp: u64| [&b"k"[..], &timestamp.to_le_bytes()].concat();
    let mut db = Maker::new();
    db.comparator(b"leveldb.BytewiseComparator.u64ts");
    db.table_options(TableOptions::rocksdb().comparator(Comparator::BytewiseWithTimestamp));
    db.table(0, 12, &[(&stamped(3), 9, Value, b"above")]);
    db.table(1, 11, &[(&stamped(5), 4, Value, b"below"), (&stamped(2), 2, Value, b"oldest")]);
    db.finish();
    shows(&db, false, &[(b"k", b"above")]);
    let family = open(db.path()).default_column_family();
    let early = family.at_timestamp(&2u64.to_le_bytes()).unwrap();
    assert_eq!(early.get(b"k").unwrap().as_deref(), Some(&b"oldest"[..]));
    assert_eq!(early.iter().map(|it| it.unwrap().1.to_vec()).collect::<Vec<_>>(), [b"oldest"]);
}

/// A range deletion deletes smaller numbers of its own source, all of older sources, and no more.
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
    shows(&db, false, &[(b"a", b"old"), (b"c", b"new")]);
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

/// By the rule: sources, then numbers, then the later record; and equal numbers count once.
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
            (rank, std::cmp::Reverse(sequence), std::cmp::Reverse(at))
        });
        let mut taken = BTreeSet::new();
        versions.retain(|&(sequence, ..)| taken.insert(sequence));
        let mut operands: Vec<&[u8]> = Vec::new();
        for (sequence, rank, _, entry) in versions {
            let deletes =
                |&(by, source): &(u64, usize)| source < rank || source == rank && by > sequence;
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

/// What a MANIFEST says of the numbers in a table: the truth, a lie, or nothing (LevelDB).
#[derive(Clone, Copy, Debug)]
enum Told {
    Numbers,
    Lies,
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
        if !matches!(told, Told::Nothing) {
            edit = Edit::default();
            edit.numbers(&[103, u64::from(LEVELS[rank]), number, size]);
        }
        put_length_prefixed_slice(&mut edit.0, &first);
        put_length_prefixed_slice(&mut edit.0, &end);
        match told {
            // Without the epoch level 0 would be ordered by the numbers of its entries.
            Told::Numbers => {
                edit.numbers(&[0, last, 13]).numbers(&[1, number, 1]);
            }
            Told::Lies => {
                edit.numbers(&[0, last % 3, 13]).numbers(&[1, number, 1]);
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
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn all_readers_agree(
        pieces in prop::collection::vec((0..SOURCES, 0u8..7, 1u64..9, 0u8..10, 0u8..7), 1..40),
        told in prop_oneof![Just(Told::Numbers), Just(Told::Lies), Just(Told::Nothing)],
    ) {
        let sources = sources(&pieces);
        let db = make(&sources, told);
        let family = open(db.path()).default_column_family();
        for view in [4, 50] {
            let seen = family.at(view);
            prop_assert_eq!(agreed(&seen), expected(&sources, view), "at {}", view);
        }
    }
}
