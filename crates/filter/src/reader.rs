//! Reading a full filter or one partition. Its bytes determine its kind.

use alloc::sync::Arc;
use core::fmt;

use sstkit_coding::named_enum;
use sstkit_coding::xxph3::xxph3_each;

use crate::batch::{answer_each, in_batches};
use crate::fast_local_bloom::{self, FastLocalBloomReader};
use crate::hashed_key::{HashedKey, bloom_hash, hash64};
use crate::legacy_bloom::{self, LegacyBloomReader};
use crate::policy::{UserFilter, UserPolicy};
use crate::ribbon::RibbonReader;
use crate::stats::FilterStats;
use crate::trace::{FilterTrace, TracedHash};
use crate::trailer::FilterTrailer;

/// A filter over borrowed, owned or shared bytes: `&[u8]`, `Vec<u8>`, `Arc<[u8]>` …
///
/// Any bytes are accepted, and none of them cause a panic. If no engine can have written them, every
/// key may be contained, or none if there are at most five bytes.
///
/// ```
/// use sstkit_filter::{Filter, FilterKind};
///
/// assert_eq!(Filter::from_bytes(b"").kind(), FilterKind::AlwaysFalse);
/// assert!(!Filter::from_bytes(b"").may_contain(b"anything"));
///
/// let unknown_kind = [1, 2, 3, 0xfd, 9, 9, 9, 9];
/// assert_eq!(Filter::from_bytes(&unknown_kind).kind(), FilterKind::Unknown);
/// assert!(Filter::from_bytes(&unknown_kind).may_contain(b"anything"));
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
    User(Arc<dyn UserFilter>),
}

named_enum! {
    /// The kind of a filter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum FilterKind {
        /// Contains nothing.
        AlwaysFalse => "always_false",
        /// May contain anything, according to its trailer.
        AlwaysTrue => "always_true",
        /// Reserved, newer or damaged: may contain anything.
        Unknown => "unknown",
        /// LevelDB's Bloom filter in a filter block.
        LevelDbBloom => "leveldb_bloom",
        /// RocksDB's Bloom filter in a filter block, written before 7.0.
        BlockBasedBloom => "block_based_bloom",
        /// RocksDB's Bloom filter of format versions below 5.
        LegacyBloom => "legacy_bloom",
        /// RocksDB's cache-local Bloom filter.
        FastLocalBloom => "fast_local_bloom",
        /// RocksDB's Ribbon filter.
        Ribbon128 => "ribbon128",
        /// A filter of a custom policy.
        User => "user",
    }

    /// A short name, as used in the JSON output.
    fn name;
}

/// The parameters that a filter was built with, as far as its bytes contain them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterParameters {
    /// None are known.
    Opaque,
    /// A Bloom filter of any kind.
    Bloom {
        /// Bits set per key.
        num_probes: u8,
        /// Length of a block, which contains all bits of a key.
        block_length: usize,
    },
    /// A Ribbon filter.
    Ribbon {
        /// The seed of the hash function, for which the equations have a solution.
        seed: u8,
        /// Number of blocks of 128 slots.
        num_blocks: u32,
        /// Columns of the later blocks. The earlier ones have one fewer.
        upper_columns: u32,
        /// The first block with that many columns.
        upper_start_block: u32,
    },
}

impl<B: AsRef<[u8]>> Filter<B> {
    /// A RocksDB filter. Its last five bytes determine the kind.
    pub fn from_bytes(bytes: B) -> Self {
        let (data_length, reader) = match bytes.as_ref().split_last_chunk() {
            Some((data, trailer)) if !data.is_empty() => {
                (data.len(), Reader::new(data, FilterTrailer::decode_from(*trailer)))
            }
            _ => (0, Reader::AlwaysFalse),
        };
        Self { bytes, data_length, reader }
    }

    /// A filter of a custom policy.
    pub fn user(bytes: B, policy: &dyn UserPolicy) -> Self {
        let data_length = bytes.as_ref().len();
        let reader = match data_length {
            0 => Reader::AlwaysFalse,
            _ => match policy.open(bytes.as_ref()) {
                Some(filter) => Reader::User(filter.into()),
                None => Reader::Unknown,
            },
        };
        Self { bytes, data_length, reader }
    }

