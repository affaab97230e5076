//! RocksDB's unique identifier of a table, which does not depend on the name of its file: database,
//! session and file number.
//!
//! ```text
//! session   G2X4VVQTF15JX0I3BT0B   digits to the base 36: the last twelve are the lower 62 bits,
//!                                  the others the bits above
//!
//! internal  lower word = lower 64 bits of the session
//!           upper word = upper half of XXH3-128(database, seed: session >> 64) ^ file number
//! external  a bijection of the two, so that neither part can be guessed from the other
//! ```
//!
//! The hash is the released XXH3, not the one of the filters. MANIFESTs have the internal form, the
//! tools show the external one.

use std::fmt;

use crate::raw::{Properties, property_names as names};
use twox_hash::XxHash3_128;

/// How many digits of a session are its lower 62 bits, and how many it may have in all.
const LOW_DIGITS: usize = 12;
const DIGITS: std::ops::RangeInclusive<usize> = 13..=24;
/// The number of bits in those digits.
const LOW_BITS: u32 = 62;

/// The unique identifier of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UniqueId {
    /// As MANIFESTs have it: lower word, upper word.
    internal: [u64; 2],
}

impl UniqueId {
    /// The identifier of the table with these properties, if they know enough.
    pub fn of(properties: &Properties) -> Option<Self> {
        let text = |name| properties.get(name).filter(|value| !value.is_empty());
        let database = text(names::DB_IDENTITY)?;
        let (upper, lower) = session(text(names::DB_SESSION_IDENTITY)?)?;
        let number = properties.number(names::ORIGINAL_FILE_NUMBER).filter(|&it| it != 0)?;
        let hash = XxHash3_128::oneshot_with_seed(upper, database);
        Some(Self { internal: [lower, (hash >> 64) as u64 ^ number] })
    }

    /// The identifier with this internal form: lower word, upper word.
    pub fn from_internal(internal: [u64; 2]) -> Self {
        Self { internal }
    }

    /// The internal form: what MANIFESTs know a table by.
    pub fn internal(self) -> [u64; 2] {
        self.internal
    }

    /// The external form: what the tools show.
    pub fn external(self) -> [u64; 2] {
        /// Chosen so that 0 stays 0.
        const OFFSETS: [u64; 2] = [6417269962128484497, 17391078804906429400];
        let [lower, upper] = self.internal;
        bijection(lower.wrapping_add(OFFSETS[0]), upper.wrapping_add(OFFSETS[1]))
    }
}

/// The external form, as RocksDB's tools print it: its bytes, lower word first.
impl fmt::Display for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [lower, upper] = self.external().map(u64::swap_bytes);
        write!(f, "{lower:016X}-{upper:016X}")
    }
}

/// Upper and lower 64 bits of a session.
fn session(digits: &[u8]) -> Option<(u64, u64)> {
    if !DIGITS.contains(&digits.len()) {
        return None;
    }
    let (high, low) = digits.split_at(digits.len() - LOW_DIGITS);
    let (high, low) = (base36(high)?, base36(low)?);
    Some((high >> 2, high << LOW_BITS | low & (u64::MAX >> 2)))
}

/// The number of these digits, modulo 2^64.
fn base36(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = char::from(digit).to_digit(36)?;
        Some(number.wrapping_mul(36).wrapping_add(digit.into()))
    })
}

/// XXH3's mixing of 16 bytes, which loses none of their 128 bits.
fn bijection(lower: u64, upper: u64) -> [u64; 2] {
    const PRIME64_1: u64 = 0x9E37_79B1_85EB_CA87;
    const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
    const PRIME32_2: u64 = 0x85EB_CA77;
    const SECRET: [u64; 2] = [0x5997_3f00_3336_2349, 0xc202_7976_92d6_3d58];
    /// The length of the input less one, in the topmost bits.
    const LENGTH: u64 = 15 << 54;

    let product = u128::from(lower ^ upper ^ SECRET[0]) * u128::from(PRIME64_1);
    let keyed = upper ^ SECRET[1];
    let high = ((product >> 64) as u64)
        .wrapping_add(keyed)
        .wrapping_add((keyed & 0xffff_ffff) * (PRIME32_2 - 1));
    let low = (product as u64).wrapping_add(LENGTH) ^ high.swap_bytes();
    let product = u128::from(low) * u128::from(PRIME64_2);
    let high = ((product >> 64) as u64).wrapping_add(high.wrapping_mul(PRIME64_2));
    [avalanche(product as u64), avalanche(high)]
}

fn avalanche(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 37)).wrapping_mul(0x1656_6791_9E37_79F9);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(database: &str, session: &str, number: u8) -> Properties {
        let mut properties = Properties::default();
        properties.insert(names::DB_IDENTITY, database);
        properties.insert(names::DB_SESSION_IDENTITY, session);
        properties.insert(names::ORIGINAL_FILE_NUMBER, [number]);
        properties
    }

    #[test]
    fn zero_stays_zero() {
        assert_eq!(UniqueId { internal: [0, 0] }.external(), [0, 0]);
    }

    #[test]
    fn the_digits_of_a_session() {
        assert_eq!(session(b"00000000000000000001"), Some((0, 1)));
        // One in the ninth digit from the end of the upper part is 36 there: two bits go below.
        assert_eq!(session(b"00000010000000000000"), Some((9, 0)));
        assert_eq!(session(b"00000001000000000000"), Some((0, 1 << 62)));
        assert_eq!(session(b"0000000000000000000z"), session(b"0000000000000000000Z"));
        for wrong in ["", "123456789012", "1234567890123456789012345", "0000000000000000000-"] {
            assert_eq!(session(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn all_three_parts_are_needed() {
        let session = "G2X4VVQTF15JX0I3BT0B";
        assert!(UniqueId::of(&properties("SST Writer", session, 1)).is_some());
        for (database, session, number) in
            [("", session, 1), ("SST Writer", "", 1), ("SST Writer", session, 0)]
        {
            assert_eq!(UniqueId::of(&properties(database, session, number)), None);
        }
    }

    /// As RocksDB 11.9 printed it for a table of these properties.
    #[test]
    fn a_published_value() {
        let id = UniqueId::of(&properties("SST Writer", "G2X4VVQTF15JX0I3BT0B", 1)).unwrap();
        assert_eq!(id.to_string(), "672AC72E8EA2FD66-FED455B0B7FD1818");
    }
}
