//! Filter policies: which filter to build.

mod bits_per_key;
mod context;
mod registry;
mod text;
mod user;

pub use bits_per_key::BitsPerKey;
pub use context::{BuildContext, DEFAULT_FORMAT_VERSION, Destination};
pub use registry::Registry;
pub(crate) use user::finish as finish_user;
pub use user::{UserBuilder, UserFilter, UserPolicy};

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use crate::builder::{FilterBuilder, Recipe};
use crate::error::{Error, Result};
use crate::fast_local_bloom::FastLocalBloomBuilder;
use crate::filter_block::{BlockBloom, FilterBlockBuilder};
use crate::legacy_bloom::LegacyBloomBuilder;
use crate::ribbon::RibbonBuilder;

/// Since this format version, `bloomfilter` builds the cache-local Bloom filter.
const FAST_LOCAL_BLOOM_FORMAT_VERSION: u32 = 5;

/// A filter policy. Parsed from and printed as text.
///
/// ```
/// use sstkit_filter::FilterPolicy;
///
/// let policy: FilterPolicy = "ribbonfilter:9.9".parse()?;
/// assert_eq!(policy.to_string(), "ribbonfilter:9.9");
/// assert_eq!(policy.name(), "ribbonfilter");
/// assert_eq!(policy.compatibility_name(), Some("rocksdb.BuiltinBloomFilter"));
/// # Ok::<(), sstkit_filter::Error>(())
/// ```
///
/// A policy builds filters in one of two layouts: full filters ([`builder`](Self::builder)) or
/// LevelDB's filter blocks ([`block_builder`](Self::block_builder)).
///
/// | policy | full | block |
/// |---|---|---|
/// | `bloomfilter`, `ribbonfilter`, `rocksdb.internal.…` | yes | no |
/// | `leveldb.BuiltinBloomFilter2`, `…DeprecatedBlockBasedBloomFilter` | no | yes |
/// | custom | yes | yes |
/// | `none`, `rocksdb.BuiltinBloomFilter`, 0 bits per key | no | no |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FilterPolicy {
    /// No filter.
    None,
    /// RocksDB's Bloom filter: cache-local since format version 5, legacy before.
    Bloom(BitsPerKey),
    /// RocksDB's Ribbon filter, or the cache-local Bloom filter for tables above a level. Tables in
    /// the upper levels are a small part of a database and are rewritten soon, so a filter that is
    /// cheaper to build is better there.
    Ribbon {
        /// The bits per key of a Bloom filter with the same false-positive rate.
        bits_per_key: BitsPerKey,
        /// Build Bloom filters above this level. 0: only for flushes. -1: never. `i32::MAX`: always.
        bloom_before_level: i32,
    },
    /// LevelDB's filter block.
    LevelDb {
        /// Bits per key.
        bits_per_key: u16,
    },
    /// LevelDB's filter block with RocksDB's hash, as written before RocksDB 7.0.
    BlockBasedBloom(BitsPerKey),
    /// The legacy Bloom filter, for any format version.
    LegacyBloom(BitsPerKey),
    /// The cache-local Bloom filter, for any format version.
    FastLocalBloom(BitsPerKey),
    /// The Ribbon filter, for any level.
    Standard128Ribbon(BitsPerKey),
    /// Reads all of RocksDB's filters and builds none.
    ReadOnly,
    /// A custom policy.
    User(Arc<dyn UserPolicy>),
}

impl FilterPolicy {
    /// The class name, which RocksDB stores in the table property `rocksdb.filter.policy`.
    pub fn name(&self) -> &str {
        match self {
            Self::None => "",
            Self::Bloom(_) => text::BLOOM,
            Self::Ribbon { .. } => text::RIBBON,
            Self::LevelDb { .. } => text::LEVELDB,
            Self::BlockBasedBloom(_) => text::BLOCK_BASED_BLOOM,
            Self::LegacyBloom(_) => text::LEGACY_BLOOM,
            Self::FastLocalBloom(_) => text::FAST_LOCAL_BLOOM,
            Self::Standard128Ribbon(_) => text::STANDARD128_RIBBON,
            Self::ReadOnly => text::BUILTIN,
            Self::User(policy) => policy.name(),
        }
    }

