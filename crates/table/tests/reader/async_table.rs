//! Asynchronous tables: the same results as those of a table in memory, in few rounds, on no particular runtime.

use std::future::{Future, poll_fn};
use std::io;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bytes::Bytes;
use sstkit_filter::PrefixExtractor;
use sstkit_table::{
    AsyncScan, AsyncSource, AsyncTable, ErrorKind, PreferredRead, PrefixMode, ReadOptions, Source,
    Table, TableOptions, TableReadOptions, Tickers,
};

use crate::remote::{KEYS, Remote, forms, key, table, wanted};

/// An executor of one future.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Ready when it is polled for the second time.
async fn later() {
    let mut is_polled = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        match std::mem::replace(&mut is_polled, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

struct Distant(Arc<Remote>);

impl AsyncSource for Distant {
    async fn read_tail(&self, length: u64) -> io::Result<(u64, Bytes)> {
        later().await;
        let size = self.0.size()?;
        let start = size.saturating_sub(length);
        Ok((size, self.0.read_at(start, (size - start) as usize)?))
    }

    async fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        later().await;
        self.0.read_many(ranges)
    }

    fn preferred_read(&self) -> PreferredRead {
        self.0.preferred_read().unwrap()
    }
}

fn open(source: &Arc<Remote>, options: &TableReadOptions) -> AsyncTable<Distant> {
    block_on(AsyncTable::from_source(Distant(Arc::clone(source)), options)).unwrap()
}

fn collect(mut scan: AsyncScan<Distant>) -> Vec<(Vec<u8>, sstkit_table::Value)> {
    block_on(async {
        let mut pairs = Vec::new();
        while let Some(pair) = scan.next().await {
            pairs.push(pair.unwrap());
        }
        assert!(scan.next().await.is_none(), "it stays at its end");
        pairs
    })
}

/// Runtimes of several threads move futures between them.
#[test]
fn what_can_be_shared_and_sent() {
    fn shared<T: Send + Sync>(_: &T) {}
    fn sent<T: Send>(_: T) {}
    let table = open(
        &Remote::new(&table(&TableOptions::rocksdb()), 64 << 10),
        &TableReadOptions::default(),
    );
    shared(&table);
    sent(table.iter());
    sent(table.get(b"key"));
    sent(table.get_many(&[b"key"]));
    sent(table.verify());
    sent(table.iter().next());
}

#[test]
fn lookups_take_as_few_rounds_as_blocking_ones() {
    for (name, options) in forms() {
        let bytes = table(&options);
        let local = Table::from_bytes(bytes.clone()).unwrap();
        let source = Remote::new(&bytes, 64 << 10);
        let remote = open(&source, &TableReadOptions::default());
        let rounds = source.rounds();
        assert!(rounds.len() <= 2 + usize::from(name == "leveldb"), "{name}: {rounds:?}");
        let keys = wanted(64);
        let values = block_on(remote.get_many(&keys)).unwrap();
        assert_eq!(values, local.get_many(&keys).unwrap(), "{name}");
        let rounds = source.rounds();
        assert!(rounds.len() <= 3, "{name}: {rounds:?}");
        assert_eq!(block_on(remote.get(&keys[0])).unwrap(), values[0]);
        assert!(source.rounds().is_empty(), "{name}: the block is in the cache");
        let near = key(2 * (10 * (KEYS / 64)) + 100);
        assert_eq!(block_on(remote.get(&near)).unwrap(), local.get(&near).unwrap());
        assert_eq!(source.rounds().len(), 1, "{name}: the table is warm");
    }
}

#[test]
fn statistics_are_those_of_a_local_table() {
    for (name, options) in forms() {
        let bytes = table(&options);
        let (far, near) = (Arc::new(Tickers::default()), Arc::new(Tickers::default()));
        let remote =
            open(&Remote::new(&bytes, 64 << 10), &TableReadOptions::default().tickers(&far));
        let local =
            Table::from_source(bytes.clone(), &TableReadOptions::default().tickers(&near)).unwrap();
        block_on(remote.get_many(&wanted(500))).unwrap();
        local.get_many(&wanted(500)).unwrap();
        assert_eq!(far.iter().collect::<Vec<_>>(), near.iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn scans_are_streams_of_windows() {
    for (name, options) in forms() {
        let bytes = table(&options);
        let local = Table::from_bytes(bytes.clone()).unwrap();
        for cached in [true, false] {
            let source = Remote::new(&bytes, 256 << 10);
            let options = match cached {
                true => TableReadOptions::default(),
                false => TableReadOptions::default().no_block_cache(),
            };
            let remote = open(&source, &options);
            source.rounds();
            let expected: Vec<_> = local.iter().map(Result::unwrap).collect();
            assert!(collect(remote.iter()) == expected, "{name}");
            let ranges: Vec<_> = source.rounds().into_iter().flatten().collect();
            let read: u64 = ranges.iter().map(|it| it.end - it.start).sum();
            assert!(read <= bytes.len() as u64 + (64 << 10), "{name}: {read} of {}", bytes.len());
            assert!(ranges.len() < 12, "{name}: {ranges:?}");
        }
    }
}

#[test]
fn ranges_and_prefixes() {
    let options = TableOptions::rocksdb()
        .filter("bloomfilter:10".parse().unwrap())
        .prefix_extractor("rocksdb.FixedPrefix.7".parse::<PrefixExtractor>().unwrap());
    let bytes = table(&options);
    let local = Table::from_bytes(bytes.clone()).unwrap();
    let remote = open(&Remote::new(&bytes, 64 << 10), &TableReadOptions::default());
    let expected = |items: sstkit_table::Iter| items.map(Result::unwrap).collect::<Vec<_>>();
    let range = key(5001)..key(30_000);
    assert!(collect(remote.range(range.clone())) == expected(local.range(range)));
    assert!(collect(remote.prefix(b"user02")) == expected(local.prefix(b"user02")));
    assert!(collect(remote.range(key(9)..key(9))).is_empty());
    for mode in [PrefixMode::Auto, PrefixMode::SamePrefix, PrefixMode::TotalOrder] {
        for options in [
            ReadOptions::default().prefix_mode(mode),
            ReadOptions::default().prefix_mode(mode).range(key(20_000)..),
        ] {
            assert!(
                collect(remote.iter_with(&options)) == expected(local.iter_with(&options)),
                "{mode:?}"
            );
        }
    }
}

#[test]
fn blocks_longer_than_a_window() {
    let options = TableOptions::rocksdb().block_size(700_000);
    let bytes = table(&options);
    let source = Remote::new(&bytes, 4096);
    let remote = open(&source, &TableReadOptions::default());
    let expected: Vec<_> = Table::from_bytes(bytes).unwrap().iter().map(Result::unwrap).collect();
    assert!(collect(remote.iter()) == expected);
}

#[test]
fn verification_runs_on_a_thread() {
    for (name, options) in forms() {
        let bytes = table(&options);
        let source = Remote::new(&bytes, 64 << 10);
        let remote = open(&source, &TableReadOptions::default());
        let found = block_on(remote.verify()).unwrap();
        assert!(found.is_sound(), "{name}");
        assert_eq!(found.entries(), u64::from(KEYS));
        let trace = block_on(remote.run_blocking(|table| table.explain(&key(4))));
        assert!(trace.unwrap().is_ok());
        let panicked = block_on(remote.run_blocking(|_| panic!("by plan")));
        assert!(panicked.unwrap_err().to_string().contains("panicked"));

        let mut damaged = bytes.to_vec();
        damaged[bytes.len() / 3] ^= 1;
        let source = Remote::new(&damaged.into(), 64 << 10);
        let remote = open(&source, &TableReadOptions::default());
        assert!(!block_on(remote.verify()).unwrap().is_sound(), "{name}");
        let mut scan = remote.iter();
        let error = block_on(async {
            loop {
                if let Err(error) = scan.next().await? {
                    return Some(error);
                }
            }
        });
        assert_eq!(error.unwrap().kind(), ErrorKind::Corrupt, "{name}");
    }
}

/// A future that is dropped ends the thread that it works for.
#[test]
fn blocking_work_ends_with_its_future() {
    let source = Remote::new(&table(&forms()[0].1), 64 << 10);
    let remote = open(&source, &TableReadOptions::default());
    let (sender, ended) = std::sync::mpsc::channel();
    let mut work = Box::pin(remote.run_blocking(move |table| {
        let problem = table.iter().find_map(Result::err);
        sender.send(problem.is_some_and(|error| error.is_cancelled())).unwrap();
    }));
    let mut context = Context::from_waker(Waker::noop());
    // Polled until the thread has opened the table, and waits for its first data block.
    let polled = (0..1_000_000).find(|_| {
        assert!(Pin::new(&mut work).poll(&mut context).is_pending());
        thread::yield_now();
        source.rounds().iter().flatten().any(|range| range.start == 0)
    });
    assert!(polled.is_some());
    drop(work);
    assert!(ended.recv().unwrap());
}

#[test]
fn a_failing_network_is_an_error_and_may_come_back() {
    let source = Remote::new(&table(&forms()[3].1), 64 << 10);
    let remote = open(&source, &TableReadOptions::default());
    source.fails.store(true, Ordering::Relaxed);
    let errors = [
        block_on(remote.get(&key(4))).unwrap_err(),
        block_on(remote.get_many(&wanted(64))).unwrap_err(),
        block_on(remote.iter().next()).unwrap().unwrap_err(),
        block_on(remote.verify()).unwrap_err(),
        block_on(AsyncTable::from_file(
            Distant(Arc::clone(&source)),
            "far.sst",
            &TableReadOptions::default(),
        ))
        .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("the network is down"), "{error}");
    }
    source.fails.store(false, Ordering::Relaxed);
    assert!(block_on(remote.get(&key(4))).unwrap().is_some());
    assert_eq!(collect(remote.iter()).len(), KEYS as usize);
}
