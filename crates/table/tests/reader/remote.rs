//! Tables on a source where each read costs a round trip: how many there are, and that nothing else differs.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use sstkit_table::raw::{BlockHandle, Codec, IndexKind};
use sstkit_table::{
    ErrorKind, PreferredRead, ReadOptions, Source, Table, TableOptions, TableReadOptions,
    TableWriter, Tickers,
};

pub(crate) const KEYS: u32 = 40_000;

pub(crate) fn key(number: u32) -> Vec<u8> {
    format!("user{number:06}").into_bytes()
}

/// A table of every second key, with values that do not compress.
pub(crate) fn table(options: &TableOptions) -> Bytes {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, options).unwrap();
    for number in 0..KEYS {
        let value: Vec<u8> =
            (0..100).map(|at| (number.wrapping_mul(2_654_435_761) >> (at % 24)) as u8).collect();
        writer.put(&key(2 * number), &value).unwrap();
    }
    writer.finish().unwrap();
    bytes.into()
}

/// Filters and indexes of all forms.
pub(crate) fn forms() -> Vec<(&'static str, TableOptions)> {
    let filter = || "bloomfilter:10".parse().unwrap();
    let rocksdb = || TableOptions::rocksdb().filter(filter());
    vec![
        ("plain", rocksdb()),
        ("compressed", rocksdb().compression(Codec::Lz4)),
        ("dictionary", rocksdb().compression(Codec::Zstd).max_dict_bytes(4096)),
        ("partitioned", rocksdb().index_kind(IndexKind::TwoLevel).partition_filters(true)),
        ("no filter", TableOptions::rocksdb()),
        (
            "leveldb",
            TableOptions::leveldb().filter("leveldb.BuiltinBloomFilter2:10".parse().unwrap()),
        ),
    ]
}

/// Memory that counts rounds of reads: reads that are made at the same time count as one.
pub(crate) struct Remote {
    bytes: Bytes,
    preferred: PreferredRead,
    log: Mutex<Vec<Vec<Range<u64>>>>,
    pub(crate) fails: AtomicBool,
}

impl Remote {
    pub(crate) fn new(bytes: &Bytes, tail: u64) -> Arc<Self> {
        Arc::new(Self {
            bytes: bytes.clone(),
            preferred: PreferredRead::default().tail(tail).read_ahead(1 << 20),
            log: Mutex::default(),
            fails: AtomicBool::new(false),
        })
    }

    /// The ranges of each round since the last call.
    pub(crate) fn rounds(&self) -> Vec<Vec<Range<u64>>> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

impl Source for Remote {
    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let range = offset..offset + length as u64;
        Ok(self.read_many(std::slice::from_ref(&range))?.remove(0))
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(io::Error::other("the network is down"));
        }
        self.log.lock().unwrap().push(ranges.to_vec());
        let read = |range: &Range<u64>| {
            self.bytes.read_at(range.start, (range.end - range.start) as usize)
        };
        ranges.iter().map(read).collect()
    }

    fn preferred_read(&self) -> Option<PreferredRead> {
        Some(self.preferred)
    }
}

fn open(source: &Arc<Remote>) -> Table {
    Table::from_source(Arc::clone(source), &TableReadOptions::default()).unwrap()
}

/// Keys that are spread over the table; every third one is not in it.
pub(crate) fn wanted(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|at| key(2 * (at * (KEYS / count)) + u32::from(at % 3 == 2))).collect()
}

#[test]
fn opening_takes_one_round_or_two() {
    for (name, options) in forms() {
        let bytes = table(&options);
        for (tail, most) in [(1 << 20, 1), (8 << 10, 2)] {
            let source = Remote::new(&bytes, tail);
            let table = open(&source);
            let rounds = source.rounds();
            // LevelDB's filter is before the metaindex that says where it is.
            assert!(
                rounds.len() <= most + usize::from(name == "leveldb" && most == 2),
                "{name} {rounds:?}"
            );
            assert_eq!(table.get(&key(4000)).unwrap().unwrap().len(), 100);
        }
    }
}

