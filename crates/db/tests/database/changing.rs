//! Directories that change, are damaged, or are not what they seem.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sstkit_db::raw::RecoveryMode;
use sstkit_db::{Compaction, CompactionOptions, Database, DatabaseOptions, ErrorKind};
use sstkit_table::raw::EntryKind::{Deletion, Merge, Value};
use sstkit_table::{Comparator, TableOptions};
use sstkit_testkit::goldens::{families_with_lists, golden_databases};
use sstkit_testkit::orders::ignore_case;

use crate::maker::{Batch, Maker, log};

fn one_table() -> Maker {
    let mut db = Maker::new();
    db.table(1, 11, &[(b"a", 1, Value, b"A"), (b"b", 2, Value, b"B")]);
    db.finish();
    db
}

#[test]
fn nothing_is_written_and_no_lock_taken() {
    let db = one_table();
    let files = |path: &Path| {
        let mut files: Vec<_> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.file_name(), entry.metadata().unwrap().modified().unwrap())
            })
            .collect();
        files.sort();
        files
    };
    let before = files(db.path());
    let opened = Database::open(db.path()).unwrap();
    assert_eq!(opened.iter().count(), 2);
    assert_eq!(Database::open_tables(db.path()).unwrap().iter().count(), 2);
    assert_eq!(files(db.path()), before);
}

#[test]
fn a_table_that_went_away_with_the_state_it_belonged_to() {
    let mut db = one_table();
    let held = Database::open(db.path()).unwrap();
    let opened = Database::open_with(db.path(), &not_held()).unwrap();
    // The engine compacts: a new table, a new edit, and the old table is deleted.
    db.table(2, 12, &[(b"a", 1, Value, b"A"), (b"b", 2, Value, b"B")]);
    db.finish();
    std::fs::remove_file(db.table_path(11)).unwrap();
    let error = opened.get(b"a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert!(error.to_string().contains("open it again"), "{error}");
    assert_eq!(opened.iter().next().unwrap().unwrap_err().kind(), ErrorKind::Changed);
    // What is held stays readable.
    assert_eq!(held.get(b"a").unwrap().unwrap(), b"A");
    assert_eq!(held.iter().filter_map(Result::ok).count(), 2);
}

fn not_held() -> DatabaseOptions {
    DatabaseOptions::default().hold_files(false)
}

/// An engine that compacts all the time: new tables, a new MANIFEST, and the old ones are gone.
#[test]
fn no_scan_fails_while_tables_come_and_go() {
    const TABLES: u64 = 8;
    let state = |round: u64| {
        let mut next = Maker::new();
        for n in 0..TABLES {
            let (key, value) = (format!("key{n}"), format!("{round}"));
            let item = (key.as_bytes(), round * TABLES + n + 1, Value, value.as_bytes());
            next.table(1, 1000 * round + n, &[item]);
        }
        next
    };
    let folder = tempfile::tempdir().unwrap();
    let switch = |round: u64| {
        let next = state(round);
        for n in 0..TABLES {
            let name = format!("{:06}.sst", 1000 * round + n);
            std::fs::copy(next.path().join(&name), folder.path().join(&name)).unwrap();
        }
        next.switch_manifest(folder.path(), round);
        for n in (0..TABLES).filter(|_| round > 1) {
            let name = format!("{:06}.sst", 1000 * (round - 1) + n);
            std::fs::remove_file(folder.path().join(name)).unwrap();
            let _ = std::fs::remove_file(folder.path().join(format!("MANIFEST-{:06}", round - 1)));
        }
    };
    std::fs::write(folder.path().join("IDENTITY"), "made by a test").unwrap();
    switch(1);
    let (done, rounds) = (AtomicBool::new(false), AtomicU64::new(1));
    std::thread::scope(|scope| {
        let compactions = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                switch(rounds.fetch_add(1, Ordering::Relaxed) + 1);
            }
        });
        let scan = || -> sstkit_db::Result<Vec<(Vec<u8>, sstkit_table::Value)>> {
            let db = Database::open(folder.path())?;
            // Time enough for what was opened to be deleted.
            std::thread::sleep(std::time::Duration::from_millis(5));
            db.iter().collect()
        };
        let mut scans: Vec<_> = (0..60).map(|_| scan()).collect();
        // The directory must have changed meanwhile, however slow the other thread is.
        while rounds.load(Ordering::Relaxed) <= 5 && !compactions.is_finished() {
            scans.push(scan());
        }
        done.store(true, Ordering::Relaxed);
        for pairs in scans {
            let pairs = pairs.unwrap();
            assert_eq!(pairs.len() as u64, TABLES);
            assert!(pairs.iter().all(|pair| pair.1 == pairs[0].1), "one state: {pairs:?}");
        }
    });
}

