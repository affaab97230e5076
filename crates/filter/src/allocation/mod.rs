//! Distributing a memory budget for filters over the levels of an LSM tree.
//!
//! # The problem
//!
//! A lookup of a key that is not found probes one filter in each sorted run: in each file of level
//! 0, and in one file of each lower level. Each false positive reads a data block needlessly. With *n*
//! keys in a level, false-positive rate *p*, and *w* probes of its filters per lookup:
//!
//! ```text
//! wasted reads = Σ w·p          memory = Σ n·bits(p)          over all levels
//! ```
//!
//! The same bits per key everywhere are a poor choice: a bit per key of a level with a tenth of the
//! keys costs a tenth of the memory and saves as many reads.
//!
//! # Ideal filters
//!
//! An ideal Bloom filter needs *-ln(p) / ln²2* bits per key. The Lagrangian of the problem is minimal
//! where *p* is proportional to *n/w* ([`monkey_rates`]): if each level has ten times the keys of the
//! one above, then ten times its rate, and 4.8 bits per key less. (Dayan, Athanassoulis, Idreos:
//! *Monkey: Optimal Navigable Key-Value Store*, SIGMOD 2017, section 4 and appendix B.) Levels for
//! which this gives a rate of 1 or more have no filter.
//!
//! # Real filters
//!
//! The filters of the engines differ from ideal ones: whole probes, whole cache lines, crowded cache
//! lines ([`math::sharded`](crate::math::sharded)), Ribbon's whole columns, at least one bit per key,
//! sizes per file. [`FilterAllocator`] therefore computes size and rate of each possible policy for
//! the files of each level, and searches those:
//!
//! ```text
//! wasted reads
//!  |*                      each level: policies by size, only those that are better than all
//!  | \  .                  smaller ones, and their lower convex hull
//!  |  *.                   all levels: the steps of all hulls, steepest first, while the memory
//!  |   \ .                 suffices
//!  |    `*-.___*           then pairs of levels: their memory redistributed
//!  +------------- bytes
//! ```
//!
//! Tests compare both with a numeric search; they agree within 1 %.
//!
//! # Keys that are found
//!
//! A lookup that finds its key in a level wastes reads only in the levels above. With a hit rate *h*
//! and keys that are found in a level in proportion to its share *f* of the keys, the probes that
//! count are
//!
//! ```text
//! w = probes · ( (1 - h) + h · (f of all lower levels + f·(r-1)/2r) )
//! ```
//!
//! where *r* is the number of sorted runs in the level, of which half are probed before the one with
//! the key. This is for keys that are distributed evenly and written once; for others the probes can be
//! [given](FilteredLevel::found_probes). If all keys are found, the filters of the last level do nothing but take memory. (RocksDB's
//! `optimize_filters_for_hits` leaves them out.)
//!
//! # Example
//!
//! ```
//! use sstkit_filter::{AllocationOptions, FilterAllocator, FilteredLevel};
//!
//! // Two files in level 0, then three levels of one run each.
//! let levels = [
//!     FilteredLevel::new(200_000).filters(2).runs(2),
//!     FilteredLevel::new(1_000_000).filters(10),
//!     FilteredLevel::new(10_000_000).filters(100),
//!     FilteredLevel::new(100_000_000).filters(1000),
//! ];
//! let allocator = FilterAllocator::new(&levels, AllocationOptions::default());
//!
//! let uniform = allocator.evaluate(&vec!["bloomfilter:10".parse()?; 4]).unwrap();
//! let best = allocator.allocate(uniform.bytes);
//! let policies: Vec<String> = best.levels.iter().map(|it| it.policy.to_string()).collect();
//! assert_eq!(policies[2..], ["bloomfilter:14.64", "bloomfilter:9.4"]);
//! assert!(best.bytes <= uniform.bytes);
//! assert!(best.wasted_reads < 0.4 * uniform.wasted_reads);
//! # Ok::<(), sstkit_filter::Error>(())
//! ```

mod choices;
mod monkey;
mod partitions;
mod search;
mod table;

use alloc::vec;
use alloc::vec::Vec;

use sstkit_coding::{setters, with_defaults};

use crate::policy::{BuildContext, DEFAULT_FORMAT_VERSION, Destination, FilterPolicy};

use self::choices::{Choice, choices, size_and_rate};
pub use self::monkey::monkey_rates;
pub use self::partitions::FilterPartitions;

/// A level of an LSM tree, as seen by lookups: any set of tables with the same filter policy.
#[derive(Clone, Debug, PartialEq)]
pub struct FilteredLevel {
    keys: u64,
    distinct: u64,
    distinct_shares: Vec<(f64, f64)>,
    filters: u64,
    overhead: u64,
    partitions: Option<FilterPartitions>,
    runs: u32,
    reach: f64,
    found_probes: Option<f64>,
    tree: usize,
    destination: Destination,
    kinds: Option<Vec<AllocatedKind>>,
}

