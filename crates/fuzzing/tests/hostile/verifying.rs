//! Tables that are small to read and were large, or endless, to verify and to lay open.

use bytes::Bytes;
use sstkit_coding::varint::put_varint32;
use sstkit_inspect::{Encoding, InspectedTable, VerifyReport, blocks};
use sstkit_table::TableReadOptions;
use sstkit_table::raw::{BlobIndex, BlockHandle};

use crate::Case;
use crate::forged_table::{Forged, block_of, index_of, internal, with_data_block};
use crate::memory::MIB;

fn open(bytes: Vec<u8>) -> InspectedTable {
    InspectedTable::from_bytes(Bytes::from(bytes), &TableReadOptions::default()).expect("a table")
}

/// What verifying finds, in one text.
fn problems(bytes: Vec<u8>) -> String {
    let report = VerifyReport::of_table("forged.sst", &open(bytes));
    assert!(!report.sound);
    assert!(report.problems.len() <= 1000);
    report.problems.into_iter().map(|problem| problem.message + "\n").collect()
}

/// A block of one restart interval: one long key, and keys that repeat all but its end.
fn shared_block(length: usize, count: u32, tail: impl Fn(u32) -> [u8; 4]) -> Vec<u8> {
    const SUFFIX: u32 = 12;
    let mut block = Vec::new();
    for i in 0..count {
        let shared = if i == 0 { 0 } else { length as u32 };
        put_varint32(&mut block, shared);
        put_varint32(&mut block, length as u32 - shared + SUFFIX);
        put_varint32(&mut block, 0);
        if i == 0 {
            block.resize(block.len() + length, b'k');
        }
        block.extend_from_slice(&tail(i));
        block.extend_from_slice(&0x101u64.to_le_bytes());
    }
    block.extend_from_slice(&0u32.to_le_bytes());
    block.extend_from_slice(&1u32.to_le_bytes());
    block
}

/// All entries of all blocks, each seen and dropped: their number, and the problems.
fn laid_open(bytes: Vec<u8>) -> (u64, String) {
    let file = open(bytes);
    let (mut entries, mut problems) = (0, String::new());
    for block in blocks(&file, Some(Encoding::Escape)).expect("a layout") {
        problems.extend(block.problem.map(|problem| problem.message));
        if let Some(contents) = block.contents {
            let count = |_| {
                entries += 1;
                Ok::<_, ()>(())
            };
            contents.for_each(count).expect("entries");
        }
    }
    (entries, problems)
}

pub(crate) fn cases() -> Vec<Case> {
    // Twelve gigabytes of keys out of less than a megabyte.
    let bomb = || with_data_block(&shared_block(400_000, 30_000, u32::to_be_bytes), 0);
    let backwards = || {
        with_data_block(&shared_block(1 << 20, 2000, |i| u32::MAX.wrapping_sub(i).to_be_bytes()), 0)
    };
    // Long keys, but no longer than a large restart interval makes them.
    let honest = || with_data_block(&shared_block(10_000, 1000, u32::to_be_bytes), 0);
    vec![
        Case::small("a block at 2^60, verified", || {
            let mut forged = Forged::default();
            let data = forged.block(&block_of(&[(&internal("k"), b"v")]), 0);
            forged.metaindex.insert("unknown", BlockHandle::new(1 << 60, 8));
            let found = problems(forged.finish(&index_of(&[("k", data)])));
            assert!(found.contains("outside the file"), "{found}");
        }),
        Case::of("keys that share 12 GB, verified", 16 * MIB, move || {
            let found = problems(bomb());
            assert!(found.contains("expand too far by sharing prefixes"), "{found}");
        }),
        Case::of("long keys out of order, verified", 16 * MIB, move || {
            let found = problems(backwards());
            assert!(found.contains("the keys are not in order"), "{found}");
            assert!(found.contains("kkk…\" (1048588 bytes)"), "{found}");
        }),
        Case::of("an index whose keys share 12 GB, verified", 16 * MIB, || {
            let mut forged = Forged::default();
            forged.block(&block_of(&[(&internal("k"), b"v")]), 0);
            let found = problems(forged.finish(&shared_index(400_000, 30_000)));
            assert!(found.contains("expand too far by sharing prefixes"), "{found}");
        }),
        Case::of("one blob shared by many entries, verified", 24 * MIB, || {
            let found = problems(shared_blob(20_000, 1 << 20));
            assert!(found.contains("its blobs overlap"), "{found}");
        }),
        Case::of("one block under many names, verified", 24 * MIB, || {
            let mut forged = Forged::default();
            let data = forged.block(&block_of(&[(&internal("k"), b"v")]), 0);
            let large = forged.block(&vec![0; 1 << 20], 0);
            for i in 0..20_000 {
                forged.metaindex.insert(format!("unknown{i:05}"), large);
            }
            let found = problems(forged.finish(&index_of(&[("k", data)])));
            assert!(found.contains("overlaps the one before it"), "{found}");
        }),
        Case::of("keys that share 12 GB, listed", 16 * MIB, move || {
            let (_, found) = laid_open(bomb());
            assert!(found.contains("expand too far by sharing prefixes"), "{found}");
        }),
        Case::of("keys that share 10 MB, listed", 8 * MIB, move || {
            let (entries, found) = laid_open(honest());
            assert!(entries >= 1000 && found.is_empty(), "{entries} {found}");
        }),
        Case::of("keys that share 10 MB, verified", 8 * MIB, move || {
            let report = VerifyReport::of_table("forged.sst", &open(honest()));
            assert!(report.problems.iter().all(|it| !it.message.contains("sharing")), "{report:?}");
        }),
    ]
}

/// An index block of keys like those of [`shared_block`], all of which lead to one data block.
fn shared_index(length: usize, count: u32) -> Vec<u8> {
    let mut block = Vec::new();
    for i in 0..count {
        let shared = if i == 0 { 0 } else { length as u32 };
        // Blocks that ascend, the first of them a real one.
        let mut handle = Vec::new();
        BlockHandle::new(u64::from(i) * 1000, 20).encode_to(&mut handle);
        put_varint32(&mut block, shared);
        put_varint32(&mut block, length as u32 - shared + 12);
        put_varint32(&mut block, handle.len() as u32);
        if i == 0 {
            block.resize(block.len() + length, b'k');
        }
        block.extend_from_slice(&i.to_be_bytes());
        block.extend_from_slice(&0x101u64.to_le_bytes());
        block.extend_from_slice(&handle);
    }
    block.extend_from_slice(&0u32.to_le_bytes());
    block.extend_from_slice(&1u32.to_le_bytes());
    block
}

/// A table whose entries all have the same embedded blob of `size` bytes.
fn shared_blob(entries: u32, size: usize) -> Vec<u8> {
    let mut forged = Forged::default();
    let blob = forged.block(&vec![7; size], 0);
    let (file, offset, size) = (0, blob.offset, blob.size);
    let mut value = Vec::new();
    BlobIndex::Stored { expiration: None, file, offset, size, codec: 0 }.encode_to(&mut value);
    let keys: Vec<_> = (0..entries)
        .map(|i| [format!("key{i:06}").as_bytes(), &0x111u64.to_le_bytes()].concat())
        .collect();
    let entries: Vec<_> = keys.iter().map(|key| (&key[..], &value[..])).collect();
    let data = forged.block(&block_of(&entries), 0);
    forged.finish(&index_of(&[("z", data)]))
}
