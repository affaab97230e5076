//! Computes the equation of a key from its 64-bit hash.

use sstkit_coding::range_map::fast_range64;

use super::BAND_WIDTH;

/// Computes equations with one of 256 seeds.
#[derive(Clone, Copy, Debug)]
pub(super) struct RibbonHasher {
    /// XORed with the hash of a key.
    raw_seed: u64,
    num_starts: u64,
}

/// An equation: row · solution, from slot `start` on, = `result`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Equation {
    pub(super) start: u32,
    /// The coefficients of the first 64 slots.
    pub(super) low: u64,
    /// The coefficients of the other 64 slots.
    pub(super) high: u64,
    pub(super) result: u32,
}

impl Equation {
    /// All 128 coefficients, the first in the lowest bit.
    #[inline]
    pub(super) fn row(&self) -> u128 {
        u128::from(self.low) | u128::from(self.high) << u64::BITS
    }
}

impl RibbonHasher {
    /// `num_slots` must be at least the width of the band.
    pub(super) fn new(seed: u8, num_slots: u32) -> Self {
        Self {
            raw_seed: u64::from(raw_seed(seed)),
            num_starts: u64::from(num_slots - (BAND_WIDTH - 1)),
        }
    }

    /// Combines a hash with the seed. The equation follows from the result, whose order is that of the
    /// start slots.
    #[inline]
    pub(super) fn rehash(self, hash: u64) -> u64 {
        (hash ^ self.raw_seed).wrapping_mul(0x6193_d459_236a_3a0d)
    }

    #[inline]
    pub(super) fn equation(self, rehashed: u64) -> Equation {
        let a = rehashed.wrapping_mul(0xc28f_8282_2b65_0bed);
        Equation {
            start: self.start(rehashed),
            // Both halves are derived from the same word. The first coefficient is always 1.
            low: (a ^ 0xc367_844a_6e52_731d) | 1,
            high: a,
            // The high bits of a product have the best quality. Reversed, they come first.
            result: ((a >> 32) as u32).swap_bytes(),
        }
    }

    #[inline]
    pub(super) fn start(self, rehashed: u64) -> u32 {
        fast_range64(rehashed, self.num_starts) as u32
    }
}

/// Spreads the 256 seeds over 32 bits.
fn raw_seed(seed: u8) -> u32 {
    let mut raw = u64::from(seed).wrapping_mul(0xc782_19a2_3eea_dd03);
    raw ^= (raw & 0xf0f0_f0f0_f0f0_f0f0) >> 4;
    raw as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_seeds() {
        assert_eq!(
            [0, 1, 2, 61, 255].map(raw_seed),
            [0, 0x3de4_d003, 0x7ad8_b106, 0xf2f9_a3bc, 0xa1fd_27f2]
        );
    }

    #[test]
    fn rehashed_order_is_start_order() {
        let hasher = RibbonHasher::new(7, 1 << 16);
        let mut rehashed: Vec<u64> = (0..1000u64).map(|i| hasher.rehash(i * i)).collect();
        rehashed.sort_unstable();
        assert!(rehashed.is_sorted_by_key(|&hash| hasher.start(hash)));
        assert!(rehashed.iter().all(|&hash| hasher.start(hash) <= (1 << 16) - 128));
    }
}
