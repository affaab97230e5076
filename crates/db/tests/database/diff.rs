//! Differences between random tables and databases, compared with a model of each side.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use sstkit_coding::checksum::ChecksumType;
use sstkit_db::{
    Database, DatabaseOptions, Diff, DiffOptions, DiffSide, Difference, ErrorKind, InternalDiff,
    InternalDifference, RecordValue,
};
use sstkit_table::raw::{Codec, EntryKind, FormatVersion, IndexKind, InternalKey};
use sstkit_table::{Comparator, Table, TableOptions, TableReadOptions, TableWriter};
use sstkit_testkit::random::{Random, seeds};

use crate::maker::{Batch, Maker};

/// A write: key, number, kind, value (of a range deletion its end).
type Write = (Vec<u8>, u64, EntryKind, Vec<u8>);

fn key(random: &mut Random, keys: u64) -> Vec<u8> {
    format!("key{:03}", random.below(keys)).into_bytes()
}

fn value(random: &mut Random) -> Vec<u8> {
    let length = *random.pick(&[0, 3, 3, 20, 90]);
    let letters = random.below(3) + 1;
    (0..length).map(|_| b'a' + random.below(letters) as u8).collect()
}

/// A write of some kind. LevelDB has no others than the first two.
fn write(random: &mut Random, sequence: u64, keys: u64, is_leveldb: bool) -> Write {
    let kind = match random.below(if is_leveldb { 8 } else { 14 }) {
        0..=5 => EntryKind::Value,
        6..=7 => EntryKind::Deletion,
        8 => EntryKind::SingleDeletion,
        9 if random.below(3) == 0 => EntryKind::RangeDeletion,
        _ => EntryKind::Merge,
    };
    let (a, b) = (key(random, keys), key(random, keys));
    match kind {
        EntryKind::RangeDeletion => (a.clone().min(b.clone()), sequence, kind, a.max(b)),
        EntryKind::Deletion | EntryKind::SingleDeletion => (a, sequence, kind, Vec::new()),
        _ => (a, sequence, kind, value(random)),
    }
}

/// Even numbers, so that there is room between them.
fn history(random: &mut Random, keys: u64, is_leveldb: bool) -> Vec<Write> {
    let count = *random.pick(&[0, 1, 20, 150, 400]);
    (1..=count).map(|at| write(random, 2 * at, keys, is_leveldb)).collect()
}

/// The same history with a few differences, or none.
fn mutated(random: &mut Random, writes: &[Write], keys: u64, is_leveldb: bool) -> Vec<Write> {
    let mut writes = writes.to_vec();
    for _ in 0..*random.pick(&[0, 1, 1, 2, 5, 30]) {
        if writes.is_empty() || random.below(4) == 0 {
            let sequence = 2 * random.below(writes.len() as u64 + 1) + 1;
            if writes.iter().all(|it| it.1 != sequence) {
                writes.push(write(random, sequence, keys, is_leveldb));
            }
            continue;
        }
        let at = random.index(writes.len());
        match random.below(4) {
            0 => drop(writes.remove(at)),
            1 => writes[at] = write(random, writes[at].1, keys, is_leveldb),
            _ => match writes[at].2 {
                EntryKind::Value | EntryKind::Merge if random.below(2) == 0 => {
                    writes[at].3.iter_mut().for_each(|byte| *byte ^= 1);
                }
                EntryKind::Value | EntryKind::Merge => writes[at].3.push(b'!'),
                _ => {}
            },
        }
    }
    writes.sort_by_key(|it| it.1);
    writes
}

/// What is visible after these writes, in the order of their numbers. Operands are appended.
fn state(writes: &[Write]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut state: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for (key, _, kind, value) in writes {
        match kind {
            EntryKind::Value => drop(state.insert(key.clone(), value.clone())),
            EntryKind::Merge => {
                let merged = match state.get(key) {
                    Some(old) => [&old[..], b",", value].concat(),
                    None => value.clone(),
                };
                state.insert(key.clone(), merged);
            }
            EntryKind::RangeDeletion => state.retain(|it, _| it < key || it >= value),
            _ => drop(state.remove(key)),
        }
    }
    state
}

