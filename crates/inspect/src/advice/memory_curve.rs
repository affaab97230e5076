//! Wasted reads by memory: of the best filters for each level, and of the same policy everywhere.

use serde::Serialize;
use sstkit_filter::{BitsPerKey, FilterAllocator, FilterPolicy};

use super::best_filters;
use super::situation::Situation;

/// Points of a curve.
const POINTS: u64 = 32;
/// The curve ends at this many bits per key, or at twice the memory of today.
const MAX_BITS: u64 = 20;

/// Wasted reads by memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MemoryCurve {
    /// From no memory on.
    pub points: Vec<MemoryPoint>,
}

/// A point of a [`MemoryCurve`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MemoryPoint {
    /// Memory of all filters.
    pub bytes: u64,
    /// Expected wasted reads per lookup with the best filters for each level.
    pub wasted_reads: f64,
    /// The same with one policy for all levels.
    pub wasted_reads_of_one_policy: f64,
}

impl MemoryCurve {
    pub(super) fn of(situation: &Situation<'_>) -> Self {
        let (allocator, budget) = best_filters::allocator(situation);
        let keys: u64 = situation.filters.levels.iter().map(|level| level.keys).sum();
        let most = (keys.saturating_mul(MAX_BITS) / 8)
            .max(situation.cost().filter_bytes.saturating_mul(2))
            .max(budget);
        let one: fn(f64) -> FilterPolicy = match situation.is_rocksdb() {
            true => |bits| FilterPolicy::Bloom(BitsPerKey::new(bits)),
            false => |bits| FilterPolicy::LevelDb { bits_per_key: bits as u16 },
        };
        let levels = situation.filters.levels.len();
        Self::new(&allocator, levels, most, one)
    }

    /// The curve up to `most` bytes. `one` is a policy by its bits per key.
    pub fn new(
        allocator: &FilterAllocator,
        levels: usize,
        most: u64,
        one: fn(f64) -> FilterPolicy,
    ) -> Self {
        let nothing = allocator.wasted_reads(&vec![1.0; levels]);
        let of_one = |bits: f64| {
            let evaluated = allocator.evaluate(&vec![one(bits); levels])?;
            Some((evaluated.bytes, evaluated.wasted_reads))
        };
        let all: Vec<(u64, f64)> =
            (1..=1000).filter_map(|tenths| of_one(f64::from(tenths) / 10.0)).collect();
        let point = |number: u64| {
            let bytes = (u128::from(most) * u128::from(number) / u128::from(POINTS)) as u64;
            let fits = all.iter().filter(|(size, _)| *size <= bytes).map(|(_, reads)| *reads);
            MemoryPoint {
                bytes,
                wasted_reads: allocator.allocate(bytes).wasted_reads,
                wasted_reads_of_one_policy: fits.fold(nothing, f64::min),
            }
        };
        Self { points: (0..=POINTS).map(point).collect() }
    }
}
