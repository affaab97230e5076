//! Traces and statistics of all kinds of filters.

use proptest::prelude::*;
use sstkit_filter::{
    BuildContext, CacheLine, Filter, FilterBlock, FilterKind, FilterParameters, FilterPolicy,
    FilterTrace, HashedKey, Probe, ProbePlace, TracedHash,
};

fn key(i: usize) -> Vec<u8> {
    format!("key{i:07}").into_bytes()
}

fn build(policy: &str, context: &BuildContext, keys: usize) -> Vec<u8> {
    let policy: FilterPolicy = policy.parse().unwrap();
    let mut builder = policy.builder(context).unwrap();
    (0..keys).for_each(|i| builder.add(&key(i)));
    builder.finish().unwrap()
}

/// Filters of all kinds with few and many keys, and the expected kind of each.
fn filters() -> Vec<(FilterKind, usize, Filter<Vec<u8>>)> {
    let newest = BuildContext::default();
    let old = BuildContext::default().format_version(4);
    let wide = old.clone().cache_line(CacheLine::Bytes256);
    let mut all = Vec::new();
    for keys in [1, 60, 300, 5000] {
        for bits in [1, 3, 10, 20] {
            let bloom = format!("bloomfilter:{bits}");
            for (kind, context) in [
                (FilterKind::FastLocalBloom, &newest),
                (FilterKind::LegacyBloom, &old),
                (FilterKind::LegacyBloom, &wide),
            ] {
                all.push((kind, keys, build(&bloom, context, keys)));
            }
        }
    }
    for keys in [300, 5000, 40_000] {
        for bits in ["5", "9.9", "30"] {
            let ribbon = format!("ribbonfilter:{bits}");
            all.push((FilterKind::Ribbon128, keys, build(&ribbon, &newest, keys)));
        }
    }
    all.push((FilterKind::AlwaysFalse, 0, Vec::new()));
    all.push((FilterKind::AlwaysTrue, 0, vec![9, 0, 0, 0, 0, 0]));
    all.push((FilterKind::Unknown, 0, vec![9, 0xfd, 0, 0, 0, 0]));
    all.into_iter().map(|(kind, n, bytes)| (kind, n, Filter::from_bytes(bytes))).collect()
}

/// Checks what holds for any trace.
fn check(trace: &FilterTrace, may_contain: bool) {
    assert_eq!(trace.may_contain, may_contain, "{trace:?}");
    assert_eq!(trace.hash.is_none(), trace.place == ProbePlace::Nowhere, "{trace:?}");
    match trace.place {
        ProbePlace::Nowhere => return assert!(trace.probes.is_empty(), "{trace:?}"),
        ProbePlace::Line { index, count, length, num_probes } => {
            assert!(index < count, "{trace:?}");
            assert!(trace.probes.iter().all(|it| it.position < 8 * length as u64 && it.expected));
            assert!(!may_contain || trace.probes.len() == usize::from(num_probes), "{trace:?}");
        }
        ProbePlace::Slots { start, count, row, result, columns, .. } => {
            assert!(start + 128 <= count && row & 1 == 1, "{trace:?}");
            for (column, probe) in trace.probes.iter().enumerate() {
                assert_eq!(probe.position, column as u64);
                assert_eq!(probe.expected, result >> column & 1 == 1);
            }
            assert!(trace.probes.len() <= columns, "{trace:?}");
        }
        _ => unreachable!("no other variants"),
    }
    // Only the last probe can fail.
    let failed = trace.probes.iter().position(|probe| !probe.passes());
    assert_eq!(failed.is_none(), may_contain, "{trace:?}");
    assert!(failed.is_none_or(|failed| failed + 1 == trace.probes.len()), "{trace:?}");
}

#[test]
fn traces_agree_with_probes() {
    for (kind, keys, filter) in filters() {
        assert_eq!(filter.kind(), kind);
        let (mut refused, mut looked) = (0, 0);
        for i in (0..keys.min(3000)).chain(1_000_000..1_003_000) {
            let key = key(i);
            let hashed = HashedKey::new(&key);
            let trace = filter.trace(&hashed);
            assert_eq!(trace.kind, kind);
            check(&trace, filter.may_contain(&key));
            match trace.hash {
                Some(TracedHash::Hash32(hash)) => assert_eq!(hash, hashed.bloom_hash()),
                Some(TracedHash::Hash64(hash)) => assert_eq!(hash, hashed.hash64()),
                _ => {}
            }
            refused += usize::from(!trace.may_contain);
            looked += trace.probes.len();
            assert!(i >= keys || trace.may_contain, "{kind}: false negative for {i} of {keys}");
        }
        let looks =
            !matches!(kind, FilterKind::AlwaysFalse | FilterKind::AlwaysTrue | FilterKind::Unknown);
        assert_eq!(looked > 0, looks, "{kind}");
        assert!(!looks || refused > 1000, "{kind} of {keys} keys: {refused} negatives of 3000");
    }
}

