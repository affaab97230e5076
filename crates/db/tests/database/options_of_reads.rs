//! What the options of a read change inside a database of several levels: probes, checksums, reads, copies.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use sstkit_db::file_system::{self, FileStatus, FileSystem};
use sstkit_db::{ColumnFamily, Database, DatabaseOptions, Error, ErrorKind};
use sstkit_filter::PrefixExtractor;
use sstkit_table::raw::EntryKind::Value;
use sstkit_table::raw::{BlockKind, Codec};
use sstkit_table::{PrefixMode, ReadOptions, Source, Table, TableOptions, Ticker};

use crate::maker::{Item, Maker};

const KEYS: u64 = 4000;

fn key(number: u64) -> Vec<u8> {
    format!("user{number:05}").into_bytes()
}

/// Even keys: every eighth is in level 0, the others in level 6.
fn two_levels(options: TableOptions) -> Maker {
    let mut db = Maker::new();
    db.table_options(options.compression(Codec::None));
    let value = [b'v'; 100];
    for (level, number) in [(0, 101), (6, 102)] {
        let is_here = |it: &u64| it.is_multiple_of(2) && it.is_multiple_of(8) == (level == 0);
        let keys: Vec<Vec<u8>> = (0..2 * KEYS).filter(is_here).map(key).collect();
        let items: Vec<Item<'_>> =
            keys.iter().map(|key| (&key[..], 10 - u64::from(level), Value, &value[..])).collect();
        db.table(level, number, &items);
    }
    db.finish();
    db
}

fn bloom() -> TableOptions {
    TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap())
}

fn opened(path: &Path, options: &DatabaseOptions) -> ColumnFamily {
    Database::open_with(path, options).unwrap().default_column_family()
}

/// Probes of filters, and data blocks that were searched.
fn counts(family: &ColumnFamily) -> (u64, u64) {
    let tickers = family.stats().tickers();
    let sum = |of: &[Ticker]| of.iter().map(|&ticker| tickers.get(ticker)).sum();
    let probes = sum(&[Ticker::BloomFilterUseful, Ticker::BloomFilterFullPositive]);
    (probes, sum(&[Ticker::BlockCacheDataHit, Ticker::BlockCacheDataMiss]))
}

#[test]
fn lookups_without_filters_search_blocks() {
    let db = two_levels(bloom());
    let absent: Vec<Vec<u8>> = (0..400).map(|number| key(2 * number + 1)).collect();
    let without = ReadOptions::default().use_filters(false);

    let family = opened(db.path(), &DatabaseOptions::default());
    absent.iter().for_each(|key| assert_eq!(family.get_with(key, &without).unwrap(), None));
    assert_eq!(family.get_many_with(&absent, &without).unwrap(), vec![None; 400]);
    let (probes, blocks) = counts(&family);
    assert_eq!(probes, 0);
    assert!(blocks >= 1600, "each of two files, twice: {blocks}");

    let family = opened(db.path(), &DatabaseOptions::default());
    absent.iter().for_each(|key| assert_eq!(family.get(key).unwrap(), None));
    assert_eq!(family.get_many(&absent).unwrap(), vec![None; 400]);
    let (probes, blocks) = counts(&family);
    // The first key is in the range of one file only.
    assert!(probes >= 1500 && blocks < 100, "{probes} {blocks}");
}

#[test]
fn prefix_seeks_probe_filters_unless_told_otherwise() {
    let db =
        two_levels(bloom().prefix_extractor(PrefixExtractor::Fixed(9)).whole_key_filtering(false));
    let options = DatabaseOptions::default().prefix_extractor(PrefixExtractor::Fixed(9));
    let blocks = |read: ReadOptions| {
        let family = opened(db.path(), &options);
        for number in 0..200 {
            let found = family.iter_with(&read.clone().prefix(key(2 * number + 1))).count();
            assert_eq!(found, 0);
        }
        counts(&family).1
    };
    let with_filters = blocks(ReadOptions::default());
    assert!(with_filters < 40, "{with_filters}");
    let without = [
        ReadOptions::default().use_filters(false),
        ReadOptions::default().prefix_mode(PrefixMode::TotalOrder),
    ];
    for read in without {
        assert!(blocks(read.clone()) >= 400, "{read:?}");
    }
}

