//! Cursors that move at random over databases of several levels, beside a model.

use std::collections::BTreeMap;
use std::ops::Bound;

use sstkit_db::{Database, DatabaseWriter, DatabaseWriterOptions, FileSource};
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{TableOptions, TableWriter};
use sstkit_testkit::random::{Random, seeds};

const KEYS: u64 = 300;
const LEVELS: u32 = 3;
const STEPS: usize = 2000;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

/// A database of three levels of several tables each, with deletions and range tombstones, and what
/// is visible in it.
fn database(random: &mut Random) -> (tempfile::TempDir, Database, Model) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("db");
    let mut writer = DatabaseWriter::create(&target, DatabaseWriterOptions::rocksdb()).unwrap();
    let mut model = Model::new();
    // The oldest level first, so that newer ones replace its keys.
    for level in (1..=LEVELS).rev() {
        let base = u64::from(LEVELS - level) * 1_000_000 + 1;
        let mut first = random.below(20);
        while first < KEYS {
            let end = first + 5 + random.below(60);
            let options = TableOptions::rocksdb().external_file(false).block_size(256);
            let options = writer.table_options(0, &options).unwrap();
            let path = writer.new_table_path();
            let mut table = TableWriter::create(&path, &options).unwrap();
            // Covers the levels below, and some of the entries of its own table.
            let sequence = base + 500;
            if random.below(3) == 0 {
                let start = first + random.below(end - first);
                let stop = start + 1 + random.below(end - start);
                let (user_key, kind) = (&key(start)[..], EntryKind::RangeDeletion);
                table.add(&InternalKey { user_key, sequence, kind }, &key(stop)).unwrap();
                (start..stop).for_each(|it| drop(model.remove(&key(it))));
                add(&mut table, random, (first, end), base, &mut model, |it, newer| {
                    (start..stop).contains(&it) && newer < sequence
                });
            } else {
                add(&mut table, random, (first, end), base, &mut model, |_, _| false);
            }
            table.finish().unwrap();
            writer.add_table(0, level, &FileSource::Written(path), None).unwrap();
            first = end + 1 + random.below(30);
        }
    }
    writer.finish().unwrap();
    (folder, Database::open(&target).unwrap(), model)
}

/// Adds entries of the keys from `first` to `end`, at least one. Some keys have several.
fn add(
    table: &mut TableWriter<'_, std::fs::File>,
    random: &mut Random,
    (first, end): (u64, u64),
    base: u64,
    model: &mut Model,
    is_covered: impl Fn(u64, u64) -> bool,
) {
    for number in first..=end {
        if number > first && random.below(3) == 0 {
            continue;
        }
        let newest = base + random.below(1000) + 10;
        for age in 0..=random.below(2) {
            let (user_key, sequence) = (&key(number)[..], newest - age);
            let kind = *random.pick(&[EntryKind::Value, EntryKind::Value, EntryKind::Deletion]);
            let value = format!("{number}@{sequence}").into_bytes();
            let value = if kind == EntryKind::Value { &value[..] } else { b"" };
            table.add(&InternalKey { user_key, sequence, kind }, value).unwrap();
            if age == 0 && !is_covered(number, sequence) {
                match kind {
                    EntryKind::Value => model.insert(key(number), value.to_vec()),
                    _ => model.remove(&key(number)),
                };
            }
        }
    }
}

#[test]
fn cursors_move_like_a_model() {
    for seed in seeds(20) {
        let mut random = Random::new(seed);
        let (_folder, database, model) = database(&mut random);
        let mut cursor = database.cursor().unwrap();
        let mut expected: Option<&Vec<u8>> = None;
        for step in 0..STEPS {
            let from = key(random.below(KEYS + 40));
            // Long ways in one direction, and turns.
            let way = if step % 100 < 60 { step / 100 % 2 } else { random.index(6) };
            let (more, now) = match (way, expected) {
                (0, Some(at)) => (cursor.next().unwrap(), after(&model, at)),
                (1, Some(at)) => (cursor.prev().unwrap(), model.range(..at.clone()).next_back()),
                (2, _) => (cursor.seek_to_first().unwrap(), model.iter().next()),
                (3, _) => (cursor.seek_to_last().unwrap(), model.iter().next_back()),
                (4, _) => (cursor.seek_for_prev(&from).unwrap(), model.range(..=from).next_back()),
                _ => (cursor.seek(&from).unwrap(), model.range(from..).next()),
            };
            assert_eq!(more, now.is_some(), "seed {seed}, step {step}");
            if let Some((key, value)) = now {
                assert_eq!(cursor.key(), &key[..], "seed {seed}, step {step}");
                assert_eq!(cursor.value().unwrap(), value[..], "seed {seed}, step {step}");
            }
            expected = now.map(|(key, _)| key);
        }
        let keys = (0..KEYS + 40).map(key).collect::<Vec<_>>();
        let values = database.get_many(&keys).unwrap();
        for (key, value) in keys.iter().zip(values) {
            assert_eq!(value.as_deref(), model.get(key).map(Vec::as_slice), "seed {seed}");
            assert_eq!(database.get(key).unwrap(), value, "seed {seed}");
        }
    }
}

fn after<'m>(model: &'m Model, key: &[u8]) -> Option<(&'m Vec<u8>, &'m Vec<u8>)> {
    model.range((Bound::Excluded(key.to_vec()), Bound::Unbounded)).next()
}
