//! Asking for memory before it is needed.
//!
//! A load of what is in no cache waits a hundred nanoseconds and more. Waits for places that do not
//! depend on each other can overlap: first all of them are asked for, then each is read.
//!
//! ```
//! use sstkit_coding::prefetch::prefetch;
//!
//! let (bytes, places) = (vec![7; 1 << 20], [99_000, 3_000, 512_000]);
//! places.iter().for_each(|&place| prefetch(&bytes[place]));
//! assert!(places.iter().all(|&place| bytes[place] == 7));
//! ```

use crate::arch;

/// Bytes of a cache line on all processors that matter; where it is longer, nothing is lost.
pub const CACHE_LINE: usize = 64;

/// Asks for the cache line where `place` starts to be brought into a cache near by. Changes nothing
/// else, and returns at once.
#[inline(always)]
pub fn prefetch<T: ?Sized>(place: &T) {
    arch::prefetch(std::ptr::from_ref(place).cast());
}

/// Asks for all cache lines of a value that starts with one, of a few hundred bytes.
#[inline(always)]
pub fn prefetch_whole<T>(value: &T) {
    let start: *const u8 = std::ptr::from_ref(value).cast();
    for line in (0..size_of::<T>()).step_by(CACHE_LINE) {
        arch::prefetch(start.wrapping_add(line));
    }
}
