//! What other filters would cost and catch: rate and memory by kind and bits per key.

use serde::Serialize;
use sstkit_filter::{AllocationOptions, BitsPerKey, FilterAllocator, FilterPolicy, FilteredLevel};

/// The bits per key that are computed, in halves.
const HALF_BITS: std::ops::RangeInclusive<u32> = 4..=48;

/// The curve of one kind of filter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterCurve {
    /// The kind, as in a [`FilterReport`](crate::FilterReport).
    pub kind: &'static str,
    /// The points, by bits per key; only whole ones of kinds that have no others.
    pub points: Vec<CurvePoint>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CurvePoint {
    /// The bits per key of the policy, as in `ribbonfilter:9.9`.
    pub policy_bits: f64,
    /// The size of all filters.
    pub bytes: u64,
    /// The bits per key that they take.
    pub bits_per_key: f64,
    /// The expected false-positive rate.
    pub rate: f64,
}

/// The filters that curves are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CurveKeys {
    /// The keys of all filters; at least one.
    pub keys: u64,
    /// Over how many filters of a LevelDB filter block they are spread. Other kinds have one filter.
    pub filters: u64,
}

impl CurveKeys {
    /// The most keys that curves are computed for: a filter has at most 4 GiB, and with more keys it only
    /// lets everything pass.
    pub const MAX: u64 = 1 << 40;

    /// This many keys, at most [`CurveKeys::MAX`], in this many filters.
    pub fn new(keys: u64, filters: u64) -> Self {
        let keys = keys.clamp(1, Self::MAX);
        Self { keys, filters: filters.clamp(1, keys) }
    }
}

/// The curves of all kinds. Sizes and rates are those of the allocator.
pub fn filter_curves(keys: CurveKeys) -> Vec<FilterCurve> {
    filter_curves_while(keys, &|| true).unwrap_or_default()
}

/// The same; `None` when `keep_going` returns false.
pub fn filter_curves_while(
    keys: CurveKeys,
    keep_going: &dyn Fn() -> bool,
) -> Option<Vec<FilterCurve>> {
    let allocator = |filters| {
        let level = FilteredLevel::new(keys.keys).filters(filters);
        FilterAllocator::new(&[level], AllocationOptions::default().kinds(&[]))
    };
    let (full, block) = (allocator(1), allocator(keys.filters));
    let curve = |kind, policy: fn(BitsPerKey) -> FilterPolicy| {
        let is_block = kind == "leveldb_bloom";
        let has_halves = !is_block && kind != "legacy_bloom";
        let mut points = Vec::new();
        for half_bits in HALF_BITS.filter(|half_bits| has_halves || half_bits % 2 == 0) {
            if !keep_going() {
                return None;
            }
            let policy_bits = f64::from(half_bits) / 2.0;
            let policy = policy(BitsPerKey::new(policy_bits));
            let evaluated = if is_block { &block } else { &full }.evaluate(&[policy]);
            let filter = evaluated.and_then(|it| it.levels.into_iter().next());
            points.extend(filter.map(|filter| CurvePoint {
                policy_bits,
                bytes: filter.bytes,
                bits_per_key: filter.bits_per_key,
                rate: filter.fpr,
            }));
        }
        Some(FilterCurve { kind, points })
    };
    Some(vec![
        curve("fast_local_bloom", FilterPolicy::FastLocalBloom)?,
        curve("ribbon128", FilterPolicy::Standard128Ribbon)?,
        curve("legacy_bloom", FilterPolicy::LegacyBloom)?,
        curve("leveldb_bloom", |bits| FilterPolicy::LevelDb {
            // A number below 65: see the range of bits.
            bits_per_key: bits.whole_bits() as u16,
        })?,
    ])
}

#[cfg(test)]
mod tests {
    use sstkit_filter::{BuildContext, Filter};

    use super::*;

