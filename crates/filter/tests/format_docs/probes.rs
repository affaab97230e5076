//! The bits that a key sets in a Bloom filter, computed by the formulas of the pages, and names for
//! them.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::hex_dump::BitNames;
use crate::wording::key_text;

/// The step between the probes of a 32-bit hash, and the bits.
pub(crate) fn probes_of_hash32(hash: u32, count: u8, num_bits: usize) -> (u32, Vec<usize>) {
    let step = hash.rotate_right(17);
    let bits = (0..u32::from(count))
        .map(|i| u64::from(hash.wrapping_add(step.wrapping_mul(i))) % num_bits as u64)
        .map(|bit| bit as usize)
        .collect();
    (step, bits)
}

/// The bits in a block of 512 bits for the high half of a 64-bit hash.
pub(crate) fn probes_in_a_block(high: u32, count: u8) -> Vec<usize> {
    std::iter::successors(Some(high), |x| Some(x.wrapping_mul(0x9e37_79b9)))
        .take(usize::from(count))
        .map(|x| (x >> 23) as usize)
        .collect()
}

/// Names each bit, counted from `first`, after the probes that set it: `foo 6, bar 1 2` for the sixth
/// probe of foo and two probes of bar.
pub(crate) fn name_bits(names: &mut BitNames, key: &[u8], bits: &[usize], first: usize) {
    let mut own: BitNames = BTreeMap::new();
    for (i, bit) in bits.iter().enumerate() {
        let _ = write!(own.entry(first + bit).or_insert_with(|| key_text(key)), " {}", i + 1);
    }
    for (bit, name) in own {
        let names = names.entry(bit).or_default();
        let separator = if names.is_empty() { "" } else { ", " };
        let _ = write!(names, "{separator}{name}");
    }
}
