//! Building a full filter or one partition.

mod dedup;
mod entries;
mod storage;

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::budget::Charge;
use crate::error::{Error, Result};
use crate::fast_local_bloom::FastLocalBloomBuilder;
use crate::hashed_key::{HashedKey, bloom_hash, hash64};
use crate::legacy_bloom::LegacyBloomBuilder;
use crate::policy::{BuildContext, UserBuilder, UserPolicy, finish_user};
use crate::prefix::KeyFiltering;
use crate::reader::Filter;
use crate::ribbon::RibbonBuilder;

use dedup::Dedup;
pub(crate) use entries::HashEntries;
use entries::MAX_STEP;
pub use storage::{HashStorage, StorageError};

/// Builds one filter from keys and prefixes.
///
/// ```
/// use sstkit_filter::{BuildContext, Filter, FilterPolicy};
///
/// let policy: FilterPolicy = "bloomfilter:10".parse()?;
/// let mut builder = policy.builder(&BuildContext::default())?;
/// builder.add(b"alice");
/// builder.add(b"bob");
/// let bytes = builder.finish()?;
///
/// let filter = Filter::from_bytes(&bytes);
/// assert!(filter.may_contain(b"alice"));
/// assert!(!filter.may_contain(b"carol"));
/// # Ok::<(), sstkit_filter::Error>(())
/// ```
///
/// Only the hashes of keys are kept: 8 bytes per key until [`finish`](Self::finish), in memory or in a
/// [storage](Self::store_hashes_in).
pub struct FilterBuilder {
    /// Whether keys can take the fast path: only their 64-bit hashes are kept, without a checksum.
    fast_path: bool,
    recipe: Recipe,
    dedup: Dedup,
    /// The hashes of keys and prefixes. Not used by custom policies.
    entries: HashEntries,
    /// The number of entries passed to a custom policy.
    user_entries: usize,
    /// XOR of the entries, verified by `finish` if `detect_corruption` is set. Entries of the fast path
    /// are not included.
    checksum: u64,
    detect_corruption: bool,
    charge: Charge,
    #[cfg(test)]
    tamper: tests::Tamper,
}

/// The kind of filter to build.
pub(crate) enum Recipe {
    LegacyBloom(LegacyBloomBuilder),
    FastLocalBloom(FastLocalBloomBuilder),
    Ribbon(RibbonBuilder),
    User(Arc<dyn UserPolicy>, Option<Box<dyn UserBuilder>>),
}

/// Entries are charged in steps of this size, each in the middle of the step.
const ENTRIES_PER_CHARGE: usize = 2 * MAX_STEP;
const BYTES_PER_CHARGE: usize = ENTRIES_PER_CHARGE * size_of::<u64>();

impl FilterBuilder {
    pub(crate) fn new(recipe: Recipe, context: &BuildContext) -> Self {
        let detect_corruption = context.detect_construct_corruption;
        Self {
            fast_path: matches!(recipe, Recipe::FastLocalBloom(_) | Recipe::Ribbon(_))
                && !detect_corruption,
            recipe,
            dedup: Dedup::default(),
            entries: HashEntries::default(),
            user_entries: 0,
            checksum: 0,
            detect_corruption,
            charge: Charge::new(context.budget.clone()),
            #[cfg(test)]
            tamper: tests::Tamper::default(),
        }
    }

    /// Adds a key, or a prefix without a key, unless it equals the previous one.
    #[inline]
    pub fn add(&mut self, key: &[u8]) {
        if !self.has_fast_path() {
            return self.add_slow(key);
        }
        let hash = hash64(key);
        if self.dedup.admits(hash) {
            self.entries.push(hash);
        }
    }

    #[inline]
    fn has_fast_path(&self) -> bool {
        self.fast_path && self.entries.has_room()
    }

    /// The slow path of [`add`](Self::add). Marked as cold, so that the fast path does not reserve
    /// registers for it.
    #[cold]
    fn add_slow(&mut self, key: &[u8]) {
        let hash = self.recipe.hash(key);
        if self.dedup.admits(hash) {
            self.push_slow(key, hash);
        }
    }

