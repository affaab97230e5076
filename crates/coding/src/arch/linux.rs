//! Linux: large pages.

use std::ffi::{c_int, c_void};

/// Of most systems. Where it is longer, large pages are asked for in vain.
const PAGE_LENGTH: usize = 4096;

const MADV_HUGEPAGE: c_int = 14;

unsafe extern "C" {
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
}

pub(crate) fn prefer_large_pages(start: *mut u8, length: usize) {
    // From the page on where it starts, which may also hold what is before it.
    let before = start.addr() % PAGE_LENGTH;
    let page = start.wrapping_sub(before).cast();
    // SAFETY: the advice changes neither what is in memory nor what may be done with it. Whether it
    // was taken does not matter.
    unsafe { madvise(page, before + length, MADV_HUGEPAGE) };
}
