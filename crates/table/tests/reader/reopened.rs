//! One cache for tables that are opened, closed and opened again.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sstkit_table::raw::Codec;
use sstkit_table::{
    BlockCache, KeyForm, SourceIdentity, Table, TableOptions, TableReadOptions, TableWriter,
    Ticker, Tickers,
};

use crate::counting_source::CountingSource;

const KEYS: u32 = 3000;

fn key(number: u32) -> Vec<u8> {
    format!("user{number:06}").into_bytes()
}

fn bytes(value: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = TableOptions::rocksdb().compression(Codec::None);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    (0..KEYS).for_each(|number| writer.put(&key(number), &[value; 100]).unwrap());
    writer.finish().unwrap();
    bytes
}

/// A file of its own that goes with the test.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let name = format!("sstkit-reopened-{}-{name}.sst", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read_all(table: &Table, value: u8) {
    for number in (0..KEYS).step_by(7) {
        assert_eq!(*table.get(&key(number)).unwrap().unwrap(), [value; 100]);
    }
    assert_eq!(table.iter().count(), KEYS as usize);
}

#[test]
fn a_table_that_is_opened_four_times_is_held_once() {
    let file = TempFile::new("four-times", &bytes(7));
    for index_in_cache in [false, true] {
        let (cache, tickers) = (BlockCache::new(64 << 20), Arc::new(Tickers::default()));
        let options = TableReadOptions::default()
            .block_cache(&cache)
            .cache_index_and_filter_blocks(index_in_cache)
            .tickers(&tickers);
        read_all(&Table::open_with(file.path(), &options).unwrap(), 7);
        let (held, misses) = (cache.used_bytes(), tickers.get(Ticker::BlockCacheMiss));
        assert!(held > 300_000 && misses > 50);

        // Closed and opened again, and two at once.
        read_all(&Table::open_with(file.path(), &options).unwrap(), 7);
        let tables = [(); 2].map(|()| Table::open_with(file.path(), &options).unwrap());
        tables.iter().for_each(|table| read_all(table, 7));
        drop(tables);
        assert_eq!(cache.used_bytes(), held);
        assert_eq!(tickers.get(Ticker::BlockCacheMiss), misses);
    }
}

/// A checkpoint links tables, and an engine removes names of tables that are held: neither changes
/// a byte.
#[test]
fn a_table_that_is_linked_or_unlinked_finds_its_blocks() {
    let file = TempFile::new("linked", &bytes(7));
    let tickers = Arc::new(Tickers::default());
    let cache = BlockCache::new(64 << 20);
    let options = TableReadOptions::default().block_cache(&cache).tickers(&tickers);
    read_all(&Table::open_with(file.path(), &options).unwrap(), 7);
    let (held, misses) = (cache.used_bytes(), tickers.get(Ticker::BlockCacheMiss));
    // Times of files are as coarse as the clock ticks.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let other = TempFile(file.path().with_extension("link"));
    std::fs::hard_link(file.path(), other.path()).unwrap();
    read_all(&Table::open_with(other.path(), &options).unwrap(), 7);
    std::thread::sleep(std::time::Duration::from_millis(20));
    drop(file);
    read_all(&Table::open_with(other.path(), &options).unwrap(), 7);
    assert_eq!(cache.used_bytes(), held);
    assert_eq!(tickers.get(Ticker::BlockCacheMiss), misses);
}

#[test]
fn a_file_that_was_replaced_is_another_file() {
    let cache = BlockCache::new(64 << 20);
    let options = TableReadOptions::default().block_cache(&cache);
    let file = TempFile::new("replaced", &bytes(0));
    for value in 0..20 {
        // In place and by another inode, with the same size each time, and as fast as can be.
        match value % 2 {
            0 => std::fs::write(file.path(), bytes(value)).unwrap(),
            _ => {
                let other = TempFile::new("replacing", &bytes(value));
                std::fs::rename(other.path(), file.path()).unwrap();
            }
        }
        read_all(&Table::open_with(file.path(), &options).unwrap(), value);
    }
}

#[test]
fn what_cannot_be_recognised_leaves_nothing_in_the_cache() {
    let cache = BlockCache::new(64 << 20);
    let options = TableReadOptions::default().block_cache(&cache);
    let file = TempFile::new("recognised", &bytes(7));
    read_all(&Table::open_with(file.path(), &options).unwrap(), 7);
    let (held, blocks) = (cache.used_bytes(), cache.len());
    for round in 0..4 {
        let tables = [
            Table::from_source(bytes(8), &options).unwrap(),
            Table::from_source(CountingSource::new(&bytes(8)), &options).unwrap(),
        ];
        tables.iter().for_each(|table| read_all(table, 8));
        assert!(cache.used_bytes() > held * 2, "round {round}");
        drop(tables);
        assert_eq!((cache.used_bytes(), cache.len()), (held, blocks), "round {round}");
    }
}

/// Blocks are shared only by those who would have read them in the same way.
#[test]
fn unverified_blocks_are_not_shared_with_those_who_verify() {
    let mut damaged = bytes(7);
    damaged[40] ^= 1;
    let file = TempFile::new("unverified", &damaged);
    let cache = BlockCache::new(64 << 20);
    let options = TableReadOptions::default().block_cache(&cache);
    let careless = options.clone().verify_checksums(false);
    assert!(Table::open_with(file.path(), &careless).unwrap().get(&key(0)).is_ok());
    assert!(Table::open_with(file.path(), &options).unwrap().get(&key(0)).is_err());
}

/// The same block has keys of other lengths to each of the two.
#[test]
fn two_forms_of_keys_may_share_a_file() {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::leveldb()).unwrap();
    (0..KEYS).for_each(|number| writer.put(&key(number), &[7; 100]).unwrap());
    writer.finish().unwrap();
    let file = TempFile::new("forms", &bytes);
    let cache = BlockCache::new(64 << 20);
    let [internal, user] = [KeyForm::Internal, KeyForm::User].map(|form| {
        let options = TableReadOptions::default().block_cache(&cache).key_form(form);
        Table::open_with(file.path(), &options).unwrap()
    });
    for _ in 0..4 {
        for number in (0..KEYS).step_by(11) {
            assert!(internal.get(&key(number)).unwrap().is_some());
            assert!(user.get(&key(number)).unwrap().is_none());
        }
        for entry in user.iter().step_by(11) {
            assert!(user.get(&entry.unwrap().0).unwrap().is_some());
        }
    }
}

/// A source that says what it is: an object with a version, say.
struct Object(Vec<u8>, &'static str);

impl sstkit_table::Source for Object {
    fn size(&self) -> std::io::Result<u64> {
        self.0.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<bytes::Bytes> {
        self.0.read_at(offset, length)
    }

    fn identity(&self) -> Option<SourceIdentity> {
        Some(SourceIdentity::new(self.1))
    }
}

#[test]
fn sources_may_say_what_they_are() {
    let cache = BlockCache::new(64 << 20);
    let options = TableReadOptions::default().block_cache(&cache);
    let mut held = Vec::new();
    for version in ["bucket/one, 1", "bucket/one, 1", "bucket/one, 2"] {
        let object: Box<dyn sstkit_table::Source> = Box::new(Object(bytes(7), version));
        read_all(&Table::from_source(object, &options).unwrap(), 7);
        held.push(cache.used_bytes());
    }
    assert_eq!(held[1], held[0]);
    assert_eq!(held[2], held[0] * 2);
}
