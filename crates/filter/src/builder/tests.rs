use std::sync::Mutex;

use crate::{BuildContext, ErrorKind, FilterPolicy, FixedBudget};

use super::*;

/// Faults to inject before verification.
#[derive(Default)]
pub(super) struct Tamper {
    entry: bool,
    filter: bool,
}

impl Tamper {
    pub(super) fn apply(&self, entries: &mut HashEntries, mut filter: Vec<u8>) -> Vec<u8> {
        if self.entry {
            *entries.first_mut().unwrap() ^= 1 << 40;
        }
        if self.filter {
            let data = filter.len() - 5;
            filter[..data].iter_mut().for_each(|byte| *byte = !*byte);
        }
        filter
    }
}

#[test]
fn keys_hashes_and_iterators_give_the_same_filter() {
    let keys: Vec<String> = (0..1000).map(|i| format!("key{}", i / 2)).collect();
    for policy in ["bloomfilter:10", "ribbonfilter:10"] {
        let new = || builder(policy, &BuildContext::default());
        let (mut one, mut two, mut three) = (new(), new(), new());
        keys.iter().for_each(|key| one.add(key.as_bytes()));
        two.extend(&keys);
        for key in &keys {
            three.add_hash(HashedKey::new(key.as_bytes()).hash64()).unwrap();
        }
        assert_eq!(one.num_entries(), 500);
        let bytes = one.finish().unwrap();
        assert!(bytes == two.finish().unwrap() && bytes == three.finish().unwrap(), "{policy}");
    }
    let mut legacy = builder("rocksdb.internal.LegacyBloomFilter:10", &BuildContext::default());
    assert_eq!(legacy.add_hash(1).unwrap_err().kind(), crate::ErrorKind::InvalidInput);
}

fn builder(policy: &str, context: &BuildContext) -> FilterBuilder {
    policy.parse::<FilterPolicy>().unwrap().builder(context).unwrap()
}

fn add_keys(builder: &mut FilterBuilder, keys: u32) {
    for i in 0..keys {
        builder.add(&i.to_le_bytes());
    }
}

/// The sequence of calls and counts in RocksDB's tests.
#[test]
fn published_deduplication() {
    for policy in ["bloomfilter:10", "ribbonfilter:10", "rocksdb.internal.LegacyBloomFilter:10"] {
        let mut builder = builder(policy, &BuildContext::default());
        let mut counts = Vec::new();
        for (key, prefix) in [
            ("abc", None),
            ("abc1", Some("abc")),
            ("bcd", Some("bcd")),
            ("cde-1", Some("cde")),
            ("cde", Some("cde")),
            ("cde1", Some("cde")),
            ("def-1", Some("def")),
            ("def", Some("def")),
            ("def$$", None),
            ("def$$", None),
            ("efg42", Some("efg")),
            ("efg", Some("efg")),
        ] {
            match prefix {
                Some(prefix) => builder.add_with_prefix(key.as_bytes(), prefix.as_bytes()),
                None => builder.add(key.as_bytes()),
            }
            counts.push(builder.num_entries());
        }
        assert_eq!(counts, [1, 2, 3, 5, 5, 6, 8, 8, 9, 9, 11, 11], "{policy}");
    }
}

/// A key is compared with the last entry, which may be a key or a prefix.
#[test]
fn key_after_key_with_prefix() {
    let mut builder = builder("bloomfilter:10", &BuildContext::default());
    builder.add_with_prefix(b"abc1", b"abc");
    builder.add(b"abc1");
    assert_eq!(builder.num_entries(), 2);
    builder.add(b"abc");
    assert_eq!(builder.num_entries(), 3);
}

#[test]
fn empty_builder_returns_no_bytes() {
    for policy in ["bloomfilter:10", "ribbonfilter:10", "rocksdb.internal.LegacyBloomFilter:10"] {
        assert_eq!(builder(policy, &BuildContext::default()).finish().unwrap(), []);
    }
}

