//! Prefetching cache lines.
//!
//! A load that misses all caches takes a hundred nanoseconds or more. Misses at independent
//! addresses can overlap: prefetch all of them first, then read each.
//!
//! ```
//! use sstkit_coding::prefetch::prefetch;
//!
//! let (bytes, offsets) = (vec![7; 1 << 20], [99_000, 3_000, 512_000]);
//! offsets.iter().for_each(|&offset| prefetch(&bytes[offset]));
//! assert!(offsets.iter().all(|&offset| bytes[offset] == 7));
//! ```

use crate::arch;

/// Length of a cache line on x86-64 and most other processors. Code that uses it stays correct where
/// lines are longer.
pub const CACHE_LINE: usize = 64;

/// Prefetches the cache line that contains the first byte of `value`. Returns immediately and has no
/// other effect.
#[inline(always)]
pub fn prefetch<T: ?Sized>(value: &T) {
    arch::prefetch(core::ptr::from_ref(value).cast());
}

/// Prefetches all cache lines of `value`, which should be aligned to a cache line and at most a few
/// hundred bytes long.
#[inline(always)]
pub fn prefetch_whole<T>(value: &T) {
    let start: *const u8 = core::ptr::from_ref(value).cast();
    for line in (0..size_of::<T>()).step_by(CACHE_LINE) {
        arch::prefetch(start.wrapping_add(line));
    }
}
