//! Every golden table against its model: lookups, iteration, seeks, ranges, prefixes.

use std::ops::Bound;

use sstkit_table::raw::Engine;
use sstkit_table::{Comparator, Cursor, Entry, Iter, ReadOptions, TableReadOptions};
use sstkit_testkit::goldens::{Model, golden_tables, open, options};

fn collect(iter: impl Iterator<Item = <Iter as Iterator>::Item>) -> Vec<(Vec<u8>, Vec<u8>)> {
    iter.map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap()).collect()
}

/// The ways in which index and filter can be held, all of which must show the same.
fn all_options() -> [TableReadOptions; 4] {
    [
        options(),
        options().no_block_cache(),
        options().cache_index_and_filter_blocks(true),
        options().cache_index_and_filter_blocks(true).pin_top_level_index_and_filter(false),
    ]
}

#[test]
fn every_key_has_its_value_and_absent_keys_have_none() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let model = Model::of(&golden);
        let absent = model.absent_keys();
        for (i, options) in all_options().into_iter().enumerate() {
            let table = open(&golden, &options);
            // All keys once, and a sample with the other options.
            let step = if i == 0 { 1 } else { 17 };
            for key in model.keys.iter().chain(&absent).step_by(step) {
                let value = table.get(key).unwrap();
                assert_eq!(value.as_deref(), model.get(key), "{name}: {}", key.escape_ascii());
            }
        }
    }
}

#[test]
fn many_at_once_are_the_same_as_one_by_one() {
    for golden in golden_tables() {
        let model = Model::of(&golden);
        let mut keys = model.absent_keys();
        keys.extend(model.keys.iter().cloned());
        // Any order will do.
        keys.sort_by_key(|key| key.iter().rev().copied().collect::<Vec<_>>());
        let table = open(&golden, &options());
        for batch in keys.chunks(97) {
            let values = table.get_many(batch).unwrap();
            assert_eq!(values.len(), batch.len());
            for (key, value) in batch.iter().zip(values) {
                assert_eq!(value.as_deref(), model.get(key), "{}", golden.path.display());
            }
        }
        assert!(table.get_many::<&[u8]>(&[]).unwrap().is_empty());
    }
}

#[test]
fn iteration_shows_everything_in_both_directions() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let model = Model::of(&golden);
        for options in all_options() {
            let table = open(&golden, &options);
            assert!(collect(table.iter()) == model.visible, "{name}: forward");
            let mut backward = collect(table.iter().rev());
            backward.reverse();
            assert!(backward == model.visible, "{name}: backward");
        }
    }
}

/// Both ends of one iterator, taken in turns, meet without losing or repeating a key.
#[test]
fn both_ends_meet() {
    for golden in golden_tables() {
        let model = Model::of(&golden);
        let table = open(&golden, &options());
        for pattern in [0b01u32, 0b0011, 0b0111] {
            let mut iter = table.iter();
            let (mut front, mut back) = (Vec::new(), Vec::new());
            for turn in (0..4).cycle() {
                let from_front = pattern >> turn & 1 == 1;
                let Some(entry) = (if from_front { iter.next() } else { iter.next_back() }) else {
                    break;
                };
                let entry = entry.unwrap().0;
                if from_front { front.push(entry) } else { back.push(entry) }
            }
            assert!(iter.next().is_none() && iter.next_back().is_none());
            back.reverse();
            front.extend(back);
            let keys: Vec<_> = model.visible.iter().map(|(key, _)| key.clone()).collect();
            assert!(front == keys, "{}", golden.path.display());
        }
    }
}

fn assert_at(cursor: &Cursor, found: bool, expected: Option<&(Vec<u8>, Vec<u8>)>) {
    assert_eq!(found, expected.is_some());
    assert_eq!(cursor.is_valid(), found);
    if let Some((key, value)) = expected {
        assert_eq!(cursor.key(), key);
        assert_eq!(&*cursor.value().unwrap(), value.as_slice());
    }
}

