//! Properties that hold for any keys, settings and bytes.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use sstkit_filter::{
    BlockBloom, BuildContext, CacheLine, Filter, FilterBlock, FilterBlockBuilder, FilterPolicy,
    GLIBC_MMAP_THRESHOLD, HashedKey, KeyFiltering, MemorySizing, PartitionedFilterBuilder,
    UsableSize,
};

/// Keys of all lengths. Few distinct bytes, so that prefixes repeat, including high ones.
fn keys(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![4 => select(b"ab\x00\x80\xff".to_vec()), 1 => any::<u8>()];
    let short = prop::collection::vec(byte, 0..20);
    let long = prop::collection::vec(any::<u8>(), 100..400);
    let key = prop_oneof![20 => short, 1 => long];
    prop::collection::vec(key, count).prop_map(|mut keys| {
        keys.sort();
        keys
    })
}

fn policy() -> impl Strategy<Value = FilterPolicy> {
    let kind = select(vec![
        "bloomfilter",
        "ribbonfilter",
        "rocksdb.internal.LegacyBloomFilter",
        "rocksdb.internal.FastLocalBloomFilter",
        "rocksdb.internal.Standard128RibbonFilter",
    ]);
    (kind, 500u32..110_000).prop_map(|(kind, millibits)| {
        format!("{kind}:{}", f64::from(millibits) / 1000.0).parse().unwrap()
    })
}

fn context() -> impl Strategy<Value = BuildContext> {
    let line = select(vec![CacheLine::Bytes64, CacheLine::Bytes128, CacheLine::Bytes256]);
    let allocator = prop::option::of(select(vec![
        UsableSize::Exact,
        UsableSize::Glibc { mmap_threshold: GLIBC_MMAP_THRESHOLD },
        UsableSize::Jemalloc,
        UsableSize::Custom(|request| request + request / 5),
    ]));
    (2u32..8, line, allocator, any::<bool>()).prop_map(|(version, line, allocator, detect)| {
        let context = BuildContext::default()
            .format_version(version)
            .cache_line(line)
            .detect_construct_corruption(detect);
        match allocator {
            Some(allocator) => context.optimize_for_memory(Arc::new(MemorySizing::new(allocator))),
            None => context,
        }
    })
}

fn filtering() -> impl Strategy<Value = KeyFiltering> {
    let extractor =
        select(vec![None, Some("fixed:3"), Some("capped:4"), Some("noop"), Some("fixed:0")]);
    (any::<bool>(), extractor).prop_map(|(whole_key, extractor)| {
        KeyFiltering::new(whole_key, extractor.map(|text| text.parse().unwrap()))
    })
}

/// Probes in every way, asserts that the results agree, and returns them.
fn probe_every_way<K: AsRef<[u8]>>(filter: &Filter<Vec<u8>>, keys: &[K]) -> Vec<bool> {
    let single: Vec<bool> = keys.iter().map(|key| filter.may_contain(key.as_ref())).collect();
    let hashed: Vec<HashedKey<'_>> = keys.iter().map(|key| HashedKey::new(key.as_ref())).collect();
    hashed.iter().for_each(|key| filter.prefetch(key));
    let asked_hashed: Vec<bool> = hashed.iter().map(|key| filter.may_contain_hashed(key)).collect();
    assert_eq!(asked_hashed, single);
    let mut batch = vec![false; keys.len()];
    filter.may_contain_batch(keys, &mut batch);
    assert_eq!(batch, single);
    let mut batch = vec![false; keys.len()];
    filter.may_contain_hashed_batch(&hashed, &mut batch);
    assert_eq!(batch, single);
    single
}

