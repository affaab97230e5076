//! The definition: any machine.

use super::Block;

/// Odd, near 2^32 / φ: the step from one probe to the next.
const GOLDEN: u32 = 0x9e37_79b9;

/// Whether the `num_probes` bits that `x` leads to are all set.
#[inline]
pub(super) fn contains(block: &Block, mut x: u32, num_probes: u8) -> bool {
    for _ in 0..num_probes {
        let (byte, mask) = bit(x);
        if block[byte] & mask == 0 {
            return false;
        }
        x = x.wrapping_mul(GOLDEN);
    }
    true
}

/// Sets the `num_probes` bits that `x` leads to.
#[inline]
pub(super) fn insert(block: &mut Block, mut x: u32, num_probes: u8) {
    for _ in 0..num_probes {
        let (byte, mask) = bit(x);
        block[byte] |= mask;
        x = x.wrapping_mul(GOLDEN);
    }
}

/// The `num_probes` bits that `x` leads to, by their places in the block.
pub(super) fn bits(x: u32, num_probes: u8) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(x), |x| Some(x.wrapping_mul(GOLDEN)))
        .take(usize::from(num_probes))
        .map(|x| (x >> 23) as usize)
}

/// The top nine bits choose one of 512: six for the byte, three for the bit in it.
#[inline]
fn bit(x: u32) -> (usize, u8) {
    ((x >> 26) as usize, 1 << (x >> 23 & 7))
}
