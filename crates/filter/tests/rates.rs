//! False-positive rates, measured and compared with the formulas, for up to ten million keys.

use sstkit_filter::{
    AllocationOptions, BitsPerKey, BlockBloom, BuildContext, Filter, FilterAllocator, FilterBlock,
    FilterBlockBuilder, FilterPolicy, FilteredLevel, fast_local_bloom, math,
};

const QUERIES: u64 = 2_000_000;

/// Keys with scrambled numbers.
fn key(i: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&i.to_le_bytes());
    key
}

fn build(policy: &str, format_version: u32, keys: u64) -> Filter<Vec<u8>> {
    let context = BuildContext::default().format_version(format_version);
    let mut builder = policy.parse::<FilterPolicy>().unwrap().builder(&context).unwrap();
    (0..keys).for_each(|i| builder.add(&key(i)));
    Filter::from_bytes(builder.finish().unwrap())
}

/// Measures the rate with keys that were not added. Asserts that there are no false negatives.
fn measure(filter: &Filter<Vec<u8>>, keys: u64) -> f64 {
    let count = |range: std::ops::Range<u64>| {
        let keys: Vec<_> = range.map(key).collect();
        let mut answers = vec![false; keys.len()];
        filter.may_contain_batch(&keys, &mut answers);
        answers.into_iter().filter(|&answer| answer).count() as u64
    };
    for start in (0..keys).step_by(1 << 20) {
        let end = keys.min(start + (1 << 20));
        assert_eq!(count(start..end), end - start, "false negatives in {filter:?}");
    }
    count(keys..keys + QUERIES) as f64 / QUERIES as f64
}

/// Asserts that a measured rate is between two multiples of the formula, with a tolerance of four
/// standard deviations.
fn assert_rate(what: &str, measured: f64, formula: f64, bounds: std::ops::RangeInclusive<f64>) {
    let noise = 4.0 * (formula / QUERIES as f64).sqrt();
    let (low, high) = (bounds.start() * formula - noise, bounds.end() * formula + noise);
    assert!(low > 0.0, "{what}: too few probes, a rate of 0 would pass");
    assert!((low..=high).contains(&measured), "{what}: {measured} is not in {low}..={high}");
}

#[test]
fn cache_local_bloom() {
    for (keys, bits) in [
        (1_000_000, 5.0),
        (1_000_000, 16.0),
        (3_000_000, 10.0),
        (10_000_000, 10.0),
        (10_000_000, 20.0),
    ] {
        let policy = format!("bloomfilter:{bits}");
        let filter = build(&policy, 7, keys);
        let measured = measure(&filter, keys);
        let what = format!("{policy}, {keys} keys");
        // The sum over the blocks is accurate to three percent. The rest is due to the correlation of
        // probes that are multiples of each other.
        let num_probes = fast_local_bloom::num_probes(BitsPerKey::new(bits).millibits());
        let sharded = math::sharded(bits, u32::from(num_probes), math::CACHE_LINE_BITS);
        assert_rate(&what, measured, sharded, 0.97..=1.03);
        // RocksDB's two-point formula is up to a sixth too low with many bits.
        assert_rate(&what, measured, filter.expected_fpr(keys as usize).unwrap(), 1.0..=1.17);
    }
}

#[test]
fn ribbon() {
    for (keys, bits) in [(1_000_000, 5.0), (1_000_000, 16.0), (3_000_000, 10.0), (10_000_000, 10.0)]
    {
        let policy = format!("ribbonfilter:{bits}:-1");
        let filter = build(&policy, 7, keys);
        let what = format!("{policy}, {keys} keys");
        let measured = measure(&filter, keys);
        assert_rate(&what, measured, filter.expected_fpr(keys as usize).unwrap(), 1.0..=1.0);
        // This is the requested rate.
        assert_rate(&what, measured, 1.0 / BitsPerKey::new(bits).one_in(), 0.999..=1.001);
    }
}

#[test]
fn legacy_bloom() {
    for (keys, bits) in [(1_000_000, 5), (1_000_000, 16), (3_000_000, 10), (10_000_000, 10)] {
        let policy = format!("bloomfilter:{bits}");
        let filter = build(&policy, 4, keys);
        let what = format!("legacy {policy}, {keys} keys");
        // RocksDB's fit is conservative.
        let formula = filter.expected_fpr(keys as usize).unwrap();
        assert_rate(&what, measure(&filter, keys), formula, 0.87..=0.97);
    }
}

