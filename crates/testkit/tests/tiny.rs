//! A few threads over a few blocks: little enough for an interpreter that watches every access.

use std::thread;

use sstkit_table::raw::Codec;
use sstkit_table::{BlockCache, Table, TableOptions, TableReadOptions, TableWriter};

const COUNT: u32 = 40;

fn write() -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb()
        .compression(Codec::None)
        .filter("bloomfilter:10".parse().unwrap())
        .block_size(100)
        .threads(2);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for number in 0..COUNT {
        writer.put(format!("key{number:03}").as_bytes(), &number.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

#[test]
fn two_threads_write_and_three_read() {
    let cache = BlockCache::with_high_priority_share(1000, 0.5);
    let options =
        TableReadOptions::default().block_cache(&cache).cache_index_and_filter_blocks(true);
    let table = Table::from_source(write(), &options).unwrap();
    thread::scope(|scope| {
        for first in 0..3 {
            let table = &table;
            scope.spawn(move || {
                for number in (first..COUNT).step_by(3) {
                    let value = table.get(format!("key{number:03}").as_bytes()).unwrap().unwrap();
                    assert_eq!(value, &number.to_le_bytes()[..]);
                }
                assert_eq!(table.iter().map(Result::unwrap).count(), COUNT as usize);
            });
        }
    });
}
