//! Whether the restart keys of an index block are uniformly distributed, so that a reader may use
//! interpolation search (RocksDB 11.1 and later; a flag in the block, off by default).
//!
//! Each key is read as a number: eight bytes, big-endian, after the common prefix of the first and
//! the last key. The *coefficient of variation* of the gaps between them (standard deviation over
//! mean, by Welford's method) decides: 0 for equal gaps, 1 for random keys.

use super::common_prefix::common_prefix;
use crate::raw::internal_key::InternalKey;

/// Fewer gaps are never uniform.
const MIN_GAPS: usize = 2;

/// Whether the gaps between these keys vary less than `threshold`.
pub(super) fn looks_uniform(keys: &[Vec<u8>], user_keys: bool, threshold: f64) -> bool {
    variation(keys, user_keys).is_some_and(|variation| variation < threshold)
}

fn variation(keys: &[Vec<u8>], user_keys: bool) -> Option<f64> {
    let [first, .., last] = keys else { return None };
    // Of the stored keys: the tails of internal keys count if the user keys are equal.
    let prefix = common_prefix(first, last);
    let mut numbers = keys.iter().map(|key| {
        let tail = if user_keys { 0 } else { InternalKey::TAIL_LENGTH };
        let key = &key[..key.len().checked_sub(tail)?];
        Some(number_at(key, prefix))
    });
    let mut previous = numbers.next()??;
    let (mut gaps, mut mean, mut squares) = (0usize, 0.0f64, 0.0f64);
    for number in numbers {
        let number = number?;
        let gap = number.wrapping_sub(previous) as f64;
        previous = number;
        gaps += 1;
        let before = gap - mean;
        mean += before / gaps as f64;
        squares += before * (gap - mean);
    }
    (gaps >= MIN_GAPS && mean > 0.0).then(|| (squares / gaps as f64).sqrt() / mean)
}

/// Eight bytes from `offset` on, padded with zeros.
fn number_at(key: &[u8], offset: usize) -> u64 {
    let rest = key.get(offset..).unwrap_or_default();
    let mut bytes = [0; 8];
    let length = rest.len().min(bytes.len());
    bytes[..length].copy_from_slice(&rest[..length]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(numbers: &[u64]) -> Vec<Vec<u8>> {
        numbers.iter().map(|number| [b"k", &number.to_be_bytes()[..]].concat()).collect()
    }

    #[test]
    fn equal_gaps_do_not_vary() {
        assert_eq!(variation(&keys(&[100, 110, 120, 130]), true), Some(0.0));
        assert_eq!(variation(&keys(&[100, 110, 130]), true), Some(1.0 / 3.0));
        assert!(looks_uniform(&keys(&[100, 110, 130]), true, 0.4));
        assert!(!looks_uniform(&keys(&[100, 110, 130]), true, 0.3));
    }

    #[test]
    fn too_few_keys_are_not_uniform() {
        for few in [&[][..], &[1], &[1, 2]] {
            assert_eq!(variation(&keys(few), true), None);
        }
        // Too short for internal keys.
        assert_eq!(variation(&[vec![1], vec![2], vec![3]], false), None);
    }

    #[test]
    fn short_keys_are_padded_with_zeros() {
        assert_eq!(number_at(b"ab", 1), u64::from(b'b') << 56);
        assert_eq!(number_at(b"ab", 7), 0);
    }
}
