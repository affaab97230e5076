//! Custom filter policies.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::error::Error as StdError;
use core::fmt;

use crate::error::{Error, Result};
use crate::hashed_key::HashedKey;

/// A custom filter policy.
///
/// It builds filters from keys and probes them. Everything else is the same as for built-in
/// policies: where filters are stored in a table, which keys and prefixes are added, and when they
/// are probed. A policy works in full filters, partitioned filters and LevelDB's filter blocks. Keys
/// are passed as [`HashedKey`], which also gives access to their bytes.
///
/// # Example: a binary fuse filter from a crate
///
/// Binary fuse filters need 9 bits per key for a false-positive rate of 1 in 256. The crate `xorf`
/// implements them. This code puts them into tables:
///
/// ```
/// use std::error::Error;
/// use std::sync::Arc;
/// use sstkit_filter::{BuildContext, HashedKey, Registry, UserBuilder, UserFilter, UserPolicy};
/// use xorf::{BinaryFuse8, Descriptor, Filter as _};
///
/// #[derive(Debug)]
/// struct FusePolicy;
///
/// impl UserPolicy for FusePolicy {
///     fn name(&self) -> &str {
///         "example.BinaryFuse8"
///     }
///
///     fn builder(&self) -> Box<dyn UserBuilder> {
///         Box::new(FuseBuilder::default())
///     }
///
///     // The bytes come from a file. If they are invalid, the filter may contain anything.
///     fn open(&self, filter: &[u8]) -> Option<Box<dyn UserFilter>> {
///         Some(Box::new(Fuse(decode(filter)?)))
///     }
/// }
///
/// struct Fuse(BinaryFuse8);
///
/// impl UserFilter for Fuse {
///     fn may_contain(&self, _: &[u8], key: &HashedKey<'_>) -> bool {
///         self.0.contains(&key.hash64())
///     }
/// }
///
/// #[derive(Default)]
/// struct FuseBuilder {
///     hashes: Vec<u64>,
/// }
///
/// impl UserBuilder for FuseBuilder {
///     fn add(&mut self, key: &HashedKey<'_>) {
///         self.hashes.push(key.hash64());
///     }
///
///     fn finish(mut self: Box<Self>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
///         self.hashes.sort_unstable();
///         self.hashes.dedup(); // fuse filters require distinct keys
///         let fuse = BinaryFuse8::try_from(&self.hashes)?;
///         Ok(encode(&fuse))
///     }
/// }
/// #
/// # fn encode(fuse: &BinaryFuse8) -> Vec<u8> {
/// #     let Descriptor { seed, segment_length, segment_length_mask, segment_count_length } = fuse.descriptor;
/// #     let mut bytes = seed.to_le_bytes().to_vec();
/// #     for word in [segment_length, segment_length_mask, segment_count_length] {
/// #         bytes.extend_from_slice(&word.to_le_bytes());
/// #     }
/// #     bytes.extend_from_slice(&fuse.fingerprints);
/// #     bytes
/// # }
/// #
/// # fn decode(bytes: &[u8]) -> Option<BinaryFuse8> {
/// #     let (seed, rest) = bytes.split_first_chunk()?;
/// #     let (words, fingerprints) = rest.split_first_chunk::<12>()?;
/// #     let word = |i: usize| u32::from_le_bytes(words[4 * i..4 * i + 4].try_into().unwrap());
/// #     let descriptor = Descriptor {
/// #         seed: u64::from_le_bytes(*seed),
/// #         segment_length: word(0),
/// #         segment_length_mask: word(1),
/// #         segment_count_length: word(2),
/// #     };
/// #     // The three positions of a key must be within the fingerprints.
/// #     let sound = word(0).is_power_of_two()
/// #         && word(1) == word(0) - 1
/// #         && word(2).checked_add(word(0).checked_mul(2)?)? as usize <= fingerprints.len();
/// #     sound.then(|| BinaryFuse8 { descriptor, fingerprints: fingerprints.into() })
/// # }
///
/// // When reading, the policy is found by its name.
/// let mut registry = Registry::default();
/// registry.register_policy(Arc::new(FusePolicy))?;
///
/// let policy = registry.policy("example.BinaryFuse8")?;
/// let mut builder = policy.builder(&BuildContext::default())?;
/// for i in 0..1000 {
///     builder.add(format!("user{i}").as_bytes());
/// }
/// let bytes = builder.finish()?;
///
/// let filter = registry.filter("example.BinaryFuse8", &bytes);
/// assert!((0..1000).all(|i| filter.may_contain(format!("user{i}").as_bytes())));
/// let false_positives = (1000..11_000).filter(|i| filter.may_contain(format!("user{i}").as_bytes())).count();
/// assert!(false_positives < 80, "{false_positives} of 10,000, expected 39");
/// # Ok::<(), Box<dyn Error>>(())
/// ```
///
/// `encode` and `decode`, hidden in the example, are twenty lines that write the fields of the filter
/// as bytes, and read and validate them.
pub trait UserPolicy: fmt::Debug + Send + Sync {
    /// A stable name. It is stored in every table, after `fullfilter.`, `partitionedfilter.` or
    /// `filter.`. A change of the byte format requires a new name.
    fn name(&self) -> &str;

    /// A builder of one filter.
    fn builder(&self) -> Box<dyn UserBuilder>;

    /// Opens a filter, which is not empty. `None` if the bytes are invalid: the filter may then
    /// contain anything. Must not panic on any bytes.
    ///
    /// A full filter or a partition is opened once, when it is read from the table, a filter of a
    /// filter block at each probe.
    fn open(&self, filter: &[u8]) -> Option<Box<dyn UserFilter>>;

    /// The approximate number of keys in a filter of `bytes` bytes. Determines the size of the
    /// partitions of a partitioned filter. Default: 10 bits per key.
    fn approx_num_entries(&self, bytes: usize) -> usize {
        bytes.saturating_mul(8) / 10
    }
}

/// An opened filter of a [`UserPolicy`].
///
/// It may own what it needs, or only what was parsed: the bytes are passed to each probe.
pub trait UserFilter: Send + Sync {
    /// Whether the filter may contain `key`. Must return `true` for every key that was added.
    /// `filter` are the bytes that it was opened from.
    fn may_contain(&self, filter: &[u8], key: &HashedKey<'_>) -> bool;
}

/// A builder of one filter of a [`UserPolicy`].
pub trait UserBuilder: Send {
    /// Adds a key or a prefix. Consecutive duplicates are already removed.
    fn add(&mut self, key: &HashedKey<'_>);

    /// Returns the bytes of the filter, which must not be empty.
    ///
    /// # Errors
    ///
    /// Any error. It makes the table writer fail.
    fn finish(self: Box<Self>) -> core::result::Result<Vec<u8>, Box<dyn StdError + Send + Sync>>;
}

/// Finishes a filter with at least one key.
pub(crate) fn finish(policy: &dyn UserPolicy, builder: Box<dyn UserBuilder>) -> Result<Vec<u8>> {
    let filter = builder.finish().map_err(|error| Error::user(policy.name(), error))?;
    if filter.is_empty() {
        // In every layout an empty filter contains nothing, so this would be a false negative.
        return Err(Error::user(
            policy.name(),
            "it built an empty filter from a non-empty set of keys".into(),
        ));
    }
    Ok(filter)
}
