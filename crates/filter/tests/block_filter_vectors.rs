//! Published vectors of LevelDB's filter block and of RocksDB's variant.

use std::error::Error;
use std::sync::Arc;

use sstkit_coding::hash32::{BLOOM_HASH_SEED, hash32_leveldb, hash32_rocksdb};
use sstkit_filter::{
    BlockBloom, FilterBlock, FilterBlockBuilder, FilterPolicy, HashedKey, KeyFiltering, Registry,
    UserBuilder, UserFilter, UserPolicy,
};

/// The policy of LevelDB's tests: a filter is the list of the hashes of its keys.
#[derive(Debug)]
struct ListOfHashes;

impl UserPolicy for ListOfHashes {
    fn name(&self) -> &str {
        "test.ListOfHashes"
    }

    fn builder(&self) -> Box<dyn UserBuilder> {
        Box::new(ListBuilder(Vec::new()))
    }

    fn open(&self, _: &[u8]) -> Option<Box<dyn UserFilter>> {
        Some(Box::new(OpenedList))
    }
}

struct OpenedList;

impl UserFilter for OpenedList {
    fn may_contain(&self, filter: &[u8], key: &HashedKey<'_>) -> bool {
        filter.chunks(4).any(|hash| hash == hash32_leveldb(key.key(), 1).to_le_bytes())
    }
}

struct ListBuilder(Vec<u8>);

impl UserBuilder for ListBuilder {
    fn add(&mut self, key: &HashedKey<'_>) {
        self.0.extend_from_slice(&hash32_leveldb(key.key(), 1).to_le_bytes());
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        Ok(self.0)
    }
}

