//! Databases in files where each read costs a round trip: several keys at once take few rounds, and have the values that
//! they have on disk.

use std::path::Path;

use sstkit_db::{Database, DatabaseOptions, ErrorKind};
use sstkit_table::raw::{Codec, EntryKind, IndexKind};
use sstkit_table::{ReadOptions, TableOptions};
use sstkit_testkit::goldens::{families_with_lists, golden_databases};
use sstkit_testkit::random::Random;

use crate::maker::{Batch, Maker};
use crate::remote_files::{Read, RemoteFiles};

const KEYS: u64 = 4000;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

/// Keys all over the database, from `first` on; every fourth one is not in it.
fn wanted(first: u64) -> Vec<Vec<u8>> {
    let key = |at: u64| match at % 4 {
        3 => [&key(first + at * (KEYS / 64))[..], b"?"].concat(),
        _ => key(first + at * (KEYS / 64)),
    };
    (0..64).map(key).collect()
}

/// Where the values of the wanted keys are.
const DELETED: std::ops::Range<u64> = 1000..1200;
const LOGGED: std::ops::Range<u64> = 2000..2200;

/// Three levels: each key is in the last one, some have a newer value or an operand above it.
fn levels(options: TableOptions) -> Maker {
    let mut maker = Maker::new();
    maker.table_options(options);
    let mut random = Random::new(18);
    let mut sequence = 0;
    let mut number = 10;
    for (level, tables, step) in [(2, 8, 1), (1, 4, 3), (0, 1, 7), (0, 1, 5)] {
        for table in 0..tables {
            let keys = (table * KEYS / tables..(table + 1) * KEYS / tables).step_by(step);
            let mut entries: Vec<_> = keys
                .map(|number| {
                    sequence += 1;
                    let kind = match level < 2 && number % 2 == 0 {
                        true => EntryKind::Merge,
                        false => EntryKind::Value,
                    };
                    (key(number), sequence, kind, random.bytes(200))
                })
                .collect();
            if step == 5 {
                sequence += 1;
                let (from, to) = (key(DELETED.start), key(DELETED.end));
                entries.push((from, sequence, EntryKind::RangeDeletion, to));
            }
            let items: Vec<_> =
                entries.iter().map(|(k, s, kind, v)| (&k[..], *s, *kind, &v[..])).collect();
            maker.table(level, number, &items);
            number += 1;
        }
    }
    let logged = LOGGED.map(|number| {
        sequence += 1;
        Batch::new().put(&key(number), b"logged").at(sequence)
    });
    maker.log(900, &logged.collect::<Vec<_>>());
    maker.finish();
    maker
}