    /// Adds a key by its [64-bit hash](HashedKey::hash64), unless it equals the previous one.
    ///
    /// ```
    /// use sstkit_filter::{BuildContext, Filter, FilterPolicy, HashedKey};
    ///
    /// let policy: FilterPolicy = "ribbonfilter:10".parse()?;
    /// let mut builder = policy.builder(&BuildContext::default())?;
    /// builder.add_hash(HashedKey::new(b"alice").hash64())?;
    /// assert!(Filter::from_bytes(builder.finish()?).may_contain(b"alice"));
    /// # Ok::<(), sstkit_filter::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the filter is not built from these hashes: a legacy Bloom filter has another hash, and a
    /// custom policy gets the keys themselves.
    #[inline]
    pub fn add_hash(&mut self, hash: u64) -> Result<()> {
        if !matches!(self.recipe, Recipe::FastLocalBloom(_) | Recipe::Ribbon(_)) {
            return Err(Error::invalid_input(format!(
                "{:?} is not built from 64-bit hashes",
                self.recipe
            )));
        }
        if self.dedup.admits(hash) {
            self.push(&[], hash);
        }
        Ok(())
    }

    /// Adds a key and its prefix, unless they were added with the previous key.
    ///
    /// The prefix is added first, because the first entry determines the seed of a Ribbon filter.
    #[inline]
    pub fn add_with_prefix(&mut self, key: &[u8], prefix: &[u8]) {
        let (key_hash, prefix_hash) = (self.recipe.hash(key), self.recipe.hash(prefix));
        let (admit_key, admit_prefix) = self.dedup.admits_with_prefix(key_hash, prefix_hash);
        if admit_prefix {
            self.push(prefix, prefix_hash);
        }
        if admit_key {
            self.push(key, key_hash);
        }
    }

    /// Adds the key, its prefix, both or nothing, as specified by `filtering`.
    #[inline]
    pub fn add_filtered(&mut self, key: &[u8], filtering: &KeyFiltering) {
        match filtering.prefix(key) {
            Some(prefix) if filtering.whole_key() => self.add_with_prefix(key, prefix),
            Some(prefix) => self.add(prefix),
            None if filtering.whole_key() => self.add(key),
            None => {}
        }
    }

    /// Keeps the hashes in `storage` if there are many: more than 8 Mi, which take 64 MiB. A Ribbon
    /// filter is computed from all hashes at once, and a custom policy has its own builder: these do
    /// not use it. Call it before the first key is added.
    ///
    /// The [budget](BuildContext::budget) is charged as if they were in memory, so that the same keys
    /// give the same filters.
    pub fn store_hashes_in(&mut self, storage: Box<dyn HashStorage>) {
        if matches!(self.recipe, Recipe::LegacyBloom(_) | Recipe::FastLocalBloom(_)) {
            self.entries.store_in(storage);
        }
    }

    #[inline]
    fn push(&mut self, key: &[u8], hash: u64) {
        if self.has_fast_path() {
            self.entries.push(hash);
        } else {
            self.push_slow(key, hash);
        }
    }

    #[cold]
    fn push_slow(&mut self, key: &[u8], hash: u64) {
        if let Recipe::User(policy, builder) = &mut self.recipe {
            let key = HashedKey::with_hash64(key, hash);
            builder.get_or_insert_with(|| policy.builder()).add(&key);
            self.user_entries += 1;
            return;
        }
        self.checksum ^= hash;
        if self.entries.has_room() {
            return self.entries.push(hash);
        }
        self.entries.make_room();
        self.entries.push(hash);
        if self.entries.len() % ENTRIES_PER_CHARGE == ENTRIES_PER_CHARGE / 2 {
            self.charge.reserve(BYTES_PER_CHARGE);
        }
    }

    /// The number of entries without duplicates: RocksDB's property `rocksdb.num.filter_entries`.
    pub fn num_entries(&self) -> usize {
        self.entries.len() + self.user_entries
    }

    /// The approximate number of entries for a filter of `bytes` bytes. Determines the size of
    /// partitions.
    pub fn approx_num_entries(&self, bytes: usize) -> usize {
        self.recipe.approx_num_entries(bytes)
    }