#[test]
fn seeks_to_and_between_keys() {
    for golden in golden_tables() {
        let model = Model::of(&golden);
        let table = open(&golden, &options());
        let mut cursor = table.cursor();
        // All keys of small tables, a sample of large ones.
        let absent = model.absent_keys();
        let step = (model.keys.len() / 700).max(1);
        let keys = model.keys.iter().chain(&absent).step_by(step);
        for (i, key) in keys.enumerate() {
            let lower = model.lower_bound(key);
            let found = cursor.seek(key).unwrap();
            assert_at(&cursor, found, model.visible.get(lower));
            // Turn around now and then.
            if found && i % 3 == 0 {
                let moved = cursor.prev().unwrap();
                assert_at(&cursor, moved, lower.checked_sub(1).map(|i| &model.visible[i]));
                if moved {
                    let moved = cursor.next().unwrap();
                    assert_at(&cursor, moved, model.visible.get(lower));
                    let moved = cursor.next().unwrap();
                    assert_at(&cursor, moved, model.visible.get(lower + 1));
                }
            }

            let upper = model.upper_bound(key);
            let found = cursor.seek_for_prev(key).unwrap();
            assert_at(&cursor, found, upper.checked_sub(1).map(|i| &model.visible[i]));
            if found && i % 3 == 1 {
                let moved = cursor.next().unwrap();
                assert_at(&cursor, moved, model.visible.get(upper));
                if moved {
                    let moved = cursor.prev().unwrap();
                    assert_at(&cursor, moved, Some(&model.visible[upper - 1]));
                    let moved = cursor.prev().unwrap();
                    assert_at(
                        &cursor,
                        moved,
                        (upper - 1).checked_sub(1).map(|i| &model.visible[i]),
                    );
                }
            }
        }
        let found = cursor.seek_to_first().unwrap();
        assert_at(&cursor, found, model.visible.first());
        let found = cursor.seek_to_last().unwrap();
        assert_at(&cursor, found, model.visible.last());
    }
}

#[test]
fn ranges_have_the_keys_between_their_bounds() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let model = Model::of(&golden);
        let table = open(&golden, &options());
        let mut bounds = model.keys.clone();
        bounds.extend(model.absent_keys());
        bounds.sort_by(|a, b| model.compare(a, b));
        let step = (bounds.len() / 7).max(1);
        let bounds: Vec<_> = bounds.iter().step_by(step).collect();
        for (i, &start) in bounds.iter().enumerate() {
            for &end in &bounds[i..] {
                let (from, to) = (start.as_slice(), end.as_slice());
                let (lower, after_lower) = (model.lower_bound(start), model.upper_bound(start));
                let (upper, after_upper) = (model.lower_bound(end), model.upper_bound(end));

                let found = collect(table.range(from..to));
                assert!(found == model.visible[lower..upper.max(lower)], "{name}: a..b");
                let found = collect(table.range(from..=to));
                assert!(found == model.visible[lower..after_upper], "{name}: a..=b");
                let open = (Bound::Excluded(from), Bound::Excluded(to));
                let mut found = collect(table.range(open).rev());
                found.reverse();
                let expected = &model.visible[after_lower..upper.max(after_lower)];
                assert!(found == expected, "{name}: (a, b) backward");
            }
            let found = collect(table.range(start.as_slice()..));
            assert!(found == model.visible[model.lower_bound(start)..], "{name}: a..");
            let mut found = collect(table.range(..start.as_slice()).rev());
            found.reverse();
            assert!(found == model.visible[..model.lower_bound(start)], "{name}: ..b backward");
        }
    }
}

#[test]
fn prefixes_have_the_keys_that_start_like_them() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let model = Model::of(&golden);
        let table = open(&golden, &options());
        let mut starts: Vec<Vec<u8>> = vec![b"".to_vec(), b"zzzzzzzzzz".to_vec(), vec![0xff]];
        let step = (model.keys.len() / 8).max(1);
        for key in model.keys.iter().step_by(step) {
            for length in [1, 4, 6, 8, 9, key.len()] {
                starts.push(key[..key.len().min(length)].to_vec());
                let mut other = starts.last().unwrap().clone();
                if let Some(last) = other.last_mut() {
                    *last ^= 0x2a;
                }
                starts.push(other);
            }
        }
        for start in starts {
            let expected: Vec<_> =
                model.visible.iter().filter(|(key, _)| key.starts_with(&start)).cloned().collect();
            assert!(collect(table.prefix(&start)) == expected, "{name}: {}", start.escape_ascii());
            let mut backward = collect(table.prefix(&start).rev());
            backward.reverse();
            assert!(backward == expected, "{name}: {} backward", start.escape_ascii());
        }
    }
}