type Pair = (Option<Vec<u8>>, Option<Vec<u8>>);

/// The keys whose values differ, with both.
fn expected(a: &[Write], b: &[Write], range: &dyn Fn(&[u8]) -> bool) -> Vec<(Vec<u8>, Pair)> {
    let (a, b) = (state(a), state(b));
    let keys: BTreeSet<&Vec<u8>> = a.keys().chain(b.keys()).filter(|key| range(key)).collect();
    let pair = |key: &Vec<u8>| (key.clone(), (a.get(key).cloned(), b.get(key).cloned()));
    keys.into_iter().map(pair).filter(|(_, (a, b))| a != b).collect()
}

fn found(diff: Diff) -> Vec<(Vec<u8>, Pair)> {
    let value = |record: &sstkit_db::Record| match &record.value {
        RecordValue::Value(value) => Some(value.to_vec()),
        other => panic!("{other:?}"),
    };
    diff.map(|difference| match difference.unwrap() {
        Difference::Removed(record) => (record.key.clone(), (value(&record), None)),
        Difference::Added(record) => (record.key.clone(), (None, value(&record))),
        Difference::Changed(a, b) => {
            assert_eq!(a.key, b.key);
            (a.key.clone(), (value(&a), value(&b)))
        }
    })
    .collect()
}

/// A stored entry that only one side has, and which one.
type Lone = (Vec<u8>, Reverse<u64>, EntryKind, Vec<u8>, bool);

/// The entries of one side that the other has not.
fn expected_entries(a: &[Write], b: &[Write], range: &dyn Fn(&[u8]) -> bool) -> Vec<Lone> {
    let lone = |writes: &[Write], others: &[Write], is_first: bool| -> Vec<Lone> {
        let points = writes.iter().filter(|it| it.2 != EntryKind::RangeDeletion && range(&it.0));
        let others: BTreeSet<_> =
            others.iter().map(|it| (&it.0, it.1, it.2 as u8, &it.3)).collect();
        points
            .filter(|it| !others.contains(&(&it.0, it.1, it.2 as u8, &it.3)))
            .map(|it| (it.0.clone(), Reverse(it.1), it.2, it.3.clone(), is_first))
            .collect()
    };
    let mut all = [lone(a, b, true), lone(b, a, false)].concat();
    all.sort_by(|x, y| (&x.0, x.1, !x.4).cmp(&(&y.0, y.1, !y.4)));
    all
}

/// Entries, and tombstones as start, end and number.
type Stored = (Vec<Lone>, Vec<(Vec<u8>, Vec<u8>, u64, bool)>);

fn found_entries(diff: InternalDiff) -> Stored {
    let (mut entries, mut tombstones) = (Vec::new(), Vec::new());
    let mut add = |entry: sstkit_db::DatabaseEntry, is_first: bool| {
        let value = entry.value.to_vec();
        entries.push((entry.key, Reverse(entry.sequence), entry.kind, value, is_first));
    };
    for difference in diff {
        match difference.unwrap() {
            InternalDifference::Entry(Difference::Removed(entry)) => add(entry, true),
            InternalDifference::Entry(Difference::Added(entry)) => add(entry, false),
            InternalDifference::Entry(Difference::Changed(a, b)) => {
                assert_eq!((&a.key, a.sequence), (&b.key, b.sequence));
                add(a, true);
                add(b, false);
            }
            InternalDifference::RangeTombstone(Difference::Removed(it)) => {
                tombstones.push((it.start, it.end, it.sequence, true));
            }
            InternalDifference::RangeTombstone(Difference::Added(it)) => {
                tombstones.push((it.start, it.end, it.sequence, false));
            }
            InternalDifference::RangeTombstone(other) => panic!("{other:?}"),
        }
    }
    (entries, tombstones)
}

