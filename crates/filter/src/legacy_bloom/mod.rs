//! The legacy full Bloom filter of RocksDB, written by tables of format version 4 and below.
//!
//! ```text
//!   line 0               line 1                     line m-1             trailer
//! +--------------------+--------------------+-----+--------------------+---+---------------+
//! | C bytes            | C bytes            | ... | C bytes            | k | m, fixed32    |
//! +--------------------+--------------------+-----+--------------------+---+---------------+
//!
//! h = 32-bit Bloom hash of the key, RocksDB's dialect
//!   line  = h mod m                                   which line
//!   delta = h rotated right by 17
//!   k times: bit = h mod 8C                           which bit in it
//!            h  += delta
//! ```
//!
//! *C* is the cache line of the machine that wrote the file: 64 bytes on x86, 128 on most ARM and
//! POWER machines, 256 on s390x. It is not stored, and readers find it by dividing. *m* is always
//! odd.
//!
//! # Size and probes
//!
//! Bits per key are whole numbers *b* here; *k* = ⌊0.69 *b*⌋, from 1 to 30; *m* = ⌈*nb* / 8*C*⌉,
//! plus one if that is even.
//!
//! # Rate
//!
//! RocksDB's estimate, with *b* the real bits per key: that of a cache-local filter, a fitted term
//! for what the correlated probes cost, and collisions of the 32-bit hash.
//!
//! ```text
//! union( cache_local(b, k, 512) + 0.1 / (0.75 b + 22), fingerprint(n, 32) )
//! ```
//!
//! # Why it was replaced
//!
//! Probes of a line go up by a constant step, *and* the line itself comes from the same 32 bits:
//! keys collide far more often than the formulas for independent probes say, and beyond a few
//! million keys the 32-bit hash itself runs out. 16 bits per key give 0.38 %, where the cache-local
//! filter gives 0.08 %.
//!
//! | bits per key | 5 | 8 | 10 | 12 | 14 | 16 | 20 |
//! |---|---|---|---|---|---|---|---|
//! | probes | 3 | 5 | 6 | 8 | 9 | 11 | 13 |
//! | rate at 65,536 keys | 9.7 % | 2.7 % | 1.3 % | 0.73 % | 0.49 % | 0.38 % | 0.29 % |

mod builder;
mod reader;

pub use builder::CacheLine;
pub(crate) use builder::LegacyBloomBuilder;
pub(crate) use reader::LegacyBloomReader;

use crate::math;

/// Number of probes for a whole number of bits per key, in LevelDB and in RocksDB's 32-bit filters.
///
/// 0.69 ≈ ln 2.
pub(crate) fn num_probes(bits_per_key: u32) -> u8 {
    ((f64::from(bits_per_key) * 0.69) as u32).clamp(1, 30) as u8
}

/// The step from one probe to the next: a second hash, for free.
#[inline]
pub(crate) fn delta(hash: u32) -> u32 {
    hash.rotate_right(17)
}

/// Expected false-positive rate of `keys` keys in `data_length` bytes (without the trailer).
///
/// The middle term is RocksDB's fit to what the correlated probes cost.
pub fn expected_fpr(keys: usize, data_length: usize, num_probes: u8) -> f64 {
    let bits_per_key = 8.0 * data_length as f64 / keys as f64;
    let probes = math::cache_local(bits_per_key, u32::from(num_probes), math::CACHE_LINE_BITS)
        + 0.1 / (bits_per_key * 0.75 + 22.0);
    // What is added for caution can be too much for a filter that is overfull.
    math::union(probes.min(1.0), math::fingerprint(keys as u64, u32::BITS))
}