#[test]
fn a_new_manifest_is_a_change_too() {
    let db = one_table();
    let opened = Database::open_with(db.path(), &not_held()).unwrap();
    db.write_manifest(99);
    std::fs::remove_file(db.table_path(11)).unwrap();
    assert_eq!(opened.get(b"a").unwrap_err().kind(), ErrorKind::Changed);
}

#[test]
fn a_table_that_is_missing_or_of_another_size_without_a_change() {
    let db = one_table();
    let table = std::fs::read(db.table_path(11)).unwrap();
    std::fs::write(db.table_path(11), &table[..table.len() - 1]).unwrap();
    let error = Database::open(db.path()).unwrap().get(b"a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    std::fs::remove_file(db.table_path(11)).unwrap();
    let error = Database::open(db.path()).unwrap().get(b"a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(error.file(), Some(db.table_path(11).as_path()));
}

#[test]
fn damage_to_a_table_is_reported_with_its_name() {
    let db = one_table();
    let opened = Database::open(db.path()).unwrap();
    let mut table = std::fs::read(db.table_path(11)).unwrap();
    table[2] ^= 1; // in the first data block
    std::fs::write(db.table_path(11), &table).unwrap();
    let error = opened.get(b"a").unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Corrupt, Some(0)));
    assert_eq!(error.file(), Some(db.table_path(11).as_path()));
    let start = format!("{}: the data block at offset 0 is corrupt: ", db.table_path(11).display());
    assert!(error.to_string().starts_with(&start), "{error}");
    assert_eq!(opened.iter().next().unwrap().unwrap_err().file(), error.file());
}

