//! Time in proportion to the file, whatever is in it. A test here would take hours otherwise.

use sstkit_table::raw::{BlobIndex, EntryKind, property_names};
use sstkit_table::{ErrorKind, Table};
use sstkit_testkit::goldens::options;

use crate::table_maker::{Index, Stored, TableMaker, internal};

fn key(number: usize) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn put(number: usize) -> Stored {
    (internal(&key(number), 1, EntryKind::Value), Vec::new())
}

/// Scans from both ends, and seeks backwards.
fn check_backwards(table: &Table, count: usize) {
    let mut expected = (0..count).rev();
    for entry in table.iter().rev() {
        assert_eq!(entry.unwrap().0, key(expected.next().unwrap()));
    }
    assert_eq!(expected.next(), None);

    let mut entries = table.entry_cursor();
    let mut more = entries.seek_to_last().unwrap();
    for number in (0..count).rev() {
        assert!(more && entries.user_key() == key(number));
        more = entries.prev().unwrap();
    }
    assert!(!more);
    let mut cursor = table.cursor();
    for number in (0..count).step_by(count / 10) {
        assert!(cursor.seek_for_prev(&key(number)).unwrap());
        for back in (number.saturating_sub(100)..=number).rev() {
            assert_eq!(cursor.key(), key(back));
            assert_eq!(cursor.prev().unwrap(), back > 0);
        }
    }
}

#[test]
fn steps_back_in_a_data_block_of_one_restart_interval() {
    const COUNT: usize = 500_000;
    let mut maker = TableMaker::new(vec![(0..COUNT).map(put).collect()]);
    maker.intervals.0 = usize::MAX;
    check_backwards(&Table::from_source(maker.rocksdb(), &options()).unwrap(), COUNT);
}

#[test]
fn steps_back_in_an_index_of_one_restart_interval() {
    const COUNT: usize = 200_000;
    let mut maker = TableMaker::new((0..COUNT).map(|number| vec![put(number)]).collect());
    maker.intervals.1 = usize::MAX;
    check_backwards(&Table::from_source(maker.rocksdb(), &options()).unwrap(), COUNT);
}

/// Keys that are long because they share nearly all: no more of them is kept than a few.
#[test]
fn steps_back_among_long_keys_that_share_their_starts() {
    const COUNT: usize = 3000;
    let start = [b'k'; 100_000];
    let entries = (0..COUNT).map(|i| {
        let key = [&start[..], &(i as u32).to_be_bytes()].concat();
        (internal(&key, 1, EntryKind::Value), Vec::new())
    });
    let mut maker = TableMaker::new(vec![entries.collect()]);
    maker.intervals.0 = usize::MAX;
    let table = Table::from_source(maker.rocksdb(), &options()).unwrap();
    let mut cursor = table.cursor();
    let mut more = cursor.seek_to_last().unwrap();
    for i in (0..COUNT as u32).rev() {
        assert!(more && cursor.key().ends_with(&i.to_be_bytes()));
        more = cursor.prev().unwrap();
    }
    assert!(!more);
}

/// All entries lead to one blob, each in a few bytes: no more of it is shown than the file has.
#[test]
fn a_blob_that_many_entries_share_is_refused() {
    const COUNT: usize = 10_000;
    let blob = vec![7; 100_000];
    let size = blob.len() as u64;
    let index = BlobIndex::Stored { expiration: None, file: 0, offset: 0, size, codec: 0 };
    let mut reference = Vec::new();
    index.encode_to(&mut reference);
    let stored =
        |number: usize| (internal(&key(number), 1, EntryKind::BlobIndex), reference.clone());
    let mut maker = TableMaker::new(vec![(0..COUNT).map(stored).collect()]);
    maker.blobs = vec![blob];
    maker.properties.push((property_names::EMBEDDED_BLOB_STATS, vec![1, 1]));
    let table = Table::from_source(maker.rocksdb(), &options()).unwrap();
    let refused = |entries: &mut dyn Iterator<Item = sstkit_table::Result<(Vec<u8>, _)>>| {
        let mut shown = 0;
        let error = entries.inspect(|it| shown += usize::from(it.is_ok())).find_map(Result::err);
        let error = error.expect("refused");
        assert!(error.to_string().contains("share embedded blobs"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(shown < 10, "{shown}");
    };
    refused(&mut table.iter());
    refused(&mut table.iter().rev());
    // One at a time it can be read, as often as one likes.
    let mut cursor = table.cursor();
    for _ in 0..20 {
        assert!(table.get(&key(7)).unwrap().is_some());
        assert!(cursor.seek(&key(7)).unwrap());
        assert!(cursor.value().is_ok() && cursor.value().is_ok());
        assert!(cursor.next().unwrap() && cursor.value().is_ok());
        assert!(cursor.prev().unwrap() && cursor.value().is_ok());
    }
}

#[test]
fn an_index_that_leads_to_one_block_again_is_refused_in_both_directions() {
    for index in [Index::OneBlock(5000), Index::PartitionsOfOneBlock(5000)] {
        for interval in [1, 2, 16, usize::MAX] {
            let mut maker = TableMaker::new(vec![(0..1000).map(put).collect()]);
            maker.index = index;
            maker.intervals.1 = interval;
            if let Index::PartitionsOfOneBlock(_) = index {
                maker.properties[1] = (property_names::INDEX_TYPE, vec![2, 0, 0, 0]);
            }
            let table = Table::from_source(maker.rocksdb(), &options()).unwrap();
            let named = |error: sstkit_table::Error| {
                assert_eq!(error.kind(), ErrorKind::Corrupt);
                assert!(error.to_string().contains("is not in file order"));
            };
            let shown = table.iter().take_while(Result::is_ok).count();
            assert!(shown <= 1000, "{index:?} {interval}: {shown}");
            named(table.iter().find_map(Result::err).unwrap());
            let shown = table.iter().rev().take_while(Result::is_ok).count();
            assert!(shown <= 1000, "{index:?} {interval}: {shown}");
            named(table.iter().rev().find_map(Result::err).unwrap());
            named(table.entries().rev().find_map(Result::err).unwrap());
            // Whatever it says: it says it soon.
            let _ = (table.get(b"absent"), table.get(&key(7)), table.get(b"zzz"));
        }
    }
}
