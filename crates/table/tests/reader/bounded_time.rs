//! Time in proportion to the file, whatever is in it. A test here would take hours otherwise.

use sstkit_table::raw::{EntryKind, property_names};
use sstkit_table::{ErrorKind, Table};

use crate::model::options;
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
    check_backwards(&Table::open_with(maker.rocksdb(), &options()).unwrap(), COUNT);
}

#[test]
fn steps_back_in_an_index_of_one_restart_interval() {
    const COUNT: usize = 200_000;
    let mut maker = TableMaker::new((0..COUNT).map(|number| vec![put(number)]).collect());
    maker.intervals.1 = usize::MAX;
    check_backwards(&Table::open_with(maker.rocksdb(), &options()).unwrap(), COUNT);
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
    let table = Table::open_with(maker.rocksdb(), &options()).unwrap();
    let mut cursor = table.cursor();
    let mut more = cursor.seek_to_last().unwrap();
    for i in (0..COUNT as u32).rev() {
        assert!(more && cursor.key().ends_with(&i.to_be_bytes()));
        more = cursor.prev().unwrap();
    }
    assert!(!more);
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
            let table = Table::open_with(maker.rocksdb(), &options()).unwrap();
            let named = |error: sstkit_table::Error| {
                assert_eq!(error.kind(), ErrorKind::Corrupt);
                assert!(error.to_string().contains("does not follow the order of the file"));
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
