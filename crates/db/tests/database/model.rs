//! Random databases: whatever levels, files and logs hold a history, what is seen is the history.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use sstkit_db::{ColumnFamily, Compaction, CompactionOptions, Database, DatabaseOptions};
use sstkit_table::raw::EntryKind;
use sstkit_table::{Table, TableOptions};

use crate::maker::{Batch, Item, Maker, internal, sentinel};

/// A write to a small world of keys.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Put(u8),
    Delete(u8),
    Merge(u8),
    DeleteRange(u8, u8),
}

/// Where a part of the history has come to.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Writes up to here are in level 2, then level 1, then files of level 0, the rest in the log.
    pub(crate) cuts: [usize; 4],
    /// After which entries of levels 1 and 2 a new file starts.
    files: Vec<bool>,
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    let key = 0u8..12;
    prop_oneof![
        4 => key.clone().prop_map(Op::Put),
        2 => key.clone().prop_map(Op::Delete),
        3 => key.clone().prop_map(Op::Merge),
        1 => (key.clone(), key).prop_map(|(a, b)| Op::DeleteRange(a.min(b), a.max(b) + 1)),
    ]
}

pub(crate) fn layout() -> impl Strategy<Value = Layout> {
    (prop::array::uniform4(0usize..40), prop::collection::vec(any::<bool>(), 64)).prop_map(
        |(mut cuts, files)| {
            cuts.sort_unstable();
            Layout { cuts, files }
        },
    )
}

pub(crate) fn key(n: u8) -> Vec<u8> {
    format!("k{n:02}").into_bytes()
}

/// An entry as a table has it: key, number, kind, value.
type Owned = (Vec<u8>, u64, EntryKind, Vec<u8>);

fn entry(op: &Op, sequence: u64) -> Owned {
    let value = sequence.to_string().into_bytes();
    match *op {
        Op::Put(n) => (key(n), sequence, EntryKind::Value, value),
        Op::Delete(n) => (key(n), sequence, EntryKind::Deletion, Vec::new()),
        Op::Merge(n) => (key(n), sequence, EntryKind::Merge, value),
        Op::DeleteRange(a, b) => (key(a), sequence, EntryKind::RangeDeletion, key(b)),
    }
}

/// What a history comes to.
fn state(ops: &[Op]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut state: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for (i, op) in ops.iter().enumerate() {
        let value = (i + 1).to_string().into_bytes();
        match *op {
            Op::Put(n) => drop(state.insert(key(n), value)),
            Op::Delete(n) => drop(state.remove(&key(n))),
            Op::Merge(n) => {
                let merged = match state.get(&key(n)) {
                    Some(old) => [&old[..], b",", &value].concat(),
                    None => value,
                };
                state.insert(key(n), merged);
            }
            Op::DeleteRange(a, b) => state.retain(|it, _| *it < key(a) || *it >= key(b)),
        }
    }
    state
}

/// Writes a run of entries as one file, or as several that follow one another.
fn write_run(db: &mut Maker, level: u32, number: &mut u64, entries: &[Owned], cuts: &[bool]) {
    let is_range = |entry: &&Owned| entry.2 == EntryKind::RangeDeletion;
    let ranges: Vec<&Owned> = entries.iter().filter(is_range).collect();
    let mut points: Vec<&Owned> = entries.iter().filter(|entry| !is_range(entry)).collect();
    points.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut files: Vec<Vec<&Owned>> = vec![Vec::new()];
    for (i, point) in points.into_iter().enumerate() {
        let file = files.last_mut().unwrap();
        // Range deletions are cut at user keys only.
        let is_new = file.last().is_none_or(|last| last.0 != point.0) || ranges.is_empty();
        match level > 0 && !file.is_empty() && is_new && cuts[i % cuts.len()] {
            true => files.push(vec![point]),
            false => file.push(point),
        }
    }
    let firsts: Vec<Option<Vec<u8>>> =
        files.iter().map(|file| file.first().map(|it| it.0.clone())).collect();
    for (i, file) in files.iter().enumerate() {
        // The file goes from its first key, or the beginning, to the first one of the next file.
        let from = if i == 0 { None } else { firsts[i].clone() };
        let to = firsts.get(i + 1).cloned().flatten();
        let overlaps = |range: &&&Owned| {
            from.as_ref().is_none_or(|from| range.3 > *from)
                && to.as_ref().is_none_or(|to| range.0 < *to)
        };
        let ranges: Vec<&&Owned> = ranges.iter().filter(overlaps).collect();
        if file.is_empty() && ranges.is_empty() {
            continue;
        }
        let bound = |entry: &Owned| internal(&entry.0, entry.1, entry.2);
        let first = |a: &Owned, b: &Owned| a.0.cmp(&b.0).then(b.1.cmp(&a.1));
        let starts = ranges.iter().map(|range| {
            let start = from.clone().map_or(range.0.clone(), |from| from.max(range.0.clone()));
            (start, range.1, range.2, Vec::new())
        });
        let starts = file.iter().map(|&it| it.clone()).chain(starts);
        let smallest = bound(&starts.min_by(|a, b| first(a, b)).unwrap());
        let end = ranges.iter().map(|range| match &to {
            Some(to) => range.3.clone().min(to.clone()),
            None => range.3.clone(),
        });
        let last = file.last();
        let largest = match (end.max(), last) {
            (Some(end), Some(last)) if end > last.0 => sentinel(&end),
            (Some(end), None) => sentinel(&end),
            (_, Some(last)) => bound(last),
            (None, None) => unreachable!("the file is not empty"),
        };
        let items: Vec<Item<'_>> = file
            .iter()
            .copied()
            .chain(ranges.into_iter().copied())
            .map(|(key, sequence, kind, value)| (&key[..], *sequence, *kind, &value[..]))
            .collect();
        db.bounded_table(level, *number, &smallest, &largest, &items);
        *number += 1;
    }
}

