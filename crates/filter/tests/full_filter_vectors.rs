//! Published vectors of full filters: values in RocksDB's tests, and filters of files written by
//! RocksDB 11.9.

use std::sync::Arc;

use sstkit_coding::hash32::{BLOOM_HASH_SEED, hash32_rocksdb};
use sstkit_filter::{
    BuildContext, CacheLine, Filter, FilterKind, FilterParameters, FilterPolicy,
    GLIBC_MMAP_THRESHOLD, KeyFiltering, MemorySizing, Partition, PartitionedFilterBuilder,
    UsableSize,
};

/// The fingerprint of a filter.
fn bloom_hash(bytes: &[u8]) -> u32 {
    hash32_rocksdb(bytes, BLOOM_HASH_SEED)
}

fn build<K: AsRef<[u8]>>(
    policy: &str,
    context: &BuildContext,
    keys: impl IntoIterator<Item = K>,
) -> Vec<u8> {
    let mut builder = policy.parse::<FilterPolicy>().unwrap().builder(context).unwrap();
    keys.into_iter().for_each(|key| builder.add(key.as_ref()));
    builder.finish().unwrap()
}

/// The key for a number.
fn key(i: u32) -> [u8; 4] {
    i.to_le_bytes()
}

fn numbers(range: std::ops::Range<u32>) -> impl Iterator<Item = [u8; 4]> {
    range.map(key)
}

/// The first false positives among the numbers from one million.
fn false_positives(filter: &[u8], count: usize) -> Vec<u32> {
    let filter = Filter::from_bytes(filter);
    (0..).filter(|i| filter.may_contain(&key(1_000_000 + i))).take(count).collect()
}

fn probes(filter: &[u8]) -> u8 {
    match Filter::from_bytes(filter).parameters() {
        FilterParameters::Bloom { num_probes, .. } => num_probes,
        other => panic!("not a Bloom filter: {other:?}"),
    }
}

fn seed(filter: &[u8]) -> u8 {
    match Filter::from_bytes(filter).parameters() {
        FilterParameters::Ribbon { seed, .. } => seed,
        other => panic!("not a Ribbon filter: {other:?}"),
    }
}

#[test]
fn legacy_bloom_schema() {
    for (bits, keys, num_probes, size, expected) in [
        ("2", 0..2087, 1, 581, [1567096579, 1964771444, 2659542661]),
        ("5", 0..2087, 3, 1349, [515748486, 94611728, 2436112214]),
        ("9", 0..2087, 6, 2373, [2092755149, 661139132, 1182970461]),
        ("14", 0..2087, 9, 3781, [178861123, 379087593, 2574136516]),
        ("10", 0..2087, 6, 2629, [1478976371, 2910591341, 1182970461]),
        ("9.5", 1..2088, 6, 2629, [2885052954, 769447944, 4175124908]),
    ] {
        let lines = [CacheLine::Bytes64, CacheLine::Bytes128, CacheLine::Bytes256];
        for (line, expected) in lines.into_iter().zip(expected) {
            let context = BuildContext::default().format_version(4).cache_line(line);
            let filter = build(&format!("bloomfilter:{bits}"), &context, numbers(keys.clone()));
            assert_eq!(bloom_hash(&filter), expected, "{bits} bits, {line:?}");
            assert_eq!(probes(&filter), num_probes);
            let reader = Filter::from_bytes(&filter);
            assert!(numbers(keys.clone()).all(|key| reader.may_contain(&key)));
            if line == CacheLine::Bytes64 {
                assert_eq!(filter.len(), size, "{bits} bits");
            }
        }
    }
}

