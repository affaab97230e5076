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

use alloc::vec::Vec;

use crate::arch::Kernel;
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
    if lines.len() == 0 {
        return None;
    }
    let (count, bits, probes) = (lines.len() as f64, 8 * line_length, f64::from(num_probes));
    let terms = |set: usize| {
        let fill = set as f64 / bits as f64;
        ((-fill).ln_1p(), fill.powf(probes))
    };
    // Of a filter with more lines than a line has bits, many have the same number of ones.
    let table: Vec<(f64, f64)> = match lines.len() > bits {
        true => (0..=bits).map(terms).collect(),
        false => Vec::new(),
    };
    let (mut ones, mut log_clear, mut passed) = (0, 0.0, 0.0);
    // Compiled for the instruction that counts bits.
    Kernel::best().run(|| {
        for line in lines {
            let set = count_ones(line);
            let (log, rate) = table.get(set).copied().unwrap_or_else(|| terms(set));
            ones += set;
            log_clear += log;
            passed += rate;
        }
    });
    // The amount that one key adds to ln(1 - fill), the same for all lines.
    let per_key = probes * (-1.0 / bits as f64).ln_1p();
    Some(Census {
        fill: ones as f64 / (count * bits as f64),
        // Not finite if a line is full or there are no probes.
        estimated_keys: Some(log_clear / per_key).filter(|keys| keys.is_finite()),
        fpr: passed / count,
    })
}

#[inline(always)] // see `Kernel::run`
fn count_ones(line: &[u8]) -> usize {
    let (words, rest) = line.as_chunks();
    let in_words: u32 = words.iter().map(|&word| u64::from_le_bytes(word).count_ones()).sum();
    let in_rest: u32 = rest.iter().map(|byte| byte.count_ones()).sum();
    (in_words + in_rest) as usize
}
