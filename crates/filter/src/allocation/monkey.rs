//! The optimum for ideal Bloom filters, in closed form.

#[cfg(not(feature = "std"))]
use crate::float::Float as _;

use alloc::vec::Vec;
use core::f64::consts::LN_2;

/// The false-positive rates of ideal Bloom filters with the fewest wasted reads, for levels with
/// `(keys, probes per lookup)` and a number of bits in total. 1 is a level without a filter.
///
/// *p* = min(1, λ·keys/probes), with the λ for which the bits suffice: if *D* are the levels with a
/// filter, *-ln λ* = (bits·ln²2 + Σ_D keys·ln(keys/probes)) / Σ_D keys. For a tree with size ratio *T*
/// and one run per level this is the sequence *p(i-1) = p(i)/T* of Monkey.
///
/// ```
/// use sstkit_filter::allocation::monkey_rates;
///
/// let rates = monkey_rates(&[(1e6, 1.0), (1e7, 1.0)], 10.0 * 1.1e7);
/// assert!((rates[1] / rates[0] - 10.0).abs() < 1e-9);
/// ```
pub fn monkey_rates(levels: &[(f64, f64)], bits: f64) -> Vec<f64> {
    let is_filtered = |&(keys, probes): &(f64, f64)| keys > 0.0 && probes > 0.0;
    // Those with most keys per probe are the first to have no filter.
    let mut filtered: Vec<(f64, f64)> = levels.iter().copied().filter(is_filtered).collect();
    filtered.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let scale = loop {
        let keys: f64 = filtered.iter().map(|(keys, _)| keys).sum();
        let sum: f64 = filtered.iter().map(|(keys, probes)| keys * (keys / probes).ln()).sum();
        let Some((last_keys, last_probes)) = filtered.last().copied() else { break f64::INFINITY };
        let scale = (-(bits.max(0.0) * LN_2 * LN_2 + sum) / keys).exp();
        if scale * last_keys / last_probes <= 1.0 {
            break scale;
        }
        filtered.pop();
    };
    let rate = |&(keys, probes): &(f64, f64)| match is_filtered(&(keys, probes)) {
        true => (scale * keys / probes).min(1.0),
        false => 1.0,
    };
    levels.iter().map(rate).collect()
}
