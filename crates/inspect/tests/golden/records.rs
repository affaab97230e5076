//! The records of a table against the list of what went into it.

use std::ops::Bound;
use std::path::Path;

use serde_json::{Value as Json, json};
use sstkit_filter::FilterPolicy;
use sstkit_inspect::{Encoding, GetRecord, InspectedTable, InternalScan, JsonRecord};
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{Iter, TableOptions, TableReadOptions, TableWriter};
use sstkit_testkit::orders::ignore_case;

use crate::files::{listed, open, tables, tables_folder};

/// The visible records, in one direction.
fn all(iter: Iter, backward: bool) -> Vec<JsonRecord> {
    let describe = |record: sstkit_table::Result<sstkit_table::Record>| {
        JsonRecord::of_visible(&record.unwrap(), Encoding::Hex)
    };
    match backward {
        false => iter.records().map(describe).collect(),
        true => iter.records().rev().map(describe).collect(),
    }
}

/// The visible record of one key.
fn get(file: &InspectedTable, key: &[u8]) -> Option<JsonRecord> {
    let record = file.table().get_record(key).unwrap();
    record.map(|record| JsonRecord::of_visible(&record, Encoding::Hex))
}

/// A record as the lists have it.
fn as_listed(record: JsonRecord) -> Json {
    let Json::Object(mut object) = serde_json::to_value(record).unwrap() else { panic!() };
    for field in ["seq", "columns", "blob"] {
        object.remove(field);
    }
    Json::Object(object)
}

/// Where the list does not say what an entry does, it is a value.
fn with_kind(mut listed: Json) -> Json {
    listed.as_object_mut().unwrap().entry("type").or_insert("put".into());
    listed
}

#[test]
fn entries_are_those_that_went_in() {
    for path in tables() {
        let file = open(&path);
        let found: Vec<Json> =
            InternalScan::new(&file, Encoding::Hex).map(|it| as_listed(it.unwrap())).collect();
        let expected: Vec<Json> = listed(&path).into_iter().map(with_kind).collect();
        assert_eq!(found.len(), expected.len(), "{}", path.display());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{}", path.display());
        }
    }
}

/// A search for the newest entry of each key would be some 10^11 steps.
#[test]
fn backwards_through_one_long_restart_interval() {
    const COUNT: u32 = 300_000;
    let options = TableOptions::rocksdb()
        .external_file(false)
        .filter(FilterPolicy::None)
        .block_size(64 << 20)
        .block_restart_interval(COUNT as usize * 2);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for number in 0..COUNT {
        let key = number.to_be_bytes();
        let newest = if number % 7 == 0 { EntryKind::Deletion } else { EntryKind::Value };
        for (sequence, kind) in [(number % 3 + 2, newest), (1, EntryKind::Value)] {
            let sequence = sequence.into();
            writer.add(&InternalKey { user_key: &key, sequence, kind }, b"").unwrap();
        }
    }
    writer.finish().unwrap();
    let file = InspectedTable::from_bytes(bytes, &TableReadOptions::default()).unwrap();
    let mut numbers = (0..COUNT).rev().filter(|number| number % 7 != 0);
    for record in all(file.table().iter(), true) {
        assert_eq!(record.key, format!("{:08x}", numbers.next().unwrap()));
    }
    assert_eq!(numbers.next(), None);
}