/// The engine goes from one MANIFEST to the next, while others open the directory.
#[test]
fn opening_while_manifests_come_and_go() {
    let mut states = [Maker::new(), Maker::new()];
    states[0].table(1, 11, &[(b"a", 1, Value, b"A"), (b"b", 2, Value, b"B")]);
    states[1].table(1, 12, &[(b"c", 3, Value, b"C")]);
    states[1].table(0, 13, &[(b"d", 4, Value, b"D")]);
    let folder = states[0].path().to_owned();
    for number in [12, 13] {
        std::fs::copy(states[1].table_path(number), states[0].table_path(number)).unwrap();
    }
    states[0].finish();
    let shows: [&[&[u8]]; 2] = [&[b"a", b"b"], &[b"c", b"d"]];
    let done = std::sync::atomic::AtomicBool::new(false);
    let is_done = || done.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 2.. {
                states[number as usize % 2].switch_manifest(&folder, number);
                std::fs::remove_file(folder.join(format!("MANIFEST-{:06}", number - 1))).unwrap();
                if is_done() {
                    break;
                }
            }
        });
        let mut seen = [0; 2];
        // Till both states were seen some times.
        while seen.iter().any(|&times| times < 20) {
            match Database::open(&folder) {
                Ok(db) => {
                    let keys: Vec<_> = db.iter().map(|entry| entry.unwrap().0).collect();
                    let state = shows.iter().position(|shown| keys == **shown);
                    let state = state.unwrap_or_else(|| panic!("neither the one nor the other"));
                    seen[state] += 1;
                }
                Err(error) if error.kind() == ErrorKind::Changed => {}
                Err(error) => {
                    done.store(true, std::sync::atomic::Ordering::Relaxed);
                    panic!("{error}");
                }
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn current_and_manifest_must_exist() {
    let db = one_table();
    for contents in ["", "MANIFEST-000001", "MANIFEST-x\n", "MANIFEST-000007\n"] {
        std::fs::write(db.path().join("CURRENT"), contents).unwrap();
        let error = Database::open(db.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{contents:?}: {error}");
    }
    std::fs::remove_file(db.path().join("CURRENT")).unwrap();
    assert_eq!(Database::open(db.path()).unwrap_err().kind(), ErrorKind::Corrupt);
    let error = Database::open(db.path().join("nowhere")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn tables_alone_give_the_newest_of_each_key() {
    let mut db = Maker::new();
    // By their numbers the first one would be newer.
    db.table(0, 15, &[(b"a", 1, Value, b"old"), (b"b", 2, Value, b"B"), (b"c", 3, Value, b"C")]);
    db.table(0, 14, &[(b"a", 5, Value, b"new"), (b"c", 6, Deletion, b"")]);
    db.log(20, &[Batch::new().put(b"d", b"D").at(7)]);
    db.finish();
    std::fs::remove_file(db.path().join("CURRENT")).unwrap();
    let opened = Database::open_tables(db.path()).unwrap();
    let pairs: Vec<_> = opened.iter().map(|it| it.unwrap()).collect();
    let pairs: Vec<(&[u8], &[u8])> =
        pairs.iter().map(|(key, value)| (&key[..], &value[..])).collect();
    assert_eq!(pairs, [(&b"a"[..], &b"new"[..]), (b"b", b"B"), (b"d", b"D")]);
    for (key, value) in pairs {
        assert_eq!(opened.get(key).unwrap().as_deref(), Some(value));
    }
    assert_eq!(opened.get(b"c").unwrap(), None);
    assert!(opened.caveats().iter().any(|it| it.message().contains("opened without the MANIFEST")));
}

/// A caveat is not enough: what is not found may be in the table that was left out.
#[test]
fn a_lookup_that_misses_a_left_out_table_is_an_error() {
    let mut db = Maker::new();
    db.table(0, 14, &[(b"a", 5, Value, b"A"), (b"c", 6, Value, b"C")]);
    db.finish();
    std::fs::remove_file(db.path().join("CURRENT")).unwrap();
    std::fs::write(db.path().join("000016.sst"), b"not a table").unwrap();
    let opened = Database::open_tables(db.path()).unwrap();
    assert!(opened.caveats().iter().any(|it| it.message().contains("000016.sst")));
    // What is found is shown.
    assert_eq!(opened.get(b"c").unwrap().unwrap(), b"C");
    assert_eq!(opened.get_many(&[b"c", b"a"]).unwrap().len(), 2);

    let family = opened.default_column_family();
    let is_named = |error: sstkit_db::Error| {
        error.to_string().contains("000016.sst") && error.kind() == ErrorKind::Corrupt
    };
    assert!(is_named(opened.get(b"b").unwrap_err()));
    assert!(is_named(opened.get_many(&[b"a", b"b"]).unwrap_err()));
    assert!(is_named(family.explain(b"b").unwrap_err()));
    // Scans show what there is, and then what is missing.
    let ends_in_error = |mut pairs: Vec<Result<(), sstkit_db::Error>>, count: usize| {
        assert!(is_named(pairs.pop().unwrap().unwrap_err()));
        assert_eq!(pairs.len(), count);
        assert!(pairs.iter().all(Result::is_ok));
    };
    ends_in_error(opened.iter().map(|it| it.map(drop)).collect(), 2);
    ends_in_error(opened.iter().rev().map(|it| it.map(drop)).collect(), 2);
    ends_in_error(opened.prefix(b"c").map(|it| it.map(drop)).collect(), 1);
    ends_in_error(family.entries().map(|it| it.map(drop)).collect(), 2);
    let mut both = opened.iter();
    assert!(both.next().unwrap().is_ok() && both.next_back().unwrap().is_ok());
    assert!(is_named(both.next().unwrap().unwrap_err()));

    let mut compaction = Compaction::new(&CompactionOptions::new(TableOptions::rocksdb()));
    assert!(is_named(compaction.add_column_family(&family, ..).map(drop).unwrap_err()));
}

#[test]
fn what_was_flushed_or_compacted_counts_once() {
    let append = sstkit_db::merge_operator("stringappend").unwrap();
    let options = DatabaseOptions::default().default_merge_operator(append);
    let mut db = Maker::new();
    // The log was flushed to table 21, and that compacted into 22, before anything was deleted.
    db.log(20, &[Batch::new().write(0, 0x02, &[b"k", b"1"]).write(0, 0x02, &[b"k", b"2"]).at(1)]);
    db.table(0, 21, &[(b"k", 2, Merge, b"2"), (b"k", 1, Merge, b"1")]);
    let tables = |count: usize| {
        let opened = Database::open_tables_with(db.path(), &options).unwrap();
        assert_eq!(opened.default_column_family().entries().count(), count);
        let pairs: Vec<_> =
            opened.iter().chain(opened.iter().rev()).map(|it| it.unwrap()).collect();
        assert_eq!(pairs.iter().map(|it| &it.1[..]).collect::<Vec<_>>(), [b"1,2", b"1,2"]);
        assert_eq!(opened.get(b"k").unwrap().unwrap(), b"1,2");
    };
    tables(4);
    db.write_table(22, &[(b"k", 2, Value, b"1,2")]);
    std::fs::remove_file(db.path().join("000020.log")).unwrap();
    tables(3);
}

#[test]
fn golden_databases_without_their_manifest() {
    for path in golden_databases() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let db = Database::open(&path).unwrap();
        let tables = Database::open_tables(&path).unwrap();
        // Only the MANIFEST knows when an ingested table was taken in.
        let is_sure =
            !tables.caveats().iter().any(|it| it.message().contains("only the MANIFEST knew"));
        for (family, shown) in families_with_lists(&path, &db) {
            let Ok(alone) = tables.column_family(family.name()) else {
                assert!(family.levels().is_empty(), "{name}: tables tell of {}", family.name());
                continue;
            };
            let found: Vec<_> = alone.iter().map(|it| it.unwrap()).collect();
            let expected = shown.iter().map(|it| (&it.key[..], &it.value[..]));
            let same = found.iter().map(|(key, value)| (&key[..], &value[..])).eq(expected);
            assert!(same || !is_sure, "{name}/{}", family.name());
            for it in shown.iter().step_by(13).filter(|_| same) {
                assert_eq!(alone.get(&it.key).unwrap().as_deref(), Some(&it.value[..]), "{name}");
            }
        }
    }
}

#[test]
fn a_log_counts_up_to_its_first_damage() {
    let db = Maker::new();
    let batches = |first: u64| -> Vec<Vec<u8>> {
        (first..first + 3).map(|at| Batch::new().put(&[b'a' + at as u8], b"v").at(at)).collect()
    };
    let mut damaged = log(&batches(1));
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1; // in the batch with number 2
    std::fs::write(db.path().join("000020.log"), &damaged).unwrap();
    db.log(21, &batches(4));
    db.finish();
    let count = |mode: Option<RecoveryMode>| {
        let options = DatabaseOptions::default();
        let options = mode.into_iter().fold(options, DatabaseOptions::recovery_mode);
        Database::open_with(db.path(), &options).map(|db| (db.iter().count(), db.last_sequence()))
    };
    // The second log begins with 4 where 2 would have to follow.
    assert_eq!(count(None).unwrap(), (1, 1));
    // What follows in the same block of the log is lost in any case.
    assert_eq!(count(Some(RecoveryMode::SkipAnyCorruptedRecords)).unwrap(), (4, 6));
    let error = count(Some(RecoveryMode::AbsoluteConsistency)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.file(), Some(db.path().join("000020.log").as_path()));
    // A database that was opened after the damage went on from there.
    db.log(21, &batches(2));
    assert_eq!(count(None).unwrap(), (4, 4));
    assert!(Database::open(db.path()).unwrap().caveats()[0].message().contains("000020.log"));
}

#[test]
fn a_column_family_of_an_unknown_order_does_not_hide_the_others() {
    let mut db = one_table();
    let mut edit = crate::maker::Edit::default();
    edit.numbers(&[200, 1]).text(201, b"odd").text(1, b"example.Unknown");
    db.edit(&edit);
    db.finish();
    let opened = Database::open(db.path()).unwrap();
    assert_eq!(opened.iter().count(), 2);
    let odd = opened.column_family("odd").unwrap();
    assert_eq!(odd.get(b"a").unwrap(), None);
    assert_eq!(odd.iter().count(), 0);
    assert_eq!(opened.caveats()[0].kind(), sstkit_db::CaveatKind::UnknownOrder);
    assert!(odd.comparator().is_err());
    assert_eq!(opened.default_column_family().comparator().unwrap(), &Comparator::Bytewise);
}

#[test]
fn no_flipped_bit_panics_or_changes_what_is_seen_in_silence() {
    let mut db = one_table();
    db.table(0, 12, &[(b"b", 3, Deletion, b""), (b"c", 4, Value, b"C")]);
    db.log(20, &[Batch::new().put(b"d", b"D").at(5), Batch::new().put(b"e", b"E").at(6)]);
    db.finish();
    let read = || -> sstkit_db::Result<Vec<Vec<u8>>> {
        Database::open(db.path())?.iter().map(|entry| entry.map(|(key, _)| key)).collect()
    };
    let whole = read().unwrap();
    assert_eq!(whole, [b"a", b"c", b"d", b"e"]);
    for name in ["CURRENT", "MANIFEST-000001", "000020.log", "000011.sst"] {
        let path = db.path().join(name);
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            for flipped in [1, 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flipped;
                std::fs::write(&path, &damaged).unwrap();
                // Of a log what precedes the damage counts, and of the MANIFEST, if its last
                // record seems to go on behind the end of the file: the engine sees no more.
                if let Ok(keys) = read() {
                    let expected = whole.iter().filter(|key| keys.contains(key));
                    assert!(keys.iter().eq(expected) || name.starts_with('M'), "{name} at {at}");
                }
            }
        }
        std::fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(read().unwrap(), whole);
}

/// In a user-made order, keys with a prefix may be anywhere, and a key may have several spellings: that of
/// its newest entry is shown from both ends.
#[test]
fn prefixes_and_spellings_are_the_same_from_both_ends() {
    let order = ignore_case();
    let mut db = Maker::new();
    db.table_options(TableOptions::rocksdb().comparator(order.clone()).external_file(false));
    db.write_table(
        14,
        &[(b"a", 1, Value, b"1"), (b"Key", 2, Value, b"2"), (b"kez", 3, Value, b"3")],
    );
    db.write_table(
        15,
        &[(b"KEY", 5, Value, b"5"), (b"key", 4, Value, b"4"), (b"Z", 6, Value, b"6")],
    );
    let options = DatabaseOptions::default().comparator(order);
    let opened = Database::open_tables_with(db.path(), &options).unwrap();
    let keys = |pairs: &mut dyn Iterator<Item = sstkit_db::Result<(Vec<u8>, _)>>| {
        pairs.map(|pair| String::from_utf8(pair.unwrap().0).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&mut opened.iter()), ["a", "KEY", "kez", "Z"]);
    assert_eq!(keys(&mut opened.iter().rev()), ["Z", "kez", "KEY", "a"]);
    assert_eq!(keys(&mut opened.prefix("K")), ["KEY"]);
    assert_eq!(keys(&mut opened.prefix("K").rev()), ["KEY"]);
    assert_eq!(keys(&mut opened.prefix("k").rev()), ["kez"]);
    assert_eq!(opened.get(b"kEY").unwrap().unwrap(), b"5");
}

/// Whether files can be opened does not depend on how many databases there are: under a limit of 64
/// open files, six databases with 30 tables each.
#[cfg(unix)]
#[test]
fn several_databases_share_the_files_that_may_be_open() {
    const INSIDE: &str = "SSTKIT_TEST_FEW_FILES";
    const TABLES: u64 = 30;
    if std::env::var_os(INSIDE).is_none() {
        // The limit is one of the process.
        let name = "changing::several_databases_share_the_files_that_may_be_open";
        let output = std::process::Command::new("sh")
            .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", name, "--test-threads=1"])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let makers: Vec<Maker> = (0..6)
        .map(|_| {
            let mut db = Maker::new();
            for number in 0..TABLES {
                db.table(1, 11 + number, &[(format!("{number:02}").as_bytes(), 1, Value, b"v")]);
            }
            db.log(90, &[Batch::new().put(b"log", b"l").at(99)]);
            db.finish();
            db
        })
        .collect();
    let opened: Vec<_> = makers.iter().map(|db| Database::open(db.path()).unwrap()).collect();
    for round in 0..3 {
        for number in 0..TABLES {
            for db in &opened {
                let key = format!("{number:02}");
                assert_eq!(db.get(key.as_bytes()).unwrap().unwrap(), b"v", "round {round}");
            }
        }
        for db in &opened {
            assert_eq!(db.iter().filter(Result::is_ok).count() as u64, TABLES + 1);
        }
    }
    // What was given back can be held again.
    drop(opened);
    let db = Database::open(makers[0].path()).unwrap();
    for number in 25..TABLES {
        std::fs::remove_file(makers[0].path().join(format!("{:06}.sst", 11 + number))).unwrap();
    }
    let held = (25..TABLES).filter(|number| db.get(format!("{number:02}").as_bytes()).is_ok());
    assert_eq!(held.count(), 0, "the first third of 64 is held");
    for number in 0..20 {
        std::fs::remove_file(makers[0].path().join(format!("{:06}.sst", 11 + number))).unwrap();
        assert_eq!(db.get(format!("{number:02}").as_bytes()).unwrap().unwrap(), b"v");
    }
}
