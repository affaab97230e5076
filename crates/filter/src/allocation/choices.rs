//! The filters that a level may have: size and rate of each policy.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::{AllocatedKind, FilteredLevel};
#[cfg(not(feature = "std"))]
use crate::float::Float as _;
use crate::policy::{BitsPerKey, BuildContext, FilterPolicy};

/// Up to here in hundredths of a bit, beyond in tenths.
const FINE_MILLIBITS: u32 = 20_000;
const FINE_STEP: usize = 10;
const COARSE_STEP: usize = 100;
/// The range of RocksDB.
const MIN_MILLIBITS: u32 = 1000;
const MAX_MILLIBITS: u32 = 100_000;

/// As many as for RocksDB.
const MAX_LEVELDB_BITS: u16 = 100;

/// A filter policy for a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    /// `None`: no filter.
    filter: Option<(AllocatedKind, u32)>,
    /// The size of all filters of the level.
    pub(super) bytes: u64,
    pub(super) fpr: f64,
}

impl Choice {
    const NO_FILTER: Self = Self { filter: None, bytes: 0, fpr: 1.0 };

    pub(super) fn policy(&self) -> FilterPolicy {
        self.filter.map_or(FilterPolicy::None, |(kind, millibits)| policy(kind, millibits))
    }
}

fn policy(kind: AllocatedKind, millibits: u32) -> FilterPolicy {
    let bits_per_key = BitsPerKey::new(f64::from(millibits) / 1000.0);
    match kind {
        AllocatedKind::Bloom => FilterPolicy::Bloom(bits_per_key),
        AllocatedKind::Ribbon => FilterPolicy::Ribbon { bits_per_key, bloom_before_level: 0 },
        AllocatedKind::LevelDb => FilterPolicy::LevelDb { bits_per_key: (millibits / 1000) as u16 },
    }
}

/// All settings of a kind, in thousandths of a bit.
fn settings(kind: AllocatedKind, format_version: u32) -> Box<dyn Iterator<Item = u32>> {
    match kind {
        AllocatedKind::LevelDb => {
            Box::new((1..=MAX_LEVELDB_BITS).map(|bits| u32::from(bits) * 1000))
        }
        // Legacy filters have whole bits.
        AllocatedKind::Bloom if FilterPolicy::bloom_is_legacy(format_version) => {
            Box::new((MIN_MILLIBITS..=MAX_MILLIBITS).step_by(1000))
        }
        AllocatedKind::Bloom | AllocatedKind::Ribbon => {
            let fine = (MIN_MILLIBITS..FINE_MILLIBITS).step_by(FINE_STEP);
            Box::new(fine.chain((FINE_MILLIBITS..=MAX_MILLIBITS).step_by(COARSE_STEP)))
        }
    }
}

/// What a level may have, from the smallest to the largest: no filter, and all filters that have a
/// lower rate than all smaller ones.
pub(super) fn choices(
    level: &FilteredLevel,
    kinds: &[AllocatedKind],
    context: &BuildContext,
) -> Vec<Choice> {
    let mut all = vec![Choice::NO_FILTER];
    for &kind in kinds {
        for millibits in settings(kind, context.format_version) {
            if let Some((bytes, fpr)) = size_and_rate(&policy(kind, millibits), level, context) {
                all.push(Choice { filter: Some((kind, millibits)), bytes, fpr });
            }
        }
    }
    all.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.fpr.total_cmp(&b.fpr)));
    let mut best = f64::INFINITY;
    all.retain(|choice| {
        let is_better = choice.fpr < best;
        best = best.min(choice.fpr);
        is_better
    });
    all
}

/// The size of all filters of a level with this policy, and their false-positive rate. `None` if it
/// is not known.
pub(super) fn size_and_rate(
    policy: &FilterPolicy,
    level: &FilteredLevel,
    context: &BuildContext,
) -> Option<(u64, f64)> {
    let context = &context.clone().destination(level.destination);
    if !policy.builds_filters(context) {
        return Some((0, 1.0));
    }
    let keys = level.keys.div_ceil(level.filters);
    let partitions = level.partitions.as_ref();
    let each = partitions.and_then(|it| it.of_filter(keys, policy, context));
    // One filter for all keys.
    let each = each.unwrap_or([(1, keys), (0, 0), (0, 0)]);
    let (mut bytes, mut rate, mut shares) = (0_u64, 0.0, 0.0);
    for (count, keys_of_each) in each.into_iter().filter(|(count, _)| *count > 0) {
        let of_each = usize::try_from(keys_of_each).unwrap_or(usize::MAX);
        let size = policy.expected_size(of_each, context)? as u64;
        let size = size.saturating_add(partitions.map_or(0, |it| it.entry_length));
        bytes = size.saturating_mul(count).saturating_add(bytes);
        let share = count.saturating_mul(keys_of_each) as f64;
        // LevelDB adds a key for each of its versions.
        for (of_lookups, distinct) in level.shares_of_distinct() {
            let distinct = (keys_of_each as f64 * distinct).ceil() as usize;
            let rate_of_these = policy.sharded_fpr(distinct.min(of_each), of_each, context)?;
            rate += share * of_lookups * rate_of_these;
            shares += share * of_lookups;
        }
    }
    let all = bytes.saturating_mul(level.filters).saturating_add(level.overhead);
    Some((all, if shares > 0.0 { rate / shares } else { 0.0 }))
}