fn forms() -> [(&'static str, TableOptions); 3] {
    let rocksdb = || TableOptions::rocksdb().compression(Codec::None);
    let filter = || "bloomfilter:10".parse().unwrap();
    [
        ("plain", rocksdb().filter(filter())),
        (
            "partitions",
            rocksdb().filter(filter()).index_kind(IndexKind::TwoLevel).partition_filters(true),
        ),
        ("no-filter", rocksdb()),
    ]
}

fn options() -> DatabaseOptions {
    let append = sstkit_db::merge_operator("stringappend").unwrap();
    DatabaseOptions::default().default_merge_operator(append)
}

/// The number of calls that have read the tables, and the bytes that they have read.
fn of_tables(reads: &[Read]) -> (usize, u64) {
    let of_tables = reads.iter().filter(|(name, _)| name.ends_with(".sst"));
    let bytes = of_tables.clone().flat_map(|(_, ranges)| ranges).map(|it| it.end - it.start).sum();
    (of_tables.count(), bytes)
}

#[test]
fn many_keys_take_few_rounds() {
    for (name, table_options) in forms() {
        let maker = levels(table_options);
        let files = RemoteFiles::register(&format!("rounds://{name}"), maker.path(), 4096);
        let near = Database::open_with(maker.path(), &options()).unwrap();
        let far = Database::open_with(files.path(), &options()).unwrap();
        let expected = |keys: &[Vec<u8>]| -> Vec<_> {
            keys.iter().map(|key| near.get(key).unwrap()).collect()
        };

        // All tables of all levels are opened by two rounds, then those of a table follow.
        let keys = wanted(0);
        let (found, reads, rounds) = files.count(|| far.get_many(&keys).unwrap());
        assert!(found == expected(&keys), "{name}");
        assert!(found.iter().flatten().count() > 40, "{name}");
        assert!(rounds <= 2 + 3, "{name}: {rounds} rounds: {reads:#?}");

        // The tables are open. Filters in partitions have been read for some of the keys, not for all.
        let keys = wanted(29);
        let (found, reads, rounds) = files.count(|| far.get_many(&keys).unwrap());
        assert!(found == expected(&keys), "{name}");
        let most = if name == "partitions" { 3 } else { 2 };
        assert!((1..=most).contains(&rounds), "{name}: {rounds} rounds: {reads:#?}");
        let (calls, bytes) = of_tables(&reads);
        // One call for each of the 14 tables and each round.
        assert!(calls <= 14 * rounds, "{name}: {reads:#?}");
        assert!(bytes < 64 * 4 * 5000, "{name}: a block for each key and level: {bytes}");

        // The blocks are in the cache.
        let (found, reads, _) = files.count(|| far.get_many(&keys).unwrap());
        assert!(found == expected(&keys), "{name}");
        assert!(reads.is_empty(), "{name}: {reads:?}");

        // What the log or a range tombstone has decided needs nothing else.
        let decided: Vec<_> = LOGGED.chain(DELETED).map(key).collect();
        let (found, reads, _) = files.count(|| far.get_many(&decided).unwrap());
        assert!(found == expected(&decided), "{name}");
        assert!(found[..LOGGED.count()].iter().all(Option::is_some));
        assert_eq!(of_tables(&reads).1, of_newest(&reads), "{name}: only the newest table");
        // A single key is read as it always was.
        assert!(far.get(&key(3001)).unwrap() == near.get(&key(3001)).unwrap());
        assert_eq!(far.stats().levels.len(), near.stats().levels.len());
    }
}

/// The bytes that were read of the table with the range tombstone.
fn of_newest(reads: &[Read]) -> u64 {
    let newest: Vec<Read> =
        reads.iter().filter(|(name, _)| name == "000023.sst").cloned().collect();
    of_tables(&newest).1
}

#[test]
fn keys_without_order_options_or_room() {
    let maker = levels(forms()[0].1.clone());
    let files = RemoteFiles::register("rounds://small", maker.path(), 4096);
    let near = Database::open_with(maker.path(), &options()).unwrap();
    let mut keys: Vec<_> = (0..KEYS).step_by(3).map(key).chain(wanted(5)).collect();
    keys.reverse();
    keys.extend_from_within(..10);
    let uncached = || options().block_cache_size(0);
    for (far_options, read_options) in [
        (options(), ReadOptions::default().use_filters(false)),
        (options(), ReadOptions::default().sequence(KEYS + 100)),
        (uncached(), ReadOptions::default().fill_cache(false)),
        // Fewer tables than one part of the keys needs.
        (options().max_open_files(4), ReadOptions::default()),
        (options().max_open_files(1), ReadOptions::default()),
    ] {
        let far = Database::open_with(files.path(), &far_options).unwrap();
        let expected = near.get_many_with(&keys, &read_options).unwrap();
        assert!(far.get_many_with(&keys, &read_options).unwrap() == expected, "{read_options:?}");
    }
    let far = Database::open_with(files.path(), &options()).unwrap();
    assert!(far.get_many::<&[u8]>(&[]).unwrap().is_empty());
}

/// A cache that keeps nothing: what the rounds have read is all there is.
#[test]
fn rounds_need_no_cache() {
    let maker = levels(forms()[1].1.clone());
    let files = RemoteFiles::register("rounds://uncached", maker.path(), 4096);
    let far = Database::open_with(files.path(), &options().block_cache_size(0)).unwrap();
    let keys = wanted(3);
    let (_, reads, rounds) = files.count(|| far.get_many(&keys).unwrap());
    assert!(rounds <= 2 + 3, "{rounds}: {reads:?}");
}

#[test]
fn counters_are_those_of_files_on_disk() {
    let maker = levels(forms()[0].1.clone());
    let files = RemoteFiles::register("rounds://counters", maker.path(), 4096);
    let count = |path: &Path| {
        let db = Database::open_with(path, &options()).unwrap();
        db.get_many(&wanted(0)).unwrap();
        db.get_many_with(&wanted(7), &ReadOptions::default()).unwrap();
        let stats = db.stats();
        let levels = stats.levels.iter().map(|level| format!("{:?}", level.tickers));
        (levels.collect::<Vec<_>>(), stats.lookups)
    };
    assert_eq!(count(&files.path()), count(maker.path()));
}

#[test]
fn a_network_that_fails_is_an_error() {
    let maker = levels(forms()[0].1.clone());
    let files = RemoteFiles::register("rounds://down", maker.path(), 4096);
    let far = Database::open_with(files.path(), &options()).unwrap();
    let near = Database::open_with(maker.path(), &options()).unwrap();
    let keys = wanted(0);
    for _ in 0..2 {
        // First nothing is open, then everything.
        files.set_down(true);
        let error = far.get_many(&keys).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("the network is down"), "{error}");
        assert!(error.file().is_some_and(|file| file.starts_with("rounds://down")), "{error}");
        files.set_down(false);
        assert!(far.get_many(&wanted(9)).unwrap() == near.get_many(&wanted(9)).unwrap());
    }
}

