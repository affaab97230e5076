//! The five bytes after every block.
//!
//! ```text
//!   contents[size]                       codec     checksum
//! +------------------------------------+---------+-------------------+
//! | block bytes, perhaps compressed    | u8      | fixed32           |
//! +------------------------------------+---------+-------------------+
//! '------------ covered by the checksum ---------'
//! ```
//!
//! Embedded blobs have the same trailer.

use sstkit_coding::fixed::decode_fixed32;

/// The trailer of a stored block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trailer {
    /// The codec byte as stored; its meaning depends on the engine (see [`Codec`](super::Codec)).
    pub codec: u8,
    /// The checksum as stored: masked for CRC-32C, with its context from format version 6 on.
    pub checksum: u32,
}

impl Trailer {
    /// Bytes of a trailer.
    pub const LENGTH: usize = 5;

    /// Splits a stored block into contents and trailer; `None` if it is shorter than a trailer.
    pub fn split(stored: &[u8]) -> Option<(&[u8], Self)> {
        let (contents, &[codec, ref checksum @ ..]) =
            stored.split_last_chunk::<{ Self::LENGTH }>()?;
        Some((contents, Self { codec, checksum: decode_fixed32(*checksum) }))
    }

    /// The five bytes.
    pub fn encode(self) -> [u8; Self::LENGTH] {
        let [a, b, c, d] = self.checksum.to_le_bytes();
        [self.codec, a, b, c, d]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_five_bytes() {
        let (contents, trailer) = Trailer::split(&[9, 9, 0, 0x58, 0x63, 0xdb, 0x11]).unwrap();
        assert_eq!(contents, [9, 9]);
        assert_eq!(trailer, Trailer { codec: 0, checksum: 0x11db_6358 });
        assert_eq!(trailer.encode(), [0, 0x58, 0x63, 0xdb, 0x11]);
        assert_eq!(Trailer::split(&[0; 4]), None);
    }
}