impl FilteredLevel {
    /// A level with this number of keys (or prefixes) in its filters: one sorted run with one
    /// filter, probed by each lookup.
    pub fn new(keys: u64) -> Self {
        let destination = Destination::default();
        Self {
            keys,
            distinct: keys,
            distinct_shares: Vec::new(),
            filters: 1,
            overhead: 0,
            partitions: None,
            runs: 1,
            reach: 1.0,
            found_probes: None,
            tree: 0,
            destination,
            kinds: None,
        }
    }

    /// The probes of filters of the level per lookup that reaches it.
    pub fn probes(&self) -> f64 {
        f64::from(self.runs) * self.reach
    }

    /// The shares of lookups, and of the keys of their filters that are different.
    fn shares_of_distinct(&self) -> Vec<(f64, f64)> {
        match self.distinct_shares.is_empty() {
            true => vec![(1.0, self.distinct as f64 / self.keys.max(1) as f64)],
            false => self.distinct_shares.clone(),
        }
    }
}

setters! {
    impl FilteredLevel:

    /// How many of the keys are different. Default: all. LevelDB adds each version of a key to its
    /// filters, which makes them larger, but does not set more bits. RocksDB adds each key once.
    pub fn distinct(mut self, keys: u64) { self.distinct = keys.min(self.keys); }

    /// The same where some filters have more keys twice than others, which have most of the false positives
    /// then: the share of lookups of such filters, and the share of their keys that are different.
    /// Default: the same for all.
    pub fn distinct_shares(mut self, shares: &[(f64, f64)]) {
        self.distinct_shares = shares.to_vec();
    }

    /// The number of filters over which the keys are distributed: files, or for LevelDB the parts of
    /// 2 KiB of data files in which blocks start. Default: 1.
    pub fn filters(mut self, filters: u64) { self.filters = filters.max(1); }

    /// Bytes that filters of any size take besides: the offsets in LevelDB's filter blocks. Default:
    /// 0.
    pub fn overhead(mut self, bytes: u64) { self.overhead = bytes; }

    /// How each of the filters is partitioned. Default: not at all.
    pub fn partitions(mut self, partitions: FilterPartitions) {
        self.partitions = Some(partitions);
    }

    /// The number of sorted runs: files in level 0, otherwise 1. Default: 1.
    pub fn runs(mut self, runs: u32) { self.runs = runs.max(1); }

    /// The share of lookups whose key is in the key range of a run, from 0 to 1; if it differs
    /// between the runs, its mean. With several trees it includes the share of lookups in the tree
    /// of the level. Default: 1.
    pub fn reach(mut self, reach: f64) { self.reach = reach.clamp(0.0, 1.0); }

    /// The wasted probes of filters of the level, per lookup of a key that is found in any tree. Default:
    /// as if keys were distributed evenly, see [the module](self).
    pub fn found_probes(mut self, probes: f64) { self.found_probes = Some(probes); }

    /// The destination of its tables, which decides between Bloom and Ribbon for
    /// `ribbonfilter:BITS:LEVEL`. Default: unknown.
    pub fn destination(mut self, destination: Destination) { self.destination = destination; }

    /// The kinds of filters that this level may have; with none of them it has no filter. Default:
    /// [those of all levels](AllocationOptions::kinds).
    pub fn kinds(mut self, kinds: &[AllocatedKind]) { self.kinds = Some(kinds.to_vec()); }

    /// The LSM tree of the level, if there are several (column families). Only the levels of the
    /// same tree are above and below one another. Default: 0.
    pub fn tree(mut self, tree: usize) { self.tree = tree; }
}

/// A kind of filter that may be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocatedKind {
    /// `bloomfilter:BITS`
    Bloom,
    /// `ribbonfilter:BITS`
    Ribbon,
    /// `leveldb.BuiltinBloomFilter2:BITS`
    LevelDb,
}

with_defaults! {
    /// What may be allocated, and for which lookups.
    #[derive(Clone, Debug)]
    pub struct AllocationOptions {
        kinds: Vec<AllocatedKind> = vec![AllocatedKind::Bloom],
        hit_rate: f64,
        format_version: u32 = DEFAULT_FORMAT_VERSION,
    }
}

setters! {
    impl AllocationOptions:

    /// The kinds of filters to choose from, for each level. Default: Bloom.
    pub fn kinds(mut self, kinds: &[AllocatedKind]) { self.kinds = kinds.to_vec(); }

    /// The share of lookups that find their key, from 0 to 1. Default: 0.
    pub fn hit_rate(mut self, hit_rate: f64) { self.hit_rate = hit_rate.clamp(0.0, 1.0); }

    /// The format version of the tables: below 5, Bloom filters are legacy ones. Default:
    /// [`DEFAULT_FORMAT_VERSION`].
    pub fn format_version(mut self, version: u32) { self.format_version = version; }
}

/// Filters for all levels, and what they cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Allocation {
    /// In the order of the levels given.
    pub levels: Vec<LevelAllocation>,
    /// The size of all filters.
    pub bytes: u64,
    /// The expected number of data blocks that a lookup reads needlessly.
    pub wasted_reads: f64,
}

