//! Asking a full filter, or one partition. What kind it is, its own bytes say.

use std::fmt;
use std::sync::Arc;

use crate::batch::{answer_each, in_batches};
use crate::fast_local_bloom::{self, FastLocalBloomReader};
use crate::hashed_key::{HashedKey, bloom_hash, hash64};
use crate::legacy_bloom::{self, LegacyBloomReader};
use crate::policy::UserPolicy;
use crate::ribbon::RibbonReader;
use crate::stats::FilterStats;
use crate::trace::{FilterTrace, TracedHash};
use crate::trailer::Trailer;

/// A filter over bytes that are borrowed, owned or shared: `&[u8]`, `Vec<u8>`, `Arc<[u8]>` …
///
/// Any bytes at all make a filter. Those that no engine would have written answer "may contain" to
/// every key (or "no", if there are at most five of them), and none make it panic.
///
/// ```
/// use sstkit_filter::{Filter, FilterKind};
///
/// assert_eq!(Filter::from_bytes(b"").kind(), FilterKind::AlwaysFalse);
/// assert!(!Filter::from_bytes(b"").may_contain(b"anything"));
///
/// let from_the_future = [1, 2, 3, 0xfd, 9, 9, 9, 9];
/// assert_eq!(Filter::from_bytes(&from_the_future).kind(), FilterKind::Unknown);
/// assert!(Filter::from_bytes(&from_the_future).may_contain(b"anything"));
/// ```
#[derive(Clone)]
pub struct Filter<B> {
    bytes: B,
    data_length: usize,
    reader: Reader,
}

#[derive(Clone)]
enum Reader {
    AlwaysFalse,
    AlwaysTrue,
    Unknown,
    LegacyBloom(LegacyBloomReader),
    FastLocalBloom(FastLocalBloomReader),
    Ribbon(RibbonReader),
    User(Arc<dyn UserPolicy>),
}

/// What a filter really is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilterKind {
    /// Contains nothing.
    AlwaysFalse,
    /// May contain anything, and says so itself.
    AlwaysTrue,
    /// Reserved, newer or damaged: may contain anything.
    Unknown,
    /// LevelDB's Bloom filter, one of those in a filter block.
    LevelDbBloom,
    /// RocksDB's Bloom filter in a filter block, before 7.0.
    BlockBasedBloom,
    /// RocksDB's Bloom filter of format versions below 5.
    LegacyBloom,
    /// RocksDB's cache-local Bloom filter.
    FastLocalBloom,
    /// RocksDB's Ribbon filter.
    Ribbon128,
    /// User-made.
    User,
}

impl FilterKind {
    /// A short name, the same in all of sstkit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AlwaysFalse => "always_false",
            Self::AlwaysTrue => "always_true",
            Self::Unknown => "unknown",
            Self::LevelDbBloom => "leveldb_bloom",
            Self::BlockBasedBloom => "block_based_bloom",
            Self::LegacyBloom => "legacy_bloom",
            Self::FastLocalBloom => "fast_local_bloom",
            Self::Ribbon128 => "ribbon128",
            Self::User => "user",
        }
    }
}

impl fmt::Display for FilterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The numbers that a filter was built with, as far as its bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterParameters {
    /// None that are known.
    Opaque,
    /// A Bloom filter of either kind.
    Bloom {
        /// Bits set per key.
        num_probes: u8,
        /// Bytes that all bits of a key lie in: a cache line.
        block_length: usize,
    },
    /// A Ribbon filter.
    Ribbon {
        /// Which of the 256 hash functions solved it.
        seed: u8,
        /// Blocks of 128 slots.
        num_blocks: u32,
        /// Columns of the later blocks; the earlier ones have one fewer.
        upper_columns: u32,
        /// The first block that has them all.
        upper_start_block: u32,
    },
}

impl<B: AsRef<[u8]>> Filter<B> {
    /// A filter of RocksDB's, of whatever kind its last five bytes say.
    pub fn from_bytes(bytes: B) -> Self {
        let (data_length, reader) = match bytes.as_ref().split_last_chunk() {
            Some((data, trailer)) if !data.is_empty() => {
                (data.len(), Reader::new(data, Trailer::decode_from(*trailer)))
            }
            _ => (0, Reader::AlwaysFalse),
        };
        Self { bytes, data_length, reader }
    }

