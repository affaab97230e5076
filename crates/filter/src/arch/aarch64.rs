//! AArch64: probing with NEON.

use core::arch::aarch64::{
    uint8x8_t, uint8x16x4_t, uint32x4_t, vand_u8, vcge_u8, vcombine_u16, vcreate_u8, vdup_n_u8,
    vdupq_n_u32, vget_lane_u64, vld1q_u8, vld1q_u32, vmovn_u16, vmovn_u32, vmulq_u32, vorr_u8,
    vqtbl4_u8, vreinterpret_s8_u8, vreinterpret_u64_u8, vshl_u8, vshrq_n_u32, vtst_u8,
};

use super::BloomBlock;

/// Proof that the machine has NEON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neon(());

impl Neon {
    pub(super) fn is_available() -> bool {
        has_feature!("neon")
    }

    pub(super) fn new() -> Option<Self> {
        // SAFETY: NEON was just detected.
        Self::is_available().then(|| unsafe { Self::new_unchecked() })
    }

    /// # Safety
    ///
    /// The machine must have NEON.
    unsafe fn new_unchecked() -> Self {
        Self(())
    }

    /// [`super::scalar::contains`], eight probes at a time.
    #[inline]
    pub(super) fn contains(self, block: &BloomBlock, x: u32, num_probes: u8) -> bool {
        // SAFETY: `self` proves that NEON is available.
        unsafe { contains(block, x, num_probes) }
    }
}

/// Eight probes at a time:
///
/// ```text
/// lanes = x · [g^0, g^1, … g^7]            the states of eight consecutive probes
/// byte  = lanes >> 26                      selects one of 64 bytes
/// bit   = 1 << (lanes >> 23 & 7)           selects a bit in it
/// found = block[byte] & bit != 0           in every lane below the number of probes
/// x    *= g^8
/// ```
///
/// The table lookup instruction of NEON takes a table of 64 bytes, the size of a block.
#[target_feature(enable = "neon")]
#[inline]
fn contains(block: &BloomBlock, mut x: u32, num_probes: u8) -> bool {
    /// g^8 for g = 0x9e3779b9.
    const NEXT_EIGHT: u32 = 0xab25_f4c1;
    const POWERS: [u32; 8] = [
        1,
        0x9e37_79b9,
        0xe35e_67b1,
        0x7342_97e9,
        0x35fb_e861,
        0xdeb7_c719,
        0x0448_b211,
        0x3459_b749,
    ];

    let table = table(block);
    let (powers_low, powers_high) = two_quads(&POWERS);
    let lane_numbers = vcreate_u8(0x0706_0504_0302_0100);
    let mut remaining = num_probes;
    while remaining > 0 {
        let state = vdupq_n_u32(x);
        let low = vmulq_u32(state, powers_low);
        let high = vmulq_u32(state, powers_high);
        let byte = narrow(vshrq_n_u32::<26>(low), vshrq_n_u32::<26>(high));
        let number = vand_u8(narrow(vshrq_n_u32::<23>(low), vshrq_n_u32::<23>(high)), vdup_n_u8(7));
        let bit = vshl_u8(vdup_n_u8(1), vreinterpret_s8_u8(number));
        let found = vtst_u8(vqtbl4_u8(table, byte), bit);
        // Lanes past the last probe count as found.
        let inactive = vcge_u8(lane_numbers, vdup_n_u8(remaining));
        if vget_lane_u64::<0>(vreinterpret_u64_u8(vorr_u8(found, inactive))) != u64::MAX {
            return false;
        }
        x = x.wrapping_mul(NEXT_EIGHT);
        remaining = remaining.saturating_sub(8);
    }
    true
}

/// The low bytes of eight words.
#[target_feature(enable = "neon")]
#[inline]
fn narrow(low: uint32x4_t, high: uint32x4_t) -> uint8x8_t {
    vmovn_u16(vcombine_u16(vmovn_u32(low), vmovn_u32(high)))
}

#[target_feature(enable = "neon")]
#[inline]
fn table(block: &BloomBlock) -> uint8x16x4_t {
    let [a, b, c, d] = block.as_chunks::<16>().0 else {
        unreachable!("64 bytes are four quarters")
    };
    // SAFETY: each reference is valid for reads of 16 bytes. The loads need no alignment.
    let [a, b, c, d] = [a, b, c, d].map(|quarter| unsafe { vld1q_u8(quarter.as_ptr()) });
    uint8x16x4_t(a, b, c, d)
}

#[target_feature(enable = "neon")]
#[inline]
fn two_quads(words: &[u32; 8]) -> (uint32x4_t, uint32x4_t) {
    // SAFETY: the array has four words from index 0.
    let low = unsafe { vld1q_u32(words.as_ptr()) };
    // SAFETY: the array has four words from index 4.
    let high = unsafe { vld1q_u32(words[4..].as_ptr()) };
    (low, high)
}
