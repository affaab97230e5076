//! The legacy full Bloom filter of RocksDB, used in tables of format version 4 and below.
//!
//! ```text
//!   line 0               line 1                     line m-1             trailer
//! +--------------------+--------------------+-----+--------------------+---+---------------+
//! | C bytes            | C bytes            | ... | C bytes            | k | m, fixed32    |
//! +--------------------+--------------------+-----+--------------------+---+---------------+
//!
//! h = 32-bit Bloom hash of the key, RocksDB's variant
//!   line  = h mod m                                   selects the line
//!   delta = h rotated right by 17
//!   k times: bit = h mod 8C                           selects the bit
//!            h  += delta
//! ```
//!
//! *C* is the cache line length of the machine that wrote the file: 64 bytes on x86, 128 on most ARM
//! and POWER machines, 256 on s390x. It is not stored. Readers divide the data length by *m*. *m* is
//! always odd.
//!
//! # Size and probes
//!
//! The number of bits per key *b* is an integer. *k* = ⌊0.69 *b*⌋, limited to 1 to 30. *m* =
//! ⌈*nb* / 8*C*⌉, plus one if that is even.
//!
//! # Rate
//!
//! RocksDB's estimate, with *b* the actual bits per key, combines the rate of a cache-local filter, a
//! fitted term for the correlated probes, and collisions of the 32-bit hash:
//!
//! ```text
//! union( cache_local(b, k, 512) + 0.1 / (0.75 b + 22), fingerprint(n, 32) )
//! ```
//!
//! # Why it was replaced
//!
//! The probes in a line advance by a constant step, and the line is selected by the same 32 bits of
//! hash. Keys therefore collide far more often than the formulas for independent probes predict.
//! Beyond a few million keys, collisions of the 32-bit hash dominate. At 16 bits per key the rate is
//! 0.38 %, compared with 0.08 % for the cache-local filter.
//!
//! | bits per key | 5 | 8 | 10 | 12 | 14 | 16 | 20 |
//! |---|---|---|---|---|---|---|---|
//! | probes | 3 | 5 | 6 | 8 | 9 | 11 | 13 |
//! | rate at 65,536 keys | 9.7 % | 2.7 % | 1.3 % | 0.73 % | 0.49 % | 0.38 % | 0.29 % |

mod builder;
mod rate;
mod reader;

pub use builder::CacheLine;
pub(crate) use builder::LegacyBloomBuilder;
pub(crate) use rate::rate_of_bits;
pub(crate) use reader::LegacyBloomReader;

use crate::math;

/// Number of probes of LevelDB's filters and of RocksDB's 32-bit filters.
///
/// 0.69 ≈ ln 2.
pub(crate) fn num_probes(bits_per_key: u32) -> u8 {
    ((f64::from(bits_per_key) * 0.69) as u32).clamp(1, 30) as u8
}

/// The step from one probe to the next. Double hashing without a second hash function.
#[inline]
pub(crate) fn delta(hash: u32) -> u32 {
    hash.rotate_right(17)
}

/// Sets the bits of a key in its line. Inlined, so that what depends on the length of lines is computed once.
#[inline(always)]
fn set_bits_of_line(line: &mut [u8], mut hash: u32, num_probes: u8) {
    let bit_mask = (8 * line.len() - 1) as u32;
    let delta = delta(hash);
    for _ in 0..num_probes {
        let bit = hash & bit_mask;
        line[(bit / 8) as usize] |= 1 << (bit % 8);
        hash = hash.wrapping_add(delta);
    }
}

/// Whether all bits of a key are set in its line, which must not be empty.
#[inline(always)]
fn may_contain_in_line(line: &[u8], mut hash: u32, num_probes: u8) -> bool {
    // A line of 512 MiB or more uses all bits of the hash.
    let bit_mask = (8 * line.len() as u64 - 1) as u32;
    let delta = delta(hash);
    for _ in 0..num_probes {
        let bit = hash & bit_mask;
        if line[(bit / 8) as usize] & (1 << (bit % 8)) == 0 {
            return false;
        }
        hash = hash.wrapping_add(delta);
    }
    true
}

/// Expected false-positive rate of `keys` keys in `data_length` bytes (without the trailer).
///
/// The added term is RocksDB's fit for the effect of correlated probes.
pub fn expected_fpr(keys: usize, data_length: usize, num_probes: u8) -> f64 {
    let bits_per_key = 8.0 * data_length as f64 / keys as f64;
    let probes = math::cache_local(bits_per_key, u32::from(num_probes), math::CACHE_LINE_BITS)
        + 0.1 / (bits_per_key * 0.75 + 22.0);
    // The added term can exceed 1 for an overfull filter.
    math::union(probes.min(1.0), math::fingerprint(keys as u64, u32::BITS))
}
