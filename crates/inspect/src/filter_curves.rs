//! What other filters would cost and catch: rate and memory by kind and bits per key.

use serde::Serialize;
use sstkit_filter::{AllocationOptions, BitsPerKey, FilterAllocator, FilterPolicy, FilteredLevel};

/// The bits per key that are computed, in halves.
const HALF_BITS: std::ops::RangeInclusive<u32> = 4..=48;
/// The fewest keys of a filter: the size of a smaller one is mostly rounding.
const LEAST_KEYS: u64 = 1_000;

/// The curve of one kind of filter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterCurve {
    /// The kind, as in a [`FilterReport`](crate::FilterReport).
    pub kind: &'static str,
    /// The points, by bits per key.
    pub points: Vec<CurvePoint>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CurvePoint {
    /// The bits per key of the policy, as in `ribbonfilter:9.9`.
    pub policy_bits: f64,
    /// The bits per key that the filter takes.
    pub bits_per_key: f64,
    /// The expected false-positive rate.
    pub rate: f64,
}

/// The curves of all kinds for a filter of `keys` keys, or of a thousand if there are fewer. Sizes and
/// rates are those of the allocator.
pub fn filter_curves(keys: u64) -> Vec<FilterCurve> {
    let level = FilteredLevel::new(keys.max(LEAST_KEYS));
    let allocator = FilterAllocator::new(&[level], AllocationOptions::default().kinds(&[]));
    let curve = |kind, policy: fn(BitsPerKey) -> FilterPolicy| {
        let point = |half_bits: u32| {
            let policy_bits = f64::from(half_bits) / 2.0;
            let policy = policy(BitsPerKey::new(policy_bits));
            let evaluated = allocator.evaluate(&[policy])?;
            let filter = evaluated.levels.first()?;
            Some(CurvePoint { policy_bits, bits_per_key: filter.bits_per_key, rate: filter.fpr })
        };
        FilterCurve { kind, points: HALF_BITS.filter_map(point).collect() }
    };
    vec![
        curve("fast_local_bloom", FilterPolicy::FastLocalBloom),
        curve("ribbon128", FilterPolicy::Standard128Ribbon),
        curve("legacy_bloom", FilterPolicy::LegacyBloom),
        curve("leveldb_bloom", |bits| FilterPolicy::LevelDb {
            // A number below 65: see the range of bits.
            bits_per_key: bits.whole_bits() as u16,
        }),
    ]
}

#[cfg(test)]
mod tests {
    use sstkit_filter::{BuildContext, Filter};

    use super::*;

    #[test]
    fn rates_fall_with_the_bits_and_ribbons_are_smaller() {
        let curves = filter_curves(1_000_000);
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

    /// The rate rises from 20 to 22 bits per key: 15 probes instead of 13 are more than the bits are good for.
    #[test]
    fn rates_of_legacy_filters_are_those_of_built_ones() {
        let (keys, absent) = (60_000_u64, 400_000);
        let curves = filter_curves(keys);
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