#[test]
fn leveldb_bloom() {
    for (keys, bits) in [(1_000_000, 5), (1_000_000, 10), (1_000_000, 16), (4_000_000, 10)] {
        let bloom = BlockBloom::LevelDb;
        let hashes: Vec<u32> = (0..keys).map(|i| bloom.hash(&key(i))).collect();
        let mut filter = Vec::new();
        bloom.create_filter(&hashes, bits, &mut filter);
        let positives = (keys..keys + QUERIES)
            .filter(|&i| bloom.may_contain(&filter, bloom.hash(&key(i))))
            .count();
        let formula = bloom.expected_fpr(&filter, keys as usize);
        let measured = positives as f64 / QUERIES as f64;
        // Probes advance by a constant step, and start and step are rotations of the same 32 bits. The
        // rate is up to 1.5 times that of independent probes.
        assert_rate(&format!("LevelDB, {bits} bits, {keys} keys"), measured, formula, 1.0..=1.55);
    }
}

/// The rate that follows from the bits includes what the constant step of the probes adds.
#[test]
fn rates_of_bits_with_a_constant_step() {
    for bits in [6, 10, 16, 24] {
        let filter = build(&format!("bloomfilter:{bits}"), 4, 50_000);
        let expected = filter.stats().expected_fpr.unwrap();
        let what = format!("legacy, {bits} bits");
        assert_rate(&what, measure(&filter, 50_000), expected, 0.96..=1.04);
    }
    for bits in [6, 7, 9, 10, 16] {
        let mut builder = FilterBlockBuilder::bloom(BlockBloom::LevelDb, bits);
        for block in 0..2000 {
            builder.start_block(block * 2048);
            (0..32).for_each(|i| builder.add(&key(block * 32 + i)));
        }
        let filter = FilterBlock::leveldb(builder.finish().unwrap());
        let stats = filter.stats();
        let mean = stats.iter().map(|it| it.expected_fpr.unwrap()).sum::<f64>() / 2000.0;
        let positive = |&i: &u64| filter.may_contain(i % 2000 * 2048, &key(i));
        let positives = (64_000..64_000 + QUERIES).filter(positive).count();
        let measured = positives as f64 / QUERIES as f64;
        assert_rate(&format!("LevelDB, {bits} bits"), measured, mean, 0.95..=1.05);
    }
}

/// Of legacy filters with many lines: 8595 and 13,107 are numbers of lines for which keys often have
/// exactly the bits of another one.
#[test]
fn rates_of_numbers_of_lines() {
    let options = AllocationOptions::default().format_version(4).kinds(&[]);
    for (keys, bits, lines) in [
        (200_000, 10, 3907),
        (200_000, 20, 7813),
        (200_000, 22, 8595),
        (200_100, 22, 8599),
        (305_035, 22, 13_107),
        (20_000, 22, 861),
    ] {
        let policy = format!("bloomfilter:{bits}");
        let filter = build(&policy, 4, keys);
        assert_eq!(filter.bytes().len(), lines * 64 + 5);
        let (measured, what) = (measure(&filter, keys), format!("{bits} bits, {lines} lines"));
        assert_rate(&what, measured, filter.stats().expected_fpr.unwrap(), 0.95..=1.05);
        let level = FilteredLevel::new(keys).filters(1);
        let allocator = FilterAllocator::new(&[level], options.clone());
        let planned = allocator.evaluate(&[policy.parse().unwrap()]).unwrap();
        assert_rate(&what, measured, planned.levels[0].fpr, 0.95..=1.05);
    }
}

#[test]
fn bits_for_a_rate() {
    let one_percent = 0.01;
    for (bits, rate) in [
        (9.593, &(|bits| math::standard(bits, math::best_num_probes(bits))) as &dyn Fn(f64) -> f64),
        (9.886, &|bits| {
            let num_probes = math::best_num_probes_cache_local(bits, math::CACHE_LINE_BITS);
            math::cache_local(bits, num_probes, math::CACHE_LINE_BITS)
        }),
    ] {
        let found = math::bits_per_key_for(one_percent, rate).unwrap();
        assert!((found - bits).abs() < 0.002, "{found}");
        assert!(rate(found) <= one_percent && rate(found - 0.001) > one_percent);
    }
    assert_eq!(math::bits_per_key_for(0.0, |_| 0.5), None);
    assert_eq!(math::bits_per_key_for(0.9, |_| 0.5), Some(1.0));
}

