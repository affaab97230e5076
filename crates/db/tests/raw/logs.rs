//! Logs made by hand: every type of record, and every problem.

use proptest::prelude::*;
use sstkit_db::raw::{LogEvent, LogProblemKind, LogReader, Reaction, RecoveryMode};
use sstkit_table::raw::Engine;

use crate::log_writer::{BLOCK_SIZE, LogWriter};

/// Records, and problems in between, as they come.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    Record(Vec<u8>),
    Problem(LogProblemKind, u64),
}

use Event::{Problem, Record};

pub(crate) fn events(bytes: &[u8], engine: Engine, log_number: u64) -> Vec<Event> {
    let mut log = LogReader::new(bytes, engine, log_number);
    let mut events = Vec::new();
    while let Some(event) = log.next_record().unwrap() {
        events.push(match event {
            LogEvent::Record(record) => Record(record.payload.to_vec()),
            LogEvent::Problem(problem) => Problem(problem.kind, problem.offset),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(log.next_record().unwrap(), None);
    events
}

fn rocksdb(writer: &LogWriter) -> Vec<Event> {
    events(&writer.bytes, Engine::RocksDb, 7)
}

fn record(text: &str) -> Event {
    Record(text.as_bytes().to_vec())
}

#[test]
fn fragments_are_put_together_in_both_engines() {
    let mut writer = LogWriter::default();
    let records: Vec<Vec<u8>> = [0, 1, 100, 32_754, 32_761, 32_768, 100_000, 3]
        .into_iter()
        .map(|length| (0..length).map(|i| (i * 7) as u8).collect())
        .collect();
    records.iter().for_each(|record| writer.record(record));
    let expected: Vec<Event> = records.iter().cloned().map(Record).collect();
    assert_eq!(rocksdb(&writer), expected);
    assert_eq!(events(&writer.bytes, Engine::LevelDb, 7), expected);
}

#[test]
fn stale_records_of_a_recycled_log_end_it() {
    let mut old = LogWriter::recycled(6);
    (0..9).for_each(|_| old.record(b"stale"));
    let mut new = LogWriter::recycled(7);
    new.record(b"new one");
    new.record(b"new two");
    // Records of the same size: the old ones begin where the new ones end.
    let end = 2 * (11 + 7);
    let mut padded = LogWriter::recycled(6);
    padded.record(&[b'x'; 25]);
    padded.record(b"stale");
    assert_eq!(padded.bytes.len() - 16, end);
    padded.bytes[..end].copy_from_slice(&new.bytes);
    let stale = Problem(LogProblemKind::StaleRecord, end as u64);
    assert_eq!(rocksdb(&padded), [record("new one"), record("new two"), stale]);

    // The same where the last record was not finished.
    let mut torn = LogWriter::recycled(7);
    torn.record(b"whole");
    torn.physical(6, b"first");
    let cut = torn.bytes.len() as u64;
    torn.log_number = Some(6);
    torn.record(b"stale");
    assert_eq!(
        rocksdb(&torn),
        [
            record("whole"),
            Problem(LogProblemKind::UnfinishedRecord, cut),
            Problem(LogProblemKind::StaleRecord, cut),
        ]
    );
}

#[test]
fn recyclable_records_must_exist_from_the_start() {
    let mut writer = LogWriter::default();
    writer.record(b"plain");
    let offset = writer.bytes.len() as u64;
    writer.log_number = Some(7);
    writer.record(b"recyclable");
    let problem = Problem(LogProblemKind::UnexpectedRecyclable, offset);
    assert_eq!(rocksdb(&writer), [record("plain"), problem]);
}

#[test]
fn compressed_records_are_one_frame_each() {
    let mut writer = LogWriter::default();
    writer.physical(9, &7u32.to_le_bytes());
    let records: Vec<Vec<u8>> = [5usize, 70_000, 0, 300_000]
        .iter()
        .map(|&length| (0..length).map(|i| ((i * i) >> 3) as u8).collect())
        .collect();
    for record in &records {
        writer.record(&zstd::bulk::compress(record, 3).unwrap());
    }
    // Incompressible: a frame over several blocks.
    let mut state = 1u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(100_000)
    .collect();
    writer.record(&zstd::bulk::compress(&noise, 1).unwrap());
    assert!(writer.bytes.len() > 2 * BLOCK_SIZE);
    let expected: Vec<Event> = records.into_iter().chain([noise]).map(Record).collect();
    assert_eq!(rocksdb(&writer), expected);
}

#[test]
fn a_decompression_bomb_is_rejected() {
    let mut writer = LogWriter::default();
    writer.physical(9, &7u32.to_le_bytes());
    writer.record(&zstd::bulk::compress(&vec![0; 50 << 20], 3).unwrap());
    assert!(writer.bytes.len() < 10_000);
    let log = |limit| {
        LogReader::new(writer.bytes.as_slice(), Engine::RocksDb, 7).with_max_record_size(limit)
    };
    let error = log((50 << 20) - 1).next_record().unwrap_err();
    assert_eq!(error.kind(), sstkit_db::ErrorKind::Unsupported);
    assert_eq!(error.offset(), Some(11));
    assert!(matches!(log(50 << 20).next_record(), Ok(Some(LogEvent::Record(_)))));
}

#[test]
fn damaged_frames_are_problems() {
    let frame = zstd::bulk::compress(b"some text, some text, some text", 3).unwrap();
    let mut damaged = frame.clone();
    damaged[0] ^= 1;
    for payload in [&frame[..frame.len() - 1], &damaged] {
        let mut writer = LogWriter::default();
        writer.physical(9, &7u32.to_le_bytes());
        writer.record(payload);
        writer.record(&frame);
        let expected = [
            Problem(LogProblemKind::BadCompression, 11),
            record("some text, some text, some text"),
        ];
        assert_eq!(rocksdb(&writer), expected);
    }
}

#[test]
fn compression_is_set_once_and_first() {
    let zstd = 7u32.to_le_bytes();
    let mut late = LogWriter::default();
    late.record(b"plain");
    late.physical(9, &zstd);
    late.record(b"still plain");
    let bad = |offset| Problem(LogProblemKind::BadCompressionRecord, offset);
    assert_eq!(rocksdb(&late), [record("plain"), bad(12), record("still plain")]);

    let mut twice = LogWriter::default();
    twice.physical(9, &zstd);
    twice.physical(9, &zstd);
    assert_eq!(rocksdb(&twice), [bad(11)]);

    for payload in [&4u32.to_le_bytes()[..], b"", b"\x07"] {
        let mut unknown = LogWriter::default();
        unknown.physical(9, payload);
        assert_eq!(rocksdb(&unknown), [bad(0)]);
    }
}

#[test]
fn timestamp_sizes_and_the_predecessor_are_kept() {
    let mut writer = LogWriter::default();
    let predecessor: Vec<u8> = [6u64, 4096, 99].iter().flat_map(|n| n.to_le_bytes()).collect();
    writer.physical(130, &predecessor);
    writer.physical(10, &[2, 0, 0, 0, 8, 0, 3, 0, 0, 0, 16, 0]);
    writer.record(b"record");
    writer.physical(200, b"from the future");
    let mut log = LogReader::new(writer.bytes.as_slice(), Engine::RocksDb, 7);
    assert!(matches!(log.next_record().unwrap(), Some(LogEvent::Record(_))));
    assert_eq!(log.next_record().unwrap(), None);
    assert!(log.timestamp_sizes().iter().eq([(&2, &8), (&3, &16)]));
    let before = log.predecessor().unwrap();
    assert_eq!((before.log_number, before.size, before.last_sequence), (6, 4096, 99));

    for payload in [&[2, 0, 0, 0, 8, 0][..], &[4, 0, 0, 0, 0, 0], &[4, 0, 0, 0, 8]] {
        let mut bad = LogWriter::default();
        bad.physical(10, &[2, 0, 0, 0, 8, 0]);
        bad.physical(10, payload);
        assert_eq!(rocksdb(&bad), [Problem(LogProblemKind::BadTimestampSizes, 13)]);
    }
    let mut bad = LogWriter::default();
    bad.physical(130, &predecessor[..23]);
    assert_eq!(rocksdb(&bad), [Problem(LogProblemKind::BadPredecessor, 0)]);
    // The recyclable forms.
    let mut recycled = LogWriter::recycled(7);
    recycled.physical(131, &predecessor);
    recycled.physical(11, &[2, 0, 0, 0, 8, 0]);
    recycled.record(b"record");
    assert_eq!(rocksdb(&recycled), [record("record")]);
}

#[test]
fn leveldb_knows_four_types() {
    for kind in 5..=255 {
        let mut writer = LogWriter::default();
        // With the header that LevelDB takes it for.
        let crc = sstkit_coding::checksum::ChecksumType::Crc32c.compute(&[kind, 1, 2, 3], 4);
        writer.bytes.extend(crc.to_le_bytes());
        writer.bytes.extend([4, 0, kind, 1, 2, 3, 4]);
        writer.record(b"next");
        let expected = [Problem(LogProblemKind::UnknownType(kind), 0), record("next")];
        assert_eq!(events(&writer.bytes, Engine::LevelDb, 7), expected);
    }
    for kind in 12..128 {
        let mut writer = LogWriter::default();
        writer.physical(kind, b"what");
        assert_eq!(rocksdb(&writer), [Problem(LogProblemKind::UnknownType(kind), 0)]);
    }
}

#[test]
fn fragments_in_the_wrong_order() {
    let mut writer = LogWriter::default();
    writer.physical(3, b"mid"); // at 0
    writer.physical(4, b"end"); // at 10
    writer.physical(2, b"one"); // at 20
    writer.physical(1, b"two"); // at 30
    writer.physical(2, b""); // at 40: the old writer's bug
    writer.physical(1, b"three"); // at 47
    writer.physical(2, b"four"); // at 59
    writer.physical(2, b"fi"); // at 70
    writer.physical(4, b"ve"); // at 79
    writer.physical(2, b"six"); // at 88
    assert_eq!(
        rocksdb(&writer),
        [
            Problem(LogProblemKind::MissingStart, 0),
            Problem(LogProblemKind::MissingStart, 10),
            Problem(LogProblemKind::MissingEnd, 30),
            record("two"),
            record("three"),
            Problem(LogProblemKind::MissingEnd, 70),
            record("five"),
            Problem(LogProblemKind::UnfinishedRecord, 98),
        ]
    );
}

#[test]
fn a_bad_checksum_costs_the_rest_of_its_block() {
    let mut writer = LogWriter::default();
    writer.record(&vec![b'a'; BLOCK_SIZE - 7 - 20]);
    let damaged = writer.bytes.len();
    writer.record(b"lost"); // its header and payload fit
    writer.record(b"next block");
    writer.bytes[damaged + 8] ^= 0x10;
    let events = rocksdb(&writer);
    assert_eq!(events.len(), 3, "{events:?}");
    assert_eq!(events[1], Problem(LogProblemKind::BadChecksum, damaged as u64));
    // The record after it began in the same block.
    assert_eq!(events[2], Problem(LogProblemKind::MissingStart, BLOCK_SIZE as u64));
}

#[test]
fn a_length_out_of_the_block_is_torn_only_at_the_end() {
    let mut writer = LogWriter::default();
    writer.record(b"first");
    writer.bytes[4] = 0xff;
    assert_eq!(rocksdb(&writer), [Problem(LogProblemKind::TruncatedBody, 0)]);
    writer.bytes.resize(BLOCK_SIZE, 0);
    writer.bytes[5] = 0xff;
    writer.record(b"second");
    assert_eq!(rocksdb(&writer), [Problem(LogProblemKind::BadLength, 0), record("second")]);
}

#[test]
fn preallocated_zeros_are_nothing() {
    let mut writer = LogWriter::default();
    writer.record(b"first");
    writer.bytes.resize(3 * BLOCK_SIZE, 0);
    assert_eq!(rocksdb(&writer), [record("first")]);
    writer.record(b"second");
    assert_eq!(rocksdb(&writer), [record("first"), record("second")]);
}

#[test]
fn recovery_modes_react_as_the_table_says() {
    use LogProblemKind as Kind;
    use Reaction::{End, Fail, Skip, Stop};
    let table = [
        (Kind::TruncatedHeader, false, [End, Fail, Stop, Skip]),
        (Kind::TruncatedBody, false, [End, Fail, Stop, Skip]),
        (Kind::UnfinishedRecord, true, [End, Fail, Stop, Skip]),
        (Kind::StaleRecord, true, [End, End, Stop, Skip]),
        (Kind::BadChecksum, false, [Fail, Fail, Stop, Skip]),
        (Kind::BadChecksum, true, [End, Fail, Stop, Skip]),
        (Kind::BadLength, false, [Fail, Fail, Stop, Skip]),
        (Kind::BadLength, true, [End, Fail, Stop, Skip]),
        (Kind::MissingStart, true, [Fail, Fail, Stop, Skip]),
    ];
    let modes = [
        "TolerateCorruptedTailRecords",
        "AbsoluteConsistency",
        "PointInTimeRecovery",
        "SkipAnyCorruptedRecords",
    ];
    for (kind, is_recycled, reactions) in table {
        let problem = sstkit_db::raw::LogProblem::new(kind, 0, 0);
        for (mode, reaction) in modes.iter().zip(reactions) {
            let mode = RecoveryMode::from_name(&format!("k{mode}")).unwrap();
            assert_eq!(mode.react(&problem, is_recycled), reaction, "{mode:?} {kind:?}");
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        lengths in prop::collection::vec(0usize..40_000, 0..8),
        is_recycled: bool,
    ) {
        let mut writer = LogWriter { log_number: is_recycled.then_some(7), ..Default::default() };
        let records: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![length as u8; length]).collect();
        records.iter().for_each(|record| writer.record(record));
        let expected: Vec<Event> = records.into_iter().map(Record).collect();
        prop_assert_eq!(rocksdb(&writer), expected);
    }

    #[test]
    fn any_bytes_are_read_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        for engine in [Engine::LevelDb, Engine::RocksDb] {
            events(&bytes, engine, 7);
        }
    }

    #[test]
    fn physical_records_in_any_order(
        records in prop::collection::vec((0u8..14, prop::collection::vec(any::<u8>(), 0..20)), 0..20),
    ) {
        let mut writer = LogWriter::recycled(7);
        for (kind, payload) in &records {
            writer.physical(*kind, payload);
        }
        for engine in [Engine::LevelDb, Engine::RocksDb] {
            events(&writer.bytes, engine, 7);
        }
    }
}
