//! The trailer: the last five bytes of a full filter, which identify its kind.
//!
//! ```text
//!             M[0]   M[1]   M[2]   M[3]   M[4]
//!           +------+------+------+------+------+
//! legacy    | k    | number of lines, fixed32  |   k = 1..=127 probes
//!           +------+------+------+------+------+
//! always    | 00   | ignored                   |   "may contain" for every key
//!           +------+------+------+------+------+
//! Bloom     | ff   | 00   | k    | 00   | 00   |   k = 1..=30; its top three bits are reserved
//!           +------+------+------+------+------+     for blocks larger than 64 bytes
//! Ribbon    | fe   | seed | number of blocks   |   24 bits, at least 2
//!           +------+------+------+------+------+
//! reserved  | 80..=fd                          |   "may contain"
//!           +------+------+------+------+------+
//! ```
//!
//! In the legacy filter the first byte is the number of probes as a signed integer, always
//! positive. Later kinds use negative values. Most of these are still unassigned.

pub(crate) const TRAILER_LENGTH: usize = 5;

const ALWAYS_TRUE: u8 = 0x00;
const NEWER_BLOOM: u8 = 0xff;
const RIBBON: u8 = 0xfe;
const FIRST_RESERVED: u8 = 0x80;

const MIN_PROBES: u8 = 1;
const MAX_PROBES: u8 = 30;
const MIN_RIBBON_BLOCKS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterTrailer {
    LegacyBloom {
        num_probes: u8,
        num_lines: u32,
    },
    FastLocalBloom {
        num_probes: u8,
    },
    Ribbon {
        seed: u8,
        num_blocks: u32,
    },
    AlwaysTrue,
    /// A newer encoding, or a damaged one. Answers "may contain".
    Unknown,
}

impl FilterTrailer {
    pub(crate) fn encode_to(self, out: &mut [u8; TRAILER_LENGTH]) {
        *out = match self {
            Self::LegacyBloom { num_probes, num_lines } => {
                let [a, b, c, d] = num_lines.to_le_bytes();
                [num_probes, a, b, c, d]
            }
            Self::FastLocalBloom { num_probes } => [NEWER_BLOOM, 0, num_probes, 0, 0],
            Self::Ribbon { seed, num_blocks } => {
                let [a, b, c, _] = num_blocks.to_le_bytes();
                [RIBBON, seed, a, b, c]
            }
            Self::AlwaysTrue | Self::Unknown => [ALWAYS_TRUE; TRAILER_LENGTH],
        };
    }

    pub(crate) fn decode_from(bytes: [u8; TRAILER_LENGTH]) -> Self {
        match bytes {
            [ALWAYS_TRUE, ..] => Self::AlwaysTrue,
            [NEWER_BLOOM, 0, num_probes @ MIN_PROBES..=MAX_PROBES, 0, 0] => {
                Self::FastLocalBloom { num_probes }
            }
            [RIBBON, seed, a, b, c] => {
                let num_blocks = u32::from_le_bytes([a, b, c, 0]);
                if num_blocks < MIN_RIBBON_BLOCKS {
                    Self::Unknown
                } else {
                    Self::Ribbon { seed, num_blocks }
                }
            }
            [FIRST_RESERVED..=NEWER_BLOOM, ..] => Self::Unknown,
            [num_probes, a, b, c, d] => {
                Self::LegacyBloom { num_probes, num_lines: u32::from_le_bytes([a, b, c, d]) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        for trailer in [
            FilterTrailer::LegacyBloom { num_probes: 6, num_lines: 0x0102_0304 },
            FilterTrailer::FastLocalBloom { num_probes: 24 },
            FilterTrailer::Ribbon { seed: 61, num_blocks: 0x01_0203 },
            FilterTrailer::AlwaysTrue,
        ] {
            let mut bytes = [0xaa; TRAILER_LENGTH];
            trailer.encode_to(&mut bytes);
            assert_eq!(FilterTrailer::decode_from(bytes), trailer);
        }
        let mut bytes = [0; TRAILER_LENGTH];
        FilterTrailer::Ribbon { seed: 0x42, num_blocks: 32 }.encode_to(&mut bytes);
        assert_eq!(bytes, [0xfe, 0x42, 32, 0, 0]);
    }

    #[test]
    fn unknown_encodings_may_contain_anything() {
        for bytes in [
            [0xff, 1, 6, 0, 0],    // unknown sub-implementation
            [0xff, 0, 0, 0, 0],    // zero probes
            [0xff, 0, 31, 0, 0],   // too many probes
            [0xff, 0, 0x26, 0, 0], // 128-byte blocks
            [0xff, 0, 6, 1, 0],    // reserved bytes in use
            [0xff, 0, 6, 0, 1],
            [0xfe, 9, 1, 0, 0], // a Ribbon of one block
            [0xfd, 9, 9, 0, 0],
            [0x80, 9, 9, 0, 0],
        ] {
            assert_eq!(FilterTrailer::decode_from(bytes), FilterTrailer::Unknown, "{bytes:02x?}");
        }
    }
}
