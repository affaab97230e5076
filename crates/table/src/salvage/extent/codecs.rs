//! Sets of codecs.

use crate::raw::Codec;

/// Codecs that a block may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::salvage) struct Codecs(u16);

impl Codecs {
    pub(in crate::salvage) const ALL: Self = Self(u16::MAX);

    /// Not compressed.
    pub(in crate::salvage) const PLAIN: Self = Self(1);

    const fn of(codecs: &[Codec]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < codecs.len() {
            bits |= 1 << Self::bit(codecs[at]);
            at += 1;
        }
        Self(bits)
    }

    const fn bit(codec: Codec) -> u8 {
        match codec {
            Codec::ZstdNotFinal => 15,
            codec => codec as u8,
        }
    }

    pub(in crate::salvage) fn has(self, byte: u8) -> bool {
        Codec::from_byte(byte).is_some_and(|codec| self.0 & 1 << Self::bit(codec) != 0)
    }
}

pub(super) const SNAPPY: Codecs = Codecs::of(&[Codec::Snappy]);
pub(super) const LZ4: Codecs = Codecs::of(&[Codec::Lz4, Codec::Lz4hc]);
/// LevelDB's relatives write deflate as codec 4.
pub(super) const DEFLATE: Codecs = Codecs::of(&[Codec::Zlib, Codec::Lz4]);
pub(super) const BZIP2: Codecs = Codecs::of(&[Codec::Bzip2]);
/// LevelDB's codec 2 is zstd.
pub(super) const ZSTD: Codecs = Codecs::of(&[Codec::Zstd, Codec::ZstdNotFinal, Codec::Zlib]);
