//! AArch64: prefetch.

use core::arch::asm;

#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    // SAFETY: a prefetch is a hint. It reads and writes nothing and cannot fault.
    unsafe {
        asm!(
            "prfm pldl1keep, [{0}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly),
        );
    }
}
