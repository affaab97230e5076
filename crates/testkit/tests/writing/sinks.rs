//! Sinks that fail at every byte, at every write, at the flush.

use std::fs::OpenOptions;
use std::io::Write;

use sstkit_table::raw::{Codec, FormatVersion, IndexKind, TableView};
use sstkit_table::{ErrorKind, Result, Table, TableOptions, TableWriter, rewrite_tail_to};
use sstkit_testkit::cases;
use sstkit_testkit::faults::{FaultySink, SinkFault};

fn rocksdb() -> TableOptions {
    TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap()).block_size(300)
}

fn version(number: u32) -> FormatVersion {
    FormatVersion::from_number(number).unwrap()
}

/// Every kind of tail, both engines, with and without threads.
fn all_options() -> Vec<(&'static str, TableOptions)> {
    let partitioned = rocksdb()
        .index_kind(IndexKind::TwoLevel)
        .partition_filters(true)
        .metadata_block_size(200)
        .filter("ribbonfilter:10".parse().unwrap());
    let leveldb = TableOptions::leveldb().block_size(300);
    vec![
        ("version 2", rocksdb().format_version(version(2))),
        ("version 5", rocksdb().format_version(version(5)).compression(Codec::None)),
        ("version 7", rocksdb()),
        ("lz4", rocksdb().compression(Codec::Lz4)),
        ("zstd, threads", rocksdb().compression(Codec::Zstd).threads(3)),
        ("dictionary", rocksdb().compression(Codec::Zstd).max_dict_bytes(500)),
        ("partitioned", partitioned.clone()),
        ("partitioned, threads", partitioned.compression(Codec::Snappy).threads(2)),
        ("leveldb", leveldb.clone().filter("leveldb.BuiltinBloomFilter2:10".parse().unwrap())),
        ("leveldb, threads", leveldb.compression(Codec::Snappy).threads(2)),
    ]
}

fn write(sink: impl Write + Send, options: &TableOptions, count: u32) -> Result<()> {
    let mut writer = TableWriter::to_sink(sink, options)?;
    for i in 0..count {
        let value = format!("value {} of {count}", u64::from(i) * u64::from(i));
        writer.put(format!("key{i:06}").as_bytes(), value.as_bytes())?;
    }
    writer.finish().map(drop)
}

/// A sink that fails gives an error, and what it has taken is the beginning of the table and no
/// table. Whether it failed.
fn stop(
    whole: &[u8],
    fault: SinkFault,
    what: &str,
    write: impl FnOnce(FaultySink<'_>) -> Result<()>,
) -> bool {
    let mut taken = Vec::new();
    let result = write(FaultySink::new(fault, &mut taken));
    assert!(whole.starts_with(&taken), "{what}, {fault:?}: other bytes");
    match result {
        Ok(()) => {
            assert_eq!(taken.len(), whole.len(), "{what}, {fault:?}: not all of it");
            false
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Io, "{what}, {fault:?}: {error}");
            let partial = taken.len() < whole.len();
            assert!(partial || fault == SinkFault::Flush, "{what}, {fault:?}: {error}");
            assert!(!partial || Table::from_bytes(taken).is_err(), "{what}, {fault:?}: a table");
            true
        }
    }
}

#[test]
fn stopped_at_every_byte() {
    let mut stops = 0;
    for (what, options) in all_options() {
        let mut whole = Vec::new();
        write(&mut whole, &options, 60).unwrap();
        for room in 0..whole.len() {
            let fault = SinkFault::Full(room);
            assert!(stop(&whole, fault, what, |sink| write(sink, &options, 60)), "{what} {room}");
            stops += 1;
        }
        for fault in [SinkFault::Full(whole.len()), SinkFault::Slow] {
            assert!(!stop(&whole, fault, what, |sink| write(sink, &options, 60)), "{what}");
        }
        assert!(stop(&whole, SinkFault::Flush, what, |sink| write(sink, &options, 60)), "{what}");
    }
    println!("stopped at {stops} bytes");
    assert!(stops > 1000);
}

/// Larger than the writer's buffer: it fails while entries come and threads compress.
#[test]
fn stopped_at_every_write() {
    const COUNT: u32 = 40_000;
    let mut stops = 0;
    for (what, options) in all_options() {
        let options = options.block_size(4000);
        let mut whole = Vec::new();
        write(&mut whole, &options, COUNT).unwrap();
        for fault in [SinkFault::Write, SinkFault::Stuck] {
            for writes in 0.. {
                if !stop(&whole, fault(writes), what, |sink| write(sink, &options, COUNT)) {
                    break;
                }
                stops += 1;
            }
        }
        for part in 1..4 * cases() {
            let fault = SinkFault::Full(whole.len() * part / (4 * cases()));
            assert!(stop(&whole, fault, what, |sink| write(sink, &options, COUNT)), "{what}");
            stops += 1;
        }
    }
    println!("stopped at {stops} writes");
    assert!(stops > 40);
}

#[test]
fn rewriting_a_tail_is_stopped_at_every_byte() {
    let (mut source, mut whole) = (Vec::new(), Vec::new());
    write(&mut source, &rocksdb(), 60).unwrap();
    let view = TableView::open(&source).unwrap();
    let options = TableOptions::rocksdb().filter("ribbonfilter:10".parse().unwrap());
    rewrite_tail_to(&view, &mut whole, &options).unwrap();
    for room in 0..=whole.len() {
        let stopped = stop(&whole, SinkFault::Full(room), "rewrite_tail", |sink| {
            rewrite_tail_to(&view, sink, &options).map(drop)
        });
        assert_eq!(stopped, room < whole.len());
    }
}

/// The system's own: a device without room.
#[test]
fn a_full_device() {
    let Ok(device) = OpenOptions::new().write(true).open("/dev/full") else { return };
    for (what, options) in all_options() {
        let error = write(&device, &options, 60).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{what}");
        assert!(error.to_string().to_lowercase().contains("space"), "{what}: {error}");
    }
}
