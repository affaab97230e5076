//! Databases: scans and lookups over several runs of tables.
//!
//! ```text
//! overlapping   4 tables, each with every fourth key
//! leveled       level 1    4 tables   every 50th key
//!               level 2   10 tables   every 5th of the others
//!               level 3   36 tables   the rest
//! ```

use std::hint::black_box;

use sstkit_db::{Database, DatabaseWriter, DatabaseWriterOptions, FileSource};
use sstkit_table::raw::{Codec, EntryKind, InternalKey};
use sstkit_table::{TableOptions, TableWriter};

use super::HotPath;
use super::tables::{BATCH, ENTRIES, VALUE, key, options, scattered, value};

/// Tables of the database whose tables overlap.
const RUNS: usize = 4;
/// The number of tables of each level, starting at level 1.
const LEVELS: [usize; 3] = [4, 10, 36];

pub(super) fn each(visit: &mut dyn FnMut(HotPath)) {
    let folder = tempfile::tempdir().expect("a directory");
    let name = format!("{RUNS} tables");
    let overlapping = overlapping(folder.path());
    scan(&overlapping, &format!("merging scan of {name}"), visit);
    lookups(&overlapping, &format!("get from {name}"), visit);

    let leveled = leveled(&folder.path().join("leveled"));
    scan(&leveled, "leveled database, scan", visit);
    reverse_scan(&leveled, "leveled database, reverse scan", visit);
    seeks(&leveled, "leveled database, seek and next 50", visit);
    lookups(&leveled, "leveled database, get", visit);
    batches(&leveled, "leveled database, get_many", visit);
}

/// A table of the keys with these numbers.
fn write(path: &std::path::Path, options: &TableOptions, numbers: impl Iterator<Item = usize>) {
    let mut writer = TableWriter::create(path, options).expect("a file");
    for number in numbers {
        let (user_key, sequence) = (&key(2 * number)[..], number as u64 + 1);
        let key = InternalKey { user_key, sequence, kind: EntryKind::Value };
        writer.add(&key, &value(number)).expect("keys in order");
    }
    writer.finish().expect("there is room");
}

/// Each key is in one of several tables that overlap.
fn overlapping(folder: &std::path::Path) -> Database {
    let options = options(Codec::None).external_file(false);
    for run in 0..RUNS {
        let path = folder.join(format!("{:06}.sst", run + 1));
        write(&path, &options, (run..ENTRIES).step_by(RUNS));
    }
    Database::open_tables(folder).expect("tables")
}

/// Each key is in one of three levels, most of them in the last.
fn leveled(target: &std::path::Path) -> Database {
    let mut writer = DatabaseWriter::create(target, DatabaseWriterOptions::rocksdb()).expect("new");
    let level_of = |number: usize| match number {
        _ if number.is_multiple_of(50) => 0,
        _ if number.is_multiple_of(5) => 1,
        _ => 2,
    };
    for (level, tables) in LEVELS.into_iter().enumerate() {
        let numbers: Vec<_> = (0..ENTRIES).filter(|&number| level_of(number) == level).collect();
        for numbers in numbers.chunks(numbers.len().div_ceil(tables)) {
            let path = writer.new_table_path();
            let options = options(Codec::None).external_file(false);
            let options = writer.table_options(0, &options).expect("options that fit");
            write(&path, &options, numbers.iter().copied());
            let source = FileSource::Written(path);
            writer.add_table(0, level as u32 + 1, &source, None).expect("a table of its level");
        }
    }
    writer.finish().expect("a database");
    Database::open(target).expect("a database")
}

fn scan(database: &Database, name: &str, visit: &mut dyn FnMut(HotPath)) {
    let scanned = database.clone();
    visit(HotPath::new(name, "entry", ENTRIES, move || {
        let mut cursor = scanned.cursor().expect("a database");
        let (mut count, mut more) = (0, cursor.seek_to_first().expect("sound"));
        while more {
            count += usize::from(cursor.value().expect("sound").len() == VALUE);
            more = cursor.next().expect("sound");
        }
        assert_eq!(count, ENTRIES);
    }));
}

fn reverse_scan(database: &Database, name: &str, visit: &mut dyn FnMut(HotPath)) {
    let scanned = database.clone();
    visit(HotPath::new(name, "entry", ENTRIES, move || {
        let mut cursor = scanned.cursor().expect("a database");
        let (mut count, mut more) = (0, cursor.seek_to_last().expect("sound"));
        while more {
            count += usize::from(cursor.value().expect("sound").len() == VALUE);
            more = cursor.prev().expect("sound");
        }
        assert_eq!(count, ENTRIES);
    }));
}

fn seeks(database: &Database, name: &str, visit: &mut dyn FnMut(HotPath)) {
    let (sought, keys) = (database.clone(), scattered(0));
    visit(HotPath::new(name, "seek", ENTRIES / 20, move || {
        let mut cursor = sought.cursor().expect("a database");
        for key in &keys[..ENTRIES / 20] {
            let mut more = cursor.seek(key).expect("sound");
            for _ in 0..50 {
                more = more && cursor.next().expect("sound");
            }
            black_box(more);
        }
    }));
}

fn lookups(database: &Database, name: &str, visit: &mut dyn FnMut(HotPath)) {
    for (which, presence, found) in [("present", 0, ENTRIES), ("absent", 1, 0)] {
        let (database, keys) = (database.clone(), scattered(presence));
        visit(HotPath::new(format!("{name}, {which}"), "key", ENTRIES, move || {
            let get = |key: &&[u8; 16]| database.get(*key).expect("sound").is_some();
            assert_eq!(keys.iter().filter(get).count(), found);
        }));
    }
}

fn batches(database: &Database, name: &str, visit: &mut dyn FnMut(HotPath)) {
    for (which, presence, found) in [("present", 0, ENTRIES), ("absent", 1, 0)] {
        let (database, keys) = (database.clone(), scattered(presence));
        visit(HotPath::new(format!("{name}, {which}"), "key", ENTRIES, move || {
            let batches = keys.chunks(BATCH).map(|batch| database.get_many(batch).expect("sound"));
            assert_eq!(batches.flatten().flatten().count(), found);
        }));
    }
}
