//! Logs and OPTIONS files without end.

use std::io::{self, Read};

use sstkit_coding::checksum::mask_crc;
use sstkit_db::raw::{LogEvent, LogProblemKind, LogReader, OptionsFile, WriteBatch};
use sstkit_table::raw::{Engine, decode_wide_columns};

use crate::Case;
use crate::memory::MIB;

const BLOCK: usize = 32 << 10;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;

/// A block that is one physical record.
fn block(kind: u8) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    block[4..6].copy_from_slice(&((BLOCK - 7) as u16).to_le_bytes());
    block[6] = kind;
    let sum = mask_crc(crc32c::crc32c(&block[6..])).to_le_bytes();
    block[..4].copy_from_slice(&sum);
    block
}

/// Blocks that are made as they are read.
struct Blocks {
    first: Vec<u8>,
    other: Vec<u8>,
    left: usize,
    position: usize,
}

impl Blocks {
    fn new(first: u8, other: u8, count: usize) -> Self {
        Self { first: block(first), other: block(other), left: count, position: 0 }
    }
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let rest = &self.first[self.position..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.position += length;
        if self.position == BLOCK {
            self.first.clone_from(&self.other);
            self.position = 0;
            self.left -= 1;
        }
        Ok(length)
    }
}

fn problems(mut log: LogReader<Blocks>) -> (u64, Vec<LogProblemKind>) {
    let (mut count, mut kinds) = (0, Vec::new());
    while let Some(event) = log.next_record().expect("a log that can be read") {
        let LogEvent::Problem(problem) = event else { panic!("a record of nothing") };
        count += 1;
        if !kinds.contains(&problem.kind) {
            kinds.push(problem.kind);
        }
    }
    (count, kinds)
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        // A record is as long as the file makes it; it is held once, and grows by doubling.
        Case::of("a record of 64 MiB that never ends", 3 * 64 * MIB, || {
            let log = Blocks::new(FIRST, MIDDLE, 64 * MIB / BLOCK);
            let (count, kinds) = problems(LogReader::new(log, Engine::RocksDb, 0));
            assert_eq!((count, &kinds[..]), (1, &[LogProblemKind::UnfinishedRecord][..]));
        }),
        Case::small("a gigabyte of records without a beginning", || {
            let log = Blocks::new(MIDDLE, MIDDLE, (1 << 30) / BLOCK);
            let (count, _) = problems(LogReader::new(log, Engine::RocksDb, 0));
            assert_eq!(count, (1 << 30) / BLOCK as u64);
        }),
        Case::small("a gigabyte of records that never end", || {
            let log = Blocks::new(FIRST, FIRST, (1 << 30) / BLOCK);
            let (count, _) = problems(LogReader::new(log, Engine::RocksDb, 0));
            assert_eq!(count, (1 << 30) / BLOCK as u64);
        }),
        Case::small("a batch of four billion writes", || {
            let mut batch = 1u64.to_le_bytes().to_vec();
            batch.extend_from_slice(&u32::MAX.to_le_bytes());
            let error = WriteBatch::decode_from(&batch, Engine::RocksDb).unwrap_err();
            assert!(error.to_string().contains("count does not match its records"), "{error}");
        }),
        Case::small("an entity of four billion columns", || {
            for version in [1, 2] {
                let entity = [version, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0xff, 0x0f];
                decode_wide_columns(&entity).unwrap_err();
            }
        }),
        Case::of("an OPTIONS file of a million braces", 32 * MIB, || {
            let text = format!("[DBOptions]\n a={}\n", "{a=".repeat(1 << 20));
            OptionsFile::parse(&text).expect("text");
            let text = format!("[DBOptions]\n a={}{}\n", "{a=".repeat(1000), "}".repeat(1000));
            OptionsFile::parse(&text).expect("text");
        }),
    ]
}