    /// A filter of an unknown policy, which may contain anything.
    pub fn unknown(bytes: B) -> Self {
        Self { bytes, data_length: 0, reader: Reader::Unknown }
    }

    /// Whether `key` may have been added. `false` is certain.
    #[inline]
    pub fn may_contain(&self, key: &[u8]) -> bool {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.may_contain(self.bytes.as_ref(), hash64(key)),
            _ => self.other_may_contain(key),
        }
    }

    /// [`may_contain`](Self::may_contain) for the less common kinds. Not inlined, because that would
    /// cost the most common kind registers.
    #[inline(never)]
    fn other_may_contain(&self, key: &[u8]) -> bool {
        match &self.reader {
            Reader::User(filter) => filter.may_contain(self.bytes.as_ref(), &HashedKey::new(key)),
            _ => self.probe(|| hash64(key), || bloom_hash(key)),
        }
    }

    /// [`may_contain`](Self::may_contain) for a key that is already hashed.
    #[inline]
    pub fn may_contain_hashed(&self, key: &HashedKey<'_>) -> bool {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.may_contain(self.bytes.as_ref(), key.hash64()),
            _ => self.other_may_contain_hashed(key),
        }
    }

    #[inline(never)]
    fn other_may_contain_hashed(&self, key: &HashedKey<'_>) -> bool {
        match &self.reader {
            Reader::User(filter) => filter.may_contain(self.bytes.as_ref(), key),
            _ => self.probe(|| key.hash64(), || key.bloom_hash()),
        }
    }

    /// Probes a built-in filter with the hash that its kind uses.
    #[inline(always)]
    fn probe(&self, hash64: impl FnOnce() -> u64, bloom_hash: impl FnOnce() -> u32) -> bool {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.may_contain(self.data(), hash64()),
            Reader::Ribbon(reader) => reader.may_contain(self.data(), hash64()),
            Reader::LegacyBloom(reader) => reader.may_contain(self.data(), bloom_hash()),
            Reader::User(_) | Reader::AlwaysTrue | Reader::Unknown => true,
            Reader::AlwaysFalse => false,
        }
    }

    /// [`may_contain`](Self::may_contain) for each key. Prefetches, so it is faster than single calls
    /// if the filter is not in the CPU cache.
    ///
    /// # Panics
    ///
    /// If the numbers of keys and answers differ.
    pub fn may_contain_batch<K: AsRef<[u8]>>(&self, keys: &[K], answers: &mut [bool]) {
        self.batch(
            keys,
            answers,
            xxph3_each,
            |key| bloom_hash(key.as_ref()),
            |key| self.may_contain(key.as_ref()),
        );
    }

    /// [`may_contain_batch`](Self::may_contain_batch) for keys that are already hashed.
    ///
    /// # Panics
    ///
    /// If the numbers of keys and answers differ.
    pub fn may_contain_hashed_batch(&self, keys: &[HashedKey<'_>], answers: &mut [bool]) {
        let hash64_each = |keys: &[HashedKey<'_>], hashes: &mut [u64]| {
            for (key, hash) in keys.iter().zip(hashes) {
                *hash = key.hash64();
            }
        };
        self.batch(keys, answers, hash64_each, HashedKey::bloom_hash, |key| {
            self.may_contain_hashed(key)
        });
    }

    #[inline]
    fn batch<K>(
        &self,
        keys: &[K],
        answers: &mut [bool],
        hash64_each: impl Fn(&[K], &mut [u64]),
        bloom_hash: impl Fn(&K) -> u32,
        one: impl Fn(&K) -> bool,
    ) {
        assert_eq!(keys.len(), answers.len(), "the numbers of keys and answers must be equal");
        let data = self.data();
        match &self.reader {
            Reader::FastLocalBloom(reader) => {
                in_batches(keys, answers, hash64_each, |hashes, answers| {
                    reader.may_contain_batch(data, hashes, answers);
                });
            }
            _ => self.other_batch(keys, answers, hash64_each, bloom_hash, one),
        }
    }

    #[inline(never)]
    fn other_batch<K>(
        &self,
        keys: &[K],
        answers: &mut [bool],
        hash64_each: impl Fn(&[K], &mut [u64]),
        bloom_hash: impl Fn(&K) -> u32,
        one: impl Fn(&K) -> bool,
    ) {
        let data = self.data();
        match &self.reader {
            Reader::Ribbon(reader) => {
                in_batches(keys, answers, hash64_each, |hashes, answers| {
                    let prefetch = |hash| reader.prefetch(data, hash);
                    answer_each(hashes, answers, prefetch, |hash| reader.may_contain(data, hash));
                });
            }
            Reader::LegacyBloom(reader) => {
                let hash_each = |keys: &[K], hashes: &mut [u32]| {
                    for (key, hash) in keys.iter().zip(hashes) {
                        *hash = bloom_hash(key);
                    }
                };
                in_batches(keys, answers, hash_each, |hashes, answers| {
                    let prefetch = |hash| reader.prefetch(data, hash);
                    answer_each(hashes, answers, prefetch, |hash| reader.may_contain(data, hash));
                });
            }
            _ => {
                for (key, answer) in keys.iter().zip(answers) {
                    *answer = one(key);
                }
            }
        }
    }

    /// Prefetches the memory that a probe for `key` reads. To probe many filters, prefetch all of them
    /// first, then probe them.
    #[inline]
    pub fn prefetch(&self, key: &HashedKey<'_>) {
        match &self.reader {
            Reader::FastLocalBloom(reader) => reader.prefetch(self.bytes.as_ref(), key.hash64()),
            Reader::Ribbon(reader) => reader.prefetch(self.data(), key.hash64()),
            Reader::LegacyBloom(reader) => reader.prefetch(self.data(), key.bloom_hash()),
            Reader::User(_) | Reader::AlwaysTrue | Reader::Unknown | Reader::AlwaysFalse => {}
        }
    }

    /// [`may_contain`](Self::may_contain) for an entry of a builder, which is the hash that this kind of
    /// filter uses.
    pub(crate) fn may_contain_entry(&self, entry: u64) -> bool {
        self.probe(|| entry, || entry as u32)
    }

    /// The kind of filter.
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

    /// The parameters it was built with.
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

    /// Expected false-positive rate if it was built from `keys` entries. `None` for custom policies.
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

    /// The fraction of bits that are set, for Bloom filters. See [`FilterStats::fill`].
    pub fn fill(&self) -> Option<f64> {
        self.stats().fill
    }

    /// Statistics computed from its bytes. Reads all of them.
    pub fn stats(&self) -> FilterStats {
        let (kind, bytes) = (self.kind(), self.bytes().len());
        match (&self.reader, self.parameters()) {
            (Reader::LegacyBloom(reader), _) => {
                FilterStats::legacy_bloom(bytes, self.data(), *reader)
            }
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

    /// Traces a probe for `key`.
    ///
    /// ```
    /// use sstkit_filter::{BuildContext, Filter, FilterPolicy, HashedKey};
    ///
    /// let policy: FilterPolicy = "bloomfilter:10".parse()?;
    /// let mut builder = policy.builder(&BuildContext::default())?;
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

    /// All bytes, including the trailer.
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
    fn new(data: &[u8], trailer: FilterTrailer) -> Self {
        match trailer {
            FilterTrailer::AlwaysTrue => Self::AlwaysTrue,
            FilterTrailer::Unknown => Self::Unknown,
            FilterTrailer::FastLocalBloom { num_probes } => {
                FastLocalBloomReader::new(num_probes, data)
                    .map_or(Self::Unknown, Self::FastLocalBloom)
            }
            FilterTrailer::Ribbon { seed, num_blocks } => {
                Self::Ribbon(RibbonReader::new(seed, num_blocks, data))
            }
            FilterTrailer::LegacyBloom { num_probes, num_lines } => {
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
