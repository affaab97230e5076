//! Statistics of a filter, computed from its bits without the keys it was built from.
//!
//! # False-positive rate
//!
//! A Bloom filter returns a false positive if all *k* bits of a key that was not added are set. The
//! rate follows from the bits alone. With *f* the fraction of ones in a line, and all lines equally
//! likely,
//!
//! ```text
//! rate = mean of f^k over all lines
//! ```
//!
//! This is for independent probes. Those of the 32-bit filters advance by a constant step, which makes
//! the rate higher: by how much is counted (`constant_step.rs`, `legacy_bloom/rate.rs`), and added. The rate of a Ribbon filter
//! follows from its layout.
//!
//! # Number of keys
//!
//! *n* keys leave a bit of a line of *w* bits clear with probability (1 - 1/*w*)^*kn*. Solved for
//! *n* and summed over all lines, this estimates the number of keys within a few percent:
//!
//! ```text
//! n = ln(1 - f) / (k ln(1 - 1/w))
//! ```
//!
//! There is no estimate if a line is full. A Ribbon filter has as many keys as its slots are sized
//! for, or up to 128 fewer.

#[cfg(not(feature = "std"))]
use crate::float::Float as _;
use crate::legacy_bloom::{LegacyBloomReader, rate_of_bits};
use crate::reader::{FilterKind, FilterParameters};

/// Statistics of one filter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FilterStats {
    /// The kind of filter.
    pub kind: FilterKind,
    /// Size in bytes, trailer included.
    pub bytes: usize,
    /// The parameters it was built with.
    pub parameters: FilterParameters,
    /// The fraction of bits that are set, for Bloom filters. About 0.5 if the filter has as many
    /// keys as it was sized for.
    pub fill: Option<f64>,
    /// Estimated number of keys and prefixes it was built from.
    pub estimated_keys: Option<f64>,
    /// False-positive rate computed from these bits. `None` for custom policies.
    pub expected_fpr: Option<f64>,
}

impl FilterStats {
    /// Statistics of a filter whose kind alone is known.
    pub(crate) fn opaque(kind: FilterKind, bytes: usize) -> Self {
        let (estimated_keys, expected_fpr) = match kind {
            FilterKind::AlwaysFalse => (Some(0.0), Some(0.0)),
            FilterKind::User => (None, None),
            _ => (None, Some(1.0)),
        };
        let parameters = FilterParameters::Opaque;
        Self { kind, bytes, parameters, fill: None, estimated_keys, expected_fpr }
    }

    /// Statistics of a legacy Bloom filter with the bits `data`.
    pub(crate) fn legacy_bloom(bytes: usize, data: &[u8], reader: LegacyBloomReader) -> Self {
        let (line_length, num_probes) = (reader.line_length(), reader.num_probes());
        let mut stats = Self::bloom(FilterKind::LegacyBloom, bytes, data, line_length, num_probes);
        if let (Some(_), Some(independent)) = (stats.fill, stats.expected_fpr) {
            let keys = stats.estimated_keys.unwrap_or(0.0) as u64;
            stats.expected_fpr = Some(rate_of_bits(reader, data, independent, keys));
        }
        stats
    }

    /// Statistics of a Bloom filter with the bits `data`, for independent probes.
    pub(crate) fn bloom(
        kind: FilterKind,
        bytes: usize,
        data: &[u8],
        line_length: usize,
        num_probes: u8,
    ) -> Self {
        let parameters = FilterParameters::Bloom { num_probes, block_length: line_length };
        let opaque = Self { parameters, ..Self::opaque(kind, bytes) };
        match census(data, line_length, num_probes) {
            Some(Census { fill, estimated_keys, fpr }) => {
                Self { fill: Some(fill), estimated_keys, expected_fpr: Some(fpr), ..opaque }
            }
            None => opaque,
        }
    }
}

struct Census {
    fill: f64,
    estimated_keys: Option<f64>,
    fpr: f64,
}

/// Counts the ones of a Bloom filter line by line. `None` if it has no lines.
fn census(data: &[u8], line_length: usize, num_probes: u8) -> Option<Census> {
    let lines = data.chunks_exact(line_length.max(1));
    let (count, bits) = (lines.len() as f64, 8.0 * line_length as f64);
    if lines.len() == 0 {
        return None;
    }
    let probes = f64::from(num_probes);
    // The amount that one key adds to ln(1 - fill), the same for all lines.
    let per_key = probes * (-1.0 / bits).ln_1p();
    let (mut ones, mut log_clear, mut passed) = (0u64, 0.0, 0.0);
    for line in lines {
        let set: u64 = line.iter().map(|byte| u64::from(byte.count_ones())).sum();
        let fill = set as f64 / bits;
        ones += set;
        log_clear += (-fill).ln_1p();
        passed += fill.powf(probes);
    }
    Some(Census {
        fill: ones as f64 / (count * bits),
        // Not finite if a line is full or there are no probes.
        estimated_keys: Some(log_clear / per_key).filter(|keys| keys.is_finite()),
        fpr: passed / count,
    })
}
