//! RocksDB's filters: its `FilterBitsBuilder` and `FilterBitsReader`.

use std::ffi::CStr;
use std::mem::ManuallyDrop;

use super::ffi::{self, ShimFilter, ShimFilterBuilder};

/// Takes keys.
pub(crate) struct Builder(*mut ShimFilterBuilder);

impl Builder {
    /// `policy` is `bloomfilter` or `ribbonfilter`.
    pub(crate) fn new(policy: &CStr, bits_per_key: u64) -> Self {
        // SAFETY: a string that outlives the call.
        Self(unsafe { ffi::shim_filter_builder(policy.as_ptr(), bits_per_key) })
    }

    pub(crate) fn add<const N: usize>(&mut self, keys: &[[u8; N]]) {
        let count = keys.len() as u64;
        // SAFETY: as many keys of that size as said.
        unsafe { ffi::shim_filter_add(self.0, keys.as_ptr().cast(), N as u64, count) };
    }

    pub(crate) fn finish(self) -> Filter {
        let this = ManuallyDrop::new(self);
        // SAFETY: it exists; the call consumes it, so that it is not dropped here.
        Filter(unsafe { ffi::shim_filter_finish(this.0) })
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: it exists; finishing is the way to free it.
        unsafe { ffi::shim_filter_free(ffi::shim_filter_finish(self.0)) };
    }
}

/// Answers.
#[repr(transparent)]
pub(crate) struct Filter(*mut ShimFilter);

impl Filter {
    pub(crate) fn bytes(&self) -> &[u8] {
        let mut length = 0;
        // SAFETY: the filter exists; its bytes live as long as it does.
        unsafe {
            let bytes = ffi::shim_filter_bytes(self.0, &mut length);
            std::slice::from_raw_parts(bytes, length as usize)
        }
    }

    /// How many of the keys may be in it.
    pub(crate) fn query<const N: usize>(&self, keys: &[[u8; N]]) -> u64 {
        let count = keys.len() as u64;
        // SAFETY: as many keys of that size as said.
        unsafe { ffi::shim_filter_query(self.0, keys.as_ptr().cast(), N as u64, count) }
    }

    /// The same, 32 at a time.
    pub(crate) fn query_batch<const N: usize>(&self, keys: &[[u8; N]]) -> u64 {
        let count = keys.len() as u64;
        // SAFETY: as many keys of that size as said.
        unsafe { ffi::shim_filter_query_batch(self.0, keys.as_ptr().cast(), N as u64, count) }
    }

    /// Each key has its own filter.
    pub(crate) fn query_each<const N: usize>(
        filters: &[Self],
        which: &[u32],
        keys: &[[u8; N]],
    ) -> u64 {
        check(filters, which, keys);
        let (filters, count) = (filters.as_ptr().cast(), keys.len() as u64);
        // SAFETY: transparent pointers; the numbers were checked; as many keys as said.
        unsafe {
            ffi::shim_filters_query(filters, which.as_ptr(), keys.as_ptr().cast(), N as u64, count)
        }
    }

    /// Each 32 keys of one filter.
    pub(crate) fn query_each_batch<const N: usize>(
        filters: &[Self],
        which: &[u32],
        keys: &[[u8; N]],
    ) -> u64 {
        check(filters, which, keys);
        let (filters, count) = (filters.as_ptr().cast(), keys.len() as u64);
        let keys = keys.as_ptr().cast();
        // SAFETY: transparent pointers; the numbers were checked; as many keys as said.
        unsafe { ffi::shim_filters_query_batch(filters, which.as_ptr(), keys, N as u64, count) }
    }
}

fn check<const N: usize>(filters: &[Filter], which: &[u32], keys: &[[u8; N]]) {
    assert_eq!(which.len(), keys.len());
    assert!(which.iter().all(|&filter| (filter as usize) < filters.len()));
}

impl Drop for Filter {
    fn drop(&mut self) {
        // SAFETY: it exists, and is freed once.
        unsafe { ffi::shim_filter_free(self.0) };
    }
}
