//! Code that depends on the processor or the operating system. All `unsafe` code of this crate is in
//! this module.

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[expect(unsafe_code, reason = "a prefetch, behind a safe function")]
mod aarch64;
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
#[expect(unsafe_code, reason = "a call to madvise, behind a safe function")]
mod linux;
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "a prefetch and vector instructions, behind safe functions")]
mod x86_64;

#[cfg(all(target_arch = "aarch64", not(miri)))]
pub(crate) use aarch64::prefetch;
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
pub(crate) use linux::advise_huge_pages;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use x86_64::prefetch;
#[cfg(all(feature = "std", target_arch = "x86_64", not(miri)))]
pub(crate) use x86_64::xxph3_eight;

/// Never: only AVX-512 hashes eight keys at once, if the machine is known to have it.
#[cfg(not(all(feature = "std", target_arch = "x86_64", not(miri))))]
pub(crate) fn xxph3_eight(_keys: [&[u8]; 8]) -> Option<[u64; 8]> {
    None
}

/// Does nothing: no prefetch instruction is known for this target.
#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri))]
#[inline(always)]
pub(crate) fn prefetch(_address: *const u8) {}

/// Does nothing: only Linux has `MADV_HUGEPAGE`, and only `std` links the C library.
#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
pub(crate) fn advise_huge_pages(_start: *mut u8, _length: usize) {}