    /// The name of the filter in the metaindex, after `fullfilter.`, `partitionedfilter.` or
    /// `filter.`. Policies that can read each other's filters share it. `None` without a filter.
    pub fn compatibility_name(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::LevelDb { .. } => Some(text::LEVELDB),
            Self::User(policy) => Some(policy.name()),
            _ => Some(text::BUILTIN),
        }
    }

    /// RocksDB's identifier with all arguments, such as `bloomfilter:10:false` or
    /// `ribbonfilter:9.9:0`.
    pub fn id(&self) -> String {
        match self {
            Self::Bloom(bits) => format!("{}:{bits}:false", text::BLOOM),
            Self::Ribbon { bits_per_key, bloom_before_level } => {
                format!("{}:{bits_per_key}:{bloom_before_level}", text::RIBBON)
            }
            _ => self.to_string(),
        }
    }

    /// A builder of one full filter or partition.
    ///
    /// # Errors
    ///
    /// If the policy does not build full filters. There is no builder that builds nothing, because an
    /// empty filter means "contains nothing".
    pub fn builder(&self, context: &BuildContext) -> Result<FilterBuilder> {
        match self.recipe(context) {
            Some(recipe) => Ok(FilterBuilder::new(recipe, context)),
            None => Err(self.builds_no("full filters")),
        }
    }

    /// A builder of a LevelDB filter block.
    ///
    /// # Errors
    ///
    /// If the policy does not build filter blocks.
    pub fn block_builder(&self) -> Result<FilterBlockBuilder> {
        match self {
            Self::LevelDb { bits_per_key } => {
                Ok(FilterBlockBuilder::bloom(BlockBloom::LevelDb, (*bits_per_key).into()))
            }
            Self::BlockBasedBloom(bits) if !bits.is_zero() => {
                Ok(FilterBlockBuilder::bloom(BlockBloom::RocksDb, bits.whole_bits()))
            }
            Self::User(policy) => Ok(FilterBlockBuilder::user(Arc::clone(policy))),
            _ => Err(self.builds_no("filter blocks")),
        }
    }

    fn builds_no(&self, what: &str) -> Error {
        Error::invalid_input(format!("the filter policy {self} builds no {what}"))
    }

    /// Whether the policy builds full filters in this context, or filter blocks.
    pub fn builds_filters(&self, context: &BuildContext) -> bool {
        self.recipe(context).is_some() || self.block_builder().is_ok()
    }

    /// Expected false-positive rate of a filter with `keys` keys. `None` if the policy builds no
    /// filter or is a custom policy.
    pub fn expected_fpr(&self, keys: usize, context: &BuildContext) -> Option<f64> {
        let bits_per_key = match self {
            Self::LevelDb { bits_per_key } => u32::from(*bits_per_key),
            Self::BlockBasedBloom(bits) if !bits.is_zero() => bits.whole_bits(),
            _ => return self.recipe(context)?.expected_fpr(keys),
        };
        Some(BlockBloom::expected_fpr_of(keys, bits_per_key))
    }

    /// Expected size of a filter with `keys` keys, before it is adjusted for the allocator. `None` if
    /// the policy builds no filter or is a custom policy. For a LevelDB filter block, the size of
    /// one of its filters and of its entry in the array of offsets.
    pub fn expected_size(&self, keys: usize, context: &BuildContext) -> Option<usize> {
        let bits_per_key = match self {
            Self::LevelDb { bits_per_key } => u32::from(*bits_per_key),
            Self::BlockBasedBloom(bits) if !bits.is_zero() => bits.whole_bits(),
            _ => return self.recipe(context)?.expected_size(keys),
        };
        Some(BlockBloom::expected_size_of(keys, bits_per_key))
    }

    /// Like [`expected_fpr`](Self::expected_fpr), with the sum over the Poisson distribution of keys
    /// in cache lines ([`math::sharded`](crate::math::sharded)) in place of RocksDB's approximation,
    /// which is too low by 12 % at 20 bits per key.
    /// The rates of 32-bit filters are simulated. Only some of the keys of a LevelDB filter block may be
    /// different.
    pub(crate) fn sharded_fpr(
        &self,
        distinct: usize,
        keys: usize,
        context: &BuildContext,
    ) -> Option<f64> {
        let bits_per_key = match self {
            Self::LevelDb { bits_per_key } => u32::from(*bits_per_key),
            Self::BlockBasedBloom(bits) if !bits.is_zero() => bits.whole_bits(),
            _ => return self.recipe(context)?.sharded_fpr(keys),
        };
        Some(BlockBloom::simulated_fpr(distinct, keys, bits_per_key))
    }

    /// Whether `bloomfilter` builds legacy filters in tables of this format version.
    pub(crate) fn bloom_is_legacy(format_version: u32) -> bool {
        format_version < FAST_LOCAL_BLOOM_FORMAT_VERSION
    }

    pub(crate) fn recipe(&self, context: &BuildContext) -> Option<Recipe> {
        let fast_local =
            |bits: BitsPerKey| FastLocalBloomBuilder::new(bits.millibits(), context.sizing.clone());
        let legacy = |bits: BitsPerKey| {
            Recipe::LegacyBloom(LegacyBloomBuilder::new(bits.whole_bits(), context.cache_line))
        };
        let ribbon = |bits: BitsPerKey| {
            let sizing = context.sizing.clone();
            Recipe::Ribbon(RibbonBuilder::new(bits.one_in(), fast_local(bits), sizing))
        };
        match *self {
            Self::Bloom(bits)
            | Self::LegacyBloom(bits)
            | Self::FastLocalBloom(bits)
            | Self::Standard128Ribbon(bits)
            | Self::Ribbon { bits_per_key: bits, .. }
                if bits.is_zero() =>
            {
                None
            }
            Self::Bloom(bits) if Self::bloom_is_legacy(context.format_version) => {
                Some(legacy(bits))
            }
            Self::Bloom(bits) | Self::FastLocalBloom(bits) => {
                Some(Recipe::FastLocalBloom(fast_local(bits)))
            }
            Self::LegacyBloom(bits) => Some(legacy(bits)),
            Self::Ribbon { bits_per_key, bloom_before_level }
                if context.destination.is_before(bloom_before_level) =>
            {
                Some(Recipe::FastLocalBloom(fast_local(bits_per_key)))
            }
            Self::Ribbon { bits_per_key: bits, .. } | Self::Standard128Ribbon(bits) => {
                Some(ribbon(bits))
            }
            Self::User(ref policy) => Some(Recipe::User(Arc::clone(policy), None)),
            Self::None | Self::ReadOnly | Self::LevelDb { .. } | Self::BlockBasedBloom(_) => None,
        }
    }
}

