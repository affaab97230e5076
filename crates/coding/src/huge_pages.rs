//! Requesting huge pages for large allocations.
//!
//! The first write to each page of new memory costs a page fault, and a random access to a large
//! range misses the TLB. Huge pages of 2 MiB cut both by a factor of 512. Linux grants them on
//! request or to every process, depending on `/sys/kernel/mm/transparent_hugepage/enabled`.
//!
//! ```
//! use sstkit_coding::huge_pages::advise_huge_pages;
//!
//! let mut hashes: Vec<u64> = Vec::with_capacity(1 << 20);
//! advise_huge_pages(hashes.spare_capacity_mut());
//! hashes.extend(0..1 << 20);
//! ```

use crate::arch;

/// Shorter ranges may contain no whole huge page.
const MIN_LENGTH: usize = 4 << 20;

/// Advises the system to back `memory` with huge pages, if it is at least 4 MiB long.
///
/// Call it before the first write: pages already in use are not replaced. It has no other effect,
/// and does nothing on systems other than Linux.
pub fn advise_huge_pages<T>(memory: &mut [T]) {
    if size_of_val(memory) >= MIN_LENGTH {
        arch::advise_huge_pages(memory.as_mut_ptr().cast(), size_of_val(memory));
    }
}
