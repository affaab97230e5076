//! One database, many threads, few open files.

use std::thread;

use sstkit_db::{Answer, ColumnFamily, Database, DatabaseOptions};
use sstkit_testkit::goldens::{Shown, families_with_lists, golden_databases};
use sstkit_testkit::{Random, cases};

/// One question about the key at this place.
fn ask(family: &ColumnFamily, shown: &[Shown], at: usize, question: usize) {
    let it = &shown[at];
    match question {
        0 => {
            let found = family.range(&it.key[..]..).take(50);
            for (found, it) in found.zip(&shown[at..]) {
                let (key, value) = found.unwrap();
                assert_eq!((&key, &value[..]), (&it.key, &it.value[..]));
            }
        }
        1 => {
            let some = &shown[at..shown.len().min(at + 30)];
            let keys: Vec<_> = some.iter().map(|it| &it.key).collect();
            let values = family.get_many(&keys).unwrap();
            let expected = some.iter().map(|it| Some(&it.value[..]));
            assert!(values.iter().map(|it| it.as_deref()).eq(expected));
        }
        2 => {
            let Answer::Found(value) = family.explain(&it.key).unwrap().answer else {
                panic!("{} is there", it.key.escape_ascii());
            };
            assert_eq!(value.value().as_deref(), Some(&it.value[..]));
        }
        3 => assert_eq!(family.get(&[&it.key[..], b"\0none"].concat()).unwrap(), None),
        _ => assert_eq!(family.get(&it.key).unwrap().as_deref(), Some(&it.value[..])),
    }
}

#[test]
fn two_open_files_for_eight_threads() {
    for path in golden_databases() {
        let options = DatabaseOptions::default()
            .max_open_files(2)
            .block_cache_size(50_000)
            .cache_index_and_filter_blocks(true);
        let db = Database::open_with(&path, &options).unwrap();
        let families = &families_with_lists(&path, &db);
        thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || {
                    let mut random = Random::new(number + 1);
                    for _ in 0..60 * cases() {
                        let (family, shown) = random.pick(families);
                        let at = random.index(shown.len());
                        ask(family, shown, at, random.index(20));
                    }
                });
            }
        });
    }
}