pub(crate) fn make(ops: &[Op], layout: &Layout) -> Maker {
    let mut db = Maker::new();
    let options = TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap());
    db.table_options(options.block_size(64));
    let entries: Vec<Owned> = ops.iter().zip(1..).map(|(op, at)| entry(op, at)).collect();
    let cuts = layout.cuts.map(|cut| cut.min(ops.len()));
    let mut number = 100;
    for (level, from, to) in
        [(2, 0, cuts[0]), (1, cuts[0], cuts[1]), (0, cuts[1], cuts[2]), (0, cuts[2], cuts[3])]
    {
        write_run(&mut db, level, &mut number, &entries[from..to], &layout.files);
    }
    let batches: Vec<Vec<u8>> = entries[cuts[3]..]
        .iter()
        .map(|(key, sequence, kind, value)| {
            let slices: &[&[u8]] = match kind {
                EntryKind::Deletion => &[key],
                _ => &[key, value],
            };
            Batch::new().write(0, *kind as u8, slices).at(*sequence)
        })
        .collect();
    db.log(900, &batches);
    db.finish();
    db
}

fn check(family: &ColumnFamily, expected: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let pair = |it: sstkit_db::Result<(Vec<u8>, sstkit_table::Value)>| {
        let (key, value) = it.unwrap();
        (key, value.to_vec())
    };
    assert!(family.iter().map(pair).eq(expected.clone()));
    assert!(family.iter().rev().map(pair).eq(expected.clone().into_iter().rev()));
    let keys: Vec<Vec<u8>> = (0..14).map(key).collect();
    let many = family.get_many(&keys).unwrap();
    for (key, many) in keys.iter().zip(many) {
        let value = family.get(key).unwrap();
        assert_eq!(value.as_deref(), expected.get(key).map(Vec::as_slice));
        assert_eq!(value, many);
        let mut cursor = family.cursor().unwrap();
        cursor.seek(key).unwrap();
        let next = expected.range(key.clone()..).next();
        assert_eq!(cursor.is_valid().then(|| cursor.key()), next.map(|it| &it.0[..]));
        cursor.seek_for_prev(key).unwrap();
        let last = expected.range(..=key.clone()).next_back();
        assert_eq!(cursor.is_valid().then(|| cursor.key()), last.map(|it| &it.0[..]));
    }
}

/// What is in one table that is made of a column family.
fn compacted(family: &ColumnFamily, folder: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let table = TableOptions::rocksdb();
    let options = CompactionOptions::new(table).bottommost(true).replace(true);
    let path = folder.join("compacted");
    Compaction::new(&options).add_column_family(family, ..).unwrap().run(&path).unwrap();
    let entries = Table::open(&path).unwrap().entries();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            assert_eq!(entry.kind, EntryKind::Value);
            (entry.user_key.to_vec(), entry.value.to_vec())
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn a_database_shows_its_history(
        ops in prop::collection::vec(op(), 1..40),
        layout in layout(),
    ) {
        let db = make(&ops, &layout);
        let append = sstkit_db::merge_operator("stringappend").unwrap();
        let options = DatabaseOptions::default().default_merge_operator(append);
        let family = Database::open_with(db.path(), &options).unwrap().default_column_family();
        for length in 0..=ops.len() {
            check(&family.at(length as u64), &state(&ops[..length]));
        }
        // Nothing was lost, so the tables and the log alone tell the same.
        let alone = Database::open_tables_with(db.path(), &options).unwrap();
        check(&alone.default_column_family(), &state(&ops));
        // And so do tables that are made of all of it, or of what there was at some time.
        for length in [ops.len() / 3, ops.len()] {
            let expected = state(&ops[..length]);
            assert_eq!(compacted(&family.at(length as u64), db.path()), expected);
            assert_eq!(
                compacted(&alone.default_column_family().at(length as u64), db.path()),
                expected
            );
        }
    }
}