/// All databases that the engines wrote: merges, blobs, timestamps, entities, other orders.
#[test]
fn golden_databases_are_equal() {
    for path in golden_databases() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let files = RemoteFiles::register(&format!("goldens://{name}"), &path, 1000);
        let far = Database::open(files.path()).unwrap();
        for (family, shown) in families_with_lists(&path, &far) {
            let mut keys: Vec<Vec<u8>> = shown.iter().map(|it| it.key.clone()).collect();
            keys.extend(shown.iter().step_by(3).map(|it| [&it.key[..], b"\0"].concat()));
            for found in
                [family.get_many(&keys), family.get_many_with(&keys, &ReadOptions::default())]
            {
                for (at, found) in found.unwrap().iter().enumerate() {
                    let expected = shown.get(at).map(|it| &it.value[..]);
                    assert_eq!(found.as_deref(), expected, "{name}");
                }
            }
        }
    }
}

/// Values in blob files: the files are opened together, and the values read together.
#[test]
fn blobs_take_few_rounds() {
    let path = golden_databases().into_iter().find(|it| it.ends_with("rocksdb-blobs")).unwrap();
    let files = RemoteFiles::register("rounds://blobs", &path, 4096);
    let far = Database::open(files.path()).unwrap();
    let (_, shown) = families_with_lists(&path, &far).remove(0);
    let far = Database::open(files.path()).unwrap();
    let step = (shown.len() / 64).max(1);
    let keys: Vec<_> = shown.iter().step_by(step).map(|it| &it.key).collect();
    let (found, reads, rounds) = files.count(|| far.get_many(&keys).unwrap());
    assert!(
        found
            .iter()
            .zip(shown.iter().step_by(step))
            .all(|(found, it)| { found.as_deref() == Some(&it.value[..]) })
    );
    let blobs = reads.iter().filter(|(name, _)| name.ends_with(".blob")).count();
    assert!(blobs > 0, "{reads:?}");
    // Tables, their blocks, then header and footer of blob files, then blobs.
    assert!(rounds <= 2 + 2 + 2 + 1, "{rounds} rounds: {reads:#?}");
    let again: Vec<_> = shown.iter().skip(1).step_by(step).map(|it| &it.key).collect();
    let (_, reads, rounds) = files.count(|| far.get_many(&again).unwrap());
    assert!(rounds <= 2 + 1, "blocks and blobs: {reads:#?}");
}
