//! The reference implementation, for any machine.

use super::{BloomBlock, Row, Segment};

/// An odd number near 2^32 / φ, the factor from one probe to the next.
pub(super) const GOLDEN: u32 = 0x9e37_79b9;

/// Whether all `num_probes` bits of `x` are set.
#[inline]
pub(super) fn contains(block: &BloomBlock, mut x: u32, num_probes: u8) -> bool {
    for _ in 0..num_probes {
        let (byte, mask) = bit(x);
        if block[byte] & mask == 0 {
            return false;
        }
        x = x.wrapping_mul(GOLDEN);
    }
    true
}

/// Sets the `num_probes` bits of `x`.
#[inline]
pub(super) fn insert(block: &mut BloomBlock, mut x: u32, num_probes: u8) {
    for _ in 0..num_probes {
        let (byte, mask) = bit(x);
        block[byte] |= mask;
        x = x.wrapping_mul(GOLDEN);
    }
}

/// The positions of the `num_probes` bits of `x` in the block.
pub(super) fn bits(x: u32, num_probes: u8) -> impl Iterator<Item = usize> {
    core::iter::successors(Some(x), |x| Some(x.wrapping_mul(GOLDEN)))
        .take(usize::from(num_probes))
        .map(|x| (x >> 23) as usize)
}

/// The top nine bits select one of 512 bits: six select the byte, three the bit in it.
#[inline]
fn bit(x: u32) -> (usize, u8) {
    ((x >> 26) as usize, 1 << (x >> 23 & 7))
}

/// Whether the product of the row and each column equals the bit of `result`.
#[inline]
pub(super) fn ribbon_holds(
    segments: &[Segment],
    columns: usize,
    row: u128,
    shift: u32,
    result: u32,
) -> bool {
    let under = |half: u128, segment: usize| match segments.get(segment) {
        Some(unknowns) => u128::from_le_bytes(*unknowns) & half,
        None => 0,
    };
    let [low, high] = halves(row, shift);
    (0..columns).all(|column| {
        let terms = under(low, column) ^ under(high, columns + column);
        terms.count_ones() & 1 == result >> column & 1
    })
}

/// Splits a row that starts at slot `shift` of a block into the parts in that block and the next.
///
/// Works on 64-bit words, because variable shifts of 128 bits are slow on many machines. The shifted
/// row occupies three of the four words.
#[inline(always)]
pub(super) fn halves(row: u128, shift: u32) -> [u128; 2] {
    let (low, high) = (row as u64, (row >> 64) as u64);
    // The bits shifted out of a word. In two steps, because a shift by 64 is not defined.
    let over = |word: u64| word >> 1 >> (63 - shift % 64);
    let words = [low << (shift % 64), high << (shift % 64) | over(low), over(high)];
    let [a, b, c, d] = match shift / 64 {
        0 => [words[0], words[1], words[2], 0],
        _ => [0, words[0], words[1], words[2]],
    };
    [u128::from(a) | u128::from(b) << 64, u128::from(c) | u128::from(d) << 64]
}

/// Computes the unknowns of up to 64 slots.
#[inline(always)]
pub(super) fn ribbon_solve(rows: &[Row], results: &[u32], here: &mut [u64], behind: &[u64]) {
    // With a constant number of columns they stay in registers, which takes 0.7 times as long.
    // These are the numbers of columns for 7 to 12 bits per key.
    match here.len() {
        5 => solve_columns::<5>(rows, results, here, behind),
        6 => solve_columns::<6>(rows, results, here, behind),
        7 => solve_columns::<7>(rows, results, here, behind),
        8 => solve_columns::<8>(rows, results, here, behind),
        _ => solve_slots(rows, results, here, behind),
    }
}

#[inline(always)]
fn solve_columns<const COLUMNS: usize>(
    rows: &[Row],
    results: &[u32],
    here: &mut [u64],
    behind: &[u64],
) {
    if let (Some(here), Some(behind)) = (here.first_chunk_mut(), behind.first_chunk::<COLUMNS>()) {
        let mut unknowns: [u64; COLUMNS] = *here;
        solve_slots(rows, results, &mut unknowns, behind);
        *here = unknowns;
    }
}

#[inline(always)]
fn solve_slots(rows: &[Row], results: &[u32], here: &mut [u64], behind: &[u64]) {
    for (slot, (row, &result)) in rows.iter().zip(results).enumerate().rev() {
        let [row_here, row_behind] = rotated(row, slot as u32);
        let bit = 1 << slot;
        for (column, (here, behind)) in here.iter_mut().zip(behind).enumerate() {
            *here &= !bit;
            // An empty slot has a zero row and a zero result, so its unknowns are 0.
            let sum = (*here & row_here ^ behind & row_behind).count_ones() ^ result >> column;
            *here |= u64::from(sum & 1) << slot;
        }
    }
}

/// The row rotated so that its first coefficient is at bit `slot`.
#[inline(always)]
pub(super) fn rotated(&[low, high]: &Row, slot: u32) -> Row {
    // The bits shifted out of a word. In two steps, because a shift by 64 is not defined.
    let over = |word: u64| word >> 1 >> (63 - slot);
    [low << slot | over(high), high << slot | over(low)]
}