/// The expected rate of a policy is that of the filter it builds.
#[test]
fn rates_of_policies() {
    let keys = 20_000;
    for (policy, format_version) in [
        ("bloomfilter:10", 7),
        ("bloomfilter:10", 4),
        ("ribbonfilter:10:-1", 7),
        ("rocksdb.internal.FastLocalBloomFilter:5", 2),
    ] {
        let context = BuildContext::default().format_version(format_version);
        let rate = policy.parse::<FilterPolicy>().unwrap().expected_fpr(keys, &context).unwrap();
        let built = build(policy, format_version, keys as u64).expected_fpr(keys).unwrap();
        // The first key of a Ribbon filter can change the number of columns of one block.
        assert!((rate / built - 1.0).abs() < 0.01, "{policy}: {rate} {built}");
    }
    let context = BuildContext::default();
    for (policy, expected) in [
        ("leveldb.BuiltinBloomFilter2:10", Some(math::standard(10.0, 6))),
        ("rocksdb.internal.DeprecatedBlockBasedBloomFilter:9.9", Some(math::standard(10.0, 6))),
        ("none", None),
        ("bloomfilter:0", None),
    ] {
        let rate = policy.parse::<FilterPolicy>().unwrap().expected_fpr(1000, &context);
        assert_eq!(rate.is_some(), expected.is_some(), "{policy}");
        let difference = (rate.unwrap_or(0.0) - expected.unwrap_or(0.0)).abs();
        assert!(difference < 1e-6, "{policy}: {rate:?} instead of {expected:?}");
    }
}

/// The rate with RocksDB's number of probes is within a few percent of the best.
#[test]
fn number_of_probes_is_near_optimal() {
    for tenths in 20..=240 {
        let bits = f64::from(tenths) / 10.0;
        let chosen = u32::from(fast_local_bloom::num_probes(BitsPerKey::new(bits).millibits()));
        let best = math::best_num_probes_cache_local(bits, math::CACHE_LINE_BITS);
        let rate = |num_probes| math::sharded(bits, num_probes, math::CACHE_LINE_BITS);
        assert!(rate(chosen) <= 1.07 * rate(best), "{bits} bits: {chosen} instead of {best}");
    }
}

#[test]
fn fingerprints_collide() {
    assert!((math::fingerprint(4_300_000, 32) - 0.001).abs() < 1e-5);
    assert!(math::fingerprint(1_000_000_000, 64) < 1e-10);
    // Both formulas agree at the threshold between them.
    let below = math::fingerprint(429_496, 32);
    let above = math::fingerprint(429_497, 32);
    assert!(below < above && above - below < 1e-9);
    assert!((math::fingerprint(1 << 16, 32) * 65536.0 - (1.0 - 0.5 / 65536.0)).abs() < 1e-9);
    assert_eq!(math::union(0.5, 0.5), 0.75);
}

/// The table in the documentation of `math`. To update it, run `UPDATE_GOLDENS=1 cargo test -p
/// sstkit-filter`.
#[test]
fn table_of_rates() {
    use std::fmt::Write as _;

    const KEYS: u64 = 10_000_000;
    // The empty line ends the previous paragraph in the documentation.
    let mut table = String::from(
        "\n| bits per key | LevelDB | legacy | cache-local | probes | Ribbon's bits for that rate |\n|---|---|---|---|---|---|\n",
    );
    for bits in [4, 5, 6, 8, 10, 12, 14, 16, 20, 24] {
        let per_key = BitsPerKey::new(f64::from(bits));
        let percent =
            |rate: f64| format!("{:.*} %", if rate < 0.001 { 4 } else { 2 }, 100.0 * rate);
        let classic_probes = ((f64::from(bits) * 0.69) as u32).clamp(1, 30);
        let collisions = math::fingerprint(KEYS, u32::BITS);
        // LevelDB's filters have a few dozen keys each, so hash collisions are negligible.
        let leveldb = math::standard(per_key.bits(), classic_probes);
        let small = 1_000_000;
        let legacy = math::union(
            math::cache_local(per_key.bits(), classic_probes, math::CACHE_LINE_BITS)
                + 0.1 / (0.75 * per_key.bits() + 22.0),
            collisions,
        );
        let ribbon = build(&format!("ribbonfilter:{bits}:-1"), 7, small);
        writeln!(
            table,
            "| {bits} | {} | {} | {} | {} | {:.2} |",
            percent(leveldb),
            percent(legacy),
            percent(1.0 / per_key.one_in()),
            fast_local_bloom::num_probes(per_key.millibits()),
            8.0 * ribbon.bytes().len() as f64 / small as f64,
        )
        .unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/math_table.md");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), table);
}
