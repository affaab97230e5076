//! Filters that together fill a given amount of memory, and random queries to them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use sstkit_coding::hash32::{BLOOM_HASH_SEED, hash32_rocksdb};
use sstkit_coding::named_enum;
use sstkit_coding::xxph3::xxph3;
use sstkit_filter::{BuildContext, Filter, FilterKind, FilterPolicy};

use super::keys::{KeyMaker, Random};

/// The fraction by which numbers of keys vary in both directions.
const VARIANCE: f64 = 0.4;
/// The maximum number of keys per batch.
pub(super) const MAX_BATCH: usize = 32;

/// Many filters.
pub(super) struct FilterSet {
    filters: Vec<Member>,
    key_size: usize,
    pub(super) keys: u64,
    pub(super) bytes: u64,
    pub(super) build_time: Duration,
}

struct Member {
    number: u32,
    keys: u32,
    filter: Filter<Vec<u8>>,
}

named_enum! {
    /// How the filter of each query is chosen, and how it is probed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
    #[serde(rename_all = "snake_case")]
    pub(super) enum Mode {
        /// Always the same filter, which stays in the L1 cache: the minimum cost
        Single => "single filter",
        /// Several keys at once, from a filter chosen at random
        Batched => "batched",
        /// The same keys, one by one
        Unbatched => "batched, one by one",
        /// 1 % of the filters get 50 % of the queries
        Skewed50in1 => "skewed, 50 % in 1 %",
        /// 20 % of the filters get 80 % of the queries
        Skewed80in20 => "skewed, 80 % in 20 %",
        /// A random filter for each query: the worst case for caches
        Random => "random filter",
    }

    /// The name in the report.
    fn name;
}

impl Mode {
    /// The fraction of preferred filters, and the fraction of queries they get.
    fn skew(self) -> (f64, f64) {
        match self {
            Self::Skewed50in1 => (0.01, 0.5),
            Self::Skewed80in20 => (0.2, 0.8),
            Self::Single | Self::Batched | Self::Unbatched | Self::Random => (1.0, 1.0),
        }
    }
}

/// The number and kind of queries.
#[derive(Clone, Copy)]
pub(super) struct Queries {
    pub(super) mode: Mode,
    /// The fraction of keys that are in the filter.
    pub(super) inside: f64,
    pub(super) count: u64,
    pub(super) batch: usize,
    pub(super) seed: u64,
    /// Whether hashing counts as time of the filter instead of the dry run.
    pub(super) net_includes_hashing: bool,
}

/// The cost and the results of queries.
#[derive(Clone, Copy, Default)]
pub(super) struct QueryResults {
    pub(super) time: Duration,
    pub(super) asked: u64,
    pub(super) outside: u64,
    pub(super) false_positives: u64,
    pub(super) false_negatives: u64,
}

impl QueryResults {
    pub(super) fn ns_per_question(&self) -> f64 {
        self.time.as_nanos() as f64 / self.asked.max(1) as f64
    }
}

impl FilterSet {
    /// Builds filters of about `keys` keys each until they take `memory` bytes.
    pub(super) fn build(
        policy: &FilterPolicy,
        context: &BuildContext,
        memory: u64,
        keys: u32,
        key_size: usize,
        seed: u64,
    ) -> Result<Self> {
        let mut random = Random::new(seed);
        let mut maker = KeyMaker::new(key_size);
        let mut set =
            Self { filters: Vec::new(), key_size, keys: 0, bytes: 0, build_time: Duration::ZERO };
        let spread = (f64::from(keys) * VARIANCE) as u32;
        let start = Instant::now();
        while set.bytes < memory {
            let mut builder = policy.builder(context)?;
            let number = random.next() as u32;
            let keys = (keys - spread + random.below(2 * spread + 1)).max(1);
            for key in 0..keys {
                builder.add(maker.inside(number, key));
            }
            let filter = Filter::from_bytes(builder.finish()?);
            set.keys += u64::from(keys);
            set.bytes += filter.bytes().len() as u64;
            set.filters.push(Member { number, keys, filter });
        }
        set.build_time = start.elapsed();
        Ok(set)
    }

    pub(super) fn len(&self) -> usize {
        self.filters.len()
    }

    pub(super) fn kind(&self) -> Option<FilterKind> {
        self.filters.first().map(|member| member.filter.kind())
    }

    /// The mean of the expected false-positive rates.
    pub(super) fn expected_fpr(&self) -> Option<f64> {
        let rates = self.filters.iter().map(|m| m.filter.expected_fpr(m.keys as usize));
        rates.sum::<Option<f64>>().map(|sum| sum / self.len().max(1) as f64)
    }

    /// Probes every filter for every key it was built from, and counts those that do not match.
    pub(super) fn false_negatives(&self) -> u64 {
        let mut maker = KeyMaker::new(self.key_size);
        let mut denied = 0;
        for member in &self.filters {
            for key in 0..member.keys {
                denied += u64::from(!member.filter.may_contain(maker.inside(member.number, key)));
            }
        }
        denied
    }

