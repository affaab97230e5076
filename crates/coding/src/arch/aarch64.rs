//! AArch64: prefetching.

use std::arch::asm;

#[inline(always)]
pub(crate) fn prefetch(place: *const u8) {
    // SAFETY: a prefetch is a hint; it reads nothing, writes nothing and faults on no address.
    unsafe {
        asm!(
            "prfm pldl1keep, [{0}]",
            in(reg) place,
            options(nostack, preserves_flags, readonly),
        );
    }
}
