//! Building a full filter, or one partition.

mod dealt;
mod dedup;
mod entries;

use std::fmt;
use std::sync::Arc;

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
pub(crate) use entries::Entries;
use entries::MAX_STEP;

/// Builds one filter from keys and prefixes.
///
/// ```
/// use sstkit_filter::{BuildContext, Filter, FilterPolicy};
///
/// let policy: FilterPolicy = "bloomfilter:10".parse()?;
/// let mut builder = policy.builder(&BuildContext::default()).expect("builds filters");
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
/// Only the hash of a key is kept: 8 bytes each until [`finish`](Self::finish).
pub struct FilterBuilder {
    /// Whether keys go the short way: their 64-bit hashes are kept, and not checked in the end.
    plain: bool,
    recipe: Recipe,
    dedup: Dedup,
    /// Hashes of what was added; not for user-made policies, which keep their own.
    entries: Entries,
    /// How many a user-made policy was given.
    user_entries: usize,
    /// XOR of the entries as they came, to be compared in the end where that is asked for; not of
    /// all of them where keys go the short way.
    checksum: u64,
    detect_corruption: bool,
    charge: Charge,
    #[cfg(test)]
    tamper: tests::Tamper,
}

/// How the bytes are made.
pub(crate) enum Recipe {
    LegacyBloom(LegacyBloomBuilder),
    FastLocalBloom(FastLocalBloomBuilder),
    Ribbon(RibbonBuilder),
    User(Arc<dyn UserPolicy>, Option<Box<dyn UserBuilder>>),
}

/// Entries are charged in steps of so many, from the middle of each step on.
const ENTRIES_PER_CHARGE: usize = 2 * MAX_STEP;
const BYTES_PER_CHARGE: usize = ENTRIES_PER_CHARGE * size_of::<u64>();

impl FilterBuilder {
    pub(crate) fn new(recipe: Recipe, context: &BuildContext) -> Self {
        let detect_corruption = context.detect_construct_corruption;
        Self {
            plain: matches!(recipe, Recipe::FastLocalBloom(_) | Recipe::Ribbon(_))
                && !detect_corruption,
            recipe,
            dedup: Dedup::default(),
            entries: Entries::default(),
            user_entries: 0,
            checksum: 0,
            detect_corruption,
            charge: Charge::new(context.budget.clone()),
            #[cfg(test)]
            tamper: tests::Tamper::default(),
        }
    }

    /// Adds a key (or a prefix alone), unless it equals the one before.
    #[inline]
    pub fn add(&mut self, key: &[u8]) {
        if !self.goes_the_short_way() {
            return self.add_with_care(key);
        }
        let hash = hash64(key);
        if self.dedup.admits(hash) {
            self.entries.push(hash);
        }
    }

    #[inline]
    fn goes_the_short_way(&self) -> bool {
        self.plain && self.entries.has_room()
    }

    /// The whole of [`add`](Self::add), where the short way is not enough. Said to be rare, lest
    /// registers are kept free for it.
    #[cold]
    fn add_with_care(&mut self, key: &[u8]) {
        let hash = self.recipe.hash(key);
        if self.dedup.admits(hash) {
            self.push_with_care(key, hash);
        }
    }

    /// Adds a key together with its prefix, each unless it was added with the last key.
    ///
    /// The prefix goes first: the first entry decides the seed of a Ribbon filter.
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

    /// Adds what a table's settings want in the filter for a key: the key, its prefix, both or
    /// nothing.
    #[inline]
    pub fn add_filtered(&mut self, key: &[u8], filtering: &KeyFiltering) {
        match filtering.prefix(key) {
            Some(prefix) if filtering.whole_key() => self.add_with_prefix(key, prefix),
            Some(prefix) => self.add(prefix),
            None if filtering.whole_key() => self.add(key),
            None => {}
        }
    }

    #[inline]
    fn push(&mut self, key: &[u8], hash: u64) {
        if self.goes_the_short_way() {
            self.entries.push(hash);
        } else {
            self.push_with_care(key, hash);
        }
    }

    #[cold]
    fn push_with_care(&mut self, key: &[u8], hash: u64) {
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
        self.entries.make_room(matches!(self.recipe, Recipe::FastLocalBloom(_)));
        self.entries.push(hash);
        if self.entries.len() % ENTRIES_PER_CHARGE == ENTRIES_PER_CHARGE / 2 {
            self.charge.reserve(BYTES_PER_CHARGE);
        }
    }

    /// Entries added so far, repetitions left out: RocksDB's property `rocksdb.num.filter_entries`.
    pub fn num_entries(&self) -> usize {
        self.entries.len() + self.user_entries
    }

    /// About how many entries a filter of `bytes` bytes is for: what partitions are cut by.
    pub fn approx_num_entries(&self, bytes: usize) -> usize {
        self.recipe.approx_num_entries(bytes)
    }

    /// The filter. Without any entry it is empty: "contains nothing".
    ///
    /// # Errors
    ///
    /// If a user-made policy fails, or if corruption is to be
    /// [detected](BuildContext::detect_construct_corruption) and was.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        if self.num_entries() == 0 {
            return Ok(Vec::new());
        }
        let filter = match self.recipe {
            Recipe::User(policy, builder) => {
                let builder = builder.expect("made with the first entry");
                return finish_user(&*policy, builder);
            }
            Recipe::LegacyBloom(builder) => builder.build(&self.entries, &mut self.charge),
            Recipe::FastLocalBloom(builder) => builder.build(&self.entries, &mut self.charge),
            Recipe::Ribbon(builder) => builder.build(&self.entries, &mut self.charge),
        };
        #[cfg(test)]
        let filter = self.tamper.apply(&mut self.entries, filter);
        if self.detect_corruption {
            check(&self.entries, self.checksum, &filter)?;
        }
        Ok(filter)
    }
}

/// Whether entries are still what they were, and the filter has them all.
fn check(entries: &Entries, checksum: u64, filter: &[u8]) -> Result<()> {
    if entries.iter().fold(0, |sum, entry| sum ^ entry) != checksum {
        return Err(Error::corrupt("the key hashes collected for a filter changed in memory"));
    }
    let filter = Filter::from_bytes(filter);
    if !entries.iter().all(|entry| filter.may_contain_entry(entry)) {
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

    /// Expected false-positive rate of the filter of `keys` keys, where it is known.
    pub(crate) fn expected_fpr(&self, keys: usize) -> Option<f64> {
        match self {
            _ if keys == 0 => Some(0.0),
            Self::LegacyBloom(builder) => Some(builder.expected_fpr(keys)),
            Self::FastLocalBloom(builder) => Some(builder.expected_fpr(keys)),
            Self::Ribbon(builder) => Some(builder.expected_fpr(keys)),
            Self::User(..) => None,
        }
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
