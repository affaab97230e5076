//! Tables with false lengths and offsets.

use sstkit_coding::varint::put_varint32;
use sstkit_table::ErrorKind;
use sstkit_table::raw::{BlockHandle, property_names};

use crate::Case;
use crate::forged_table::{Forged, block_of, first_error, index_of, internal, with_data_block};

/// Reading must end in an error whose sentence has these words.
fn refused(bytes: Vec<u8>, words: &str) {
    let error = first_error(bytes).expect("a hostile file was accepted");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

fn data_block() -> Vec<u8> {
    block_of(&[(&internal("a"), b"1"), (&internal("k"), b"2")])
}

/// An entry of these three lengths and no bytes to go with them.
fn entry(shared: u32, non_shared: u32, value: u32) -> Vec<u8> {
    let mut block = Vec::new();
    [shared, non_shared, value].into_iter().for_each(|number| put_varint32(&mut block, number));
    block.extend_from_slice(&[0; 4]);
    block.extend_from_slice(&1u32.to_le_bytes());
    block
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = declared_sizes();
    cases.extend(restarts_and_hash_indexes());
    cases.extend(handles());
    cases.extend(shared_keys());
    cases
}

fn declared_sizes() -> Vec<Case> {
    let huge = |offset, size| BlockHandle { offset, size };
    vec![
        Case::small("a metaindex of 2^62 bytes", move || {
            refused(Forged::default().footer(huge(0, 1 << 62), huge(0, 8)), "metaindex");
        }),
        Case::small("an index of 8 GiB", move || {
            refused(Forged::default().finish_at(huge(0, 8 << 30)), "index");
        }),
        Case::small("an index at the end of all numbers", move || {
            refused(Forged::default().finish_at(huge(u64::MAX, u64::MAX)), "index");
        }),
        Case::small("a data block of 4 GiB", move || {
            refused(Forged::default().finish(&index_of(&[("k", huge(0, 4 << 30))])), "data block");
        }),
        Case::small("a key of 4 GiB", || {
            refused(with_data_block(&entry(0, u32::MAX, 1), 0), "beyond the end");
        }),
        Case::small("a value of 4 GiB", || {
            refused(with_data_block(&entry(0, 0, u32::MAX), 0), "beyond the end");
        }),
        Case::small("a key that shares 4 GiB with none", || {
            refused(with_data_block(&entry(u32::MAX, 0, 0), 0), "data block");
        }),
    ]
}

fn restarts_and_hash_indexes() -> Vec<Case> {
    let with_count = |count: u32| {
        let mut block = data_block();
        let at = block.len() - 4;
        block[at..].copy_from_slice(&count.to_le_bytes());
        with_data_block(&block, 0)
    };
    let with_restart = |restart: u32| {
        let mut block = data_block();
        let at = block.len() - 8;
        block[at..at + 4].copy_from_slice(&restart.to_le_bytes());
        with_data_block(&block, 0)
    };
    // Buckets, their number in 16 bits, and the bit that says so.
    let with_buckets = |buckets: &[u8], count: u16| {
        let mut block = data_block();
        block.truncate(block.len() - 4);
        block.extend_from_slice(buckets);
        block.extend_from_slice(&count.to_le_bytes());
        block.extend_from_slice(&(2u32 | 1 << 31).to_le_bytes());
        with_data_block(&block, 0)
    };
    vec![
        Case::small("268 million restart points", move || {
            refused(with_count((1 << 28) - 1), "restart points");
        }),
        Case::small("a restart point in the middle of nowhere", move || {
            refused(with_restart(u32::MAX), "restart point");
        }),
        Case::small("restart points that go back", move || {
            refused(with_restart(0), "restart point");
        }),
        Case::small("a restart point within an entry", move || refused(with_restart(3), "block")),
        Case::small("a hash index of 65535 buckets in 60 bytes", move || {
            refused(with_buckets(&[0; 4], u16::MAX), "hash buckets");
        }),
        Case::small("a hash index of no buckets", move || {
            refused(with_buckets(&[], 0), "hash buckets");
        }),
        Case::small("a hash index that leads out of the block", move || {
            refused(with_buckets(&[253; 3], 3), "hash index");
        }),
    ]
}

fn handles() -> Vec<Case> {
    vec![
        Case::small("an index that points at itself", || {
            // The index is the first block, and knows how long it is.
            let at = |size| index_of(&[("k", BlockHandle { offset: 0, size })]);
            let size = at(0).len() as u64;
            refused(Forged::default().finish(&at(size)), "data block");
        }),
        Case::small("a top level that points at itself", || {
            let at = |size| index_of(&[("k", BlockHandle { offset: 0, size })]);
            let mut forged = Forged::default();
            forged.properties.insert(property_names::INDEX_TYPE, 2u32.to_le_bytes());
            refused(forged.finish(&at(at(0).len() as u64)), "overlaps the one before");
        }),
        Case::small("partitions that point at each other", || {
            let size = index_of(&[("k", BlockHandle::default())]).len() as u64;
            let mut forged = Forged::default();
            forged.properties.insert(property_names::INDEX_TYPE, 2u32.to_le_bytes());
            let second = BlockHandle { offset: size + 5, size };
            let first = forged.block(&index_of(&[("k", second)]), 0);
            forged.block(&index_of(&[("k", first)]), 0);
            let index = index_of(&[("k", first), ("l", second)]);
            refused(forged.finish(&index), "is not in file order");
        }),
        Case::small("a data block named a thousand times", || {
            let mut forged = Forged::default();
            let data = forged.block(&data_block(), 0);
            let entries: Vec<_> = (0..1000).map(|_| ("k", data)).collect();
            refused(forged.finish(&index_of(&entries)), "index");
        }),
        Case::small("data blocks that overlap", || {
            let mut forged = Forged::default();
            let data = forged.block(&data_block(), 0);
            let other = BlockHandle { offset: data.offset + 1, size: data.size };
            refused(forged.finish(&index_of(&[("k", data), ("l", other)])), "index");
        }),
        Case::small("an index whose data block is the metaindex", || {
            let mut forged = Forged::default();
            let data = forged.block(&data_block(), 0);
            let beyond = BlockHandle { offset: data.size + 60, size: 40 };
            refused(forged.finish(&index_of(&[("k", data), ("l", beyond)])), "data block");
        }),
    ]
}

/// Keys that share all they have with the one before cost three bytes in the file and their whole
/// length in memory.
fn shared_keys() -> Vec<Case> {
    let expanding = |value: &[u8]| {
        let mut block = Vec::new();
        let key = vec![b'k'; 20_000];
        put_varint32(&mut block, 0);
        put_varint32(&mut block, key.len() as u32 + 8);
        put_varint32(&mut block, value.len() as u32);
        block.extend_from_slice(&key);
        block.extend_from_slice(&0x10fu64.to_le_bytes());
        block.extend_from_slice(value);
        for _ in 0..50_000 {
            put_varint32(&mut block, key.len() as u32 + 8);
            put_varint32(&mut block, 0);
            put_varint32(&mut block, value.len() as u32);
            block.extend_from_slice(value);
        }
        block.extend_from_slice(&[0; 4]);
        block.extend_from_slice(&1u32.to_le_bytes());
        block
    };
    let range_deletions = expanding(b"l");
    vec![Case::small("a gigabyte of range deletions in 170 KB", move || {
        let mut forged = Forged::default();
        let data = forged.block(&data_block(), 0);
        let ranges = forged.block(&range_deletions, 0);
        forged.metaindex.insert("rocksdb.range_del", ranges);
        refused(forged.finish(&index_of(&[("k", data)])), "range tombstones");
    })]
}