/// The filters of a level.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LevelAllocation {
    /// The policy, `none` without a filter.
    pub policy: FilterPolicy,
    /// The size of all filters of the level.
    pub bytes: u64,
    /// Bits per key that the filters really have.
    pub bits_per_key: f64,
    /// The expected false-positive rate; 1 without a filter.
    pub fpr: f64,
    /// The expected number of data blocks of the level that a lookup reads needlessly.
    pub wasted_reads: f64,
}

/// Distributes memory over levels. See [the module](self).
#[derive(Clone, Debug)]
pub struct FilterAllocator {
    levels: Vec<FilteredLevel>,
    /// Probes that count, per lookup.
    weights: Vec<f64>,
    /// What each level may have, from the smallest to the largest.
    choices: Vec<Vec<Choice>>,
    context: BuildContext,
}

impl FilterAllocator {
    /// For these levels, those of a tree from top to bottom.
    pub fn new(levels: &[FilteredLevel], options: AllocationOptions) -> Self {
        let context = BuildContext::default().format_version(options.format_version);
        Self {
            weights: weights(levels, options.hit_rate),
            choices: levels
                .iter()
                .map(|level| {
                    let kinds = level.kinds.as_ref().unwrap_or(&options.kinds);
                    choices(level, kinds, &context)
                })
                .collect(),
            levels: levels.to_vec(),
            context,
        }
    }

    /// For each level, the probes of its filters per lookup that can be wasted: those for keys that
    /// the level does not have.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The filters with the fewest wasted reads in at most `budget` bytes.
    pub fn allocate(&self, budget: u64) -> Allocation {
        let chosen = search::best(&self.choices, &self.weights, budget);
        let chosen = chosen.into_iter().map(|choice| (choice.policy(), choice.bytes, choice.fpr));
        self.allocation(chosen.collect())
    }

    /// What these policies cost, one for each level. `None` if a size or rate is not known (custom
    /// policies).
    pub fn evaluate(&self, policies: &[FilterPolicy]) -> Option<Allocation> {
        let evaluated = self.levels.iter().zip(policies).map(|(level, policy)| {
            let (bytes, fpr) = size_and_rate(policy, level, &self.context)?;
            Some((policy.clone(), bytes, fpr))
        });
        Some(self.allocation(evaluated.collect::<Option<_>>()?))
    }

    /// The expected number of data blocks that a lookup reads needlessly with these false-positive
    /// rates, one for each level.
    pub fn wasted_reads(&self, rates: &[f64]) -> f64 {
        self.weights.iter().zip(rates).map(|(weight, rate)| weight * rate).sum()
    }

    fn allocation(&self, filters: Vec<(FilterPolicy, u64, f64)>) -> Allocation {
        let levels = self.levels.iter().zip(&self.weights).zip(filters);
        let levels: Vec<LevelAllocation> = levels
            .map(|((level, weight), (policy, bytes, fpr))| LevelAllocation {
                policy,
                bytes,
                bits_per_key: 8.0 * bytes as f64 / level.keys.max(1) as f64,
                fpr,
                wasted_reads: weight * fpr,
            })
            .collect();
        Allocation {
            bytes: levels.iter().fold(0, |sum, level| sum.saturating_add(level.bytes)),
            wasted_reads: levels.iter().map(|level| level.wasted_reads).sum(),
            levels,
        }
    }
}

/// For each level, the probes per lookup that can be wasted: those for keys that the level does not
/// have.
fn weights(levels: &[FilteredLevel], hit_rate: f64) -> Vec<f64> {
    let keys_of = |tree: usize| -> f64 {
        levels.iter().filter(|it| it.tree == tree).map(|it| it.keys as f64).sum()
    };
    let mut above = vec![0.0; levels.iter().map(|level| level.tree + 1).max().unwrap_or(0)];
    let keys: Vec<f64> = (0..above.len()).map(keys_of).collect();
    levels
        .iter()
        .map(|level| {
            let (own, all) = (level.keys as f64, keys[level.tree].max(1.0));
            above[level.tree] += own;
            let below = (all - above[level.tree]) / all;
            let runs = f64::from(level.runs);
            let before_own = own / all * (runs - 1.0) / (2.0 * runs);
            let found = level.found_probes.unwrap_or_else(|| level.probes() * (below + before_own));
            (1.0 - hit_rate) * level.probes() + hit_rate * found
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_count_probes_of_keys_that_are_elsewhere() {
        let levels = [
            FilteredLevel::new(100).runs(2),
            FilteredLevel::new(900).reach(0.5),
            FilteredLevel::new(70).tree(1),
        ];
        assert_eq!(weights(&levels, 0.0), [2.0, 0.5, 1.0]);
        let found = weights(&levels, 1.0);
        // Nine in ten are found below; of the others, every fourth probe is of the wrong run.
        assert!((found[0] - 2.0 * (0.9 + 0.1 * 0.25)).abs() < 1e-12, "{found:?}");
        assert_eq!(found[1..], [0.0, 0.0]);
    }
}