fn expected_tombstones(a: &[Write], b: &[Write]) -> BTreeSet<(Vec<u8>, Vec<u8>, u64, bool)> {
    let of = |writes: &[Write], is_first| -> Vec<_> {
        let ranges = writes.iter().filter(|it| it.2 == EntryKind::RangeDeletion && it.0 < it.3);
        ranges.map(|it| (it.0.clone(), it.3.clone(), it.1, is_first)).collect()
    };
    let (a, b) = (of(a, true), of(b, false));
    let is_in = |it: &(Vec<u8>, Vec<u8>, u64, bool), others: &[(Vec<u8>, Vec<u8>, u64, bool)]| {
        others.iter().any(|other| (&it.0, &it.1, it.2) == (&other.0, &other.1, other.2))
    };
    let lone_a = a.iter().filter(|it| !is_in(it, &b));
    lone_a.chain(b.iter().filter(|it| !is_in(it, &a))).cloned().collect()
}

/// The points in order, then the tombstones.
fn table_bytes(writes: &[Write], options: &TableOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, options).unwrap();
    let is_range = |it: &&Write| it.2 == EntryKind::RangeDeletion;
    let mut points: Vec<&Write> = writes.iter().filter(|it| !is_range(it)).collect();
    points.sort_by(|a, b| (&a.0, Reverse(a.1)).cmp(&(&b.0, Reverse(b.1))));
    let ranges = writes.iter().filter(|it| is_range(it) && it.0 < it.3);
    for (user_key, sequence, kind, value) in points.into_iter().chain(ranges) {
        let (sequence, kind) = (*sequence, *kind);
        writer.add(&InternalKey { user_key, sequence, kind }, value).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

fn table_of(bytes: Vec<u8>) -> Table {
    let append = sstkit_db::merge_operator("stringappend").unwrap();
    Table::from_source(
        bytes::Bytes::from(bytes),
        &TableReadOptions::default().merge_operator(append),
    )
    .unwrap()
}

fn some_options(random: &mut Random, is_leveldb: bool) -> TableOptions {
    let options = match is_leveldb {
        true => TableOptions::leveldb().compression(*random.pick(&[Codec::None, Codec::Snappy])),
        false => {
            let versions = [FormatVersion::V2, FormatVersion::V5, FormatVersion::V7];
            let kinds = [IndexKind::BinarySearch, IndexKind::TwoLevel];
            let options = TableOptions::rocksdb()
                .format_version(*random.pick(&versions))
                .checksum(*random.pick(&[ChecksumType::Crc32c, ChecksumType::XxHash64]))
                .index_kind(*random.pick(&kinds))
                .metadata_block_size(128)
                .compression(*random.pick(&[Codec::None, Codec::Lz4, Codec::Zstd]))
                .external_file(false);
            match random.below(3) {
                0 => options.max_dict_bytes(512),
                _ => options,
            }
        }
    };
    options.block_size(*random.pick(&[1, 64, 300, 2000]))
}

/// A database that has the older writes in a level, newer ones in files of level 0 and the rest in
/// the log.
fn database_of(random: &mut Random, writes: &[Write]) -> Maker {
    let mut db = Maker::new();
    db.table_options(TableOptions::rocksdb().block_size(100));
    let mut cuts = [random.index(writes.len() + 1), random.index(writes.len() + 1)];
    cuts.sort_unstable();
    let parts = [(2, 100, &writes[..cuts[0]]), (0, 101, &writes[cuts[0]..cuts[1]])];
    for (level, number, part) in parts {
        let (mut points, ranges): (Vec<_>, Vec<_>) =
            part.iter().partition(|it| it.2 != EntryKind::RangeDeletion);
        points.sort_by(|a, b| (&a.0, Reverse(a.1)).cmp(&(&b.0, Reverse(b.1))));
        let ranges = ranges.into_iter().filter(|it| it.0 < it.3);
        let items: Vec<_> =
            points.into_iter().chain(ranges).map(|it| (&it.0[..], it.1, it.2, &it.3[..])).collect();
        if !items.is_empty() {
            db.table(level, number, &items);
        }
    }
    // A write that was flushed may still be in the log.
    let repeated = cuts[1].saturating_sub(random.index(3));
    let in_log: Vec<Vec<u8>> = writes[repeated..]
        .iter()
        .map(|(key, sequence, kind, value)| {
            let slices: &[&[u8]] = match kind {
                EntryKind::Deletion | EntryKind::SingleDeletion => &[key],
                _ => &[key, value],
            };
            Batch::new().write(0, *kind as u8, slices).at(*sequence)
        })
        .collect();
    db.log(900, &in_log);
    db.finish();
    db
}

fn open_database(db: &Maker) -> DiffSide {
    let append = sstkit_db::merge_operator("stringappend").unwrap();
    let options = DatabaseOptions::default().default_merge_operator(append);
    Database::open_with(db.path(), &options).unwrap().default_column_family().into()
}

/// Compares both kinds of differences with the models, for all keys, a range and a prefix.
fn check(random: &mut Random, (a, b): (&DiffSide, &DiffSide), (of_a, of_b): (&[Write], &[Write])) {
    let (from, to) = (key(random, 40), key(random, 40));
    let (from, to) = (from.clone().min(to.clone()), from.max(to));
    let all = DiffOptions::default();
    let prefix = from[..from.len() - 1].to_vec();
    type InRange = Box<dyn Fn(&[u8]) -> bool>;
    let ranges: [(DiffOptions, InRange); 3] = [
        (all.clone(), Box::new(|_: &[u8]| true)),
        (all.clone().range(from.clone()..to.clone()), {
            Box::new(move |key: &[u8]| *key >= *from && *key < *to)
        }),
        (all.clone().prefix(prefix.clone()), Box::new(move |key: &[u8]| key.starts_with(&prefix))),
    ];
    for (options, in_range) in ranges {
        for skip in [true, false] {
            let options = options.clone().skip_equal_blocks(skip);
            let differences = found(Diff::new(a, b, &options).unwrap());
            assert_eq!(differences, expected(of_a, of_b, &in_range), "skip {skip}");
            let (entries, tombstones) = found_entries(InternalDiff::new(a, b, &options).unwrap());
            assert_eq!(entries, expected_entries(of_a, of_b, &in_range), "skip {skip}");
            let expected = expected_tombstones(of_a, of_b);
            assert!(tombstones.iter().all(|it| expected.contains(it)));
        }
    }
    let (_, tombstones) = found_entries(InternalDiff::new(a, b, &all).unwrap());
    let number = tombstones.len();
    let tombstones: BTreeSet<_> = tombstones.into_iter().collect();
    assert_eq!(tombstones.len(), number);
    assert_eq!(tombstones, expected_tombstones(of_a, of_b));
}

#[test]
fn random_tables() {
    let (mut skipped, mut decoded) = (0, 0);
    for seed in seeds(300) {
        let mut random = Random::new(seed);
        let is_leveldb = random.below(4) == 0;
        let keys = *random.pick(&[3, 40, 200]);
        let of_a = history(&mut random, keys, is_leveldb);
        let of_b = mutated(&mut random, &of_a, keys, is_leveldb);
        let options = some_options(&mut random, is_leveldb);
        let other = match random.below(4) {
            0 => some_options(&mut random, is_leveldb),
            _ => options.clone(),
        };
        let a = DiffSide::from(table_of(table_bytes(&of_a, &options)));
        let b = DiffSide::from(table_of(table_bytes(&of_b, &other)));
        check(&mut random, (&a, &b), (&of_a, &of_b));
        let mut diff = InternalDiff::new(&a, &b, &DiffOptions::default()).unwrap();
        let differences = diff.by_ref().count();
        skipped += diff.skipped_blocks();
        decoded += differences;
    }
    assert!(skipped > 1000 && decoded > 1000, "{skipped} blocks, {decoded} differences");
}

#[test]
fn random_databases_and_mixes() {
    for seed in seeds(60) {
        let mut random = Random::new(seed);
        let of_a = history(&mut random, 40, false);
        let of_b = mutated(&mut random, &of_a, 40, false);
        let (first, second) = (database_of(&mut random, &of_a), database_of(&mut random, &of_b));
        let (a, b) = (open_database(&first), open_database(&second));
        check(&mut random, (&a, &b), (&of_a, &of_b));
        let options = some_options(&mut random, false);
        let table = DiffSide::from(table_of(table_bytes(&of_b, &options)));
        check(&mut random, (&a, &table), (&of_a, &of_b));
        check(&mut random, (&table, &a), (&of_b, &of_a));
    }
}

#[test]
fn a_leveldb_table_and_a_rocksdb_table() {
    for seed in seeds(40) {
        let mut random = Random::new(seed);
        let of_a = history(&mut random, 40, true);
        let of_b = mutated(&mut random, &of_a, 40, true);
        let (leveldb, rocksdb) =
            (some_options(&mut random, true), some_options(&mut random, false));
        let a = DiffSide::from(table_of(table_bytes(&of_a, &leveldb)));
        let b = DiffSide::from(table_of(table_bytes(&of_b, &rocksdb)));
        check(&mut random, (&a, &b), (&of_a, &of_b));
    }
}

/// Where one value in the middle becomes longer, all blocks behind it are found again.
#[test]
fn shifted_blocks_are_skipped() {
    let writes: Vec<Write> = (0..1000u64)
        .map(|at| (format!("key{at:06}").into_bytes(), at, EntryKind::Value, vec![at as u8; 30]))
        .collect();
    let mut changed = writes.clone();
    changed[500].3.push(b'!');
    for options in [TableOptions::rocksdb(), TableOptions::leveldb()] {
        let options = options.compression(Codec::None).block_size(400).external_file(false);
        let a = table_of(table_bytes(&writes, &options));
        let blocks = a.view().data_blocks().unwrap().count() as u64;
        let b = table_of(table_bytes(&changed, &options));
        let mut diff = Diff::new(&a.into(), &b.into(), &DiffOptions::default()).unwrap();
        let differences = diff.by_ref().count();
        assert_eq!(differences, 1);
        assert!(blocks > 80 && diff.skipped_blocks() >= blocks - 2, "{blocks} {diff:?}");
    }
}

/// Dictionaries of random values: the stored blocks, which refer to them, may well be the same.
#[test]
fn blocks_that_refer_to_different_dictionaries() {
    let writes = |seed| -> Vec<Write> {
        let mut random = Random::new(seed);
        let values: Vec<Vec<u8>> = (0..4).map(|_| random.bytes(200)).collect();
        let key = |at: u64| format!("key{at:06}").into_bytes();
        (0..400)
            .map(|at| (key(at), at, EntryKind::Value, values[at as usize % 4].clone()))
            .collect()
    };
    let (of_a, of_b) = (writes(1), writes(2));
    let options = TableOptions::rocksdb().compression(Codec::Zstd).max_dict_bytes(4000);
    let options = options.block_size(1000).external_file(false);
    let (a, b) = (table_bytes(&of_a, &options), table_bytes(&of_b, &options));
    let (a, b) = (table_of(a), table_of(b));
    let first = |table: &Table| {
        let index = &mut table.view().index().unwrap();
        assert!(index.advance().unwrap() && index.advance().unwrap());
        let kind = sstkit_table::raw::BlockKind::Data;
        table.view().stored_block(kind, index.handle()).unwrap().contents
    };
    assert_eq!(first(&a), first(&b), "the blocks differ, and so the test shows nothing");
    let diff = Diff::new(&a.into(), &b.into(), &DiffOptions::default()).unwrap();
    assert_eq!(diff.count(), 400);
}

/// An ingested table has another number for all of its entries, and the same blocks.
#[test]
fn global_sequence_numbers() {
    let writes: Vec<Write> = (0..100u64)
        .map(|at| (format!("key{at:06}").into_bytes(), 0, EntryKind::Value, vec![at as u8; 30]))
        .collect();
    let options = TableOptions::rocksdb().block_size(200);
    let bytes = bytes::Bytes::from(table_bytes(&writes, &options));
    let open = |number| {
        let options = TableReadOptions::default().global_sequence_number(number);
        DiffSide::from(Table::from_source(bytes.clone(), &options).unwrap())
    };
    let (a, b) = (open(7), open(9));
    let mut diff = Diff::new(&a, &b, &DiffOptions::default()).unwrap();
    assert_eq!((diff.by_ref().count(), diff.skipped_blocks() > 5), (0, true));
    let diff = InternalDiff::new(&a, &b, &DiffOptions::default()).unwrap();
    assert_eq!(diff.count(), 200);
    let mut diff = InternalDiff::new(&a, &open(7), &DiffOptions::default()).unwrap();
    assert_eq!((diff.by_ref().count(), diff.skipped_blocks() > 5), (0, true));
}

/// The same damage on both sides: the blocks are equal, and wrong.
#[test]
fn equal_blocks_with_a_wrong_checksum_are_an_error() {
    let writes: Vec<Write> = (0..100u64)
        .map(|at| (format!("key{at:06}").into_bytes(), at, EntryKind::Value, vec![at as u8; 30]))
        .collect();
    let options = TableOptions::rocksdb().compression(Codec::None).external_file(false);
    let sound = table_bytes(&writes, &options.block_size(200));
    let mut damaged = sound.clone();
    damaged[1000] ^= 1;
    for (a, b) in [(&damaged, &damaged), (&sound, &damaged), (&damaged, &sound)] {
        let (a, b) = (table_of(a.clone()), table_of(b.clone()));
        let mut diff = Diff::new(&a.into(), &b.into(), &DiffOptions::default()).unwrap();
        let error = diff.find_map(Result::err).expect("the damage is found");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(diff.next().is_none());
    }
}

#[test]
fn different_comparators_are_an_error() {
    let options = TableOptions::rocksdb().external_file(false);
    let reverse = options.clone().comparator(Comparator::ReverseBytewise);
    let a = DiffSide::from(table_of(table_bytes(&[], &options)));
    let b = DiffSide::from(table_of(table_bytes(&[], &reverse)));
    let options = DiffOptions::default();
    let errors =
        [Diff::new(&a, &b, &options).map(drop), InternalDiff::new(&a, &b, &options).map(drop)];
    for error in errors {
        let error = error.expect_err("the orders differ");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("rocksdb.ReverseBytewiseComparator"), "{error}");
    }
}