#[test]
fn a_lookup_in_a_warm_table_is_one_round() {
    for (name, options) in forms() {
        let source = Remote::new(&table(&options), 512 << 10);
        let table = open(&source);
        let filtered = name != "no filter";
        // Index and filter partitions are read once.
        table.get(&key(4000)).unwrap();
        table.get(&key(4001)).unwrap();
        source.rounds();
        assert!(table.get(&key(4100)).unwrap().is_some());
        let rounds = source.rounds();
        assert_eq!(rounds.len(), 1, "{name}");
        assert!(rounds[0][0].end - rounds[0][0].start < 5000, "one block: {rounds:?}");
        if filtered {
            let absent =
                (4001..4401).step_by(2).filter(|&it| table.get(&key(it)).unwrap().is_some());
            assert_eq!(absent.count(), 0);
            assert!(source.rounds().len() < 10, "{name}: the filter has been read");
        }
    }
}

#[test]
fn many_keys_take_three_rounds_at_most() {
    for (name, options) in forms() {
        let bytes = table(&options);
        let source = Remote::new(&bytes, 64 << 10);
        let remote = open(&source);
        let local = Table::from_bytes(bytes).unwrap();
        source.rounds();
        let keys = wanted(64);
        assert_eq!(remote.get_many(&keys).unwrap(), local.get_many(&keys).unwrap(), "{name}");
        let rounds = source.rounds();
        assert!(rounds.len() <= 3, "{name}: {rounds:?}");
        let blocks = rounds.iter().flatten().count();
        assert!(blocks >= 40, "{name}: {blocks} ranges, one for each key that passes the filter");
        // The blocks are in the cache.
        assert_eq!(remote.get_many(&keys).unwrap(), local.get_many(&keys).unwrap(), "{name}");
        assert!(source.rounds().is_empty(), "{name}");
        // Keys that the filter excludes need no data block.
        let absent: Vec<_> = (0..64).map(|at| key(2 * (at * 500 + 100) + 1)).collect();
        assert!(remote.get_many(&absent).unwrap().iter().all(Option::is_none));
        let rounds = source.rounds();
        assert!(rounds.len() <= 3, "{name}: {rounds:?}");
    }
}

/// A cache that keeps nothing: what the rounds have read is all there is.
#[test]
fn many_keys_without_a_cache() {
    for (name, options) in forms() {
        let bytes = table(&options);
        let source = Remote::new(&bytes, 64 << 10);
        let uncached = TableReadOptions::default().no_block_cache();
        let remote = Table::from_source(Arc::clone(&source), &uncached).unwrap();
        let local = Table::from_bytes(bytes).unwrap();
        source.rounds();
        let keys = wanted(64);
        let options = ReadOptions::default().fill_cache(false);
        assert_eq!(remote.get_many_with(&keys, &options).unwrap(), local.get_many(&keys).unwrap());
        assert!(source.rounds().len() <= 3, "{name}");
    }
}

#[test]
fn statistics_are_those_of_a_local_table() {
    for (name, options) in forms() {
        let bytes = table(&options);
        let count = |remote: bool| {
            let tickers = Arc::new(Tickers::default());
            let options = TableReadOptions::default().tickers(&tickers);
            // The filter is read when a remote table is opened, but not counted in either.
            let table = match remote {
                true => Table::from_source(Remote::new(&bytes, 64 << 10), &options).unwrap(),
                false => Table::from_source(bytes.clone(), &options).unwrap(),
            };
            table.get_many(&wanted(500)).unwrap();
            tickers.iter().collect::<Vec<_>>()
        };
        assert_eq!(count(true), count(false), "{name}");
    }
}

