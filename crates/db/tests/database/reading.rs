//! What counts, in databases where that is not obvious.

use sstkit_db::{
    Answer, ColumnFamily, Database, DatabaseOptions, ErrorKind, LevelFile, RecordValue, Step,
};
use sstkit_table::raw::EntryKind::{self, Deletion, Merge, RangeDeletion, SingleDeletion, Value};

use crate::maker::{Batch, Edit, Item, Maker, internal, sentinel};

type Pairs = Vec<(String, String)>;

fn pairs(expected: &[(&str, &str)]) -> Pairs {
    expected.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// All that a column family shows, in all ways there are.
fn shown(family: &ColumnFamily) -> Pairs {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let forwards: Pairs = family
        .iter()
        .map(|entry| entry.map(|(key, value)| (text(&key), text(&value))).unwrap())
        .collect();
    let backwards = family.iter().rev().map(|entry| entry.unwrap());
    let mut backwards: Pairs = backwards.map(|(key, value)| (text(&key), text(&value))).collect();
    backwards.reverse();
    assert_eq!(forwards, backwards);
    let mut keys: Vec<Vec<u8>> = family.entries().map(|entry| entry.unwrap().key).collect();
    keys.dedup();
    let values = family.get_many(&keys).unwrap();
    let mut got = Pairs::new();
    for (key, many) in keys.iter().zip(values) {
        let value = family.get(key).unwrap();
        assert_eq!(value, many);
        got.extend(value.map(|value| (text(key), text(&value))));
    }
    assert_eq!(forwards, got);
    forwards
}

#[test]
fn a_range_deletion_acts_within_the_bounds_of_its_file() {
    let mut db = Maker::new();
    // The deletion was written when h had not its newest value; the rest of it went away when h
    // was compacted to the last level, where old sequence numbers become 0.
    db.bounded_table(
        1,
        11,
        &internal(b"a", 9, Value),
        &internal(b"f", 5, Value),
        &[(b"a", 9, Value, b"A"), (b"c", 7, RangeDeletion, b"z"), (b"f", 5, Value, b"F")],
    );
    db.table(2, 12, &[(b"d", 3, Value, b"D"), (b"h", 0, Value, b"H")]);
    db.finish();
    let db = Database::open(db.path()).unwrap().default_column_family();
    assert_eq!(shown(&db), pairs(&[("a", "A"), ("h", "H")]));
    // Before the deletion: f was there, d too.
    assert_eq!(shown(&db.at(6)), pairs(&[("d", "D"), ("f", "F"), ("h", "H")]));
}

#[test]
fn a_bound_that_a_range_deletion_made_is_not_in_the_file() {
    let mut db = Maker::new();
    // The deletion continues in the next file of the level, which starts with the key m.
    db.bounded_table(
        1,
        11,
        &internal(b"a", 8, RangeDeletion),
        &sentinel(b"m"),
        &[(b"a", 8, RangeDeletion, b"p")],
    );
    db.bounded_table(
        1,
        12,
        &internal(b"m", 9, Value),
        &sentinel(b"p"),
        &[(b"m", 9, Value, b"M"), (b"a", 8, RangeDeletion, b"p")],
    );
    let old: [&[u8]; 4] = [b"b", b"l", b"n", b"p"];
    db.table(2, 13, &old.map(|key| (key, 2, Value, key)));
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    assert_eq!(shown(&family), pairs(&[("m", "M"), ("p", "p")]));
    assert_eq!(shown(&family.at(7)), pairs(&[("b", "b"), ("l", "l"), ("n", "n"), ("p", "p")]));
}

#[test]
fn a_range_that_ends_before_it_begins_is_refused() {
    for level in [0, 1] {
        let mut db = Maker::new();
        let (first, last) = (internal(b"d", 2, Value), internal(b"a", 1, Value));
        let items: [Item<'_>; 2] = [(b"a", 1, Value, b"A"), (b"d", 2, Value, b"D")];
        db.bounded_table(level, 11, &first, &last, &items);
        db.finish();
        let error = Database::open(db.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("table 11 is larger than its largest key"), "{error}");
    }
}

#[test]
fn what_is_at_such_a_bound_is_not_deleted() {
    let mut db = Maker::new();
    // The next file of the level, with m and the rest of the deletion, went to the last level, where
    // what was newer than the deletion was left, its sequence number now 0.
    db.bounded_table(
        1,
        11,
        &internal(b"a", 8, RangeDeletion),
        &sentinel(b"m"),
        &[(b"a", 8, RangeDeletion, b"p")],
    );
    db.table(2, 13, &[(b"b", 2, Value, b"B"), (b"m", 0, Value, b"M"), (b"n", 0, Value, b"N")]);
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    assert_eq!(shown(&family), pairs(&[("m", "M"), ("n", "N")]));
}

#[test]
fn the_versions_of_a_key_straddle_files() {
    let mut db = Maker::new();
    db.table(1, 11, &[(b"a", 3, Value, b"A"), (b"k", 9, Merge, b"4")]);
    db.table(1, 12, &[(b"k", 8, Merge, b"3")]);
    db.table(1, 13, &[(b"k", 7, Merge, b"2"), (b"k", 6, Value, b"1"), (b"z", 5, Value, b"Z")]);
    db.table(2, 14, &[(b"k", 1, Value, b"old")]);
    db.finish();
    let append = sstkit_db::merge_operator("stringappend").unwrap();
    let options = DatabaseOptions::default().column_family_merge_operator("default", append);
    let family = Database::open_with(db.path(), &options).unwrap().default_column_family();
    assert_eq!(shown(&family), pairs(&[("a", "A"), ("k", "1,2,3,4"), ("z", "Z")]));
    assert_eq!(family.at(7).get(b"k").unwrap().unwrap(), b"1,2");
    assert_eq!(family.at(5).get(b"k").unwrap().unwrap(), b"old");
    // Without an operator there is no value, but everything that would make it.
    let family = Database::open(db.path()).unwrap().default_column_family();
    let error = family.get(b"k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let value = family.get_record(b"k").unwrap().unwrap().value;
    let RecordValue::Unresolved { operator: None, base: Some(base), operands } = value else {
        panic!("{value:?}");
    };
    assert_eq!(base, b"1");
    assert_eq!(operands, [b"2", b"3", b"4"].map(|it| sstkit_table::Value::from(it.to_vec())));
}

#[test]
fn a_range_deletion_in_the_second_file_of_a_key() {
    let mut db = Maker::new();
    db.table(1, 11, &[(b"a", 3, Value, b"A"), (b"k", 9, Value, b"new")]);
    db.table(1, 12, &[(b"k", 6, RangeDeletion, b"z")]);
    db.table(2, 13, &[(b"k", 2, Value, b"old"), (b"m", 1, Value, b"M")]);
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    assert_eq!(shown(&family), pairs(&[("a", "A"), ("k", "new")]));
    assert_eq!(shown(&family.at(7)), pairs(&[("a", "A")]));
    assert_eq!(shown(&family.at(5)), pairs(&[("a", "A"), ("k", "old"), ("m", "M")]));
}

#[test]
fn a_range_deletion_in_the_first_file_of_a_key_that_is_older_than_the_second() {
    let mut db = Maker::new();
    db.bounded_table(
        1,
        11,
        &internal(b"b", 838, RangeDeletion),
        &internal(b"k", 1309, Value),
        &[(b"b", 838, RangeDeletion, b"z"), (b"k", 1309, Value, b"new")],
    );
    db.bounded_table(
        1,
        12,
        &internal(b"k", 1047, Value),
        &sentinel(b"z"),
        &[(b"k", 1047, Value, b"middle"), (b"b", 838, RangeDeletion, b"z")],
    );
    db.table(2, 13, &[(b"c", 5, Value, b"C"), (b"k", 6, Value, b"old")]);
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    for (sequence, value) in [(1309, Some("new")), (1197, Some("middle")), (1000, None)] {
        let view = family.at(sequence);
        let expected: Vec<_> = value.map(|value| ("k", value)).into_iter().collect();
        assert_eq!(shown(&view), pairs(&expected), "at {sequence}");
        let answer = view.explain(b"k").unwrap().answer;
        let found = value.map(|value| RecordValue::Value(value.as_bytes().to_vec().into()));
        assert_eq!(answer, found.map_or(Answer::Deleted, Answer::Found), "at {sequence}");
    }
    assert_eq!(shown(&family.at(7)), pairs(&[("c", "C"), ("k", "old")]));
}

#[test]
fn level_0_is_read_by_age_and_memory_is_newest() {
    let mut db = Maker::new();
    db.table(0, 15, &[(b"a", 2, Value, b"2"), (b"b", 3, Value, b"3"), (b"c", 4, Value, b"4")]);
    db.table(0, 14, &[(b"a", 5, Value, b"5"), (b"c", 6, SingleDeletion, b"")]);
    db.table(6, 13, &[(b"a", 1, Value, b"1"), (b"d", 0, Value, b"0")]);
    db.log(20, &[Batch::new().put(b"b", b"7").write(0, 0x00, &[b"d"]).at(7)]);
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    assert_eq!(family.sequence(), 8);
    assert_eq!(shown(&family), pairs(&[("a", "5"), ("b", "7")]));
    assert_eq!(shown(&family.at(4)), pairs(&[("a", "2"), ("b", "3"), ("c", "4"), ("d", "0")]));
    let numbers: Vec<Vec<u64>> = family
        .levels()
        .iter()
        .map(|level| level.files.iter().map(LevelFile::number).collect())
        .collect();
    assert_eq!(numbers, [vec![14, 15], vec![13]]);

    let explanation = family.explain(b"a").unwrap();
    let asked: Vec<String> = explanation
        .steps
        .iter()
        .map(|step| match step {
            Step::Memtable { entries, .. } => format!("memory: {}", entries.len()),
            Step::OutOfRange { level, files } => format!("{level}: not {files:?}"),
            Step::File { level, file, .. } => format!("{level}: {file}"),
            Step::Skipped { level, files } => format!("{level}: no need of {files:?}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(asked, ["memory: 0", "0: 14", "0: no need of [15]", "6: no need of [13]"]);
    assert!(matches!(explanation.answer, Answer::Found(_)));
    assert_eq!(family.explain(b"c").unwrap().answer, Answer::Deleted);
    assert_eq!(family.explain(b"x").unwrap().answer, Answer::NotFound);
}

#[test]
fn deletions_of_ranges_in_logs() {
    let mut db = Maker::new();
    let keys: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
    db.table(0, 11, &keys.map(|key| (key, 1, Value, key)));
    let batch = Batch::new().write(0, 0x0f, &[b"b", b"d"]).put(b"c", b"new").at(2);
    db.log(20, &[batch]);
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    assert_eq!(shown(&family), pairs(&[("a", "a"), ("c", "new"), ("d", "d")]));
    assert_eq!(shown(&family.at(2)), pairs(&[("a", "a"), ("d", "d")]));
    let ranges = family.range_deletions().unwrap();
    assert_eq!(ranges.len(), 1);
    assert_eq!(
        (&ranges[0].start[..], &ranges[0].end[..], ranges[0].file),
        (&b"b"[..], &b"d"[..], None)
    );
}

#[test]
fn transactions_count_from_their_commit_on() {
    let db = Maker::new();
    let (begin, end, commit, rollback) = (0x09, 0x0a, 0x0b, 0x0c);
    let prepare = |key: &[u8], id: &[u8]| {
        Batch::new().mark(begin, None).put(key, b"prepared").mark(end, Some(id))
    };
    db.log(
        20,
        &[
            prepare(b"a", b"t1").at(1),
            prepare(b"b", b"t2").at(1),
            prepare(b"c", b"t3").at(1),
            Batch::new().put(b"a", b"plain").put(b"d", b"plain").at(1),
        ],
    );
    db.log(
        21,
        &[
            Batch::new().mark(commit, Some(b"t1")).at(3),
            Batch::new().mark(rollback, Some(b"t2")).at(4),
            Batch::new().put(b"e", b"plain").at(4),
        ],
    );
    db.finish();
    let db = Database::open(db.path()).unwrap();
    assert_eq!(db.last_sequence(), 4);
    let family = db.default_column_family();
    assert_eq!(shown(&family), pairs(&[("a", "prepared"), ("d", "plain"), ("e", "plain")]));
    assert_eq!(shown(&family.at(2)), pairs(&[("a", "plain"), ("d", "plain")]));
}

#[test]
fn each_column_family_has_its_place_in_the_logs() {
    let mut db = Maker::new();
    let mut meta = Edit::default();
    meta.numbers(&[200, 1]).text(201, b"meta").text(1, b"leveldb.BytewiseComparator");
    meta.numbers(&[2, 21]); // all of log 20 is in tables
    db.edit(&meta);
    let mut gone = Edit::default();
    gone.numbers(&[200, 2]).text(201, b"gone");
    db.edit(&gone);
    let mut drop = Edit::default();
    drop.numbers(&[200, 2, 202]);
    db.edit(&drop);
    let batch = |value: &[u8]| {
        let batch = Batch::new().write(2, 0x01, &[b"x", value]).put(b"k", value);
        batch.write(1, 0x01, &[value, value])
    };
    db.log(20, &[batch(b"1").at(1)]);
    db.log(21, &[batch(b"2").at(4)]);
    db.finish();
    let db = Database::open(db.path()).unwrap();
    let names: Vec<String> = db.column_families().map(|it| it.name().to_owned()).collect();
    assert_eq!(names, ["default", "meta"]);
    assert_eq!(db.last_sequence(), 6);
    assert_eq!(shown(&db.default_column_family()), pairs(&[("k", "2")]));
    assert_eq!(shown(&db.default_column_family().at(4)), pairs(&[("k", "1")]));
    assert_eq!(shown(&db.column_family("meta").unwrap()), pairs(&[("2", "2")]));
    let error = db.column_family("gone").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn an_unfinished_group_of_edits_counts_for_nothing() {
    let mut db = Maker::new();
    db.table(0, 11, &[(b"a", 1, Value, b"A")]);
    let items: [(&[u8], u64, EntryKind, &[u8]); 1] = [(b"b", 2, Value, b"B")];
    let size = db.write_table(12, &items);
    let key = internal(b"b", 2, Value);
    let grouped = |remaining| {
        let mut edit = Edit::default();
        edit.new_file(0, 12 + remaining, size, &key, &key, 2, 2).numbers(&[4, 2, 300, remaining]);
        edit
    };
    db.edit(&grouped(1));
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    assert_eq!(shown(&family), pairs(&[("a", "A")]));
    // With its last edit it does.
    std::fs::copy(db.table_path(12), db.table_path(13)).unwrap();
    db.edit(&grouped(0));
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    assert_eq!(shown(&family), pairs(&[("a", "A"), ("b", "B")]));
}

#[test]
fn deleted_keys_of_level_0_stay_deleted() {
    let mut db = Maker::new();
    db.table(0, 12, &[(b"a", 5, Deletion, b""), (b"b", 6, RangeDeletion, b"d")]);
    db.table(1, 11, &[(b"a", 1, Value, b"A"), (b"b", 2, Value, b"B"), (b"d", 3, Value, b"D")]);
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    assert_eq!(shown(&family), pairs(&[("d", "D")]));
}