/// Files of a level cut a tombstone; it is the same deletion.
#[test]
fn tombstones_that_were_cut_are_joined() {
    let range = EntryKind::RangeDeletion;
    let whole: [Write; 1] = [(b"a".to_vec(), 5, range, b"z".to_vec())];
    let cut: [Write; 2] =
        [(b"a".to_vec(), 5, range, b"m".to_vec()), (b"m".to_vec(), 5, range, b"z".to_vec())];
    let options = TableOptions::rocksdb().external_file(false);
    let a = DiffSide::from(table_of(table_bytes(&whole, &options)));
    let b = DiffSide::from(table_of(table_bytes(&cut, &options)));
    assert_eq!(InternalDiff::new(&a, &b, &DiffOptions::default()).unwrap().count(), 0);
    let c = DiffSide::from(table_of(table_bytes(&cut[..1], &options)));
    let both = |from: &[u8]| {
        let options = DiffOptions::default().range((Bound::Included(from), Bound::Unbounded));
        InternalDiff::new(&a, &c, &options).unwrap().count()
    };
    assert_eq!((both(b"b"), both(b"n"), both(b"zz")), (2, 1, 0));
}

/// With blobs, columns, timestamps and merge operands.
#[test]
fn a_database_is_the_same_as_itself() {
    for path in sstkit_testkit::goldens::golden_databases() {
        let (a, b) = (Database::open(&path).unwrap(), Database::open(&path).unwrap());
        for family in a.column_families() {
            let a = DiffSide::from(family.clone());
            let b = DiffSide::from(b.column_family(family.name()).unwrap());
            let options = DiffOptions::default();
            let visible = Diff::new(&a, &b, &options).unwrap();
            let internal = InternalDiff::new(&a, &b, &options).unwrap();
            assert_eq!((visible.count(), internal.count()), (0, 0), "{}", path.display());
        }
    }
}