/// A cursor with an upper bound within one prefix may probe the filter, and shows the same.
#[test]
fn bounded_cursors_stay_in_their_bounds() {
    for golden in golden_tables() {
        let model = Model::of(&golden);
        let table = open(&golden, &options());
        if !matches!(table.comparator().unwrap(), Comparator::Bytewise) {
            continue;
        }
        let step = (model.keys.len() / 50).max(1);
        for key in model.keys.iter().step_by(step) {
            let bound = [key.as_slice(), b"\xff"].concat();
            let options = ReadOptions::default().range(key.as_slice()..bound.as_slice());
            let mut cursor = table.cursor_with(&options);
            let (lower, upper) = (model.lower_bound(key), model.lower_bound(&bound));
            let expected = &model.visible[lower..upper];
            // Below and above the bounds, seeks lead to the ends.
            let found = cursor.seek(b"").unwrap();
            assert_at(&cursor, found, expected.first());
            let found = cursor.seek_for_prev(b"\xff\xff\xff\xff").unwrap();
            assert_at(&cursor, found, expected.last());
            if let Some((first, _)) = expected.first() {
                assert!(cursor.seek(first).unwrap());
                assert!(!cursor.prev().unwrap(), "below the lower bound");
            }
        }
    }
}

#[test]
fn entries_show_every_version_in_both_directions() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let listed: Vec<_> = sstkit_testkit::goldens::expected_entries(&golden.path)
            .into_iter()
            .filter(|entry| !entry.is_range())
            .collect();
        let table = open(&golden, &options());
        let forward: Vec<_> = table.entries().map(Result::unwrap).collect();
        let mut backward: Vec<_> = table.entries().rev().map(Result::unwrap).collect();
        backward.reverse();
        assert!(forward == backward, "{name}");
        assert_eq!(forward.len(), listed.len(), "{name}");
        for (entry, expected) in forward.iter().zip(&listed) {
            let key = [expected.key.as_slice(), &expected.timestamp].concat();
            assert_eq!(entry.user_key, key, "{name}");
            assert_eq!(entry.sequence, 0);
            if let Some(kind) = expected.kind(!expected.timestamp.is_empty()) {
                assert_eq!(entry.kind, kind, "{name}");
            }
        }

        let mut ends = table.entries();
        let mut count = 0;
        while let Some(entry) = if count % 3 == 0 { ends.next_back() } else { ends.next() } {
            entry.unwrap();
            count += 1;
        }
        assert_eq!(count, listed.len());
        assert_eq!(table.has_internal_keys(), table.engine() == Engine::RocksDb, "{name}");
    }
}

#[test]
fn entries_of_one_key_and_seeks_among_entries() {
    for golden in golden_tables() {
        let table = open(&golden, &options());
        let entries: Vec<_> = table.entries().map(Result::unwrap).collect();
        let timestamp = table.properties().timestamp_size();
        let model = Model::of(&golden);
        let mut cursor = table.entry_cursor();
        let bare = |entry: &Entry| entry.user_key[..entry.user_key.len() - timestamp].to_vec();
        for (key, of_key) in model.keys.iter().zip(entries.chunk_by(|a, b| bare(a) == bare(b))) {
            assert_eq!(table.get_entries(key).unwrap(), of_key);
            assert!(cursor.seek(key).unwrap());
            assert_eq!(cursor.user_key(), of_key[0].user_key);
            assert!(cursor.seek_for_prev(key).unwrap());
            assert_eq!(cursor.user_key(), of_key[of_key.len() - 1].user_key);
            assert_eq!(cursor.value(), &*of_key[of_key.len() - 1].value);
        }
        for key in model.absent_keys().iter().take(50) {
            assert!(table.get_entries(key).unwrap().is_empty());
        }
    }
}