#[test]
fn fast_local_bloom_schema() {
    for (bits, keys, num_probes, size, hash, positives) in [
        ("5", 0..87, 3, 69, 4130687756, &[31, 38, 40, 43, 61, 83, 86, 112, 125, 131][..]),
        ("2", 0..2087, 1, 581, 3817481309, &[11, 13, 17, 25, 29, 30, 35, 37, 45, 53]),
        ("5", 0..2087, 3, 1349, 204628445, &[15, 24, 29, 39, 53, 87, 89, 100, 103, 104]),
        ("9", 0..2087, 6, 2373, 2137566013, &[156, 367, 791, 872, 945, 1015, 1139, 1159, 1265]),
        ("14", 0..2087, 8, 3717, 3709876890, &[130, 240, 522, 565, 989, 2002, 2526, 3147, 3543]),
        ("10", 0..2087, 6, 2629, 2498541272, &[16, 126, 133, 422, 466, 472, 813, 1002, 1035]),
        ("9.5", 1..2088, 6, 2501, 3166884174, &[126, 156, 367, 444, 458, 791, 813, 976, 1015]),
    ] {
        let context = BuildContext::default();
        let filter = build(&format!("bloomfilter:{bits}"), &context, numbers(keys));
        assert_eq!(bloom_hash(&filter), hash, "{bits} bits");
        assert_eq!((probes(&filter), filter.len()), (num_probes, size), "{bits} bits");
        assert_eq!(false_positives(&filter, positives.len()), positives, "{bits} bits");
    }
}

#[test]
fn ribbon_schema() {
    for (bits, keys, size, first_seed, hash, positives) in [
        ("2", 0..2087, 405, 61, 1705851228, &[3, 8, 10, 17, 19, 20, 23, 28, 31, 32][..]),
        ("5", 0..2087, 981, 61, 3971337699, &[3, 33, 36, 43, 67, 70, 76, 78, 84, 102]),
        ("9", 0..2087, 1685, 61, 1005676675, &[33, 187, 203, 296, 411, 419, 604, 612, 615, 619]),
        (
            "14",
            0..2087,
            2517,
            61,
            1855638875,
            &[665, 727, 1323, 1755, 3866, 4232, 4442, 4492, 4736],
        ),
        ("10", 0..2087, 1861, 61, 1273231667, &[296, 411, 419, 612, 619, 623, 630, 665, 686, 727]),
        ("9.5", 1..2088, 1781, 184, 1148258663, &[33, 54, 95, 360, 589, 693, 737, 911, 990, 1048]),
    ] {
        let context = BuildContext::default();
        let filter = build(&format!("ribbonfilter:{bits}:-1"), &context, numbers(keys));
        assert_eq!(bloom_hash(&filter), hash, "{bits} bits");
        assert_eq!((seed(&filter), filter.len()), (first_seed, size), "{bits} bits");
        assert_eq!(false_positives(&filter, positives.len()), positives, "{bits} bits");
    }
}

#[test]
fn ribbon_of_other_sizes() {
    for (bits, base, keys, hash, size, expected_seed) in [
        ("10", 0, 200, 2046523223, 229, 61),
        ("10", 0, 700, 3393139537, 661, 61),
        ("10", 25, 2003, 1714547115, 1749, 245), // the first seed, 244, fails
        ("64", 0, 5000, 3556163251, 20485, 61),  // 32 columns
        ("10", 0, 130_000, 781359802, 114245, 61),
    ] {
        let context = BuildContext::default();
        let policy = format!("ribbonfilter:{bits}:-1");
        let filter = build(&policy, &context, numbers(base..base + keys));
        assert_eq!(filter.len(), size, "{keys} keys");
        assert_eq!((bloom_hash(&filter), seed(&filter)), (hash, expected_seed), "{keys} keys");
    }
}

#[test]
fn small_ribbon_falls_back_to_a_smaller_bloom() {
    let context = BuildContext::default();
    let bloom = build("ribbonfilter:10:-1", &context, numbers(3..253));
    assert_eq!((bloom_hash(&bloom), bloom.len()), (2665714319, 325));
    assert_eq!(
        build("ribbonfilter:5:-1", &context, numbers(0..87)),
        build("bloomfilter:5", &context, numbers(0..87))
    );
    // At equal size it stays a Ribbon: all of these have 133 bytes with either kind.
    for keys in 103..=106 {
        let filter = build("ribbonfilter:5:-1", &context, numbers(0..keys));
        assert_eq!(filter.len(), build("bloomfilter:5", &context, numbers(0..keys)).len());
        assert_eq!(Filter::from_bytes(&filter).kind(), FilterKind::Ribbon128, "{keys} keys");
    }
    for (keys, expected) in [
        (1, FilterKind::FastLocalBloom),
        (153, FilterKind::FastLocalBloom),
        (154, FilterKind::Ribbon128),
        (248, FilterKind::Ribbon128),
        (249, FilterKind::FastLocalBloom),
        (256, FilterKind::FastLocalBloom),
        (257, FilterKind::Ribbon128),
    ] {
        let filter = build("ribbonfilter:10:-1", &context, numbers(0..keys));
        assert_eq!(Filter::from_bytes(&filter).kind(), expected, "{keys} keys");
    }
}