impl Destination {
    /// Whether the destination is above `level`.
    fn is_before(self, level: i32) -> bool {
        // `i32::MAX` means "always Bloom".
        level == i32::MAX
            || match self {
                Self::Flush => -1 < level,
                Self::Level(this) => i64::from(this) < i64::from(level),
                // Counts as below every level.
                Self::Unknown => false,
            }
    }
}

/// The layout of the filters of a table, which determines their key in the metaindex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterLayout {
    /// One filter for the whole table.
    Full,
    /// Filters for ranges of keys, with an index.
    Partitioned,
    /// LevelDB's filter block.
    Block,
}

impl FilterLayout {
    const ALL: [Self; 3] = [Self::Full, Self::Partitioned, Self::Block];

    /// The prefix of the policy's [compatibility name](FilterPolicy::compatibility_name) in the
    /// metaindex.
    pub const fn metaindex_prefix(self) -> &'static str {
        match self {
            Self::Full => "fullfilter.",
            Self::Partitioned => "partitionedfilter.",
            Self::Block => "filter.",
        }
    }

    /// The layout and the compatibility name in `metaindex_key`. `None` if it is not a filter.
    ///
    /// ```
    /// use sstkit_filter::FilterLayout;
    ///
    /// let (layout, name) = FilterLayout::of("fullfilter.rocksdb.BuiltinBloomFilter").unwrap();
    /// assert_eq!((layout, name), (FilterLayout::Full, "rocksdb.BuiltinBloomFilter"));
    /// assert_eq!(FilterLayout::of("rocksdb.properties"), None);
    /// ```
    pub fn of(metaindex_key: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|layout| {
            metaindex_key.strip_prefix(layout.metaindex_prefix()).map(|name| (layout, name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_and_context_select_the_builder() {
        use Destination::{Flush, Level, Unknown};
        for (policy, format_version, destination, expected) in [
            ("bloomfilter:10", 4, Unknown, "LegacyBloom"),
            ("bloomfilter:10", 5, Unknown, "FastLocalBloom"),
            ("bloomfilter:10", 7, Level(0), "FastLocalBloom"),
            ("ribbonfilter:10", 2, Unknown, "Ribbon"),
            ("ribbonfilter:10", 7, Flush, "FastLocalBloom"),
            ("ribbonfilter:10", 7, Level(0), "Ribbon"),
            ("ribbonfilter:10:-1", 7, Flush, "Ribbon"),
            ("ribbonfilter:10:2", 7, Level(1), "FastLocalBloom"),
            ("ribbonfilter:10:2", 7, Level(2), "Ribbon"),
            ("ribbonfilter:10:2147483647", 7, Unknown, "FastLocalBloom"),
            ("ribbonfilter:10:2147483647", 7, Flush, "FastLocalBloom"),
            ("ribbonfilter:10:2147483647", 7, Level(0), "FastLocalBloom"),
            ("ribbonfilter:10:2147483647", 7, Level(i32::MAX as u32), "FastLocalBloom"),
            ("ribbonfilter:10:2147483647", 7, Level(u32::MAX), "FastLocalBloom"),
            ("ribbonfilter:10:2147483646", 7, Level(i32::MAX as u32), "Ribbon"),
            ("ribbonfilter:10:2147483646", 7, Unknown, "Ribbon"),
            ("rocksdb.internal.LegacyBloomFilter:10", 7, Unknown, "LegacyBloom"),
            ("rocksdb.internal.FastLocalBloomFilter:10", 2, Unknown, "FastLocalBloom"),
            ("rocksdb.internal.Standard128RibbonFilter:10", 2, Flush, "Ribbon"),
        ] {
            let context =
                BuildContext::default().format_version(format_version).destination(destination);
            let recipe = policy.parse::<FilterPolicy>().unwrap().recipe(&context).unwrap();
            let name = format!("{recipe:?}");
            assert!(
                name.starts_with(expected),
                "{policy} {format_version} {destination:?}: {name}"
            );
        }
    }

    #[test]
    fn policies_without_builder() {
        let context = BuildContext::default();
        for text in ["none", "rocksdb.BuiltinBloomFilter", "bloomfilter:0.4", "ribbonfilter:-1"] {
            let policy: FilterPolicy = text.parse().unwrap();
            assert!(!policy.builds_filters(&context), "{text}");
            let error = policy.builder(&context).unwrap_err().to_string();
            assert!(error.contains(&policy.to_string()), "{error}");
            assert!(policy.block_builder().is_err(), "{text}");
        }
        let leveldb: FilterPolicy = "leveldb.BuiltinBloomFilter2:10".parse().unwrap();
        assert!(leveldb.builder(&context).is_err() && leveldb.block_builder().is_ok());
    }

    #[test]
    fn ids_have_all_arguments() {
        for (text, id) in [
            ("bloomfilter:4.567", "bloomfilter:4.567:false"),
            ("ribbonfilter:9.9", "ribbonfilter:9.9:0"),
            (
                "rocksdb.internal.FastLocalBloomFilter:1.234",
                "rocksdb.internal.FastLocalBloomFilter:1.234",
            ),
        ] {
            assert_eq!(text.parse::<FilterPolicy>().unwrap().id(), id);
        }
    }
}
