//! Filters of one's own.

use std::error::Error as StdError;
use std::fmt;

use crate::error::{Error, Result};
use crate::hashed_key::HashedKey;

/// A user-made filter policy.
///
/// It makes filters from keys and asks them about keys. Where the filters lie in a table, which
/// keys and prefixes go into them, and when they are asked, is the same as for the built-in ones: a
/// policy works in full, partitioned and LevelDB's filter blocks. Keys come [hashed](HashedKey),
/// with their bytes at hand for those who need them.
///
/// # Example: a binary fuse filter from a crate
///
/// Binary fuse filters take 9 bits per key for a rate of 1 in 256. The crate `xorf` has them; this
/// is all it takes to put them into tables:
///
/// ```
/// use std::error::Error;
/// use std::sync::Arc;
/// use sstkit_filter::{BuildContext, HashedKey, Registry, UserBuilder, UserPolicy};
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
///     // The bytes come from a file: what does not make sense may contain anything.
///     fn may_contain(&self, filter: &[u8], key: &HashedKey<'_>) -> bool {
///         match decode(filter) {
///             Some(fuse) => fuse.contains(&key.hash64()),
///             None => true,
///         }
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
///         self.hashes.dedup(); // fuse filters want distinct keys
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
/// #     // The three places of a key must lie within the fingerprints.
/// #     let sound = word(0).is_power_of_two()
/// #         && word(1) == word(0) - 1
/// #         && word(2).checked_add(word(0).checked_mul(2)?)? as usize <= fingerprints.len();
/// #     sound.then(|| BinaryFuse8 { descriptor, fingerprints: fingerprints.into() })
/// # }
///
/// // By its name, reading finds it again.
/// let mut registry = Registry::default();
/// registry.register_policy(Arc::new(FusePolicy))?;
///
/// let policy = registry.policy("example.BinaryFuse8")?;
/// let mut builder = policy.builder(&BuildContext::default()).expect("builds filters");
/// for i in 0..1000 {
///     builder.add(format!("user{i}").as_bytes());
/// }
/// let bytes = builder.finish()?;
///
/// let filter = registry.filter("example.BinaryFuse8", &bytes);
/// assert!((0..1000).all(|i| filter.may_contain(format!("user{i}").as_bytes())));
/// let false_positives = (1000..11_000).filter(|i| filter.may_contain(format!("user{i}").as_bytes())).count();
/// assert!(false_positives < 80, "{false_positives} of 10,000; 39 are expected");
/// # Ok::<(), Box<dyn Error>>(())
/// ```
///
/// (Hidden in the example: twenty lines that write the filter's fields as bytes and check them on
/// the way back.)
pub trait UserPolicy: fmt::Debug + Send + Sync {
    /// A stable name, stored in every table behind `fullfilter.` (or its sisters). Whatever changes
    /// the meaning of the bytes needs another name.
    fn name(&self) -> &str;

    /// A builder of one filter.
    fn builder(&self) -> Box<dyn UserBuilder>;

    /// Whether `filter`, which is not empty, may contain `key`. It must say `true` for every key
    /// that was added, and for bytes that it cannot make sense of; it must not panic on any.
    fn may_contain(&self, filter: &[u8], key: &HashedKey<'_>) -> bool;

    /// About how many keys a filter of `bytes` bytes is for: decides how large the partitions of a
    /// partitioned filter become. Default: 10 bits per key.
    fn approx_num_entries(&self, bytes: usize) -> usize {
        bytes.saturating_mul(8) / 10
    }
}

/// One filter of a [`UserPolicy`] in the making.
pub trait UserBuilder: Send {
    /// Adds a key or a prefix. Neighbouring repetitions have been left out.
    fn add(&mut self, key: &HashedKey<'_>);

    /// The filter's bytes, at least one of them.
    ///
    /// # Errors
    ///
    /// Whatever may go wrong; the table's writer then fails.
    fn finish(self: Box<Self>) -> std::result::Result<Vec<u8>, Box<dyn StdError + Send + Sync>>;
}

/// The bytes of a filter with at least one key.
pub(crate) fn finish(policy: &dyn UserPolicy, builder: Box<dyn UserBuilder>) -> Result<Vec<u8>> {
    let filter = builder.finish().map_err(|error| Error::user(policy.name(), error))?;
    if filter.is_empty() {
        // In every layout an empty filter means "no keys": it would deny the ones it was made of.
        return Err(Error::user(
            policy.name(),
            "it built an empty filter from a non-empty set of keys".into(),
        ));
    }
    Ok(filter)
}