    /// A filter of a user-made policy.
    pub fn user(bytes: B, policy: Arc<dyn UserPolicy>) -> Self {
        let data_length = bytes.as_ref().len();
        let reader = if data_length == 0 { Reader::AlwaysFalse } else { Reader::User(policy) };
        Self { bytes, data_length, reader }
    }

    /// A filter of a policy that is not known: may contain anything.
    pub fn unknown(bytes: B) -> Self {
        Self { bytes, data_length: 0, reader: Reader::Unknown }
    }

    /// Whether `key` may have been added. `false` is certain.
    #[inline]
    pub fn may_contain(&self, key: &[u8]) -> bool {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.may_contain(self.data(), hash64(key)),
            _ => self.other_may_contain(key),
        }
    }

    /// [`may_contain`](Self::may_contain) of the less common kinds. Not in line, where they would take
    /// the registers of the most common one.
    #[inline(never)]
    fn other_may_contain(&self, key: &[u8]) -> bool {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.may_contain(self.data(), hash64(key)),
            Reader::Ribbon(reader) => reader.may_contain(self.data(), hash64(key)),
            Reader::LegacyBloom(reader) => reader.may_contain(self.data(), bloom_hash(key)),
            Reader::User(policy) => policy.may_contain(self.bytes.as_ref(), &HashedKey::new(key)),
            Reader::AlwaysTrue | Reader::Unknown => true,
            Reader::AlwaysFalse => false,
        }
    }

    /// [`may_contain`](Self::may_contain) of a key hashed before.
    #[inline]
    pub fn may_contain_hashed(&self, key: &HashedKey<'_>) -> bool {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.may_contain(self.data(), key.hash64()),
            _ => self.other_may_contain_hashed(key),
        }
    }

    #[inline(never)]
    fn other_may_contain_hashed(&self, key: &HashedKey<'_>) -> bool {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.may_contain(self.data(), key.hash64()),
            Reader::Ribbon(reader) => reader.may_contain(self.data(), key.hash64()),
            Reader::LegacyBloom(reader) => reader.may_contain(self.data(), key.bloom_hash()),
            Reader::User(policy) => policy.may_contain(self.bytes.as_ref(), key),
            Reader::AlwaysTrue | Reader::Unknown => true,
            Reader::AlwaysFalse => false,
        }
    }

    /// [`may_contain`](Self::may_contain) of each key. Faster than one by one where the filter is
    /// not in the cache: its memory is fetched ahead.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn may_contain_batch<K: AsRef<[u8]>>(&self, keys: &[K], answers: &mut [bool]) {
        self.batch(
            keys,
            answers,
            |key| hash64(key.as_ref()),
            |key| bloom_hash(key.as_ref()),
            |key| self.may_contain(key.as_ref()),
        );
    }

    /// [`may_contain_batch`](Self::may_contain_batch) of keys hashed before.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn may_contain_hashed_batch(&self, keys: &[HashedKey<'_>], answers: &mut [bool]) {
        self.batch(keys, answers, HashedKey::hash64, HashedKey::bloom_hash, |key| {
            self.may_contain_hashed(key)
        });
    }

    #[inline]
    fn batch<K>(
        &self,
        keys: &[K],
        answers: &mut [bool],
        hash64: impl Fn(&K) -> u64,
        bloom_hash: impl Fn(&K) -> u32,
        one: impl Fn(&K) -> bool,
    ) {
        assert_eq!(keys.len(), answers.len(), "a batch has as many answers as keys");
        let data = self.data();
        match &self.reader {
            Reader::FastLocalBloom(reader) => in_batches(
                keys,
                answers,
                hash64,
                |hash| reader.prefetch(data, hash),
                |hashes, answers| reader.may_contain_batch(data, hashes, answers),
            ),
            _ => self.other_batch(keys, answers, hash64, bloom_hash, one),
        }
    }

    #[inline(never)]
    fn other_batch<K>(
        &self,
        keys: &[K],
        answers: &mut [bool],
        hash64: impl Fn(&K) -> u64,
        bloom_hash: impl Fn(&K) -> u32,
        one: impl Fn(&K) -> bool,
    ) {
        let data = self.data();
        match &self.reader {
            Reader::Ribbon(reader) => in_batches(
                keys,
                answers,
                hash64,
                |hash| reader.prefetch(data, hash),
                |hashes, answers| {
                    answer_each(hashes, answers, |hash| reader.may_contain(data, hash));
                },
            ),
            Reader::LegacyBloom(reader) => in_batches(
                keys,
                answers,
                bloom_hash,
                |hash| reader.prefetch(data, hash),
                |hashes, answers| {
                    answer_each(hashes, answers, |hash| reader.may_contain(data, hash));
                },
            ),
            _ => {
                for (key, answer) in keys.iter().zip(answers) {
                    *answer = one(key);
                }
            }
        }
    }

    /// Asks for the memory that a query of `key` will touch to be brought near: for lookups in many
    /// filters at once, first all prefetches, then all queries.
    #[inline]
    pub fn prefetch(&self, key: &HashedKey<'_>) {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.prefetch(self.data(), key.hash64()),
            Reader::Ribbon(reader) => reader.prefetch(self.data(), key.hash64()),
            Reader::LegacyBloom(reader) => reader.prefetch(self.data(), key.bloom_hash()),
            Reader::User(_) | Reader::AlwaysTrue | Reader::Unknown | Reader::AlwaysFalse => {}
        }
    }

    /// Whether an entry of a builder (the hash that this kind of filter uses) may have been added.
    pub(crate) fn may_contain_entry(&self, entry: u64) -> bool {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.may_contain(self.data(), entry),
            Reader::Ribbon(reader) => reader.may_contain(self.data(), entry),
            Reader::LegacyBloom(reader) => reader.may_contain(self.data(), entry as u32),
            Reader::User(_) | Reader::AlwaysTrue | Reader::Unknown => true,
            Reader::AlwaysFalse => false,
        }
    }

    /// What it is.
    pub fn kind(&self) -> FilterKind {
        match &self.reader {
            Reader::AlwaysFalse => FilterKind::AlwaysFalse,
            Reader::AlwaysTrue => FilterKind::AlwaysTrue,
            Reader::Unknown => FilterKind::Unknown,
            Reader::LegacyBloom(_) => FilterKind::LegacyBloom,
            Reader::FastLocalBloom(_) => FilterKind::FastLocalBloom,
            Reader::Ribbon(_) => FilterKind::Ribbon128,
            Reader::User(_) => FilterKind::User,
        }
    }

    /// The numbers it was built with.
    pub fn parameters(&self) -> FilterParameters {
        match &self.reader {
            Reader::LegacyBloom(reader) => FilterParameters::Bloom {
                num_probes: reader.num_probes(),
                block_length: reader.line_length(),
            },
            Reader::FastLocalBloom(reader) => FilterParameters::Bloom {
                num_probes: reader.num_probes(),
                block_length: fast_local_bloom::BLOCK_LENGTH,
            },
            Reader::Ribbon(reader) => FilterParameters::Ribbon {
                seed: reader.seed(),
                num_blocks: reader.num_blocks(),
                upper_columns: reader.upper_columns(),
                upper_start_block: reader.upper_start_block(),
            },
            _ => FilterParameters::Opaque,
        }
    }

    /// The rate of false positives to be expected of it if it was built from `keys` entries; `None`
    /// where the policy is user-made.
    pub fn expected_fpr(&self, keys: usize) -> Option<f64> {
        match &self.reader {
            Reader::AlwaysFalse => Some(0.0),
            Reader::AlwaysTrue | Reader::Unknown => Some(1.0),
            _ if keys == 0 => Some(0.0),
            Reader::LegacyBloom(reader) => {
                Some(legacy_bloom::expected_fpr(keys, self.data_length, reader.num_probes()))
            }
            Reader::FastLocalBloom(reader) => {
                Some(fast_local_bloom::expected_fpr(keys, self.data_length, reader.num_probes()))
            }
            Reader::Ribbon(reader) => Some(reader.expected_fpr()),
            Reader::User(_) => None,
        }
    }

    /// The share of bits that are set, for Bloom filters: about a half in a filter that is neither
    /// over- nor underfull.
    pub fn fill(&self) -> Option<f64> {
        self.stats().fill
    }

    /// What its bytes tell about it. Reads all of them.
    pub fn stats(&self) -> FilterStats {
        let (kind, bytes) = (self.kind(), self.bytes().len());
        match (&self.reader, self.parameters()) {
            (_, FilterParameters::Bloom { num_probes, block_length }) => {
                FilterStats::bloom(kind, bytes, self.data(), block_length, num_probes)
            }
            (Reader::Ribbon(reader), parameters) => FilterStats {
                parameters,
                estimated_keys: Some(reader.capacity() as f64),
                expected_fpr: Some(reader.expected_fpr()),
                ..FilterStats::opaque(kind, bytes)
            },
            _ => FilterStats::opaque(kind, bytes),
        }
    }

    /// What a query of `key` looks at, and what it finds.
    ///
    /// ```
    /// use sstkit_filter::{BuildContext, Filter, FilterPolicy, HashedKey};
    ///
    /// let policy: FilterPolicy = "bloomfilter:10".parse()?;
    /// let mut builder = policy.builder(&BuildContext::default()).expect("builds filters");
    /// builder.add(b"hello");
    /// let filter = Filter::from_bytes(builder.finish()?);
    ///
    /// let trace = filter.trace(&HashedKey::new(b"hello"));
    /// assert_eq!(trace.probes[0].position, 321); // of the 512 bits of its line
    /// assert_eq!(trace.probes.len(), 6);
    /// assert!(trace.probes.iter().all(|probe| probe.passes()) && trace.may_contain);
    /// # Ok::<(), sstkit_filter::Error>(())
    /// ```
    pub fn trace(&self, key: &HashedKey<'_>) -> FilterTrace {
        let (kind, may_contain) = (self.kind(), self.may_contain_hashed(key));
        let data = self.data();
        let (hash, (place, probes)) = match &self.reader {
            Reader::LegacyBloom(reader) => {
                let hash = key.bloom_hash();
                (TracedHash::Hash32(hash), reader.trace(data, hash))
            }
            Reader::FastLocalBloom(reader) => {
                (TracedHash::Hash64(key.hash64()), reader.trace(data, key.hash64()))
            }
            Reader::Ribbon(reader) => {
                (TracedHash::Hash64(key.hash64()), reader.trace(data, key.hash64()))
            }
            Reader::AlwaysFalse | Reader::AlwaysTrue | Reader::Unknown | Reader::User(_) => {
                return FilterTrace::opaque(kind, may_contain);
            }
        };
        FilterTrace { kind, hash: Some(hash), place, probes, may_contain }
    }

    /// All bytes, the trailer included.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The bytes before the trailer.
    #[inline]
    fn data(&self) -> &[u8] {
        self.bytes.as_ref().get(..self.data_length).unwrap_or_default()
    }
}

impl Reader {
    fn new(data: &[u8], trailer: Trailer) -> Self {
        match trailer {
            Trailer::AlwaysTrue => Self::AlwaysTrue,
            Trailer::Unknown => Self::Unknown,
            Trailer::FastLocalBloom { num_probes } => FastLocalBloomReader::new(num_probes, data)
                .map_or(Self::Unknown, Self::FastLocalBloom),
            Trailer::Ribbon { seed, num_blocks } => {
                Self::Ribbon(RibbonReader::new(seed, num_blocks, data))
            }
            Trailer::LegacyBloom { num_probes, num_lines } => {
                LegacyBloomReader::new(num_probes, num_lines, data)
                    .map_or(Self::Unknown, Self::LegacyBloom)
            }
        }
    }
}

impl<B: AsRef<[u8]>> fmt::Debug for Filter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("kind", &self.kind())
            .field("parameters", &self.parameters())
            .field("length", &self.bytes().len())
            .finish_non_exhaustive()
    }
}