#[test]
fn scans_read_windows_ahead() {
    for (name, options) in forms() {
        let bytes = table(&options);
        let local = Table::from_bytes(bytes.clone()).unwrap();
        for (backward, tail) in [(false, 4096), (true, 4096), (false, 256 << 10), (true, 256 << 10)]
        {
            let source = Remote::new(&bytes, tail);
            let remote = open(&source);
            source.rounds();
            let pairs = |table: &Table| -> Vec<_> {
                match backward {
                    false => table.iter().map(Result::unwrap).collect(),
                    true => table.iter().rev().map(Result::unwrap).collect(),
                }
            };
            assert!(pairs(&remote) == pairs(&local), "{name}");
            // Opening has read the partitions of the index, with either tail.
            let mut ranges: Vec<_> = source.rounds().into_iter().flatten().collect();
            let data: u64 = bytes.len() as u64;
            assert!(ranges.len() < 12, "{name}: {ranges:?}");
            // Nothing is read besides the data. Not all tables say where it ends.
            let last = local.view().data_blocks().unwrap().map(|block| block.unwrap().handle);
            let end = last.filter_map(BlockHandle::end).max().unwrap();
            let most = if name == "leveldb" { data } else { end };
            assert!(ranges.iter().all(|it| it.end <= most), "{name}: {ranges:?}, not {end}");
            assert!(ranges.iter().map(|it| it.end - it.start).max() <= Some(1 << 20), "{ranges:?}");
            let read: u64 = ranges.iter().map(|it| it.end - it.start).sum();
            assert!(read <= data, "{name}: {read} of {data} bytes");
            ranges.sort_by_key(|range| range.start);
            assert!(
                ranges.windows(2).all(|two| two[0].end <= two[1].start),
                "no byte twice: {ranges:?}"
            );
        }
    }
}

/// A block may be longer than a window, and cross from one to the next.
#[test]
fn blocks_across_windows() {
    let options = TableOptions::rocksdb().compression(Codec::None).block_size(100_000);
    let bytes = table(&options);
    let local: Vec<_> =
        Table::from_bytes(bytes.clone()).unwrap().iter().map(Result::unwrap).collect();
    for size in [1, 777, 70_000, 150_000, 1 << 20] {
        let remote = open(&Remote::new(&bytes, 4096));
        let options = ReadOptions::default().readahead_size(size).fill_cache(false);
        let forward: Vec<_> = remote.iter_with(&options).map(Result::unwrap).collect();
        assert!(forward == local, "{size}");
        let mut backward: Vec<_> = remote.iter_with(&options).rev().map(Result::unwrap).collect();
        backward.reverse();
        assert!(backward == local, "{size}");
    }
}

#[test]
fn turning_around_and_seeking() {
    let bytes = table(&forms()[0].1);
    let remote = open(&Remote::new(&bytes, 64 << 10));
    let local = Table::from_bytes(bytes).unwrap();
    let (mut a, mut b) = (remote.cursor(), local.cursor());
    let mut state = 1u32;
    for _ in 0..60 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let target = key(state % (2 * KEYS));
        assert_eq!(a.seek(&target).unwrap(), b.seek(&target).unwrap());
        for step in 0..state >> 20 {
            let forward = (state >> (step / 400 % 7)) & 1 == 0;
            let moved = |cursor: &mut sstkit_table::Cursor| match forward {
                true => cursor.next().unwrap(),
                false => cursor.prev().unwrap(),
            };
            let (there, here) = (moved(&mut a), moved(&mut b));
            assert_eq!(there, here);
            assert_eq!(a.key(), b.key());
            if !here {
                break;
            }
        }
    }
}

#[test]
fn a_failing_network_is_an_error_and_may_come_back() {
    for (name, options) in forms() {
        let source = Remote::new(&table(&options), 64 << 10);
        let table = open(&source);
        let keys = wanted(64);
        source.fails.store(true, Ordering::Relaxed);
        let error = table.get_many(&keys).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{name}");
        assert!(error.to_string().contains("the network is down"), "{error}");
        assert!(error.offset().is_some(), "{error}");
        let error = table.iter().find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::Io, "{name}");
        source.fails.store(false, Ordering::Relaxed);
        assert_eq!(table.get_many(&keys).unwrap().iter().flatten().count(), 43, "{name}");
        assert_eq!(table.iter().map(Result::unwrap).count(), KEYS as usize);
        assert!(table.verify().is_sound(), "{name}");
    }
}
