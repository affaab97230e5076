//! Verifying with several threads finds what one thread finds.

use sstkit_coding::checksum::ChecksumType;
use sstkit_table::raw::{BlockHandle, BlockKind, Codec};
use sstkit_table::{Table, TableOptions, TableWriter, Verification, VerifyOptions, VerifyProgress};

/// More than a thread takes at least, several times.
fn table(checksum: ChecksumType) -> Vec<u8> {
    let options = TableOptions::rocksdb()
        .filter("bloomfilter:10".parse().unwrap())
        .compression(Codec::None)
        .checksum(checksum);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for number in 0..40_000 {
        writer.put(format!("key{number:09}").as_bytes(), &[b'v'; 100]).unwrap();
    }
    writer.delete_range(b"key", b"kez").unwrap();
    writer.finish().unwrap();
    bytes
}

fn data_blocks(bytes: &[u8]) -> Vec<BlockHandle> {
    let layout = Table::from_bytes(bytes.to_vec()).unwrap().layout().unwrap();
    let blocks = layout.blocks.iter().filter(|block| block.kind == BlockKind::Data);
    blocks.map(|block| block.handle).collect()
}

fn messages(found: &Verification) -> (Vec<String>, u64, u64, u64) {
    let problems = found.problems().iter().map(ToString::to_string).collect();
    (problems, found.problem_count(), found.blocks(), found.entries())
}

/// The number of problems, whatever the number of threads.
fn problems(bytes: Vec<u8>) -> u64 {
    let table = Table::from_bytes(bytes).unwrap();
    let alone = table.verify();
    for threads in [0, 2, 3, 4, 1000] {
        let found = table.verify_with(&VerifyOptions::default().threads(threads));
        assert_eq!(messages(&found), messages(&alone), "{threads} threads");
    }
    alone.problem_count()
}

#[test]
fn of_a_sound_table() {
    assert_eq!(problems(table(ChecksumType::Xxh3)), 0);
}

#[test]
fn of_blocks_with_wrong_checksums() {
    let mut bytes = table(ChecksumType::Xxh3);
    let blocks = data_blocks(&bytes);
    for handle in blocks.iter().step_by(7) {
        bytes[handle.offset as usize + 50] ^= 1;
    }
    assert_eq!(problems(bytes), blocks.len().div_ceil(7) as u64);
}

/// Each block begins with a key that is too small, also those where the part of a thread begins.
#[test]
fn of_keys_out_of_order() {
    let mut bytes = table(ChecksumType::None);
    let blocks = data_blocks(&bytes);
    for handle in &blocks {
        // After the three lengths comes the key.
        let key = handle.offset as usize + 3;
        assert_eq!(&bytes[key..key + 3], b"key");
        bytes[key] = b'a';
    }
    assert!(problems(bytes) >= 3 * blocks.len() as u64 - 3);
}

#[test]
fn of_a_damaged_index() {
    let bytes = table(ChecksumType::None);
    let layout = Table::from_bytes(bytes.clone()).unwrap().layout().unwrap();
    let index = layout.blocks.iter().find(|block| block.kind == BlockKind::Index).unwrap().handle;
    let mut found = 0;
    for place in (0..index.size).step_by(index.size as usize / 60) {
        let mut bytes = bytes.clone();
        bytes[(index.offset + place) as usize] ^= 0x55;
        if Table::from_bytes(bytes.clone()).is_ok() {
            found += u64::from(problems(bytes) > 0);
        }
    }
    assert!(found > 30, "{found}");
}

#[test]
fn progress_is_seen_and_stops_it() {
    let bytes = table(ChecksumType::Xxh3);
    let blocks = data_blocks(&bytes);
    let table = Table::from_bytes(bytes).unwrap();
    for threads in [1, 3] {
        let progress = VerifyProgress::default();
        let options = VerifyOptions::default().threads(threads).progress(&progress);
        assert!(table.verify_with(&options).is_sound());
        assert_eq!(progress.bytes(), blocks.iter().map(|block| block.size).sum::<u64>());

        let stopped = VerifyProgress::default();
        stopped.stop();
        table.verify_with(&options.clone().progress(&stopped));
        // Each thread has finished its first block.
        let first: u64 = blocks.iter().map(|block| block.size).max().unwrap();
        assert!(stopped.bytes() <= threads as u64 * first, "{}", stopped.bytes());
    }
}
