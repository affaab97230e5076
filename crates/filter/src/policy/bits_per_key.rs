//! Bits per key, the parameter of most policies.

use alloc::format;
use core::fmt;

use crate::{fast_local_bloom, math};

/// Bits per key with RocksDB's rules: either 0 (no filter) or in 1..=100, rounded to thousandths.
///
/// ```
/// use sstkit_filter::BitsPerKey;
///
/// assert_eq!(BitsPerKey::new(9.9).millibits(), 9900);
/// assert_eq!(BitsPerKey::new(9.9).whole_bits(), 10); // used by older filters
/// assert_eq!(BitsPerKey::new(0.3).millibits(), 0); // below 0.5: no filter
/// assert_eq!(BitsPerKey::new(f64::NAN).millibits(), 100_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitsPerKey(f64);

impl BitsPerKey {
    /// The value that RocksDB uses for `bits`.
    pub fn new(bits: f64) -> Self {
        Self(if bits < 0.5 {
            0.0
        } else if bits < 1.0 {
            1.0
        } else if bits < 100.0 {
            bits
        } else {
            // Also for NaN, as in RocksDB.
            100.0
        })
    }

    /// The exact value.
    pub fn bits(self) -> f64 {
        self.0
    }

    /// In thousandths of a bit: determines the size of cache-local Bloom filters.
    pub fn millibits(self) -> u32 {
        // The last digit compensates for decimal fractions that are inexact in binary.
        (self.0 * 1000.0 + 0.500_001) as u32
    }

    /// In whole bits: determines the size of filters before format version 5.
    pub fn whole_bits(self) -> u32 {
        (self.millibits() + 500) / 1000
    }

    /// Whether no filter is built.
    pub fn is_zero(self) -> bool {
        self.millibits() == 0
    }

    /// The reciprocal of the false-positive rate of a cache-local Bloom filter with this many bits
    /// per key. A Ribbon filter with the same setting is built for the same rate.
    pub fn one_in(self) -> f64 {
        let num_probes = fast_local_bloom::num_probes(self.millibits());
        1.0 / math::cache_local(self.0, u32::from(num_probes), math::CACHE_LINE_BITS)
    }
}

/// Prints up to three decimals without trailing zeros.
impl fmt::Display for BitsPerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millibits = self.millibits();
        write!(f, "{}", millibits / 1000)?;
        match millibits % 1000 {
            0 => Ok(()),
            fraction => write!(f, ".{}", format!("{fraction:03}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        for (bits, millibits, whole) in [
            (f64::NEG_INFINITY, 0, 0),
            (-1.0, 0, 0),
            (0.499, 0, 0),
            (0.5, 1000, 1),
            (0.99, 1000, 1),
            (3.456, 3456, 3),
            (9.5, 9500, 10),
            (10.0, 10_000, 10),
            (10.499, 10_499, 10),
            (99.999, 99_999, 100),
            (100.0, 100_000, 100),
            (1e9, 100_000, 100),
            (f64::INFINITY, 100_000, 100),
            (f64::NAN, 100_000, 100),
        ] {
            let per_key = BitsPerKey::new(bits);
            assert_eq!((per_key.millibits(), per_key.whole_bits()), (millibits, whole), "{bits}");
        }
    }

    #[test]
    fn rounding_errors_are_compensated() {
        for millibits in (1000..100_000).step_by(if cfg!(miri) { 1009 } else { 1 }) {
            let bits = f64::from(millibits) / 1000.0;
            let wobbly = (bits + 0.5) / 1_234_567.0 * 1_234_567.0 - 0.5;
            assert_eq!(BitsPerKey::new(wobbly).millibits(), millibits);
        }
    }

    #[test]
    fn published_rates() {
        for (bits, one_in) in [
            (2.0, 2.5434),
            (5.0, 10.7883),
            (8.0, 43.3875),
            (9.0, 68.1675),
            (9.9, 100.6163),
            (10.0, 104.9024),
            (12.0, 248.348),
            (14.0, 563.195),
            (16.0, 1255.05),
            (20.0, 5852.54),
            (50.0, 1.6048e8),
            (100.0, 1.29655e13),
        ] {
            let actual = BitsPerKey::new(bits).one_in();
            assert!((actual / one_in - 1.0).abs() < 1e-5, "{bits}: {actual}");
        }
    }

    #[test]
    fn display() {
        for (bits, text) in [
            (10.0, "10"),
            (9.9, "9.9"),
            (4.567, "4.567"),
            (5.05, "5.05"),
            (1.001, "1.001"),
            (0.0, "0"),
        ] {
            assert_eq!(BitsPerKey::new(bits).to_string(), text);
        }
    }
}