    #[test]
    fn rates_fall_with_the_bits_and_ribbons_are_smaller() {
        let curves = filter_curves(CurveKeys::new(1_000_000, 1));
        for curve in &curves {
            assert!(curve.points.len() > 20, "{}", curve.kind);
            // Measured rates of legacy filters do not fall everywhere.
            for pair in curve.points.windows(2).filter(|_| curve.kind != "legacy_bloom") {
                assert!(pair[0].rate >= pair[1].rate, "{}: {pair:?}", curve.kind);
            }
        }
        let at_10 = |kind: usize| at(&curves[kind], 10.0);
        assert!((at_10(0).bits_per_key - 10.0).abs() < 0.01);
        assert!((at_10(0).rate - 0.0095).abs() < 0.001, "{:?}", at_10(0));
        assert!((at_10(1).bits_per_key - 7.1).abs() < 0.1, "{:?}", at_10(1));
    }

    fn at(curve: &FilterCurve, policy_bits: f64) -> CurvePoint {
        *curve.points.iter().find(|point| point.policy_bits == policy_bits).unwrap()
    }

    /// The smallest filter has a line and a trailer, whatever its policy.
    #[test]
    fn small_filters_have_their_size() {
        for curve in filter_curves(CurveKeys::new(1, 1)) {
            let least = if curve.kind == "leveldb_bloom" { 13 } else { 69 };
            assert!(curve.points.iter().all(|point| point.bytes >= least), "{curve:?}");
        }
        assert_eq!(at(&filter_curves(CurveKeys::new(1, 1))[0], 24.0).bits_per_key, 552.0);
    }

    /// A filter block has a filter, with its number of probes and its offset, for each part of the file.
    #[test]
    fn filters_of_a_filter_block_are_small_ones() {
        let leveldb = |filters| filter_curves(CurveKeys::new(3_200, filters)).pop().unwrap();
        let (one, many) = (leveldb(1), leveldb(100));
        assert_eq!(at(&one, 10.0).bytes, 4_000 + 1 + 4);
        assert_eq!(at(&many, 10.0).bytes, 100 * (40 + 1 + 4));
        assert!(at(&many, 10.0).rate > 1.1 * at(&one, 10.0).rate);
        // LevelDB has whole bits per key.
        assert!(many.points.iter().all(|point| point.policy_bits.fract() == 0.0));
    }

    #[test]
    fn any_number_of_keys_has_curves() {
        for keys in [0, 1, CurveKeys::MAX, u64::MAX] {
            for filters in [0, 1, u64::MAX] {
                let curves = filter_curves(CurveKeys::new(keys, filters));
                let mut rates = curves.iter().flat_map(|it| &it.points).map(|it| it.rate);
                assert!(rates.all(|rate| (0.0..=1.0).contains(&rate)), "{keys} {filters}");
            }
        }
        assert!(filter_curves_while(CurveKeys::new(1, 1), &|| false).is_none());
    }

    /// The rate rises from 20 to 22 bits per key: 15 probes instead of 13 are more than the bits are good for.
    #[test]
    fn rates_of_legacy_filters_are_those_of_built_ones() {
        let (keys, absent) = (60_000_u64, 400_000);
        let curves = filter_curves(CurveKeys::new(keys, 1));
        let legacy = curves.iter().find(|curve| curve.kind == "legacy_bloom").unwrap();
        for bits in [4.0, 8.0, 10.0, 16.0, 20.0, 22.0, 24.0] {
            let policy = FilterPolicy::LegacyBloom(BitsPerKey::new(bits));
            let mut builder = policy.builder(&BuildContext::default()).unwrap();
            (0..keys).for_each(|key| builder.add(&key.to_le_bytes()));
            let filter = Filter::from_bytes(builder.finish().unwrap());
            let passes = |key: &u64| filter.may_contain(&key.to_le_bytes());
            let positives = (keys..keys + absent).filter(passes).count() as f64;
            let expected = at(legacy, bits).rate * absent as f64;
            // One in twenty, and what chance adds to a thousand positives.
            let tolerance = 0.05 * expected + 3.0 * expected.sqrt();
            assert!((positives - expected).abs() < tolerance, "{bits}: {positives}, {expected}");
        }
        assert!(at(legacy, 22.0).rate > at(legacy, 20.0).rate);
    }
}