    /// Returns the filter. It is empty ("contains nothing") if there are no entries.
    ///
    /// # Errors
    ///
    /// If a custom policy fails, if [corruption](BuildContext::detect_construct_corruption) is
    /// detected, or if [stored hashes](Self::store_hashes_in) cannot be read.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        if self.num_entries() == 0 {
            return Ok(Vec::new());
        }
        let filter = match self.recipe {
            Recipe::User(policy, builder) => {
                let builder = builder.expect("created with the first entry");
                return finish_user(&*policy, builder);
            }
            Recipe::LegacyBloom(builder) => builder.build(&self.entries, &mut self.charge),
            Recipe::FastLocalBloom(builder) => builder.build(&self.entries, &mut self.charge),
            Recipe::Ribbon(builder) => builder.build(&self.entries, &mut self.charge),
        }?;
        #[cfg(test)]
        let filter = self.tamper.apply(&mut self.entries, filter);
        if self.detect_corruption {
            check(&self.entries, self.checksum, &filter)?;
        }
        Ok(filter)
    }
}

/// Verifies the checksum of the entries, and that the filter contains them all.
fn check(entries: &HashEntries, checksum: u64, filter: &[u8]) -> Result<()> {
    let filter = Filter::from_bytes(filter);
    let (mut sum, mut has_all) = (0, true);
    entries.for_each_chunk(|hashes| {
        sum = hashes.iter().fold(sum, |sum, hash| sum ^ hash);
        has_all = has_all && hashes.iter().all(|&hash| filter.may_contain_entry(hash));
    })?;
    if sum != checksum {
        return Err(Error::corrupt("the key hashes collected for a filter changed in memory"));
    }
    if !has_all {
        return Err(Error::corrupt("a finished filter does not match one of its own keys"));
    }
    Ok(())
}

impl Recipe {
    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        match self {
            Self::LegacyBloom(_) => u64::from(bloom_hash(key)),
            Self::FastLocalBloom(_) | Self::Ribbon(_) | Self::User(..) => hash64(key),
        }
    }

    pub(crate) fn approx_num_entries(&self, bytes: usize) -> usize {
        match self {
            Self::LegacyBloom(builder) => builder.approx_num_entries(bytes),
            Self::FastLocalBloom(builder) => builder.approx_num_entries(bytes),
            Self::Ribbon(builder) => builder.approx_num_entries(bytes),
            Self::User(policy, _) => policy.approx_num_entries(bytes),
        }
    }

    /// Expected false-positive rate of a filter with `keys` keys, if known.
    pub(crate) fn expected_fpr(&self, keys: usize) -> Option<f64> {
        match self {
            _ if keys == 0 => Some(0.0),
            Self::LegacyBloom(builder) => Some(builder.expected_fpr(keys)),
            Self::FastLocalBloom(builder) => Some(builder.expected_fpr(keys)),
            Self::Ribbon(builder) => Some(builder.expected_fpr(keys)),
            Self::User(..) => None,
        }
    }

    /// The same, more precise for Bloom filters with many bits per key.
    pub(crate) fn sharded_fpr(&self, keys: usize) -> Option<f64> {
        match self {
            _ if keys == 0 => Some(0.0),
            Self::FastLocalBloom(builder) => Some(builder.sharded_fpr(keys)),
            Self::Ribbon(builder) => Some(builder.sharded_fpr(keys)),
            Self::LegacyBloom(builder) => Some(builder.simulated_fpr(keys)),
            Self::User(..) => self.expected_fpr(keys),
        }
    }

    /// Expected size of a filter with `keys` keys, if known.
    pub(crate) fn expected_size(&self, keys: usize) -> Option<usize> {
        match self {
            _ if keys == 0 => Some(0),
            Self::LegacyBloom(builder) => Some(builder.size(keys)),
            Self::FastLocalBloom(builder) => Some(builder.size(keys)),
            Self::Ribbon(builder) => Some(builder.size(keys)),
            Self::User(..) => None,
        }
    }
}

impl<K: AsRef<[u8]>> Extend<K> for FilterBuilder {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.add(key.as_ref()));
    }
}

impl fmt::Debug for FilterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterBuilder")
            .field("recipe", &self.recipe)
            .field("num_entries", &self.num_entries())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LegacyBloom(builder) => builder.fmt(f),
            Self::FastLocalBloom(builder) => builder.fmt(f),
            Self::Ribbon(builder) => builder.fmt(f),
            Self::User(policy, _) => policy.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
