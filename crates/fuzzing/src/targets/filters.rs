//! Filters, one target for each kind.
//!
//! All ways to probe give the same answer: one by one, hashed before, in a batch, and traced.

use sstkit_filter::{Filter, FilterBlock, FilterKind, HashedKey};

/// Keys to probe for, besides the last bytes of the input.
const KEYS: [&[u8]; 12] = [
    b"",
    b"a",
    b"key",
    b"k0007",
    b"user000042",
    b"\0",
    b"\xff\xff",
    b"prefix",
    b"1",
    b"23",
    b"456",
    b"a key that is longer than any hash",
];

/// LevelDB's filter block.
pub fn leveldb_filter_block(data: &[u8]) {
    filter_block(&FilterBlock::leveldb(data));
}

/// RocksDB's filter block, before 7.0.
pub fn rocksdb_filter_block(data: &[u8]) {
    filter_block(&FilterBlock::rocksdb(data));
}

fn filter_block(block: &FilterBlock<&[u8]>) {
    for key in KEYS {
        let hashed = HashedKey::new(key);
        for offset in [0, 1, 2047, 2048, 5000, 1 << 20, 1 << 40, u64::MAX] {
            let may = block.may_contain(offset, key);
            assert_eq!(may, block.may_contain_hashed(offset, &hashed));
            assert_eq!(may, block.trace(offset, &hashed).filter.may_contain);
        }
    }
    assert_eq!(block.stats().len(), block.num_filters());
    for index in [0, 1, block.num_filters(), usize::MAX] {
        let _ = block.filter(index);
    }
    assert!(block.num_filters() <= block.bytes().len());
}

/// RocksDB's Bloom filter of format versions below 5: the first of the last five bytes is a
/// probe count.
pub fn legacy_bloom(data: &[u8]) {
    full_filter(data, |trailer| trailer[0] &= 0x7f);
}

/// RocksDB's cache-local Bloom filter.
pub fn fast_local_bloom(data: &[u8]) {
    full_filter(data, |trailer| {
        trailer[0] = 0xff;
        trailer[1] = 0;
    });
}

/// RocksDB's Ribbon filter.
pub fn ribbon(data: &[u8]) {
    full_filter(data, |trailer| trailer[0] = 0xfe);
}

/// The filter as it is, and with the trailer of the kind that is meant.
fn full_filter(data: &[u8], make: impl Fn(&mut [u8; 5])) {
    check_filter(&Filter::from_bytes(data));
    let mut forged = data.to_vec();
    if let Some(trailer) = forged.last_chunk_mut() {
        make(trailer);
        check_filter(&Filter::from_bytes(forged.as_slice()));
    }
}

fn check_filter(filter: &Filter<&[u8]>) {
    let tail = &filter.bytes()[filter.bytes().len().saturating_sub(9)..];
    let keys: Vec<&[u8]> = KEYS.into_iter().chain([tail]).collect();
    let mut answers = vec![false; keys.len()];
    filter.may_contain_batch(&keys, &mut answers);
    for (key, batched) in keys.into_iter().zip(answers) {
        let hashed = HashedKey::new(key);
        filter.prefetch(&hashed);
        let may = filter.may_contain(key);
        assert_eq!((may, may), (batched, filter.may_contain_hashed(&hashed)));
        assert_eq!(may, filter.trace(&hashed).may_contain);
        match filter.kind() {
            FilterKind::AlwaysFalse => assert!(!may),
            FilterKind::AlwaysTrue | FilterKind::Unknown => assert!(may),
            _ => {}
        }
    }
    let _ = (filter.parameters(), filter.stats());
    assert!(filter.fill().is_none_or(|fill| (0.0..=1.0).contains(&fill)));
    for keys in [0, 1, 1000, usize::MAX] {
        let rate = filter.expected_fpr(keys);
        assert!(rate.is_none_or(|rate| (0.0..=1.0).contains(&rate)), "{rate:?}");
    }
}