#[test]
fn detects_construction_corruption() {
    let careful = BuildContext::default().detect_construct_corruption(true);
    for policy in ["bloomfilter:10", "ribbonfilter:10", "rocksdb.internal.LegacyBloomFilter:10"] {
        for keys in [1, 100, if cfg!(miri) { 400 } else { 5000 }] {
            let build = |context: &BuildContext, tamper: Tamper| {
                let mut builder = builder(policy, context);
                add_keys(&mut builder, keys);
                builder.tamper = tamper;
                builder.finish()
            };
            let plain = build(&BuildContext::default(), Tamper::default()).unwrap();
            assert_eq!(build(&careful, Tamper::default()).unwrap(), plain);
            for tamper in
                [Tamper { entry: true, filter: false }, Tamper { entry: false, filter: true }]
            {
                let error = build(&careful, tamper).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{policy} {keys}: {error}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "a hundred thousand keys take an hour there")]
fn memory_is_charged_and_released() {
    let budget = Arc::new(FixedBudget::new(usize::MAX));
    let context = BuildContext::default().budget(budget.clone());

    let mut bloom = builder("bloomfilter:10", &context);
    add_keys(&mut bloom, 16_383);
    assert_eq!(budget.used(), 0);
    bloom.add(b"one more");
    assert_eq!(budget.used(), 262_144);
    add_keys(&mut bloom, 32_768);
    assert_eq!(budget.used(), 2 * 262_144);
    let filter = bloom.finish().unwrap();
    assert_eq!((budget.used(), budget.peak()), (0, 2 * 262_144 + filter.len()));

    let mut ribbon = builder("ribbonfilter:10", &context);
    add_keys(&mut ribbon, 100_000);
    let filter = ribbon.finish().unwrap();
    // Three steps of entries, 20 bytes for each of 103,552 slots, the partitioned keys, the filter.
    let peak = 3 * 262_144 + 20 * 103_552 + 8 * 100_000 + filter.len();
    assert_eq!((budget.used(), budget.peak()), (0, peak));

    drop(builder("bloomfilter:10", &context));
    let mut abandoned = builder("bloomfilter:10", &context);
    add_keys(&mut abandoned, 20_000);
    drop(abandoned);
    assert_eq!(budget.used(), 0);
}

#[test]
fn falls_back_to_bloom_without_memory_for_the_banding() {
    let mut bloom = builder("bloomfilter:10", &BuildContext::default());
    add_keys(&mut bloom, 1000);
    let bloom = bloom.finish().unwrap();
    for (limit, refused) in [(20 * 1024 - 1, true), (20 * 1024, false)] {
        let budget = Arc::new(FixedBudget::new(limit));
        let mut ribbon =
            builder("ribbonfilter:10", &BuildContext::default().budget(budget.clone()));
        add_keys(&mut ribbon, 1000);
        assert_eq!(ribbon.finish().unwrap() == bloom, refused);
        assert_eq!(budget.used(), 0);
    }
}

/// Keeps hashes in a vector, up to a limit.
struct Hoard {
    hashes: Arc<Mutex<Vec<u64>>>,
    limit: usize,
    readable: bool,
}

impl HashStorage for Hoard {
    fn append(&mut self, hashes: &[u64]) -> core::result::Result<(), StorageError> {
        let mut stored = self.hashes.lock().unwrap();
        if stored.len() + hashes.len() > self.limit {
            return Err("full".into());
        }
        stored.extend_from_slice(hashes);
        Ok(())
    }

    fn read(&self, start: u64, hashes: &mut [u64]) -> core::result::Result<(), StorageError> {
        if !self.readable {
            return Err("gone".into());
        }
        let stored = self.hashes.lock().unwrap();
        hashes.copy_from_slice(&stored[start as usize..][..hashes.len()]);
        Ok(())
    }
}

/// Filters are the same, wherever their hashes were: in memory, stored, or partly stored because the
/// storage is full.
#[test]
#[cfg_attr(miri, ignore = "millions of keys take hours under Miri")]
fn stored_hashes_give_the_same_filter() {
    const KEYS: u64 = 12 << 20;
    let hash = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let build = |version, storage: Option<Hoard>| {
        let context = BuildContext::default()
            .format_version(version)
            .detect_construct_corruption(version == 5);
        let mut builder = "bloomfilter:6".parse::<FilterPolicy>().unwrap().builder(&context)?;
        if let Some(storage) = storage {
            builder.store_hashes_in(Box::new(storage));
        }
        (1..=KEYS).for_each(|number| match version {
            2 => builder.add(&number.to_le_bytes()),
            _ => builder.add_hash(hash(number)).unwrap(),
        });
        assert_eq!(builder.num_entries() as u64, KEYS);
        builder.finish()
    };
    for version in [2, 5] {
        let expected = build(version, None).unwrap();
        for (limit, stored) in [(usize::MAX, 8 << 20), (9 << 20, 1), (1000, 0)] {
            let hashes = Arc::new(Mutex::new(Vec::new()));
            let storage = Hoard { hashes: Arc::clone(&hashes), limit, readable: true };
            assert!(build(version, Some(storage)).unwrap() == expected, "{version} {limit}");
            let length = hashes.lock().unwrap().len();
            assert!(length >= stored && length <= limit, "{length} of {limit}");
        }
    }
    let storage = Hoard { hashes: Arc::default(), limit: usize::MAX, readable: false };
    let error = build(7, Some(storage)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert_eq!(error.to_string(), "the hashes of a filter cannot be read: gone");
}
