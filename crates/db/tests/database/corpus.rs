//! Every golden database gives exactly the engine's own view, with every way of reading.

use sstkit_db::{ColumnFamily, Database, DatabaseCursor, DatabaseOptions, Record, RecordValue};
use sstkit_testkit::goldens::{Shown, families_with_lists, golden_databases};

/// Calls `check` for each column family of each database.
fn each_family(check: impl Fn(&str, &ColumnFamily, &[Shown])) {
    for path in golden_databases() {
        let db = Database::open(&path).unwrap();
        assert_eq!(db.caveats(), &[], "{}", path.display());
        for (family, shown) in families_with_lists(&path, &db) {
            let name = path.file_name().unwrap().to_string_lossy();
            check(&format!("{name}/{}", family.name()), &family, &shown);
        }
    }
}

fn assert_shows(name: &str, record: Record, shown: &Shown) {
    assert_eq!(record.key, shown.key, "{name}");
    let key = shown.key.escape_ascii();
    assert_eq!(record.timestamp, shown.timestamp, "{name}: {key}");
    assert_eq!(record.value.value().as_deref(), Some(&shown.value[..]), "{name}: {key}");
    if let Some(columns) = &shown.columns {
        let found: Vec<(Vec<u8>, Vec<u8>)> = match record.value {
            RecordValue::Entity(columns) => {
                columns.iter().map(|it| (it.name.to_vec(), it.value.to_vec())).collect()
            }
            RecordValue::Value(value) => vec![(Vec::new(), value.to_vec())],
            RecordValue::Unresolved { .. } => panic!("{name}: {key} is not resolved"),
        };
        assert_eq!(&found, columns, "{name}: {key}");
    }
}

#[test]
fn forwards_and_backwards() {
    each_family(|name, family, shown| {
        let mut records = family.records();
        for expected in shown {
            assert_shows(name, records.next().expect("one more").unwrap(), expected);
        }
        assert!(records.next().is_none(), "{name}");
        let mut records = family.records().rev();
        for expected in shown.iter().rev() {
            assert_shows(name, records.next().expect("one more").unwrap(), expected);
        }
        assert!(records.next().is_none(), "{name}");
        // From both ends at once, until they meet.
        let mut pairs = family.iter();
        let (mut front, mut back) = (Vec::new(), Vec::new());
        while let Some(pair) = pairs.next() {
            front.push(pair.unwrap());
            back.extend(pairs.next_back().map(Result::unwrap));
        }
        front.extend(back.into_iter().rev());
        let expected = shown.iter().map(|it| (it.key.clone(), it.value.clone()));
        assert!(front.into_iter().map(|(key, value)| (key, value.to_vec())).eq(expected), "{name}");
    });
}

#[test]
fn keys_that_are_there_and_keys_that_are_not() {
    each_family(|name, family, shown| {
        for expected in shown {
            let value = family.get(&expected.key).unwrap();
            assert_eq!(value.as_deref(), Some(&expected.value[..]), "{name}");
            assert_shows(name, family.get_record(&expected.key).unwrap().unwrap(), expected);
        }
        let absent = absent_keys(family, shown);
        for key in &absent {
            assert_eq!(family.get(key).unwrap(), None, "{name}: {}", key.escape_ascii());
        }
        // All of them at once, in an order that is none.
        let mut keys: Vec<(&[u8], Option<&[u8]>)> =
            shown.iter().map(|it| (&it.key[..], Some(&it.value[..]))).collect();
        keys.extend(absent.iter().map(|key| (&key[..], None)));
        keys.sort_by_key(|(key, _)| key.iter().rev().copied().collect::<Vec<u8>>());
        let values = family.get_many(&keys.iter().map(|(key, _)| key).collect::<Vec<_>>()).unwrap();
        for ((key, expected), found) in keys.iter().zip(&values) {
            assert_eq!(found.as_deref(), *expected, "{name}: {}", key.escape_ascii());
        }
    });
}

/// Keys beside those that are there, and all that were deleted.
fn absent_keys(family: &ColumnFamily, shown: &[Shown]) -> Vec<Vec<u8>> {
    let is_there = |key: &[u8]| shown.binary_search_by(|it| it.key[..].cmp(key)).is_ok();
    let mut absent = vec![Vec::new(), vec![0xff; 40]];
    for it in shown {
        absent.push([&it.key[..], b"\0"].concat());
        absent.push(it.key[..it.key.len().saturating_sub(1)].to_vec());
    }
    absent.extend(family.entries().map(|entry| entry.unwrap().key));
    absent.retain(|key| !is_there(key));
    absent.sort();
    absent.dedup();
    absent
}

