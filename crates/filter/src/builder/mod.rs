//! Building a full filter, or one partition.

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
    recipe: Recipe,
    dedup: Dedup,
    num_entries: usize,
    /// Hashes of what was added; not for user-made policies, which keep their own.
    entries: Entries,
    /// XOR of the entries as they came, to be compared in the end where that is asked for.
    checksum: u64,
    detect_corruption: bool,
    charge: Charge,
    /// The number of entries at which more is charged.
    next_charge: usize,
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
const ENTRIES_PER_CHARGE: usize = 32_768;
const BYTES_PER_CHARGE: usize = ENTRIES_PER_CHARGE * size_of::<u64>();

impl FilterBuilder {
    pub(crate) fn new(recipe: Recipe, context: &BuildContext) -> Self {
        Self {
            recipe,
            dedup: Dedup::default(),
            num_entries: 0,
            entries: Entries::default(),
            checksum: 0,
            detect_corruption: context.detect_construct_corruption,
            charge: Charge::new(context.budget.clone()),
            next_charge: ENTRIES_PER_CHARGE / 2,
            #[cfg(test)]
            tamper: tests::Tamper::default(),
        }
    }

    /// Adds a key (or a prefix alone), unless it equals the one before.
    #[inline]
    pub fn add(&mut self, key: &[u8]) {
        let hash = self.recipe.hash(key);
        if self.dedup.admits(hash) {
            self.push(key, hash);
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
        self.num_entries += 1;
        if let Recipe::User(policy, builder) = &mut self.recipe {
            let key = HashedKey::with_hash64(key, hash);
            builder.get_or_insert_with(|| policy.builder()).add(&key);
            return;
        }
        self.checksum ^= hash;
        self.entries.push(hash);
        if self.num_entries == self.next_charge {
            self.charge.reserve(BYTES_PER_CHARGE);
            self.next_charge += ENTRIES_PER_CHARGE;
        }
    }

    /// Entries added so far, repetitions left out: RocksDB's property `rocksdb.num.filter_entries`.
    pub fn num_entries(&self) -> usize {
        self.num_entries
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
        if self.num_entries == 0 {
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
        return Err(Error::corrupt("the hashes kept for a filter changed in memory"));
    }
    let filter = Filter::from_bytes(filter);
    if !entries.iter().all(|entry| filter.may_contain_entry(entry)) {
        return Err(Error::corrupt("a finished filter denies a key that it was built from"));
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
            .field("num_entries", &self.num_entries)
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