#[test]
fn two_words() {
    let fast = build("bloomfilter:10", &BuildContext::default(), ["hello", "world"]);
    assert_eq!(
        hex(&fast),
        "0000000100410000000000000200000200020000800000000000000000000000\
         0000000000000000020800000000400000000000000040000000080000000000ff00060000"
    );
    let context = BuildContext::default().format_version(4);
    let legacy = build("bloomfilter:10", &context, ["hello", "world"]);
    assert_eq!(
        hex(&legacy),
        "0000000100000000004000400000000010000000000000000000000000000010\
         00000000040000000100000000004000000000000010000001000000440000000601000000"
    );
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A filter of `length` patterned bytes and a trailer of a marker and a word.
fn patterned(length: usize, word: u32, marker: u8) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..3000).map(|j| (0x7b7b_u32 >> (j % 7)) as u8).collect();
    bytes[2995] = marker;
    bytes[2996..].copy_from_slice(&word.to_le_bytes());
    bytes.split_off(2995 - length)
}

#[test]
fn raw_filters() {
    for (length, word, marker, kind, expected) in [
        (256, 4, 2, FilterKind::LegacyBloom, 7123594913907464682_u64),
        (256, 0x200, 0xff, FilterKind::FastLocalBloom, 9957045189927952471),
        (112, 0x200, 0xfe, FilterKind::Ribbon128, 9007200345328128),
    ] {
        let bytes = patterned(length, word, marker);
        let filter = Filter::from_bytes(&bytes);
        assert_eq!(filter.kind(), kind);
        let packed = (0..64)
            .filter(|&i| filter.may_contain(&key(12345 + i)))
            .fold(0u64, |packed, i| packed | 1 << i);
        assert_eq!(packed, expected, "{kind}");
    }
}

#[test]
fn degenerate_trailers() {
    let answers = |length: usize, word: u32, marker: u8, fill: u8| {
        let mut bytes = vec![fill; length];
        bytes.push(marker);
        bytes.extend_from_slice(&word.to_le_bytes());
        let filter = Filter::from_bytes(bytes);
        [filter.may_contain(b"hello"), filter.may_contain(b"world")]
    };
    // The result depends on the data.
    for (length, word, marker) in
        [(64, 1, 6), (192, 3, 6), (768, 3, 6), (64, 1, 30), (64, 1, 127), (64, 0x600, 255)]
    {
        assert_eq!(answers(length, word, marker, 0), [false; 2], "{length} {word:#x} {marker}");
        assert_eq!(answers(length, word, marker, 0xff), [true; 2], "{length} {word:#x} {marker}");
    }
    for (length, word, marker, expected) in [
        (64, 1, 0, true),
        (0, 0, 6, false),
        (0, 0, 0, false),
        (64, 0, 6, true),
        (291, 3, 6, true),
        (64, 1, 128, true),
        (64, 0x601, 255, true),
        (64, 0x100_0600, 255, true),
        (64, 0x1f00, 255, true),
        (64, 0x4200, 255, true),
        (128, 0x27b, 254, false),
        (128, 0x17b, 254, true),
    ] {
        assert_eq!(answers(length, word, marker, 0), [expected; 2], "{length} {word:#x} {marker}");
    }
    assert!(!Filter::from_bytes([0xff; 4]).may_contain(b"hello"));
}

/// `user0000#00000`, `user0000#00003` …, every fiftieth followed by a tilde.
fn user_keys(count: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|i| {
        let tilde = if i % 50 == 49 { "~" } else { "" };
        format!("user{:04}#{:05}{tilde}", i / 7, 3 * i).into_bytes()
    })
}