/// Keys that are the same to the comparator are one record, spelled as the newest of them.
#[test]
fn records_are_told_apart_by_the_order_of_the_table() {
    let order = ignore_case();
    let options = TableOptions::rocksdb().external_file(false).comparator(order.clone());
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    let entries = [("a", 1), ("KEY", 5), ("key", 3), ("Key", 2), ("kez", 4), ("Z", 1)];
    for (key, sequence) in entries {
        let key = InternalKey { user_key: key.as_bytes(), sequence, kind: EntryKind::Value };
        writer.add(&key, sequence.to_string().as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let read = TableReadOptions::default().comparator(order);
    let file = InspectedTable::from_bytes(bytes, &read).unwrap();
    let (table, hex) = (file.table(), |key: &str| Encoding::Hex.encode(key.as_bytes()));
    let keys = |iter: Iter, backward: bool| -> Vec<String> {
        all(iter, backward).into_iter().map(|record| record.key).collect()
    };
    assert_eq!(keys(table.iter(), false), ["a", "KEY", "kez", "Z"].map(hex));
    assert_eq!(keys(table.iter(), true), ["Z", "kez", "KEY", "a"].map(hex));
    for backward in [false, true] {
        assert_eq!(keys(table.prefix(b"K"), backward), [hex("KEY")]);
        assert_eq!(keys(table.prefix(b"k"), backward), [hex("kez")]);
    }
    assert_eq!(get(&file, b"kEy").unwrap().value, Some(Some(hex("5"))));
    assert_eq!(get(&file, b"ke"), None);
}

#[test]
fn entities_have_columns_and_blobs_a_place() {
    let file = open(&tables_folder().join("types-entities.sst"));
    let entity = InternalScan::new(&file, Encoding::Escape)
        .map(Result::unwrap)
        .find(|record| record.kind == Some("put_entity"))
        .unwrap();
    let columns = entity.columns.unwrap();
    assert_eq!(columns[0], (String::new(), entity.value.clone().unwrap().unwrap()));
    assert_eq!(columns[1], ("a".into(), "alpha".into()));
    assert_eq!(columns[2].0, "zed");

    let file = open(&tables_folder().join("embedded-blobs.sst"));
    let blob = InternalScan::new(&file, Encoding::Escape)
        .map(Result::unwrap)
        .find(|record| record.kind == Some("blob_index"))
        .unwrap();
    let place = blob.blob.unwrap();
    assert_eq!((place.file, place.size), (0, blob.value.unwrap().unwrap().len() as u64));
}

/// What the table itself makes visible, except for operands: it has no operator for them.
#[test]
fn the_visible_state_is_the_tables() {
    for path in tables() {
        let file = open(&path);
        let records = all(file.table().iter(), false);
        let mut expected = Vec::new();
        let mut cursor = file.table().entry_cursor();
        let mut more = cursor.seek_to_first().unwrap();
        let mut last = None;
        while more {
            let key = file.bare(cursor.user_key()).to_vec();
            if last.as_ref() != Some(&key) {
                match file.table().get(&key) {
                    Ok(Some(value)) => expected.push((key.clone(), Some(value))),
                    Ok(None) => {}
                    Err(_) => expected.push((key.clone(), None)),
                }
            }
            last = Some(key);
            more = cursor.next().unwrap();
        }
        assert_eq!(records.len(), expected.len(), "{}", path.display());
        for (record, (key, value)) in records.iter().zip(&expected) {
            assert_eq!(record.key, Encoding::Hex.encode(key));
            match value {
                Some(value) => {
                    assert_eq!(record.value, Some(Some(Encoding::Hex.encode(value))));
                    assert_eq!(record.merge, None);
                }
                None => assert!(record.merge.is_some(), "{record:?}"),
            }
        }
        check_directions(&path, &file, &records);
        check_ranges(&file, &records);
    }
}

fn check_directions(path: &Path, file: &InspectedTable, records: &[JsonRecord]) {
    let mut backward = all(file.table().iter(), true);
    backward.reverse();
    assert!(backward == records, "{}", path.display());
    for record in records.iter().step_by(97) {
        let key = Encoding::Hex.decode(&record.key).unwrap();
        assert_eq!(get(file, &key).as_ref(), Some(record));
        let absent = [&key[..], b"\0"].concat();
        assert_eq!(get(file, &absent), None);
    }
}

fn check_ranges(file: &InspectedTable, records: &[JsonRecord]) {
    let (from, to) = (records.len() / 4, records.len() / 2);
    let Some([first, .., last]) = records.get(from..=to) else { return };
    let bytes = |record: &JsonRecord| Encoding::Hex.decode(&record.key).unwrap();
    let (first, last) = (bytes(first), bytes(last));
    for backward in [false, true] {
        let take = |lower: Bound<&[u8]>, upper: Bound<&[u8]>| {
            let mut found = all(file.table().range((lower, upper)), backward);
            if backward {
                found.reverse();
            }
            found
        };
        let half_open = take(Bound::Included(&first[..]), Bound::Excluded(&last[..]));
        assert!(half_open == records[from..to]);
        let other = take(Bound::Excluded(&first[..]), Bound::Included(&last[..]));
        assert!(other == records[from + 1..=to]);

        let prefix = &first[..first.len().saturating_sub(2)];
        let mut found = all(file.table().prefix(prefix), backward);
        if backward {
            found.reverse();
        }
        let has_prefix = |record: &&JsonRecord| bytes(record).starts_with(prefix);
        let expected: Vec<JsonRecord> = records.iter().filter(has_prefix).cloned().collect();
        assert!(found == expected);
    }
}

#[test]
fn operands_without_an_operator_are_shown() {
    let file = open(&tables_folder().join("types-all.sst"));
    let merge =
        all(file.table().iter(), false).into_iter().find(|record| record.merge.is_some()).unwrap();
    assert_eq!(merge.value, Some(None));
    let answer = GetRecord::new(b"k", Some(merge.clone()), Encoding::Hex);
    assert_eq!(serde_json::to_value(answer).unwrap()["value"], json!(null));
    assert_eq!(serde_json::to_value(merge).unwrap()["value"], json!(null));
}
