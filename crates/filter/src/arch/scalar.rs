//! The definition: any machine.

use super::{Block, Row, Segment};

/// Odd, near 2^32 / φ: the step from one probe to the next.
pub(super) const GOLDEN: u32 = 0x9e37_79b9;

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

/// Whether the sum of each column under a row is what `result` says.
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

/// What of a row that starts at slot `shift` of a block lies in that block, and what in the next.
///
/// In words, since shifting 128 bits by any number is slow on many machines: shifted within words,
/// the row takes three of the four.
#[inline(always)]
pub(super) fn halves(row: u128, shift: u32) -> [u128; 2] {
    let (low, high) = (row as u64, (row >> 64) as u64);
    // The bits that leave a word; all 64 would be too far for one shift.
    let over = |word: u64| word >> 1 >> (63 - shift % 64);
    let words = [low << (shift % 64), high << (shift % 64) | over(low), over(high)];
    let [a, b, c, d] = match shift / 64 {
        0 => [words[0], words[1], words[2], 0],
        _ => [0, words[0], words[1], words[2]],
    };
    [u128::from(a) | u128::from(b) << 64, u128::from(c) | u128::from(d) << 64]
}

/// Works out the unknowns of up to 64 slots.
#[inline(always)]
pub(super) fn ribbon_solve(rows: &[Row], results: &[u32], here: &mut [u64], behind: &[u64]) {
    // With a number of columns that the compiler knows, they stay in registers: 0.7 times the time.
    // These are the numbers for 7 to 12 bits per key.
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
            // An empty slot has no row and no result: its unknowns are 0.
            let sum = (*here & row_here ^ behind & row_behind).count_ones() ^ result >> column;
            *here |= u64::from(sum & 1) << slot;
        }
    }
}

/// The row with its first coefficient at bit `slot` of 64.
#[inline(always)]
pub(super) fn rotated(&[low, high]: &Row, slot: u32) -> Row {
    // The bits that leave a word; all 64 would be too far for one shift.
    let over = |word: u64| word >> 1 >> (63 - slot);
    [low << slot | over(high), high << slot | over(low)]
}
