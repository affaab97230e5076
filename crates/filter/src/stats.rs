//! A filter laid open: what its own bits tell, without the keys it was made of.
//!
//! # The rate of these bits
//!
//! An absent key is let through by a Bloom filter if all its *k* bits are set. Once the bits are
//! known, nothing need be assumed about the keys that set them: with *f* the share of ones in a
//! line, and each of the lines as likely as the others,
//!
//! ```text
//! rate = mean of f^k over all lines
//! ```
//!
//! This is what independent probes would find; those of the 32-bit filters go up by a constant
//! step, and find a little more. A Ribbon's rate is that of its layout.
//!
//! # How many keys
//!
//! *n* keys leave a bit of a line of *w* bits clear with probability (1 - 1/*w*)^*kn*. Turned round,
//! and added up over all lines, the ones tell how many keys there were, within a few percent:
//!
//! ```text
//! n = ln(1 - f) / (k ln(1 - 1/w))
//! ```
//!
//! A line that is full tells nothing but "many"; no estimate is made then. A Ribbon has the keys
//! that its slots are for, or up to 128 fewer.

use crate::reader::{FilterKind, FilterParameters};

/// What the bytes of one filter tell about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FilterStats {
    /// What it is.
    pub kind: FilterKind,
    /// Its bytes, trailer included.
    pub bytes: usize,
    /// The numbers it was built with.
    pub parameters: FilterParameters,
    /// The share of bits that are set, for Bloom filters: about a half in a filter that is neither
    /// over- nor underfull.
    pub fill: Option<f64>,
    /// How many keys (or prefixes) it seems to have been built from.
    pub estimated_keys: Option<f64>,
    /// The rate of false positives to be expected of these very bits; `None` where the policy is
    /// user-made.
    pub expected_fpr: Option<f64>,
}

impl FilterStats {
    /// A filter whose bits say nothing, of a kind that explains itself.
    pub(crate) fn opaque(kind: FilterKind, bytes: usize) -> Self {
        let (estimated_keys, expected_fpr) = match kind {
            FilterKind::AlwaysFalse => (Some(0.0), Some(0.0)),
            FilterKind::User => (None, None),
            _ => (None, Some(1.0)),
        };
        let parameters = FilterParameters::Opaque;
        Self { kind, bytes, parameters, fill: None, estimated_keys, expected_fpr }
    }

    /// A Bloom filter; `data` are its bits.
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

/// Counts the ones of a Bloom filter, line by line. `None` if there are no lines.
fn census(data: &[u8], line_length: usize, num_probes: u8) -> Option<Census> {
    let lines = data.chunks_exact(line_length.max(1));
    let (count, bits) = (lines.len() as f64, 8.0 * line_length as f64);
    if lines.len() == 0 {
        return None;
    }
    let probes = f64::from(num_probes);
    // The same for all lines: how much one key adds to ln(1 - fill).
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
        // Infinite if a line is full, and nothing at all without probes.
        estimated_keys: Some(log_clear / per_key).filter(|keys| keys.is_finite()),
        fpr: passed / count,
    })
}
