//! The index of the partitions.

use sstkit_coding::fixed::put_fixed32;
use sstkit_coding::hash32::{BLOOM_HASH_SEED, hash32_rocksdb};
use sstkit_coding::varint::{put_varint64, varint_length};

use super::example::example_partitions;
use crate::hex_dump::Dump;
use crate::wording::key_text;

/// An entry of the index: the last key of a partition, and the handle of its filter.
struct IndexEntry<'k> {
    key: &'k [u8],
    offset: u64,
    size: u64,
}

/// Index entries of adjacent partitions, each followed by a trailer.
fn back_to_back<'k>(
    first_offset: u64,
    partitions: impl IntoIterator<Item = (&'k [u8], u64)>,
) -> Vec<IndexEntry<'k>> {
    let mut next = first_offset;
    partitions
        .into_iter()
        .map(|(key, size)| {
            let offset = next;
            next += size + 5;
            IndexEntry { key, offset, size }
        })
        .collect()
}

/// An index with a restart point at every entry, so that no value is delta-encoded.
fn encode(entries: &[IndexEntry<'_>]) -> Vec<u8> {
    let mut block = Vec::new();
    let mut restarts = Vec::new();
    for entry in entries {
        restarts.push(block.len() as u32);
        put_varint64(&mut block, 0);
        put_varint64(&mut block, entry.key.len() as u64);
        block.extend_from_slice(entry.key);
        put_varint64(&mut block, entry.offset);
        put_varint64(&mut block, entry.size);
    }
    restarts.iter().for_each(|&restart| put_fixed32(&mut block, restart));
    put_fixed32(&mut block, restarts.len() as u32);
    block
}

pub(super) fn example() -> String {
    /// The end of the data blocks of the example.
    const FIRST_OFFSET: u64 = 300;

    let (_, partitions) = example_partitions();
    let sizes = partitions
        .iter()
        .map(|partition| (partition.last_key.as_slice(), partition.filter.len() as u64));
    let entries = back_to_back(FIRST_OFFSET, sizes);
    let block = encode(&entries);

    let mut dump = Dump::new(&block);
    dump.note(format!(
        "format version 4 and later, user keys, first partition at offset {FIRST_OFFSET}"
    ));
    let mut restarts = Vec::new();
    for (i, &IndexEntry { key, offset, size }) in entries.iter().enumerate() {
        restarts.push(dump.position());
        dump.bytes(1, format!("partition {i}: 0 bytes shared with the previous key"));
        dump.bytes(1, format!("{} unshared key bytes", key.len()));
        dump.bytes(key.len(), format!("key {}", key_text(key)));
        dump.bytes(varint_length(offset), format!("offset {offset}"));
        dump.bytes(varint_length(size), format!("size {size}"));
    }
    for restart in &restarts {
        dump.bytes(4, format!("restart point at {restart:#x}"));
    }
    dump.bytes(4, format!("{} restart points", restarts.len()));
    dump.finish()
}

/// A table that RocksDB 11.9 wrote: `bloomfilter:10`, `fixed:8`, format version 5, partitions of
/// 1024 bytes.
#[test]
fn index_of_a_rocksdb_table() {
    let partitions = [
        ("user0089#01872", 901),
        ("user0178#03747~", 901),
        ("user0267#05622", 901),
        ("user0357#07497~", 901),
        ("user0446#09372", 901),
        ("user0535#11247~", 901),
        ("user0571#11997~", 389),
    ];
    let partitions = partitions.iter().map(|&(key, size)| (key.as_bytes(), size));
    let block = encode(&back_to_back(118_301, partitions));
    assert_eq!((block.len(), hash32_rocksdb(&block, BLOOM_HASH_SEED)), (183, 3_856_428_849));
}
