//! The number of slots for a number of keys, and the number of bytes for a rate.
//!
//! Computed in floating point, in the same order of operations as RocksDB, because the results are
//! truncated to integers that are stored on disk.

#[cfg(not(feature = "std"))]
use crate::float::Float as _;
use crate::trailer::TRAILER_LENGTH;

use super::layout::Layout;
use super::{BAND_WIDTH, MAX_COLUMNS, MAX_ENTRIES, SEGMENT_LENGTH};

/// The number of keys for 2^i slots at which one seed in twenty fails, as measured by the authors of
/// Ribbon. Fewer than 2^8 slots are not used.
const CAPACITY: [f64; 18] = [
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 248.851, 499.532, 1001.26, 2003.97, 4005.59, 8000.39,
    15966.6, 31828.1, 63447.3, 126_506.0,
];

/// Beyond the table, the slots per key grow by this amount with each doubling.
const OVERHEAD_PER_DOUBLING: f64 = 0.0038;
const OVERHEAD_BASE: f64 = 131_072.0 / 126_506.0 - 17.0 * OVERHEAD_PER_DOUBLING;

/// The digits in RocksDB.
#[expect(clippy::approx_constant, reason = "RocksDB's truncated constant determines sizes on disk")]
const LOG2_E: f64 = 1.442_695_040_9;

/// With fewer slots, a Bloom filter may be smaller.
pub(super) const SMALL_SLOTS: u32 = 1024;

fn capacity(log2_slots: u32) -> f64 {
    match CAPACITY.get(log2_slots as usize) {
        Some(&capacity) => capacity,
        None => {
            power_of_two(log2_slots)
                / (OVERHEAD_BASE + f64::from(log2_slots) * OVERHEAD_PER_DOUBLING)
        }
    }
}

fn power_of_two(exponent: u32) -> f64 {
    (1u64 << exponent) as f64
}

/// The number of slots for `entries` keys, in whole blocks, at least two.
pub(super) fn num_slots(entries: usize) -> u32 {
    round_up(slots_needed(entries))
}

fn slots_needed(entries: usize) -> u32 {
    let entries = entries as f64;
    let mut log2_slots = (entries.ln() * LOG2_E + 0.5) as u32;
    let mut lower = capacity(log2_slots);
    if log2_slots == 0 || lower == 0.0 {
        return 256;
    }
    let upper;
    if entries < lower {
        upper = lower;
        log2_slots -= 1;
        lower = capacity(log2_slots);
    } else {
        upper = capacity(log2_slots + 1);
    }
    // Linear between two powers of two.
    let portion = (entries - lower) / (upper - lower);
    let slots = power_of_two(log2_slots);
    (portion * slots + slots + 0.999_999_999) as u32
}

fn round_up(slots: u32) -> u32 {
    match slots.next_multiple_of(BAND_WIDTH) {
        BAND_WIDTH => 2 * BAND_WIDTH,
        slots => slots,
    }
}

fn round_down(slots: u32) -> u32 {
    match slots / BAND_WIDTH * BAND_WIDTH {
        BAND_WIDTH => 0,
        slots => slots,
    }
}

/// The number of keys for `slots` slots: the inverse of [`slots_needed`].
pub(super) fn num_entries(slots: u32) -> usize {
    if slots == 0 {
        return 0;
    }
    let log2_slots = f64::from(slots).ln() * LOG2_E;
    let floor = log2_slots as u32;
    if (floor + 1) < CAPACITY.len() as u32 {
        let portion = f64::from(slots) / power_of_two(floor) - 1.0;
        (portion * capacity(floor + 1) + (1.0 - portion) * capacity(floor)) as usize
    } else {
        (f64::from(slots) / (OVERHEAD_BASE + log2_slots * OVERHEAD_PER_DOUBLING)) as usize
    }
}

/// The length of a solution with a rate of 1 in `one_in`, without the trailer.
///
/// `bias` is a random number that decides whether the number of blocks with one column fewer is rounded
/// up or down, so that the rate is exact on average.
pub(super) fn data_length(slots: u32, one_in: f64, bias: u32) -> usize {
    let fpr = 1.0 / one_in;
    if one_in <= 1.0 || fpr >= 1.0 {
        return SEGMENT_LENGTH;
    }
    if one_in > f64::from(u32::MAX) {
        return (MAX_COLUMNS / 8) as usize * slots as usize;
    }
    let lower_columns = (one_in as u32).ilog2();
    let lower_rate = power_of_two(lower_columns).recip();
    let upper_rate = power_of_two(lower_columns + 1).recip();
    let lower_portion = (fpr - upper_rate) / (lower_rate - upper_rate);
    let rounding = (f64::from(bias) + 0.5) / 4_294_967_296.0;
    let starts = slots - (BAND_WIDTH - 1);
    let lower_blocks =
        ((lower_portion * f64::from(starts) + rounding) / f64::from(BAND_WIDTH)) as u32;
    let blocks = slots / BAND_WIDTH;
    let segments = u64::from(blocks) * u64::from(lower_columns) + u64::from(blocks - lower_blocks);
    segments as usize * SEGMENT_LENGTH
}

