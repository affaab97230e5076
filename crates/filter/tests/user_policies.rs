//! Custom policies and extractors, and the registry.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sstkit_filter::{
    BuildContext, ErrorKind, Filter, FilterBlockBuilder, FilterKind, FilterPolicy, HashedKey,
    Registry, SliceTransform, UserBuilder, UserFilter, UserPolicy,
};

/// Stores the low byte of every hash. Can be configured to fail.
#[derive(Debug)]
struct LowBytes {
    name: &'static str,
    outcome: Outcome,
    /// How many filters were opened.
    opened: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Works,
    Fails,
    ReturnsNothing,
}

impl UserPolicy for LowBytes {
    fn name(&self) -> &str {
        self.name
    }

    fn builder(&self) -> Box<dyn UserBuilder> {
        Box::new(LowBytesBuilder { bytes: Vec::new(), outcome: self.outcome })
    }

    fn open(&self, filter: &[u8]) -> Option<Box<dyn UserFilter>> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        (filter != INVALID).then(|| Box::new(OpenedLowBytes) as _)
    }
}

/// What no policy here builds.
const INVALID: &[u8] = b"invalid";

struct OpenedLowBytes;

impl UserFilter for OpenedLowBytes {
    fn may_contain(&self, filter: &[u8], key: &HashedKey<'_>) -> bool {
        filter.contains(&(key.hash64() as u8))
    }
}

struct LowBytesBuilder {
    bytes: Vec<u8>,
    outcome: Outcome,
}

impl UserBuilder for LowBytesBuilder {
    fn add(&mut self, key: &HashedKey<'_>) {
        assert_eq!(key.hash64(), HashedKey::new(key.key()).hash64());
        self.bytes.push(key.hash64() as u8);
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        match self.outcome {
            Outcome::Works => Ok(self.bytes),
            Outcome::Fails => Err("out of luck".into()),
            Outcome::ReturnsNothing => Ok(Vec::new()),
        }
    }
}

fn policy(outcome: Outcome) -> Arc<LowBytes> {
    Arc::new(LowBytes { name: "test.LowBytes", outcome, opened: AtomicUsize::new(0) })
}

#[derive(Debug)]
struct UpToDot(&'static str);

impl SliceTransform for UpToDot {
    fn name(&self) -> &str {
        self.0
    }

    fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        key.split(|&byte| byte == b'.').next()
    }
}

#[test]
fn registered_policy_is_found_by_name() {
    let mut registry = Registry::default();
    registry.register_policy(policy(Outcome::Works)).unwrap();
    let found = registry.policy("test.LowBytes").unwrap();
    assert_eq!((found.to_string(), found.name()), ("test.LowBytes".to_owned(), "test.LowBytes"));
    assert_eq!(found.compatibility_name(), Some("test.LowBytes"));

    let mut builder = found.builder(&BuildContext::default()).unwrap();
    for key in ["a", "a", "b"] {
        builder.add(key.as_bytes());
    }
    assert_eq!(builder.num_entries(), 2);
    let bytes = builder.finish().unwrap();
    assert_eq!(bytes.len(), 2);

    let filter = registry.filter("test.LowBytes", &bytes);
    assert_eq!(filter.kind(), FilterKind::User);
    let mut answers = [false; 2];
    filter.may_contain_batch(&["a", "b"], &mut answers);
    assert_eq!(answers, [true; 2]);
    assert!((0..1000u32).any(|i| !filter.may_contain(&i.to_le_bytes())));
}

#[test]
fn filters_are_opened_once() {
    let policy = policy(Outcome::Works);
    let filter = Filter::user([1, 2, 3], &*policy);
    assert!((0..1000u32).any(|i| filter.may_contain(&i.to_le_bytes())));
    assert!((0..1000u32).any(|i| !filter.clone().may_contain(&i.to_le_bytes())));
    assert_eq!(policy.opened.load(Ordering::Relaxed), 1);
    let invalid = Filter::user(INVALID, &*policy);
    assert_eq!(invalid.kind(), FilterKind::Unknown);
    assert!((0..1000u32).all(|i| invalid.may_contain(&i.to_le_bytes())));
}

#[test]
fn unknown_names_may_contain_anything() {
    let registry = Registry::default();
    let bytes = [0xff; 69];
    let filter = registry.filter("test.Unknown", &bytes);
    assert_eq!(filter.kind(), FilterKind::Unknown);
    assert!(filter.may_contain(b"anything"));
    assert!(registry.filter_block("test.Unknown", &bytes).is_none());
    assert_eq!(registry.policy("test.Unknown").unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(registry.extractor("test.Unknown").unwrap_err().kind(), ErrorKind::Unsupported);
    // Built-in names need no registration.
    assert!(matches!(registry.policy("bloomfilter:10").unwrap(), FilterPolicy::Bloom(_)));
    assert_eq!(registry.extractor("rocksdb.FixedPrefix.8").unwrap().to_string(), "fixed:8");
    let bloom = [0u8; 64].into_iter().chain([0xff, 0, 6, 0, 0]).collect::<Vec<u8>>();
    let filter = registry.filter("rocksdb.BuiltinBloomFilter", &bloom);
    assert_eq!(filter.kind(), FilterKind::FastLocalBloom);
}

#[test]
fn names_are_unique() {
    let mut registry = Registry::default();
    registry.register_policy(policy(Outcome::Works)).unwrap();
    registry.register_extractor(Arc::new(UpToDot("test.UpToDot"))).unwrap();
    let extractor = registry.extractor("test.UpToDot").unwrap();
    assert_eq!(extractor.prefix(b"a.b"), Some(&b"a"[..]));

    let twice = registry.register_policy(policy(Outcome::Fails)).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::InvalidInput);
    let twice = registry.register_extractor(Arc::new(UpToDot("test.UpToDot"))).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::InvalidInput);
    for name in ["bloomfilter:10", "bloomfilter", "rocksdb.BuiltinBloomFilter", "none"] {
        let built_in = LowBytes { name, outcome: Outcome::Works, opened: AtomicUsize::new(0) };
        assert!(registry.register_policy(Arc::new(built_in)).is_err(), "{name}");
    }
    for name in ["fixed:8", "rocksdb.Noop"] {
        assert!(registry.register_extractor(Arc::new(UpToDot(name))).is_err(), "{name}");
    }
}

#[test]
fn failures_are_returned() {
    for (outcome, message) in
        [(Outcome::Fails, "out of luck"), (Outcome::ReturnsNothing, "an empty filter")]
    {
        let mut full =
            FilterPolicy::User(policy(outcome)).builder(&BuildContext::default()).unwrap();
        full.add(b"key");
        let mut block = FilterBlockBuilder::user(policy(outcome));
        block.add(b"key");
        block.start_block(10_000);
        for error in [full.finish().unwrap_err(), block.finish().unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::User);
            assert!(error.to_string().contains(message), "{error}");
            assert!(error.to_string().ends_with(&error.get_ref().unwrap().to_string()));
        }
        // Without keys nothing can fail.
        let full = FilterPolicy::User(policy(outcome)).builder(&BuildContext::default()).unwrap();
        assert_eq!(full.finish().unwrap(), []);
    }
    assert!(!Filter::user(b"", &*policy(Outcome::Works)).may_contain(b"key"));
}

#[test]
fn too_large_block_offset_is_an_error() {
    let mut builder = FilterBlockBuilder::user(policy(Outcome::Works));
    builder.start_block(u64::MAX);
    assert_eq!(builder.finish().unwrap_err().kind(), ErrorKind::InvalidInput);
}