#[test]
fn filter_block_traces_name_the_probed_filter() {
    for (name, kind) in [
        ("leveldb.BuiltinBloomFilter2:10", FilterKind::LevelDbBloom),
        ("rocksdb.internal.DeprecatedBlockBasedBloomFilter:10", FilterKind::BlockBasedBloom),
    ] {
        let policy: FilterPolicy = name.parse().unwrap();
        let mut builder = policy.block_builder().unwrap();
        // Every other filter stays empty.
        for block in 0..20 {
            builder.start_block(block * 4096);
            (0..50).for_each(|i| builder.add(&key(block as usize * 50 + i)));
        }
        let bytes = builder.finish().unwrap();
        let block = match kind {
            FilterKind::LevelDbBloom => FilterBlock::leveldb(&bytes),
            _ => FilterBlock::rocksdb(&bytes),
        };
        assert_eq!(block.kind(), kind);
        assert_eq!(block.num_filters(), 39);
        for filter in 0..45u64 {
            for i in 0..1000 {
                let (offset, key) = (filter * 2048 + i % 2048, key(i as usize));
                let trace = block.trace(offset, &HashedKey::new(&key));
                assert_eq!((trace.index, trace.num_filters, trace.span), (filter, 39, Some(2048)));
                assert_eq!(trace.filter_length, block.filter(filter as usize).map(<[u8]>::len));
                assert_eq!(
                    trace.filter.kind,
                    match (filter, filter % 2) {
                        (39.., _) => FilterKind::Unknown,
                        (_, 1) => FilterKind::AlwaysFalse,
                        _ => kind,
                    }
                );
                check(&trace.filter, block.may_contain(offset, &key));
            }
        }

        let stats = block.stats();
        assert_eq!(stats.len(), 39);
        for (i, filter) in stats.iter().enumerate() {
            if i % 2 == 1 {
                assert_eq!(
                    (filter.kind, filter.expected_fpr),
                    (FilterKind::AlwaysFalse, Some(0.0))
                );
                continue;
            }
            assert_eq!(filter.kind, kind);
            let parameters = FilterParameters::Bloom { num_probes: 6, block_length: 63 };
            assert_eq!((filter.parameters, filter.bytes), (parameters, 64));
            assert!((40.0..60.0).contains(&filter.estimated_keys.unwrap()), "{filter:?}");
            assert!((0.002..0.02).contains(&filter.expected_fpr.unwrap()), "{filter:?}");
        }
    }
}

/// The published filter of `hello` and `world`.
#[test]
fn trace_of_a_published_filter() {
    // 64 bits in 8 bytes, six probes, in a block with one filter.
    let filter = [0x11, 0x40, 0x00, 0x41, 0x44, 0x10, 0x40, 0x10, 0x06];
    let block = [&filter[..], &[0, 0, 0, 0], &[9, 0, 0, 0], &[11]].concat();
    let trace = FilterBlock::leveldb(&block).trace(77, &HashedKey::new(b"hello"));
    let set: Vec<u64> =
        (0..64u64).filter(|&bit| filter[bit as usize / 8] >> (bit % 8) & 1 == 1).collect();
    assert_eq!(set.len(), 10);
    assert_eq!(trace.filter.probes.len(), 6);
    assert!(trace.filter.probes.iter().all(|probe| set.contains(&probe.position)));
    // For a key that was not added, the last bit probed is clear.
    let trace = FilterBlock::leveldb(&block).trace(77, &HashedKey::new(b"x"));
    let (last, before) = trace.filter.probes.split_last().unwrap();
    assert!(!set.contains(&last.position) && !last.found);
    assert!(before.iter().all(|probe| set.contains(&probe.position) && probe.found));
}