proptest! {
    #[test]
    fn no_false_negatives(
        keys in keys(1..600),
        absent in keys(0..300),
        policy in policy(),
        context in context(),
        filtering in filtering(),
    ) {
        let mut builder = policy.builder(&context).unwrap();
        keys.iter().for_each(|key| builder.add_filtered(key, &filtering));
        let added = builder.num_entries();
        let bytes = builder.finish().unwrap();
        prop_assert_eq!(bytes.is_empty(), added == 0);
        let filter = Filter::from_bytes(bytes);
        for key in &keys {
            if filtering.whole_key() {
                prop_assert!(filter.may_contain(key), "{filter:?}");
            }
            if let Some(prefix) = filtering.prefix(key) {
                prop_assert!(filter.may_contain(prefix), "{filter:?}");
            }
        }
        probe_every_way(&filter, &keys);
        probe_every_way(&filter, &absent);
        if let Some(rate) = filter.expected_fpr(added) {
            prop_assert!((0.0..=1.0).contains(&rate), "{rate}");
        }
    }

    /// The first entry determines the seed and the size. The order of the others does not matter.
    #[test]
    fn order_does_not_matter_after_the_first(
        keys in prop::collection::hash_set(any::<[u8; 6]>(), 2..2000),
        policy in policy(),
        rotation in any::<prop::sample::Index>(),
    ) {
        let build = |keys: &mut dyn Iterator<Item = &[u8; 6]>| {
            let mut builder = policy.builder(&BuildContext::default()).unwrap();
            keys.for_each(|key| builder.add(key));
            builder.finish().unwrap()
        };
        let keys: Vec<[u8; 6]> = keys.into_iter().collect();
        let mut turned = keys.clone();
        turned[1..].rotate_left(rotation.index(keys.len() - 1));
        prop_assert_eq!(build(&mut keys.iter()), build(&mut turned.iter()));
    }

    #[test]
    fn no_false_negatives_in_filter_blocks(
        blocks in prop::collection::vec((1u64..9000, keys(0..40)), 1..12),
        bits in 0u32..40,
        dialect in select(vec![BlockBloom::LevelDb, BlockBloom::RocksDb]),
        filtering in filtering(),
    ) {
        let mut builder = FilterBlockBuilder::bloom(dialect, bits);
        let mut offset = 0;
        for (length, keys) in &blocks {
            builder.start_block(offset);
            keys.iter().for_each(|key| builder.add_filtered(key, &filtering));
            offset += length;
        }
        let bytes = builder.finish().unwrap();
        let filters = match dialect {
            BlockBloom::LevelDb => FilterBlock::leveldb(&bytes),
            BlockBloom::RocksDb => FilterBlock::rocksdb(&bytes),
        };
        let mut offset = 0;
        for (length, keys) in &blocks {
            for key in keys {
                if filtering.whole_key() {
                    prop_assert!(filters.may_contain(offset, key));
                }
                if let Some(prefix) = filtering.prefix(key) {
                    prop_assert!(filters.may_contain(offset, prefix));
                }
            }
            offset += length;
        }
    }

    #[test]
    fn no_false_negatives_in_partitions(
        keys in keys(1..800),
        policy in policy(),
        filtering in filtering(),
        metadata_block_size in 1usize..2000,
    ) {
        let mut keys = keys;
        keys.dedup();
        let context = BuildContext::default();
        let mut builder =
            PartitionedFilterBuilder::new(&policy, &context, filtering.clone(), metadata_block_size, 10)
                .unwrap();
        let mut partitions = Vec::new();
        for key in &keys {
            partitions.extend(builder.add(key).unwrap());
        }
        partitions.extend(builder.finish().unwrap());
        prop_assert!(partitions.is_sorted_by_key(|partition| partition.last_key.clone()));

        // The partition that a reader probes: the first that ends at or after the key, or the last.
        let partition_of = |key: &[u8]| {
            let found = partitions.partition_point(|partition| partition.last_key.as_slice() < key);
            partitions.get(found).or(partitions.last())
        };
        for (i, key) in keys.iter().enumerate() {
            if filtering.whole_key() {
                let filter = Filter::from_bytes(&partition_of(key).unwrap().filter);
                prop_assert!(filter.may_contain(key));
            }
            let Some(prefix) = filtering.prefix(key) else { continue };
            // A seek to this key must find its prefix, and so must a backward seek from just after it.
            let filter = Filter::from_bytes(&partition_of(key).unwrap().filter);
            prop_assert!(filter.may_contain(prefix));
            let mut just_after = key.clone();
            just_after.push(0);
            let next = keys.get(i + 1);
            let backward = next.is_none_or(|next| *next > just_after)
                && filtering.prefix(&just_after) == Some(prefix);
            if backward {
                let filter = Filter::from_bytes(&partition_of(&just_after).unwrap().filter);
                prop_assert!(filter.may_contain(prefix), "seek back from {just_after:?}");
            }
        }
    }

    /// Readers accept any bytes, and probes in every way agree.
    #[test]
    fn any_bytes_are_a_filter(
        data in prop::collection::vec(any::<u8>(), 0..700),
        trailer in prop_oneof![
            any::<[u8; 5]>(),
            (0u8..33).prop_map(|k| [0xff, 0, k, 0, 0]),
            (any::<u8>(), 0u8..20).prop_map(|(seed, blocks)| [0xfe, seed, blocks, 0, 0]),
            (any::<u8>(), any::<[u8; 3]>()).prop_map(|(seed, [a, b, c])| [0xfe, seed, a, b, c]),
            (1u8..128, 0u8..13).prop_map(|(k, lines)| [k, lines, 0, 0, 0]),
        ],
        keys in keys(1..50),
    ) {
        let mut bytes = data;
        bytes.extend_from_slice(&trailer);
        for length in [bytes.len(), bytes.len().saturating_sub(3), 64.min(bytes.len())] {
            let filter = Filter::from_bytes(bytes[bytes.len() - length..].to_vec());
            probe_every_way(&filter, &keys);
            let _ = (filter.fill(), filter.expected_fpr(keys.len()), filter.expected_fpr(0));
        }
    }

    #[test]
    fn any_bytes_are_a_filter_block(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300),
        small_words in any::<bool>(),
        offset in prop_oneof![0u64..20_000, any::<u64>()],
        key in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        if small_words {
            // Offsets that are often valid.
            for word in bytes.chunks_mut(4) {
                let length = word.len();
                word[1..length].fill(0);
            }
        }
        for filters in [FilterBlock::leveldb(bytes.clone()), FilterBlock::rocksdb(bytes)] {
            let _ = filters.may_contain(offset, &key);
            for index in 0..filters.num_filters() + 2 {
                let _ = filters.filter(index);
            }
        }
    }

    #[test]
    fn any_text_parses_or_fails(text in "[a-z.:0-9=;+-]{0,30}", bits in "[-+.0-9]{0,8}") {
        for text in [text, format!("bloomfilter:{bits}"), format!("ribbonfilter:10:{bits}")] {
            if let Ok(policy) = text.parse::<FilterPolicy>() {
                let printed = policy.to_string();
                let again: FilterPolicy = printed.parse().unwrap();
                prop_assert_eq!(again.to_string(), printed);
                prop_assert_eq!(again.id(), policy.id());
            }
        }
    }
}
