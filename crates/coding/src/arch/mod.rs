//! What needs instructions of one kind of machine, or calls of one system. All `unsafe` of this crate
//! is below here.

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[expect(unsafe_code, reason = "a prefetch, behind a safe function")]
mod aarch64;
#[cfg(all(target_os = "linux", not(miri)))]
#[expect(unsafe_code, reason = "advice to the system, behind a safe function")]
mod linux;
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "a prefetch, behind a safe function")]
mod x86_64;

#[cfg(all(target_arch = "aarch64", not(miri)))]
pub(crate) use aarch64::prefetch;
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use linux::prefer_large_pages;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use x86_64::prefetch;

/// Nothing, where no way to ask is known.
#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri))]
#[inline(always)]
pub(crate) fn prefetch(_place: *const u8) {}

/// Nothing, where nobody is asked.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn prefer_large_pages(_start: *mut u8, _length: usize) {}