    /// Runs the queries; with `dry`, everything but the probes.
    pub(super) fn query(&self, queries: &Queries, dry: bool) -> QueryResults {
        let legacy = self.kind() == Some(FilterKind::LegacyBloom);
        match (dry, queries.net_includes_hashing, queries.mode) {
            (true, true, _) => self.run(queries, |_, keys, results| {
                for (key, answer) in keys.iter().zip(results) {
                    black_box(key.len() + usize::from(key[3]));
                    *answer = true;
                }
            }),
            (true, false, _) => self.run(queries, |_, keys, results| {
                for (key, answer) in keys.iter().zip(results) {
                    black_box(match legacy {
                        true => hash32_rocksdb(key, BLOOM_HASH_SEED).into(),
                        false => xxph3(key),
                    });
                    *answer = true;
                }
            }),
            (false, _, Mode::Batched) => {
                self.run(queries, |filter, keys, results| filter.may_contain_batch(keys, results))
            }
            (false, ..) => self.run(queries, |filter, keys, results| {
                for (key, answer) in keys.iter().zip(results) {
                    *answer = filter.may_contain(key);
                }
            }),
        }
    }

    fn run(
        &self,
        queries: &Queries,
        ask: impl Fn(&Filter<Vec<u8>>, &[&[u8]], &mut [bool]),
    ) -> QueryResults {
        let batch = match queries.mode {
            Mode::Batched | Mode::Unbatched => queries.batch.clamp(1, MAX_BATCH),
            _ => 1,
        };
        let mut random = Random::new(queries.seed);
        let mut makers: Vec<KeyMaker> = (0..batch).map(|_| KeyMaker::new(self.key_size)).collect();
        let mut results = vec![false; batch];
        let chooser = Chooser::new(queries.mode, self.len());
        let mut found = QueryResults::default();
        let start = Instant::now();
        while found.asked < queries.count {
            let inside = random.chance(queries.inside);
            let member = &self.filters[chooser.choose(&mut random)];
            if let [maker] = makers.as_mut_slice() {
                let key = draw(maker, member, inside, &mut random);
                ask(&member.filter, &[key], &mut results);
            } else {
                let mut keys: [&[u8]; MAX_BATCH] = [&[]; MAX_BATCH];
                for (key, maker) in keys.iter_mut().zip(&mut makers) {
                    *key = draw(maker, member, inside, &mut random);
                }
                ask(&member.filter, &keys[..batch], &mut results);
            }
            let passed = results.iter().filter(|&&answer| answer).count() as u64;
            found.asked += batch as u64;
            match inside {
                true => found.false_negatives += batch as u64 - passed,
                false => {
                    found.outside += batch as u64;
                    found.false_positives += passed;
                }
            }
        }
        found.time = start.elapsed();
        found
    }
}

#[inline]
fn draw<'k>(
    maker: &'k mut KeyMaker,
    member: &Member,
    inside: bool,
    random: &mut Random,
) -> &'k [u8] {
    let number = random.below(member.keys);
    if inside { maker.inside(member.number, number) } else { maker.outside(member.number, number) }
}

/// Chooses filters at random.
struct Chooser {
    preferred: u32,
    others: u32,
    share: f64,
}

impl Chooser {
    fn new(mode: Mode, filters: usize) -> Self {
        let filters = u32::try_from(filters).unwrap_or(u32::MAX);
        let (of_filters, share) = mode.skew();
        let preferred = match mode {
            Mode::Single => 1,
            _ => ((f64::from(filters) * of_filters).ceil() as u32).clamp(1, filters.max(1)),
        };
        Self { preferred, others: filters.saturating_sub(preferred), share }
    }

    #[inline]
    fn choose(&self, random: &mut Random) -> usize {
        match self.others == 0 || random.chance(self.share) {
            true => random.below(self.preferred) as usize,
            false => (self.preferred + random.below(self.others)) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> FilterSet {
        let policy = "bloomfilter:10".parse().unwrap();
        FilterSet::build(&policy, &BuildContext::default(), 200_000, 1000, 24, 1).unwrap()
    }

    #[test]
    fn filters_fill_the_memory_and_match_their_keys() {
        let set = set();
        assert!((200_000..203_000).contains(&set.bytes), "{}", set.bytes);
        assert_eq!(set.false_negatives(), 0);
        assert!((0.005..0.02).contains(&set.expected_fpr().unwrap()));
    }

    #[test]
    fn all_modes_measure_the_rate_and_dry_runs_probe_nothing() {
        let set = set();
        for &mode in Mode::ALL {
            let queries = Queries {
                mode,
                inside: 0.5,
                count: 200_000,
                batch: 8,
                seed: 3,
                net_includes_hashing: false,
            };
            let results = set.query(&queries, false);
            assert_eq!((results.asked, results.false_negatives), (200_000, 0), "{mode:?}");
            let rate = results.false_positives as f64 / results.outside as f64;
            assert!((0.005..0.02).contains(&rate), "{mode:?}: {rate}");
            let dry = set.query(&queries, true);
            assert_eq!(dry.outside, dry.false_positives, "{mode:?}");
        }
    }
}
