//! A table to put into a store.

use bytes::Bytes;
use sstkit_table::raw::IndexKind;
use sstkit_table::{TableOptions, TableWriter};

pub(crate) const KEYS: u32 = 100_000;

pub(crate) fn key(number: u32) -> Vec<u8> {
    format!("user{number:08}").into_bytes()
}

/// About 11 MB that do not compress, which is more than one part of an upload, with a partitioned index and filter.
pub(crate) fn table(seed: u32) -> Bytes {
    let options = TableOptions::rocksdb()
        .filter("bloomfilter:10".parse().unwrap())
        .index_kind(IndexKind::TwoLevel)
        .partition_filters(true);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    let mut state = seed;
    for number in 0..KEYS {
        let mut value = [0; 100];
        for chunk in value.chunks_mut(4) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            chunk.copy_from_slice(&(state ^ state >> 15).to_le_bytes());
        }
        writer.put(&key(number), &value).unwrap();
    }
    writer.finish().unwrap();
    bytes.into()
}

/// Keys all over the table.
pub(crate) fn wanted() -> Vec<Vec<u8>> {
    (0..64).map(|at| key(at * (KEYS / 64))).collect()
}
