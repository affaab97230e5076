//! Older states: at any sequence number a column family shows what its entries say.

use std::collections::BTreeMap;

use sstkit_db::{ColumnFamily, Database, DatabaseEntry, RecordValue};
use sstkit_table::raw::EntryKind;
use sstkit_testkit::goldens::golden_databases;

/// What the entries up to a number come to: the newest entry of each key that is not deleted. The
/// value is given only if it is in the entry.
fn model(family: &ColumnFamily, sequence: u64) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
    let ranges: Vec<_> = family
        .range_deletions()
        .unwrap()
        .into_iter()
        .filter(|range| range.sequence <= sequence)
        .collect();
    let is_covered = |entry: &DatabaseEntry| {
        ranges.iter().any(|range| {
            range.sequence > entry.sequence && range.start <= entry.key && entry.key < range.end
        })
    };
    let mut newest: BTreeMap<Vec<u8>, DatabaseEntry> = BTreeMap::new();
    for entry in family.entries().map(|entry| entry.unwrap()) {
        if entry.sequence <= sequence {
            newest.entry(entry.key.clone()).or_insert(entry);
        }
    }
    newest.retain(|_, entry| {
        let is_deletion = matches!(
            entry.kind,
            EntryKind::Deletion | EntryKind::SingleDeletion | EntryKind::DeletionWithTimestamp
        );
        !is_deletion && !is_covered(entry)
    });
    let value =
        |entry: DatabaseEntry| (entry.kind == EntryKind::Value).then(|| entry.value.to_vec());
    newest.into_iter().map(|(key, entry)| (key, value(entry))).collect()
}

#[test]
fn at_any_sequence_number() {
    for path in golden_databases() {
        let db = Database::open(&path).unwrap();
        for family in db.column_families() {
            let last = db.last_sequence();
            for sequence in [0, last / 7, last / 3, last / 2, last - last / 9, last - 1, last] {
                let (expected, view) = (model(&family, sequence), family.at(sequence));
                let mut found = BTreeMap::new();
                for record in view.records() {
                    let record = record.unwrap();
                    let value = match record.value {
                        RecordValue::Value(value) => Some(value.to_vec()),
                        _ => None,
                    };
                    found.insert(record.key, value);
                }
                let place = format!("{}/{} at {sequence}", path.display(), family.name());
                assert!(found.keys().eq(expected.keys()), "{place}");
                for (i, (key, expected)) in expected.iter().enumerate() {
                    if expected.is_some() {
                        assert_eq!(&found[key], expected, "{place}: {}", key.escape_ascii());
                    }
                    if i % 23 == 0 {
                        assert_eq!(
                            view.get(key).unwrap().as_deref(),
                            found[key].as_deref().or(view.get(key).unwrap().as_deref()),
                            "{place}: {}",
                            key.escape_ascii()
                        );
                    }
                }
                assert!(view.records().rev().map(|it| it.unwrap().key).eq(found.into_keys().rev()));
            }
        }
    }
}

#[test]
fn entries_from_both_ends() {
    for path in golden_databases() {
        let db = Database::open(&path).unwrap();
        for family in db.column_families() {
            let all: Vec<DatabaseEntry> = family.entries().map(|entry| entry.unwrap()).collect();
            let mut back: Vec<DatabaseEntry> =
                family.entries().rev().map(|entry| entry.unwrap()).collect();
            back.reverse();
            assert!(all == back, "{}", path.display());
            let (mut entries, mut met) = (family.entries(), 0);
            while entries.next().is_some() {
                met += 1 + usize::from(entries.next_back().is_some());
            }
            assert_eq!(met, all.len(), "{}", path.display());
            let is_sorted = |pair: &[DatabaseEntry]| {
                let (a, b) = (&pair[0], &pair[1]);
                (&a.key, std::cmp::Reverse(a.sequence)) < (&b.key, std::cmp::Reverse(b.sequence))
            };
            assert!(all.windows(2).all(is_sorted), "{}", path.display());
        }
    }
}

#[test]
fn at_any_timestamp() {
    let mut families = 0;
    for path in golden_databases() {
        let db = Database::open(&path).unwrap();
        for family in db.column_families() {
            let all: Vec<DatabaseEntry> = family.entries().map(|entry| entry.unwrap()).collect();
            let time = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
            if all.iter().all(|entry| entry.timestamp.is_empty()) {
                assert!(family.at_timestamp(&[0; 8]).is_err());
                continue;
            }
            families += 1;
            let ranges = family.range_deletions().unwrap();
            let times: Vec<u64> = all.iter().map(|entry| time(&entry.timestamp)).collect();
            let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
            for limit in [first - 1, *first, (first + last) / 2, last - 1, *last, u64::MAX] {
                let view = family.at_timestamp(&limit.to_le_bytes()).unwrap();
                let mut newest: BTreeMap<&[u8], &DatabaseEntry> = BTreeMap::new();
                for entry in all.iter().filter(|entry| time(&entry.timestamp) <= limit) {
                    newest.entry(&entry.key).or_insert(entry);
                }
                newest.retain(|_, entry| {
                    entry.kind != EntryKind::DeletionWithTimestamp
                        && !ranges.iter().any(|range| {
                            time(&range.timestamp) <= limit
                                && range.sequence > entry.sequence
                                && range.start <= entry.key
                                && entry.key < range.end
                        })
                });
                let place = format!("{} at timestamp {limit}", path.display());
                let found: Vec<_> = view.records().map(|record| record.unwrap()).collect();
                assert_eq!(found.len(), newest.len(), "{place}");
                for (record, (key, entry)) in found.iter().zip(&newest) {
                    assert_eq!((&record.key[..], &record.timestamp), (*key, &entry.timestamp));
                    assert_eq!(record.value.value().unwrap(), entry.value, "{place}");
                    assert_eq!(view.get(key).unwrap().unwrap(), entry.value, "{place}");
                }
                let back = view.records().rev().map(|record| record.unwrap());
                assert!(back.eq(found.into_iter().rev()), "{place}");
            }
            assert!(family.at_timestamp(b"short").is_err());
        }
    }
    assert!(
        families > 0 || std::env::var_os(sstkit_testkit::goldens::DATABASES_VARIABLE).is_some()
    );
}
