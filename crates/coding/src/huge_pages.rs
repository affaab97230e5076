//! Asking for large memory to be in large pages.
//!
//! Memory that was never used costs a fault for each of its pages; and of what is looked up at random
//! places in it, where the page lies is itself looked up in memory. Of pages of 2 MiB there are 512
//! times fewer. Linux gives them to those who ask, or to all, as it is set up.
//!
//! ```
//! use sstkit_coding::huge_pages::prefer_large_pages;
//!
//! let mut hashes: Vec<u64> = Vec::with_capacity(1 << 20);
//! prefer_large_pages(hashes.spare_capacity_mut());
//! hashes.extend(0..1 << 20);
//! ```

use crate::arch;

/// Below this there is at most one of them.
const LEAST_LENGTH: usize = 4 << 20;

/// Asks for `memory` to be in large pages, if it is large. Changes nothing else.
///
/// It should be new: what has been used stays where it is.
pub fn prefer_large_pages<T>(memory: &mut [T]) {
    if size_of_val(memory) >= LEAST_LENGTH {
        arch::prefer_large_pages(memory.as_mut_ptr().cast(), size_of_val(memory));
    }
}