/// One byte of a value is wrong: an error, or the wrong byte where checksums are not verified.
#[test]
fn checksums_of_a_read() {
    let db = two_levels(bloom());
    let path = db.path().join("000102.sst");
    let mut bytes = std::fs::read(&path).unwrap();
    let blocks = Table::from_bytes(bytes.clone()).unwrap().block_handles().unwrap();
    let (_, second) = *blocks.iter().filter(|(kind, _)| *kind == BlockKind::Data).nth(1).unwrap();
    let at = second.offset as usize + 60;
    let value = bytes[at..].iter().position(|&byte| byte == b'v').unwrap();
    bytes[at + value] = b'X';
    std::fs::write(&path, bytes).unwrap();

    let read = |family: &ColumnFamily, options: &ReadOptions| -> Result<usize, Error> {
        let pairs: Vec<_> = family.iter_with(options).collect::<Result<_, _>>()?;
        assert_eq!(pairs.len(), KEYS as usize);
        let mut damaged = 0;
        for (key, value) in pairs.iter().take(200) {
            let found = family.get_with(key, options)?;
            assert_eq!(found.as_ref(), Some(value));
            assert_eq!(family.get_many_with(&[key], options)?, [found]);
            damaged += usize::from(value.contains(&b'X'));
        }
        Ok(damaged)
    };
    let unverified = ReadOptions::default().verify_checksums(false).fill_cache(false);
    let family = opened(db.path(), &DatabaseOptions::default());
    assert_eq!(read(&family, &unverified).unwrap(), 1);
    let error = read(&family, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("000102.sst"), "{error}");
    let keys: Vec<Vec<u8>> = (0..100).map(|number| key(2 * number)).collect();
    assert_eq!(family.get_many(&keys).unwrap_err().kind(), ErrorKind::Corrupt);
    let trusting = opened(db.path(), &DatabaseOptions::default().verify_checksums(false));
    assert_eq!(read(&trusting, &ReadOptions::default()).unwrap(), 1);
}

#[test]
fn pinned_values_are_parts_of_blocks() {
    let db = two_levels(bloom());
    let family = opened(db.path(), &DatabaseOptions::default());
    // One key in each level. The second use of a cached block makes its fences.
    for key in [key(8), key(10)] {
        (0..4).for_each(|_| drop(family.get(&key).unwrap()));
        let get = |options: &ReadOptions| family.get_with(&key, options).unwrap().unwrap();
        let many = |options: &ReadOptions| {
            family.get_many_with(&[&key], options).unwrap().remove(0).unwrap()
        };
        let (copied, pinned) = (ReadOptions::default(), ReadOptions::default().pin_data(true));
        let (a, b) = (get(&copied), get(&copied));
        assert_ne!(a.as_ptr(), b.as_ptr(), "short values are copied");
        let (a, b, c) = (get(&pinned), get(&pinned), many(&pinned));
        assert_eq!((a.as_ptr(), b.as_ptr()), (b.as_ptr(), c.as_ptr()));
    }
}

/// The files of a folder, with a count of the reads of tables.
struct Counted {
    folder: PathBuf,
    reads: Arc<AtomicU64>,
}

struct CountedFile {
    bytes: Bytes,
    reads: Option<Arc<AtomicU64>>,
}

impl Counted {
    fn local(&self, path: &Path) -> PathBuf {
        self.folder.join(path.strip_prefix("counted://files").unwrap())
    }
}

impl FileSystem for Counted {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Source>> {
        let is_table = path.extension().is_some_and(|extension| extension == "sst");
        let bytes = std::fs::read(self.local(path))?.into();
        Ok(Arc::new(CountedFile { bytes, reads: is_table.then(|| Arc::clone(&self.reads)) }))
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        let metadata = std::fs::metadata(self.local(path))?;
        Ok(match metadata.is_dir() {
            true => FileStatus::Folder,
            false => FileStatus::File { size: metadata.len() },
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(self.local(folder))?.map(|entry| Ok(entry?.file_name())).collect()
    }
}

impl Source for CountedFile {
    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        if let Some(reads) = &self.reads {
            reads.fetch_add(1, Ordering::Relaxed);
        }
        self.bytes.read_at(offset, length)
    }
}

#[test]
fn read_ahead_of_a_scan() {
    let db = two_levels(bloom());
    let reads = Arc::new(AtomicU64::new(0));
    let files = Counted { folder: db.path().to_path_buf(), reads: Arc::clone(&reads) };
    file_system::register("counted://files", Arc::new(files));
    let reads_of = |options: &ReadOptions, is_backward: bool| {
        let family = opened(Path::new("counted://files"), &DatabaseOptions::default());
        assert!(family.get(&key(8)).unwrap().is_some() && family.get(&key(10)).unwrap().is_some());
        let before = reads.load(Ordering::Relaxed);
        let keys = match is_backward {
            false => family.iter_with(options).count(),
            true => family.iter_with(options).rev().count(),
        };
        assert_eq!(keys, KEYS as usize);
        reads.load(Ordering::Relaxed) - before
    };
    let (grown, fixed) = (ReadOptions::default(), ReadOptions::default().readahead_size(1 << 20));
    for is_backward in [false, true] {
        let (grown, fixed) = (reads_of(&grown, is_backward), reads_of(&fixed, is_backward));
        assert!(fixed <= 4 && grown >= 2 * fixed, "{fixed} {grown}");
    }
}