#[test]
fn stats_estimate_keys_and_rate() {
    for (kind, keys, filter) in filters() {
        let stats = filter.stats();
        assert_eq!((stats.kind, stats.bytes), (kind, filter.bytes().len()));
        assert_eq!(stats.parameters, filter.parameters());
        let rate = stats.expected_fpr.unwrap();
        match kind {
            FilterKind::AlwaysFalse => assert_eq!(rate, 0.0),
            FilterKind::AlwaysTrue | FilterKind::Unknown => assert_eq!(rate, 1.0),
            _ => {
                if let Some(estimate) = stats.estimated_keys {
                    let slack = if kind == FilterKind::Ribbon128 { 135.0 } else { 3.0 };
                    let off = (estimate - keys as f64).abs();
                    assert!(off < slack + 0.06 * keys as f64, "{estimate} for {keys}: {filter:?}");
                }
                const ASKED: usize = 40_000;
                let positives = (0..ASKED).filter(|i| filter.may_contain(&key(2_000_000 + i)));
                let measured = positives.count() as f64 / ASKED as f64;
                // Five deviations, plus the effect of the correlated probes of legacy filters.
                let noise = 5.0 * (rate / ASKED as f64).sqrt() + 2.0 / ASKED as f64;
                let extra = if kind == FilterKind::LegacyBloom { 0.3 * rate + 0.005 } else { 0.0 };
                assert!(
                    (rate - measured).abs() < noise + extra + 0.03 * rate,
                    "expected {rate}, measured {measured}: {filter:?}"
                );
            }
        }
    }
}

#[test]
fn rate_grows_with_fill() {
    let sparse = Filter::from_bytes(build("bloomfilter:20", &BuildContext::default(), 5000));
    let dense = Filter::from_bytes(build("bloomfilter:3", &BuildContext::default(), 5000));
    assert!(dense.stats().expected_fpr > sparse.stats().expected_fpr);
    // All ones: no estimate of the keys, and every probe passes.
    let mut bytes = vec![0xff; 128];
    bytes.extend([0xff, 0, 6, 0, 0]);
    let full = Filter::from_bytes(bytes).stats();
    assert_eq!((full.fill, full.estimated_keys, full.expected_fpr), (Some(1.0), None, Some(1.0)));
    let mut bytes = vec![0; 128];
    bytes.extend([0xff, 0, 6, 0, 0]);
    let empty = Filter::from_bytes(bytes).stats();
    assert_eq!((empty.fill, empty.estimated_keys), (Some(0.0), Some(0.0)));
    assert_eq!(empty.expected_fpr, Some(0.0));
}

#[test]
fn overlapping_filters_are_not_counted_twice() {
    // Offsets that alternate: every second filter would be nearly the whole block.
    let mut block = vec![0x55; 1000];
    for _ in 0..500 {
        block.extend([0, 0, 0, 0]);
        block.extend(999u32.to_le_bytes());
    }
    block.extend(1000u32.to_le_bytes());
    block.push(11);
    let stats = FilterBlock::leveldb(&block).stats();
    assert_eq!(stats.len(), 1000);
    assert!(stats.iter().map(|filter| filter.bytes).sum::<usize>() <= 1000);
}

proptest! {
    #[test]
    fn any_bytes_have_traces_and_stats(
        data in prop::collection::vec(any::<u8>(), 0..700),
        trailer in prop_oneof![
            any::<[u8; 5]>(),
            (1u8..31).prop_map(|k| [0xff, 0, k, 0, 0]),
            (any::<u8>(), 0u8..6).prop_map(|(seed, blocks)| [0xfe, seed, blocks, 0, 0]),
            (1u8..128, 0u8..12).prop_map(|(k, lines)| [k, lines, 0, 0, 0]),
        ],
        key in prop::collection::vec(any::<u8>(), 0..20),
        offset in any::<u64>(),
    ) {
        let bytes = [&data[..], &trailer].concat();
        let filter = Filter::from_bytes(&bytes);
        let hashed = HashedKey::new(&key);
        let trace = filter.trace(&hashed);
        // Without whole lines or segments there are no probes, but the place is known.
        prop_assert_eq!(trace.may_contain, filter.may_contain(&key));
        prop_assert_eq!(trace.probes.iter().all(Probe::passes),
            trace.may_contain || trace.kind == FilterKind::AlwaysFalse);
        let rate = filter.stats().expected_fpr;
        prop_assert!(rate.is_none_or(|rate| (0.0..=1.0).contains(&rate)), "{:?}", rate);

        for block in [FilterBlock::leveldb(&bytes), FilterBlock::rocksdb(&bytes)] {
            for offset in [offset, offset >> 40, 0] {
                let trace = block.trace(offset, &hashed);
                prop_assert_eq!(trace.filter.may_contain, block.may_contain(offset, &key));
                check(&trace.filter, trace.filter.may_contain);
            }
            prop_assert_eq!(block.stats().len(), block.num_filters());
        }
    }
}