#[test]
fn filters_of_whole_files() {
    for (policy, format_version, extractor, whole_key, entries, size, hash, trailer) in [
        ("bloomfilter:10", 5, None, true, 4000, 5061, 1003129867, [0xff, 0, 6, 0, 0]),
        ("bloomfilter:9.9", 5, Some("fixed:8"), true, 4572, 5701, 3391981315, [0xff, 0, 6, 0, 0]),
        ("bloomfilter:9.9", 4, Some("fixed:8"), true, 4572, 5829, 2255059713, [6, 0x5b, 0, 0, 0]),
        ("ribbonfilter:10:-1", 5, None, true, 4000, 3493, 3953956926, [0xfe, 0x42, 0x20, 0, 0]),
        (
            "ribbonfilter:7.5:-1",
            5,
            Some("fixed:8"),
            false,
            572,
            437,
            1925852924,
            [0xfe, 0x73, 5, 0, 0],
        ),
    ] {
        let context = BuildContext::default().format_version(format_version);
        let filtering = KeyFiltering::new(whole_key, extractor.map(|text| text.parse().unwrap()));
        let mut builder = policy.parse::<FilterPolicy>().unwrap().builder(&context).unwrap();
        user_keys(4000).for_each(|key| builder.add_filtered(&key, &filtering));
        assert_eq!(builder.num_entries(), entries, "{policy}");
        let filter = builder.finish().unwrap();
        assert_eq!((filter.len(), bloom_hash(&filter)), (size, hash), "{policy}");
        assert_eq!(filter[filter.len() - 5..], trailer, "{policy}");
    }
}

#[test]
fn filters_optimized_for_memory() {
    for (keys, size, hash, num_probes) in
        [(10, 69, 1371855574, 24), (100, 133, 1505588358, 7), (1000, 1285, 530824607, 7)]
    {
        // glibc does not change these sizes, only the number of probes changes.
        for allocator in
            [UsableSize::Exact, UsableSize::Glibc { mmap_threshold: GLIBC_MMAP_THRESHOLD }]
        {
            let sizing = Arc::new(MemorySizing::new(allocator));
            let context = BuildContext::default().optimize_for_memory(sizing);
            let filter = build("bloomfilter:10", &context, user_keys(keys));
            assert_eq!((filter.len(), bloom_hash(&filter)), (size, hash), "{keys} keys");
            assert_eq!(probes(&filter), num_probes, "{keys} keys");
        }
    }
}

fn partitions(policy: &str, extractor: &str) -> (usize, u64, Vec<Partition>) {
    let mut builder = PartitionedFilterBuilder::new(
        &policy.parse().unwrap(),
        &BuildContext::default().format_version(5),
        KeyFiltering::new(true, Some(extractor.parse().unwrap())),
        1024,
        10,
    )
    .unwrap();
    let capacity = builder.capacity();
    let mut partitions = Vec::new();
    for key in user_keys(4000) {
        partitions.extend(builder.add(&key).unwrap());
    }
    let entries = builder.num_entries();
    partitions.extend(builder.finish().unwrap());
    (capacity, entries, partitions)
}

#[test]
fn partitions_of_whole_files() {
    let bloom = [
        ("user0089#01872", 901, 2704938258),
        ("user0178#03747~", 901, 2204603059),
        ("user0267#05622", 901, 3452289661),
        ("user0357#07497~", 901, 897994737),
        ("user0446#09372", 901, 3532048362),
        ("user0535#11247~", 901, 2795415123),
        ("user0571#11997~", 389, 1388187339),
    ];
    let ribbon = [
        ("user0124#02622", 885, 2266209739),
        ("user0249#05244", 885, 2378147605),
        ("user0374#07866", 885, 3238925185),
        ("user0499#10488", 885, 337835440),
        ("user0571#11997~", 565, 2789375339),
    ];
    for (policy, extractor, capacity, entries, expected) in [
        ("bloomfilter:10", "fixed:8", 715, 4578, &bloom[..]),
        ("ribbonfilter:10:-1", "capped:8", 1000, 4577, &ribbon[..]),
    ] {
        let (actual_capacity, actual_entries, partitions) = partitions(policy, extractor);
        assert_eq!((actual_capacity, actual_entries), (capacity, entries), "{policy}");
        let actual: Vec<_> = partitions
            .iter()
            .map(|partition| {
                let last_key = std::str::from_utf8(&partition.last_key).unwrap();
                (last_key, partition.filter.len(), bloom_hash(&partition.filter))
            })
            .collect();
        assert_eq!(actual, expected, "{policy}");
    }
}