fn multi_chunk(mut builder: FilterBlockBuilder) -> Vec<u8> {
    builder.start_block(0);
    builder.add(b"foo");
    builder.start_block(2000);
    builder.add(b"bar");
    builder.start_block(3100);
    builder.add(b"box");
    builder.start_block(9000);
    builder.add(b"box");
    builder.add(b"hello");
    builder.finish().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn policy(text: &str) -> FilterPolicy {
    text.parse().unwrap()
}

#[test]
fn empty_block() {
    let builder = policy("leveldb.BuiltinBloomFilter2:10").block_builder();
    let bytes = builder.unwrap().finish().unwrap();
    assert_eq!(hex(&bytes), "000000000b");
    let filters = FilterBlock::leveldb(&bytes);
    assert_eq!(filters.num_filters(), 0);
    assert!(filters.may_contain(0, b"foo") && filters.may_contain(100_000, b"foo"));
}

#[test]
fn multi_chunk_of_a_custom_policy() {
    let bytes = multi_chunk(FilterBlockBuilder::user(Arc::new(ListOfHashes)));
    assert_eq!(
        hex(&bytes),
        "c43577fe378c73d926960fc826960fc8bf278b0e\
         00000000080000000c0000000c0000000c000000140000000b"
    );
    let mut registry = Registry::default();
    registry.register_policy(Arc::new(ListOfHashes)).unwrap();
    let filters = registry.filter_block("test.ListOfHashes", &bytes).unwrap();
    assert_eq!(filters.num_filters(), 5);
    for (offset, present, absent) in [
        (0, &["foo"][..], &["box", "hello"][..]),
        (2000, &["foo", "bar"], &["box", "hello"]),
        (3100, &["box"], &["foo", "bar", "hello"]),
        (4100, &[], &["foo", "bar", "box", "hello"]),
        (9000, &["box", "hello"], &["foo", "bar"]),
    ] {
        for key in present {
            assert!(filters.may_contain(offset, key.as_bytes()), "{offset} {key}");
        }
        for key in absent {
            assert!(!filters.may_contain(offset, key.as_bytes()), "{offset} {key}");
        }
    }
}

#[test]
fn multi_chunk_of_bloom_filters() {
    let builder = policy("leveldb.BuiltinBloomFilter2:10").block_builder();
    assert_eq!(
        hex(&multi_chunk(builder.unwrap())),
        "214912000010420806800000040810204006814000050c1060400600000000\
         090000001200000012000000120000001b0000000b"
    );
}

/// From the tests of RocksDB 7.3, the last version that has them. The keys have four bytes, for which
/// both hashes agree.
#[test]
fn rocksdb_block_based_filters() {
    for (bits, keys, expected) in
        [(8, 0..87, 3589896109), (11, 0..87, 1694458207), (10, 1..88, 3057004015)]
    {
        for bloom in [BlockBloom::RocksDb, BlockBloom::LevelDb] {
            let hashes: Vec<u32> =
                keys.clone().map(|i: u32| bloom.hash(&i.to_le_bytes())).collect();
            let mut filter = Vec::new();
            bloom.create_filter(&hashes, bits, &mut filter);
            assert_eq!(hash32_rocksdb(&filter, BLOOM_HASH_SEED), expected, "{bits}");
        }
    }
}

/// Bits per key are rounded: 9.5 gives the same filter as 10.
#[test]
fn rocksdb_block_based_bits_are_rounded() {
    let block = |bits: &str| {
        let policy = policy(&format!("rocksdb.internal.DeprecatedBlockBasedBloomFilter:{bits}"));
        let mut builder = policy.block_builder().unwrap();
        (1..88u32).for_each(|i| builder.add(&i.to_le_bytes()));
        builder.finish().unwrap()
    };
    assert_eq!(block("9.5"), block("10"));
    assert_ne!(block("9.4"), block("10"));
}

#[test]
fn prefixes_in_block_based_filters() {
    let filtering = KeyFiltering::new(true, Some("fixed:3".parse().unwrap()));
    let mut filtered = FilterBlockBuilder::bloom(BlockBloom::RocksDb, 10);
    let mut by_hand = FilterBlockBuilder::bloom(BlockBloom::RocksDb, 10);
    for (offset, keys) in [(0, ["abc1", "abc2", "ab"]), (5000, ["abc3", "abd1", "abc4"])] {
        filtered.start_block(offset);
        keys.iter().for_each(|key| filtered.add_filtered(key.as_bytes(), &filtering));
    }
    // A prefix is added before the first of its keys in each filter. Keys outside the domain have none.
    for (offset, entries) in [
        (0, &["abc", "abc1", "abc2", "ab"][..]),
        (5000, &["abc", "abc3", "abd", "abd1", "abc", "abc4"]),
    ] {
        by_hand.start_block(offset);
        entries.iter().for_each(|entry| by_hand.add(entry.as_bytes()));
    }
    assert_eq!(filtered.num_entries(), 10);
    assert_eq!(filtered.finish().unwrap(), by_hand.finish().unwrap());
}

/// The bounds on size and rate in LevelDB's tests, for increasing numbers of keys.
#[test]
fn size_and_rate_of_leveldb_filters() {
    let mut counts: Vec<u32> = (1..10).collect();
    counts.extend((1..10).map(|i| 10 * i));
    counts.extend((1..10).map(|i| 100 * i));
    counts.extend((1..=10).map(|i| 1000 * i));
    if cfg!(miri) {
        counts = vec![1, 50];
    }
    for count in counts {
        let bloom = BlockBloom::LevelDb;
        let hashes: Vec<u32> = (0..count).map(|i| bloom.hash(&i.to_le_bytes())).collect();
        let mut filter = Vec::new();
        bloom.create_filter(&hashes, 10, &mut filter);
        assert!(filter.len() <= (count * 10 / 8) as usize + 40, "{count} keys");
        assert!(hashes.iter().all(|&hash| bloom.may_contain(&filter, hash)), "{count} keys");
        let positives = (1_000_000_000..1_000_010_000_u32)
            .filter(|i| bloom.may_contain(&filter, bloom.hash(&i.to_le_bytes())))
            .count();
        assert!(positives <= 200, "{count} keys: {positives} of 10,000");
    }
}

#[test]
fn damaged_blocks_may_contain_anything() {
    let sound = multi_chunk(FilterBlockBuilder::bloom(BlockBloom::LevelDb, 10));
    let array = sound.len() - 5 - 5 * 4;
    let may_contain_hello = |bytes: &[u8]| FilterBlock::leveldb(bytes).may_contain(0, b"hello");
    assert!(!may_contain_hello(&sound));

    // Too short for the tail.
    for length in 0..5 {
        assert!(may_contain_hello(&sound[..length]), "{length}");
    }
    let damaged = |at: usize, word: u32| {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        bytes
    };
    // The array starts after the end of the block.
    assert!(may_contain_hello(&damaged(sound.len() - 5, u32::MAX)));
    // A filter ends before it starts, or after the end of the filters.
    assert!(may_contain_hello(&damaged(array, 100)));
    assert!(may_contain_hello(&damaged(array + 4, u32::MAX)));
    // A filter of length zero is empty at any offset.
    assert!(!may_contain_hello(&damaged(array, 9)));
    // With a span of 2^255 bytes, the first filter covers everything.
    let mut spanning = sound.clone();
    *spanning.last_mut().unwrap() = 255;
    let filters = FilterBlock::leveldb(&spanning);
    assert!(filters.may_contain(u64::MAX, b"foo") && !filters.may_contain(u64::MAX, b"hello"));
}