/// Rounds `size` down to whole segments and a trailer.
pub(super) fn round_down_size(size: usize) -> usize {
    let data = size.saturating_sub(TRAILER_LENGTH);
    data / SEGMENT_LENGTH * SEGMENT_LENGTH + TRAILER_LENGTH
}

/// The number of keys for a filter of `size` bytes, trailer included. `bloom` is the same function of
/// the Bloom filter that may be built instead.
pub(super) fn approx_num_entries(
    size: usize,
    one_in: f64,
    bloom: impl Fn(usize) -> usize,
) -> usize {
    let data = size.saturating_sub(TRAILER_LENGTH) / SEGMENT_LENGTH * SEGMENT_LENGTH;
    if one_in <= 1.0 {
        return MAX_ENTRIES;
    }
    let columns = if one_in >= 4_294_967_296.0 {
        f64::from(MAX_COLUMNS)
    } else {
        let upper = 1 + (one_in as u32).ilog2();
        let upper_rate = power_of_two(upper).recip();
        f64::from(upper) - (1.0 / one_in - upper_rate) / upper_rate
    };
    let most = data as f64 * 8.0 / columns;
    if most >= f64::from(slots_needed(MAX_ENTRIES)) {
        return MAX_ENTRIES;
    }
    let mut slots = round_up(most as u32);
    // The estimate above may be a block or two too high.
    for _ in 0..3 {
        if slots > 0 && data_length(slots, one_in, 0) > data {
            slots = round_down(slots - 1);
        }
    }
    let entries = num_entries(slots);
    if slots < SMALL_SLOTS { entries.max(bloom(size)) } else { entries.min(MAX_ENTRIES) }
}

/// Expected false-positive rate of a Ribbon filter with `entries` keys and `size` bytes, trailer
/// included.
pub fn expected_fpr(entries: usize, size: usize) -> f64 {
    let num_blocks = num_slots(entries.min(MAX_ENTRIES)) / BAND_WIDTH;
    Layout::new(size.saturating_sub(TRAILER_LENGTH), num_blocks).expected_fpr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_slots() {
        for (entries, expected) in [
            (1, 256),
            (200, 256),
            (248, 256),
            (249, 384),
            (300, 384),
            (700, 768),
            (1000, 1024),
            (1001, 1024),
            (1002, 1152),
            (2003, 2048),
            (2087, 2176),
            (5000, 5120),
            (10_000, 10_368),
            (30_000, 30_976),
            (100_000, 103_552),
            (130_000, 134_784),
            (1_000_000, 1_047_552),
            (950_000_000, 1_031_068_672),
        ] {
            assert_eq!(num_slots(entries), expected, "{entries}");
        }
        assert_eq!(slots_needed(MAX_ENTRIES), 1_031_068_581);
    }

    #[test]
    fn published_inverse() {
        assert_eq!([0, 1024, 131_072].map(num_entries), [0, 1001, 126_505]);
    }

    #[test]
    fn capacity_of_a_partition() {
        let one_in = 104.9024;
        let bloom = |size| crate::fast_local_bloom::approx_num_entries(size, 10_000);
        assert_eq!(approx_num_entries(3687, one_in, bloom), 4130);
        assert_eq!(approx_num_entries(116, one_in, bloom), 51);
        assert_eq!(approx_num_entries(0, one_in, bloom), 0);
        // Here the first estimate of slots is too high by more than one block.
        assert_eq!(approx_num_entries(1095, one_in, bloom), 1126);
        assert_eq!(approx_num_entries(1 << 40, one_in, bloom), MAX_ENTRIES);
        assert_eq!(approx_num_entries(3687, 1.0, bloom), MAX_ENTRIES);
    }

    #[test]
    fn extreme_rates() {
        assert_eq!(data_length(256, 1.0, 0), SEGMENT_LENGTH);
        assert_eq!(data_length(256, 1e12, 0), 1024);
        assert_eq!(data_length(256, f64::INFINITY, 0), 1024);
    }
}
