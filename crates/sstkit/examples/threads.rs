//! One table, read by eight threads at once: lookups, batches and scans, through one block cache.
//!
//! ```text
//! cargo run --release --example threads
//! ```

use std::error::Error;
use std::thread;

use sstkit::{BlockCache, ReadOptions, Table, TableOptions, TableReadOptions, TableWriter};

const THREADS: u32 = 8;
const KEYS: u32 = 100_000;

fn key(number: u32) -> [u8; 8] {
    let mut key = *b"key\0\0\0\0\0";
    key[4..].copy_from_slice(&number.to_be_bytes());
    key
}

fn table(cache: &BlockCache) -> sstkit::Result<Table> {
    let options = TableOptions::rocksdb().filter("bloomfilter:10".parse()?);
    let mut writer = TableWriter::to_sink(Vec::new(), &options)?;
    for number in 0..KEYS {
        // Every other key.
        writer.put(&key(2 * number), &number.to_le_bytes())?;
    }
    let (_, bytes) = writer.finish_sink()?;
    Table::from_source(bytes, &TableReadOptions::default().block_cache(cache))
}

/// What one thread reads: a part of the keys by lookups, the whole table by a scan that runs at the same
/// time as those of the others.
fn read(table: &Table, thread: u32) -> sstkit::Result<u32> {
    let mut found = 0;
    for number in (thread..KEYS).step_by(THREADS as usize) {
        let value = table.get(&key(2 * number))?;
        assert_eq!(value.as_deref(), Some(&number.to_le_bytes()[..]));
        assert_eq!(table.get(&key(2 * number + 1))?, None);
        found += 1;
    }
    let batch: Vec<_> = (0..100).map(|number| key(number * thread)).collect();
    for (key, value) in batch.iter().zip(table.get_many(&batch)?) {
        assert_eq!(value.is_some(), key[7] % 2 == 0);
    }
    // Each thread scans its own part, without displacing the blocks of the others.
    let part = KEYS / THREADS;
    let range = key(2 * thread * part)..key(2 * (thread + 1) * part);
    let options = ReadOptions::default().range(range).fill_cache(false);
    let mut expected = thread * part;
    for entry in table.iter_with(&options) {
        assert_eq!(entry?.1, expected.to_le_bytes());
        expected += 1;
    }
    assert_eq!(expected, (thread + 1) * part);
    Ok(found)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let cache = BlockCache::new(1 << 20); // smaller than the table
    let table = &table(&cache)?; // or a clone for each thread, which is a cheap handle
    let found = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|number| scope.spawn(move || read(table, number))).collect();
        let mut found = 0;
        for thread in threads {
            found += thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok::<_, Box<dyn Error>>(found)
    })?;
    assert_eq!(found, KEYS);
    let metrics = cache.metrics();
    assert!(metrics.used_bytes <= metrics.capacity);
    println!("{THREADS} threads found {found} keys; {metrics:?}");
    Ok(())
}
