//! A key with its hashes, computed once for probing many filters.

use core::cell::{Cell, OnceCell};

use sstkit_coding::hash32::{BLOOM_HASH_SEED, hash32_leveldb, hash32_rocksdb};
use sstkit_coding::xxph3::xxph3;

/// A key with its hashes.
///
/// A lookup in a database probes the filters of many files with the same key. Each hash is computed
/// once, when the first filter needs it: the 64-bit one, and the 32-bit ones of older filters.
///
/// ```
/// use sstkit_filter::{BuildContext, Filter, FilterPolicy, HashedKey};
///
/// let policy: FilterPolicy = "bloomfilter:10".parse()?;
/// let files: Vec<Filter<Vec<u8>>> = [["ant", "bee"], ["cat", "dog"]]
///     .iter()
///     .map(|keys| {
///         let mut builder = policy.builder(&BuildContext::default())?;
///         keys.iter().for_each(|key| builder.add(key.as_bytes()));
///         builder.finish().map(Filter::from_bytes)
///     })
///     .collect::<Result<_, _>>()?;
///
/// let key = HashedKey::new(b"cat");
/// let hits: Vec<bool> = files.iter().map(|filter| filter.may_contain_hashed(&key)).collect();
/// assert_eq!(hits, [false, true]);
/// # Ok::<(), sstkit_filter::Error>(())
/// ```
#[derive(Clone)]
pub struct HashedKey<'k> {
    key: &'k [u8],
    /// Not a `OnceCell`: that hashes out of line, which takes longer than the hash.
    hash64: Cell<Option<u64>>,
    bloom_hash: OnceCell<u32>,
    leveldb_bloom_hash: OnceCell<u32>,
}

sstkit_coding::debug_struct!(HashedKey<'_> { key: bytes, hash64, bloom_hash, leveldb_bloom_hash });

impl<'k> HashedKey<'k> {
    /// A key that is not hashed yet.
    #[inline]
    pub fn new(key: &'k [u8]) -> Self {
        Self {
            key,
            hash64: Cell::new(None),
            bloom_hash: OnceCell::new(),
            leveldb_bloom_hash: OnceCell::new(),
        }
    }

    /// A key whose 64-bit hash is already known.
    #[inline]
    pub(crate) fn with_hash64(key: &'k [u8], hash64: u64) -> Self {
        Self { hash64: Cell::new(Some(hash64)), ..Self::new(key) }
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> &'k [u8] {
        self.key
    }

    /// XXPH3 of the key, used by cache-local Bloom and Ribbon filters.
    #[inline]
    pub fn hash64(&self) -> u64 {
        if let Some(hash) = self.hash64.get() {
            return hash;
        }
        let hash = hash64(self.key);
        self.hash64.set(Some(hash));
        hash
    }

    /// RocksDB's 32-bit Bloom hash, used by legacy and block-based filters.
    pub fn bloom_hash(&self) -> u32 {
        *self.bloom_hash.get_or_init(|| bloom_hash(self.key))
    }

    /// LevelDB's 32-bit Bloom hash, used by its filter block.
    pub fn leveldb_bloom_hash(&self) -> u32 {
        *self.leveldb_bloom_hash.get_or_init(|| leveldb_bloom_hash(self.key))
    }
}

#[inline]
pub(crate) fn hash64(key: &[u8]) -> u64 {
    xxph3(key)
}

#[inline]
pub(crate) fn bloom_hash(key: &[u8]) -> u32 {
    hash32_rocksdb(key, BLOOM_HASH_SEED)
}

#[inline]
pub(crate) fn leveldb_bloom_hash(key: &[u8]) -> u32 {
    hash32_leveldb(key, BLOOM_HASH_SEED)
}
