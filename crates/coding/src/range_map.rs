//! Mapping a hash evenly to `0..range` with a multiplication instead of a division.
//!
//! `hash / 2^32` (or `2^64`) is a fraction in `0..1`. Multiplied by `range` and truncated, it is the
//! result. The high bits of the hash dominate, and the mapping is monotonic: sorting the hashes also
//! sorts the results. (Lemire, *Fast Random Integer Generation in an Interval*.)

/// Maps a 32-bit hash to `0..range`. The result is 0 when `range` is 0.
#[inline]
pub const fn fast_range32(hash: u32, range: u32) -> u32 {
    ((hash as u64 * range as u64) >> 32) as u32
}

/// Maps a 64-bit hash to `0..range`. The result is 0 when `range` is 0.
#[inline]
pub const fn fast_range64(hash: u64, range: u64) -> u64 {
    ((hash as u128 * range as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_32() {
        for (hash, range, expected) in [
            (0xffff_ffff, 0, 0),
            (123, 1, 0),
            (0x7fff_ffff, 2, 0),
            (0x8000_0000, 2, 1),
            (613_566_756, 7, 0),
            (613_566_757, 7, 1),
            (0xffff_ffff, 7, 6),
            (4, 0x7fff_ffff, 1),
            (0xffff_ffff, 0x8000_0000, 0x7fff_ffff),
        ] {
            assert_eq!(fast_range32(hash, range), expected, "{hash:#x} onto {range:#x}");
        }
    }

    #[test]
    fn published_values_64() {
        for (hash, range, expected) in [
            (0x8000_0000_0000_0000, 2, 1),
            (2_635_249_153_387_078_802, 7, 0),
            (2_635_249_153_387_078_803, 7, 1),
            (0x4_0000_0000, 0x7fff_ffff, 1),
            (0x8000_0000_0000_0000, 0x42_0000_0002, 0x21_0000_0001),
            (u64::MAX, 420_000_000_002, 420_000_000_001),
        ] {
            assert_eq!(fast_range64(hash, range), expected, "{hash:#x} onto {range:#x}");
        }
    }
}
