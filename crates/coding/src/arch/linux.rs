//! Linux: huge pages.

use core::ffi::{c_int, c_void};

/// The usual page size. Where pages are larger, `madvise` may reject the address; that is harmless.
const PAGE_LENGTH: usize = 4096;

const MADV_HUGEPAGE: c_int = 14;

unsafe extern "C" {
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
}

pub(crate) fn advise_huge_pages(start: *mut u8, length: usize) {
    // `madvise` requires a page boundary, so the range is extended to the start of its first page.
    let before = start.addr() % PAGE_LENGTH;
    let page = start.wrapping_sub(before).cast();
    // SAFETY: MADV_HUGEPAGE changes neither the contents of memory nor its protection. A failure
    // can be ignored.
    unsafe { madvise(page, before + length, MADV_HUGEPAGE) };
}
