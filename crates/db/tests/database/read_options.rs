//! Each option of a read changes what it should, over all golden databases.

use sstkit_db::{ColumnFamily, Database, DatabaseOptions, ErrorKind};
use sstkit_table::{BlockCache, PrefixMode, ReadOptions};
use sstkit_testkit::goldens::{Shown, families_with_lists, golden_databases};

fn each_family(options: &DatabaseOptions, check: impl Fn(&str, &ColumnFamily, &[Shown])) {
    for path in golden_databases() {
        let db = Database::open_with(&path, options).unwrap();
        for (family, shown) in families_with_lists(&path, &db) {
            let name = path.file_name().unwrap().to_string_lossy();
            check(&format!("{name}/{}", family.name()), &family, &shown);
        }
    }
}

/// Options that concern how something is read, not what.
fn ways() -> [ReadOptions; 5] {
    let default = ReadOptions::default;
    [
        default(),
        default().use_filters(false).readahead_size(64 << 10),
        default().fill_cache(false).pin_data(true),
        default().verify_checksums(false).prefix_mode(PrefixMode::TotalOrder),
        default().sequence(u64::MAX),
    ]
}

#[test]
fn every_way_of_reading_shows_the_same() {
    each_family(&DatabaseOptions::default(), |name, family, shown| {
        let mut keys: Vec<Vec<u8>> = shown.iter().map(|it| it.key.clone()).collect();
        keys.extend(shown.iter().map(|it| [&it.key[..], b"\0"].concat()));
        let expected = |at: usize| shown.get(at).map(|it| &it.value[..]);
        for way in ways() {
            let many = family.get_many_with(&keys, &way).unwrap();
            for (at, (key, found)) in keys.iter().zip(many).enumerate() {
                assert_eq!(found.as_deref(), expected(at), "{name}: {way:?}");
                if at % 5 == 0 {
                    let alone = family.get_with(key, &way).unwrap();
                    assert_eq!(alone.as_deref(), expected(at), "{name}: {way:?}");
                    let record = family.get_record_with(key, &way).unwrap();
                    assert_eq!(record.is_some(), at < shown.len(), "{name}: {way:?}");
                    let columns = family.get_entity_with(key, &way).unwrap();
                    assert_eq!(columns.is_some(), at < shown.len(), "{name}: {way:?}");
                }
            }
            let forward = family.iter_with(&way).map(Result::unwrap);
            let pairs = shown.iter().map(|it| (it.key.clone(), it.value.clone()));
            assert!(forward.map(|(key, value)| (key, value.to_vec())).eq(pairs), "{name}");
            let backward = family.iter_with(&way).rev().map(|pair| pair.unwrap().0);
            assert!(backward.eq(shown.iter().rev().map(|it| it.key.clone())), "{name}");
        }
    });
}

#[test]
fn fill_cache() {
    let cache = BlockCache::new(64 << 20);
    let options = DatabaseOptions::default().block_cache(&cache);
    let leave = ReadOptions::default().fill_cache(false);
    each_family(&options, |name, family, shown| {
        // Partitions of indexes and filters are always cached.
        let has_partitions = family.levels().iter().flat_map(|level| &level.files).any(|file| {
            let table = file.open().unwrap();
            table.view().index_format().kind == sstkit_table::raw::IndexKind::TwoLevel
                || table.filter().is_some_and(|it| it.layout() != sstkit_filter::FilterLayout::Full)
        });
        cache.clear();
        assert_eq!(family.iter_with(&leave).count(), shown.len());
        shown.iter().for_each(|it| assert!(family.get_with(&it.key, &leave).unwrap().is_some()));
        assert!(has_partitions || cache.is_empty(), "{name}: {cache:?}");
        let before = cache.len();
        assert_eq!(family.iter().count(), shown.len());
        let has_blocks = family.levels().iter().any(|level| !level.files.is_empty());
        assert!(cache.len() > before || !has_blocks, "{name}: {cache:?}");
    });
}

/// A handle at a sequence number shows the same, and neither shows what the other does not.
#[test]
fn sequence_numbers() {
    each_family(&DatabaseOptions::default(), |name, family, _| {
        let mut sequences: Vec<u64> = family.entries().map(|it| it.unwrap().sequence).collect();
        sequences.sort_unstable();
        sequences.dedup();
        let step = (sequences.len() / 7).max(1);
        for &sequence in sequences.iter().step_by(step) {
            let options = ReadOptions::default().sequence(sequence);
            let handle = family.at(sequence);
            let all = |family: &ColumnFamily, options: &ReadOptions| {
                let pairs = family.iter_with(options);
                pairs.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())
            };
            let expected = all(&handle, &ReadOptions::default());
            assert_eq!(all(family, &options), expected, "{name}");
            assert_eq!(
                all(&handle, &ReadOptions::default().sequence(u64::MAX)),
                expected,
                "{name}"
            );
            for (key, value) in expected.into_iter().flatten().step_by(11) {
                assert_eq!(family.get_with(&key, &options).unwrap(), Some(value), "{name}");
            }
        }
    });
}

