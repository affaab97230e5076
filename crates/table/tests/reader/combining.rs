//! What those need who put several tables together: entries by hashed key, seeks that a filter can
//! save, values resolved one by one.

use std::sync::Arc;

use sstkit_filter::HashedKey;
use sstkit_table::raw::{BlobIndex, EntryKind, InternalKey};
use sstkit_table::{
    Column, Entry, ErrorKind, PrefixMode, ReadOptions, Table, TableReadOptions, Ticker, Tickers,
    Value,
};
use sstkit_testkit::goldens::{Model, golden_tables, open, options};

use crate::table_maker::{Stored, TableMaker, internal};

fn counted(options: TableReadOptions) -> (TableReadOptions, Arc<Tickers>) {
    let tickers = Arc::new(Tickers::default());
    (options.tickers(&tickers), tickers)
}

fn counts(tickers: &Tickers) -> Vec<u64> {
    Ticker::ALL.iter().map(|&ticker| tickers.get(ticker)).collect()
}

#[test]
fn lookups_by_hash_are_lookups() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let model = Model::of(&golden);
        let (by_key, key_counts) = counted(options());
        let (by_hash, hash_counts) = counted(options());
        let (by_key, by_hash) = (open(&golden, &by_key), open(&golden, &by_hash));
        for key in model.keys.iter().chain(&model.absent_keys()).step_by(29) {
            let expected = by_key.get_entries(key).unwrap();
            let mut seen = Vec::new();
            let hashed = HashedKey::new(key);
            let found = by_hash.lookup(&hashed, |entry, value| {
                seen.push((entry.user_key.to_vec(), entry.sequence, entry.kind, value));
                true
            });
            let of = |entry: &Entry| {
                let Entry { user_key, sequence, kind, value, .. } = entry.clone();
                (user_key, sequence, kind, value)
            };
            assert_eq!(seen, expected.iter().map(of).collect::<Vec<_>>(), "{name}");
            assert_eq!(found.unwrap(), !expected.is_empty());
        }
        assert_eq!(counts(&key_counts), counts(&hash_counts), "{name}");
    }
}

#[test]
fn a_lookup_stops_when_it_has_seen_enough() {
    let put = |sequence| (internal(b"k", sequence, EntryKind::Value), vec![sequence as u8]);
    let table = TableMaker::new(vec![vec![put(9), put(8)], vec![put(7)]]).rocksdb();
    let table = Table::from_bytes(table).unwrap();
    for enough in 1..=3 {
        let mut seen = Vec::new();
        let found = table.lookup(&HashedKey::new(b"k"), |entry, _| {
            seen.push(entry.sequence);
            seen.len() < enough
        });
        assert!(found.unwrap());
        assert_eq!(seen, [9, 8, 7][..enough]);
    }
    assert!(!table.lookup(&HashedKey::new(b"j"), |_, _| panic!("nothing to see")).unwrap());
}

/// The cursor of all entries shows what [`Table::entries`] copies, part by part.
#[test]
fn entry_cursors_lend_the_parts_of_keys() {
    for golden in golden_tables() {
        let table = open(&golden, &options());
        let mut cursor = table.entry_cursor();
        assert_eq!((cursor.user_key(), cursor.sequence()), (&b""[..], 0));
        assert_eq!((cursor.kind(), cursor.is_valid()), (EntryKind::Value, false));
        let mut more = cursor.seek_to_first().unwrap();
        for entry in table.entries().map(Result::unwrap) {
            assert!(more && cursor.is_valid());
            let Entry { user_key, sequence, kind, value, .. } = &entry;
            assert_eq!(cursor.user_key(), user_key);
            assert_eq!((cursor.sequence(), cursor.kind()), (*sequence, *kind));
            assert_eq!(cursor.key(), InternalKey { user_key, sequence: *sequence, kind: *kind });
            assert_eq!(cursor.value(), &**value);
            more = cursor.next().unwrap();
        }
        assert!(!more && !cursor.is_valid());
        assert_eq!(cursor.user_key(), b"");
    }
}

/// Keys that cannot be decoded end the move to them, in every direction.
#[test]
fn undecodable_keys_are_errors_of_moves() {
    let good = |key: &[u8]| (internal(key, 5, EntryKind::Value), b"v".to_vec());
    let unknown_kind = (b"b\x7a\0\0\0\0\0\0\0".to_vec(), b"v".to_vec());
    let too_short = (b"b".to_vec(), b"v".to_vec());
    let range = (internal(b"b", 5, EntryKind::RangeDeletion), b"c".to_vec());
    for bad in [unknown_kind, too_short, range] {
        let entries: Vec<Stored> = vec![good(b"a"), bad, good(b"c")];
        let table = Table::from_bytes(TableMaker::new(vec![entries]).rocksdb()).unwrap();
        let mut cursor = table.entry_cursor();
        assert!(cursor.seek_to_first().unwrap());
        assert_eq!((cursor.user_key(), cursor.sequence()), (&b"a"[..], 5));
        assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(!cursor.is_valid());
        assert_eq!((cursor.user_key(), cursor.sequence()), (&b""[..], 0));
        assert!(cursor.seek_to_last().unwrap());
        assert_eq!(cursor.user_key(), b"c");
        assert!(cursor.prev().is_err() && !cursor.is_valid());
    }
}

