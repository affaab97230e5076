//! Databases that RocksDB 11 makes by random steps, read while it has them open: merges, single
//! deletions, compressed and recycled logs, snapshots, and transactions in two phases.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksdb::{
    BlockBasedOptions, DB, DBCompressionType, IteratorMode, MergeOperands, Options, TransactionDB,
    TransactionDBOptions, WriteBatch,
};
use sstkit_db::{ColumnFamily, Database, DatabaseOptions};
use sstkit_table::MergeOperator;

use sstkit_testkit::random::{Random, seeds};

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

const KEYS: u64 = 200;

/// Joins everything with a stroke: both sides have it, under one name.
#[derive(Debug)]
struct Append;

const APPEND: &str = "oracle.Append";

fn append<'a>(base: Option<&'a [u8]>, operands: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    base.into_iter().chain(operands).collect::<Vec<_>>().join(&b'|')
}

impl MergeOperator for Append {
    fn name(&self) -> &str {
        APPEND
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        Some(append(base, operands.iter().copied()))
    }
}

fn rocksdb_options(random: &mut Random) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    table.set_block_size(512);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_write_buffer_size(64 << 10);
    options.set_target_file_size_base(8 << 10);
    options.set_max_bytes_for_level_base(32 << 10);
    options.set_recycle_log_file_num(random.below(3) as usize);
    if random.below(2) == 0 {
        options.set_wal_compression_type(DBCompressionType::Zstd);
    }
    options.set_track_and_verify_wals_in_manifest(random.below(2) == 0);
    options.set_merge_operator_associative(
        APPEND,
        |_: &[u8], base: Option<&[u8]>, operands: &MergeOperands| {
            Some(append(base, operands.iter()))
        },
    );
    options
}

fn key(number: u64) -> Vec<u8> {
    format!("key{number:05}").into_bytes()
}

fn some_value(random: &mut Random) -> Vec<u8> {
    let length = random.below(120);
    random.bytes(length)
}

/// One change. Keys that are deleted singly are written once before, under names of their own.
fn change(random: &mut Random, step: u64, batch: &mut WriteBatch) {
    let number = random.below(KEYS);
    let some_key = key(number);
    match random.below(20) {
        0 => batch.delete_range(some_key, key(number + random.below(40))),
        1..=3 => batch.delete(some_key),
        4..=8 => batch.merge(some_key, some_value(random)),
        9 => batch.put(format!("single{step:05}"), some_value(random)),
        10 => batch.single_delete(format!("single{:05}", random.below(step + 1))),
        _ => batch.put(some_key, some_value(random)),
    }
}

fn seen(entries: impl Iterator<Item = Result<(Box<[u8]>, Box<[u8]>), rocksdb::Error>>) -> Entries {
    entries.map(|entry| entry.unwrap()).map(|(key, value)| (key.into(), value.into())).collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "LOCK" {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn open(path: &Path, what: &str) -> ColumnFamily {
    let options = DatabaseOptions::default().merge_operator(Arc::new(Append));
    let db = Database::open_with(path, &options).unwrap_or_else(|e| panic!("{what}: {e}"));
    db.default_column_family()
}

fn compare(family: &ColumnFamily, expected: &Entries, what: &str) {
    let found: Entries = family
        .iter()
        .map(|entry| entry.unwrap_or_else(|error| panic!("{what}: {error}")))
        .map(|(key, value)| (key, value.to_vec()))
        .collect();
    assert!(found == *expected, "{what}: other entries");
    let backwards: Vec<_> = family.iter().rev().map(|entry| entry.unwrap().0).collect();
    assert!(backwards.iter().eq(expected.keys().rev()), "{what}: other keys backwards");
    for key in (0..KEYS).map(key).chain(expected.keys().cloned()) {
        let value = family.get(&key).unwrap_or_else(|error| panic!("{what}: {error}"));
        let expected = expected.get(&key).map(Vec::as_slice);
        assert_eq!(value.as_deref(), expected, "{what}: get {}", key.escape_ascii());
    }
}

#[test]
fn random_steps() {
    for seed in seeds(30) {
        let what = format!("SSTKIT_SEED={seed}");
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let options = rocksdb_options(&mut random);
        let mut db = DB::open(&options, &path).unwrap();
        let steps = 200 + random.below(2000);
        let reopened = random.below(steps);
        for step in 0..reopened {
            one_step(&mut random, step, &db);
        }
        drop(db);
        db = DB::open(&options, &path).unwrap();
        let mut looks = Vec::new();
        for step in reopened..steps {
            one_step(&mut random, step, &db);
            if random.below(100) == 0 {
                let snapshot = db.snapshot();
                let view = seen(snapshot.iterator(IteratorMode::Start));
                looks.push((snapshot, db.latest_sequence_number(), view));
            }
        }
        // So that no compaction changes the folder while it is copied.
        db.cancel_all_background_work(true);
        db.flush_wal(true).unwrap();
        let at_last = seen(db.iterator(IteratorMode::Start));
        let copied = folder.path().join("copy");
        copy(&path, &copied);
        for path in [&path, &copied] {
            let family = open(path, &what);
            compare(&family, &at_last, &what);
            for (_, sequence, view) in &looks {
                compare(&family.at(*sequence), view, &format!("{what} at {sequence}"));
            }
        }
    }
}

fn one_step(random: &mut Random, step: u64, db: &DB) {
    match random.below(200) {
        0 | 1 => db.flush().unwrap(),
        2 => db.compact_range::<&[u8], &[u8]>(None, None),
        _ => {
            let mut batch = WriteBatch::default();
            for _ in 0..1 + random.below(3) {
                change(random, step, &mut batch);
            }
            db.write(batch).unwrap();
        }
    }
}

#[test]
fn transactions_in_two_phases() {
    for seed in seeds(30) {
        let what = format!("SSTKIT_SEED={seed}");
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let options = rocksdb_options(&mut random);
        let db: TransactionDB =
            TransactionDB::open(&options, &TransactionDBOptions::default(), &path).unwrap();
        let mut prepared = Vec::new();
        let mut names = 0;
        for step in 0..100 + random.below(200) {
            if random.below(3) > 0 {
                db.put(key(random.below(KEYS / 2)), some_value(&mut random)).unwrap();
                continue;
            }
            let transaction = db.transaction();
            names += 1;
            transaction.set_name(format!("transaction-{names}").as_bytes()).unwrap();
            for i in 0..1 + random.below(4) {
                // Each has keys of its own, or it would wait for the lock of another one.
                let key = key(KEYS + 10 * step + i);
                transaction.put(key, some_value(&mut random)).unwrap();
            }
            transaction.prepare().unwrap();
            match random.below(4) {
                0 => prepared.push(transaction),
                1 => transaction.rollback().unwrap(),
                _ => transaction.commit().unwrap(),
            }
            if let Some(older) = (random.below(5) == 0).then(|| prepared.pop()).flatten() {
                older.commit().unwrap();
            }
        }
        db.flush_wal(true).unwrap();
        let visible = seen(db.iterator(IteratorMode::Start));
        compare(&open(&path, &what), &visible, &what);
        drop(prepared);
    }
}