#[test]
fn timestamps() {
    each_family(&DatabaseOptions::default(), |name, family, shown| {
        let wrong = ReadOptions::default().timestamp(b"of 11 bytes");
        let errors = [
            family.get_with(b"key", &wrong).unwrap_err(),
            family.get_many_with(&[b"key"], &wrong).unwrap_err(),
            family.iter_with(&wrong).next().unwrap().unwrap_err(),
            family.cursor_with(&wrong).and_then(|mut it| it.seek_to_first()).unwrap_err(),
        ];
        assert!(errors.iter().all(|it| it.kind() == ErrorKind::InvalidInput), "{name}: {errors:?}");
        if shown.iter().all(|it| it.timestamp.is_empty()) {
            return;
        }
        for at in shown.iter().step_by(7) {
            let options = ReadOptions::default().timestamp(&at.timestamp);
            let handle = family.at_timestamp(&at.timestamp).unwrap();
            let keys =
                |iter: sstkit_db::DatabaseIter| -> Vec<_> { iter.map(Result::unwrap).collect() };
            assert_eq!(keys(family.iter_with(&options)), keys(handle.iter()), "{name}");
            assert_eq!(
                family.get_with(&at.key, &options).unwrap(),
                handle.get(&at.key).unwrap(),
                "{name}"
            );
        }
    });
}

/// A scan with the prefix of its seek key shows the keys with this prefix, and no others.
#[test]
fn the_prefix_of_the_seek_key() {
    let options = ReadOptions::default().prefix_mode(PrefixMode::SamePrefix);
    let extractor = sstkit_filter::PrefixExtractor::Fixed(9);
    let given = DatabaseOptions::default().prefix_extractor(extractor);
    let mut ended_early = std::cell::Cell::new(0);
    for database in [DatabaseOptions::default(), given] {
        each_family(&database, |name, family, shown| {
            let prefix = |key: &[u8]| -> Option<Vec<u8>> {
                family.prefix_extractor()?.prefix(key).map(<[u8]>::to_vec)
            };
            let mut cursor = family.cursor_with(&options).unwrap();
            for (at, it) in shown.iter().enumerate().step_by(shown.len() / 50 + 1) {
                let expected = shown[at..].iter().take_while(|next| {
                    prefix(&it.key).is_none() || prefix(&next.key) == prefix(&it.key)
                });
                let mut more = cursor.seek(&it.key).unwrap();
                let mut count = 0;
                for next in expected {
                    assert!(more && cursor.key() == next.key, "{name}");
                    more = cursor.next().unwrap();
                    count += 1;
                }
                assert!(!more, "{name}: {}", cursor.key().escape_ascii());
                ended_early.set(ended_early.get() + usize::from(at + count < shown.len()));
            }
        });
    }
    assert!(*ended_early.get_mut() > 100);
}

/// Sizes of ranges and split keys come from the indexes; parts are as large as the ranges say.
#[test]
fn sizes_and_split_keys() {
    each_family(&DatabaseOptions::default(), |name, family, shown| {
        let all = family.approximate_size(..).unwrap();
        let files = family.levels().into_iter().flat_map(|level| level.files);
        let tables: Vec<_> = files.map(|file| file.open().unwrap()).collect();
        let in_tables: u64 = tables.iter().map(|table| table.approximate_size(..).unwrap()).sum();
        assert_eq!(all, in_tables, "{name}");
        let blocks: Vec<_> = tables.iter().flat_map(|table| table.index().unwrap()).collect();
        let largest = blocks.iter().map(|it| it.as_ref().unwrap().handle.size + 5).max();
        let slack = (largest.unwrap_or(0) + 1) * 2 * tables.len() as u64;
        for it in shown.iter().step_by(shown.len() / 10 + 1) {
            let before = family.approximate_size(..&it.key).unwrap();
            let after = family.approximate_size(&it.key..).unwrap();
            assert!((before + after).abs_diff(all) <= slack, "{name}");
        }
        for parts in [1, 3, 10] {
            let keys = family.split_keys(parts).unwrap();
            assert!(keys.len() < parts, "{name}");
            for key in keys.iter().take(1).filter(|_| tables.len() == 1) {
                let first = family.approximate_size(..key).unwrap();
                assert!(first.abs_diff(all / parts as u64) <= all / parts as u64 + slack, "{name}");
            }
        }
    });
}