#[test]
fn seeks_in_both_directions() {
    each_family(|name, family, shown| {
        let mut cursor = family.cursor().unwrap();
        let step = (shown.len() / 97).max(1);
        let at = |cursor: &DatabaseCursor, index: Option<usize>| {
            let expected = index.and_then(|index| shown.get(index)).map(|it| &it.key[..]);
            assert_eq!(cursor.is_valid().then(|| cursor.key()), expected, "{name}");
        };
        for i in (0..shown.len()).step_by(step) {
            let (key, after) = (&shown[i].key, [&shown[i].key[..], b"\0"].concat());
            cursor.seek(key).unwrap();
            at(&cursor, Some(i));
            cursor.prev().unwrap();
            at(&cursor, i.checked_sub(1));
            cursor.seek(&after).unwrap();
            at(&cursor, Some(i + 1));
            cursor.seek_for_prev(&after).unwrap();
            at(&cursor, Some(i));
            assert_eq!(cursor.value().unwrap(), &shown[i].value[..], "{name}");
            cursor.next().unwrap();
            at(&cursor, Some(i + 1));
            if cursor.is_valid() {
                cursor.prev().unwrap();
                at(&cursor, Some(i));
            }
        }
        for pair in shown.windows(5).step_by(step) {
            let range = || family.range(&pair[1].key[..]..&pair[4].key[..]);
            let keys: Vec<_> = range().map(|entry| entry.unwrap().0).collect();
            assert!(keys.iter().eq(pair[1..4].iter().map(|it| &it.key)), "{name}");
            let keys: Vec<_> = range().rev().map(|entry| entry.unwrap().0).collect();
            assert!(keys.iter().eq(pair[1..4].iter().rev().map(|it| &it.key)), "{name}");
        }
    });
}

#[test]
fn all_keys_of_a_prefix() {
    each_family(|name, family, shown| {
        let step = (shown.len() / 11).max(1);
        for it in shown.iter().step_by(step) {
            for length in (0..=it.key.len()).rev().take(8) {
                let start = &it.key[..length];
                let expected =
                    || shown.iter().filter(|it| it.key.starts_with(start)).map(|it| &it.key);
                let found: Vec<_> = family.prefix(start).map(|entry| entry.unwrap().0).collect();
                assert!(found.iter().eq(expected()), "{name}: {}", start.escape_ascii());
                let found: Vec<_> =
                    family.prefix(start).rev().map(|entry| entry.unwrap().0).collect();
                assert!(found.iter().rev().eq(expected()), "{name}: {}", start.escape_ascii());
            }
            let absent = [&it.key[..], b"\x01"].concat();
            assert_eq!(family.prefix(&absent).count(), 0, "{name}");
        }
    });
}

#[test]
fn filters_and_small_caches_change_nothing() {
    for path in golden_databases() {
        let options = DatabaseOptions::default()
            .use_filters(false)
            .block_cache_size(0)
            .cache_index_and_filter_blocks(true)
            .max_open_files(1);
        let db = Database::open_with(&path, &options).unwrap();
        for (family, shown) in families_with_lists(&path, &db) {
            let found = family.records();
            for (record, expected) in found.zip(&shown) {
                assert_shows(&path.to_string_lossy(), record.unwrap(), expected);
            }
            for expected in shown.iter().step_by((shown.len() / 200).max(1)) {
                assert_eq!(
                    family.get(&expected.key).unwrap().as_deref(),
                    Some(&expected.value[..])
                );
            }
        }
    }
}

#[test]
fn an_explanation_comes_to_the_same_answer() {
    use sstkit_db::{Answer, Step};
    each_family(|name, family, shown| {
        for expected in shown.iter().step_by((shown.len() / 50).max(1)) {
            let explanation = family.explain(&expected.key).unwrap();
            let Answer::Found(value) = explanation.answer else { panic!("{name}") };
            assert_eq!(value.value().as_deref(), Some(&expected.value[..]), "{name}");
            assert!(matches!(explanation.steps[0], Step::Memtable { .. }));
        }
        for key in absent_keys(family, shown).iter().step_by(11) {
            let explanation = family.explain(key).unwrap();
            assert!(!matches!(explanation.answer, Answer::Found(_)), "{name}");
            let files: usize = explanation
                .steps
                .iter()
                .map(|step| match step {
                    Step::OutOfRange { files, .. } | Step::Skipped { files, .. } => files.len(),
                    Step::File { .. } => 1,
                    _ => 0,
                })
                .sum();
            let levels = family.levels();
            assert_eq!(
                files,
                levels.iter().map(|level| level.files.len()).sum::<usize>(),
                "{name}"
            );
        }
    });
}

#[test]
fn a_database_is_shared_by_threads() {
    fn is_shared<T: Send + Sync + Clone + 'static>() {}
    is_shared::<Database>();
    is_shared::<ColumnFamily>();
    let path = &golden_databases()[0];
    let db = Database::open(path).unwrap();
    let [(family, shown), ..] = &families_with_lists(path, &db)[..] else { panic!("no families") };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for it in shown.iter().skip(thread).step_by(4) {
                    assert_eq!(family.get(&it.key).unwrap().as_deref(), Some(&it.value[..]));
                }
            });
        }
    });
}
