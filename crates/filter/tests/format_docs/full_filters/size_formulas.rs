//! Sizes of filters by the formulas of `full-filters.md`, including trailers.

use sstkit_coding::xxph3::xxph3;
use sstkit_filter::{BitsPerKey, BuildContext, CacheLine};

use crate::building::{build, numbers};

fn legacy(entries: u64, whole_bits: u64, line: u64) -> u64 {
    let lines = (entries * whole_bits).min(0xffff_0000).div_ceil(8 * line);
    let lines = if lines.is_multiple_of(2) { lines + 1 } else { lines };
    lines * line + 5
}

fn cache_local(entries: u64, millibits: u64) -> u64 {
    (entries * millibits).div_ceil(8000).min(0xffff_ffc0).next_multiple_of(64) + 5
}

/// The number of entries for 2^i slots.
fn fit(i: i32) -> f64 {
    const FROM_256: [f64; 10] = [
        248.851, 499.532, 1001.26, 2003.97, 4005.59, 8000.39, 15966.6, 31828.1, 63447.3, 126_506.0,
    ];
    match i {
        ..8 => 0.0,
        8..18 => FROM_256[i as usize - 8],
        _ => {
            let base = 131_072.0 / 126_506.0 - 17.0 * 0.0038;
            2f64.powi(i) / (base + 0.0038 * f64::from(i))
        }
    }
}

fn slots(entries: u64) -> u64 {
    let n = entries as f64;
    #[expect(clippy::approx_constant, reason = "the digits are part of the format")]
    let mut i = (n.ln() * 1.442_695_040_9 + 0.5) as i32;
    if i == 0 || fit(i) == 0.0 {
        return 256;
    }
    if n < fit(i) {
        i -= 1;
    }
    let p = (n - fit(i)) / (fit(i + 1) - fit(i));
    let slots = (p * 2f64.powi(i) + 2f64.powi(i) + 0.999_999_999) as u64;
    slots.next_multiple_of(128).max(256)
}

fn ribbon(entries: u64, one_in: f64, bias: u32) -> u64 {
    let slots = slots(entries);
    let blocks = slots / 128;
    if one_in > 4_294_967_295.0 {
        return 16 * 32 * blocks + 5;
    }
    let c = (one_in as u32).ilog2() as i32;
    let (lower, upper) = (2f64.powi(-c), 2f64.powi(-c - 1));
    let share = (1.0 / one_in - upper) / (lower - upper);
    let rounding = (f64::from(bias) + 0.5) / 2f64.powi(32);
    let f = ((share * (slots - 127) as f64 + rounding) / 128.0) as u64;
    16 * (blocks * c as u64 + blocks - f) + 5
}

#[test]
fn sizes_follow_the_formulas() {
    let counts = [
        1, 51, 52, 153, 154, 248, 249, 257, 499, 500, 700, 1001, 1002, 2087, 30_000, 130_000,
        270_000,
    ];
    for count in counts {
        let keys: Vec<_> = numbers(count).collect();
        for bits in [1.0, 1.45, 3.3, 9.9, 10.0, 20.0, 64.0] {
            check_sizes(&keys, bits);
        }
    }
}

/// Compares the sizes of all kinds with the filters that the library builds.
fn check_sizes(keys: &[[u8; 4]], bits: f64) {
    let context = BuildContext::default;
    let count = keys.len() as u64;
    let per_key = BitsPerKey::new(bits);
    let size = |policy: &str, context: &BuildContext| {
        build(&format!("{policy}:{bits}"), context, keys).len() as u64
    };
    for line in [CacheLine::Bytes64, CacheLine::Bytes128, CacheLine::Bytes256] {
        let legacy = legacy(count, u64::from(per_key.whole_bits()), line.length() as u64);
        let context = context().format_version(4).cache_line(line);
        assert_eq!(size("bloomfilter", &context), legacy, "{bits}, {count}, {line:?}");
    }
    let bloom = cache_local(count, u64::from(per_key.millibits()));
    assert_eq!(size("bloomfilter", &context()), bloom, "{bits}, {count}");
    let ribbon = ribbon(count, per_key.one_in(), (xxph3(&keys[0]) >> 32) as u32);
    let small = slots(count) < 1024;
    let expected = if small && bloom < ribbon { bloom } else { ribbon };
    assert_eq!(size("ribbonfilter", &context()), expected, "{bits}, {count}");
}