/// `may_match` probes like a seek of a cursor: the same answers, the same counts.
#[test]
fn may_match_probes_what_cursors_probe() {
    let mut refused = 0;
    for golden in golden_tables() {
        let name = golden.path.display();
        let model = Model::of(&golden);
        let (seeking, seek_counts) = counted(options());
        let (probing, probe_counts) = counted(options());
        let (seeking, probing) = (open(&golden, &seeking), open(&golden, &probing));
        if seeking.filter().is_none() {
            continue;
        }
        let probes = |tickers: &Tickers| {
            [Ticker::NonLastLevelSeekFiltered, Ticker::NonLastLevelSeekFilterMatch]
                .map(|ticker| tickers.get(ticker))
        };
        // The same keys with prefixes that the table does not have.
        let absent = model.keys.iter().map(|key| {
            let mut other = key.clone();
            other.iter_mut().take(8).for_each(|byte| *byte ^= 0x11);
            other
        });
        let absent: Vec<_> = absent.collect();
        for key in model.keys.iter().chain(&absent).step_by(61) {
            let upper = [key.as_slice(), b"\xff"].concat();
            let all = [
                ReadOptions::default(),
                ReadOptions::default().prefix_mode(PrefixMode::SamePrefix),
                ReadOptions::default().range(key.as_slice()..upper.as_slice()),
                ReadOptions::default().range(b"\0".as_slice()..upper.as_slice()),
                ReadOptions::default().prefix(key),
            ];
            for scan in &all {
                for (to, backward) in
                    [(Some(key.as_slice()), false), (Some(key), true), (None, false), (None, true)]
                {
                    let mut cursor = seeking.cursor_with(scan);
                    let found = match (to, backward) {
                        (Some(to), false) => cursor.seek(to),
                        (Some(to), true) => cursor.seek_for_prev(to),
                        (None, false) => cursor.seek_to_first(),
                        (None, true) => cursor.seek_to_last(),
                    };
                    let may = probing.may_match(scan, to, backward).unwrap();
                    assert_eq!(
                        probes(&seek_counts),
                        probes(&probe_counts),
                        "{name} {scan:?} {to:?}"
                    );
                    assert!(may || !found.unwrap(), "{name} {scan:?} {to:?}");
                    refused += u32::from(!may);
                }
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn values_are_resolved_one_by_one() {
    let entity = [1, 2, 0, 3, 1, b'a', 2, b'x', b'y', b'z', b'v', b'w'];
    let table = TableMaker::new(vec![vec![(internal(b"k", 1, EntryKind::Value), vec![])]]);
    let table = Table::from_bytes(table.rocksdb()).unwrap();
    let value = |bytes: &[u8]| Value::from(bytes.to_vec());
    let resolve = |kind, bytes: &[u8]| table.resolve(kind, &value(bytes));
    assert_eq!(resolve(EntryKind::Value, b"v").unwrap(), b"v");
    assert_eq!(resolve(EntryKind::Merge, b"v").unwrap(), b"v");
    assert_eq!(resolve(EntryKind::WideColumnEntity, &entity).unwrap(), b"xyz");
    let preferred = resolve(EntryKind::ValuePreferredSeqno, b"v\x07\0\0\0\0\0\0\0");
    assert_eq!(preferred.unwrap(), b"v");
    let elsewhere = resolve(EntryKind::BlobIndex, &[1, 77, 100, 3, 0]).unwrap_err();
    assert_eq!(elsewhere.kind(), ErrorKind::Unsupported);
    assert!(resolve(EntryKind::WideColumnEntity, b"\xff").is_err());
    let columns = table.resolve_columns(&value(&entity)).unwrap();
    let column = |name: &[u8], of: &[u8]| Column { name: value(name), value: value(of) };
    assert_eq!(columns, [column(b"", b"xyz"), column(b"a", b"vw")]);
    let inlined = BlobIndex::decode_from(&[0, 5, b'v']).unwrap();
    assert_eq!(table.embedded_blob(&inlined).unwrap(), b"v");
}

#[test]
fn embedded_blobs_are_found() {
    let mut found = 0;
    for golden in golden_tables() {
        let table = open(&golden, &options());
        for entry in table.entries().map(Result::unwrap) {
            let key = &entry.user_key;
            if entry.kind == EntryKind::BlobIndex {
                let index = BlobIndex::decode_from(&entry.value).unwrap();
                let blob = table.embedded_blob(&index).unwrap();
                assert_eq!(Some(&blob), table.get(key).unwrap().as_ref());
                assert_eq!(table.resolve(entry.kind, &entry.value).unwrap(), blob);
                found += 1;
            } else if entry.kind == EntryKind::WideColumnEntity {
                let columns = table.resolve_columns(&entry.value).unwrap();
                assert_eq!(columns[0].name, b"");
                assert_eq!(Some(&columns[0].value), table.get(key).unwrap().as_ref());
                assert_eq!((&*columns[1].name, &*columns[1].value), (&b"a"[..], &b"alpha"[..]));
                assert_eq!(table.get_entity(key).unwrap().unwrap(), columns);
            }
        }
    }
    assert!(found > 10, "{found}");
}
