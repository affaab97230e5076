//! Whether a block may start at a place, by its first bytes: which places a search tries at all.
//!
//! ```text
//! not compressed   00 | key length | value length | key … kind, sequence number
//! snappy           length | literal | copy from what is there already
//! LZ4              length | literals | copy from what is there already
//! zlib             length | deflate, as far as a few bytes show
//! bzip2            length | 'B' 'Z' 'h'
//! zstd             length | 28 B5 2F FD
//! ```
//!
//! Old versions have no length before bzip2 and deflate, and one of eight bytes before LZ4. LevelDB
//! has none before zstd.

use flate2::{Decompress, FlushDecompress, Status};
use sstkit_coding::varint::get_varint32;

use crate::raw::{Codec, EntryKind, InternalKey};

/// Bytes that are looked at.
pub(super) const LOOKED_AT: usize = 512;

/// Codecs that a block may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Codecs(u16);

impl Codecs {
    pub(super) const ALL: Self = Self(u16::MAX);

    /// Not compressed.
    pub(super) const PLAIN: Self = Self(1);

    /// Those among them that the bytes of both engines' trailers stand for.
    fn of(codecs: &[Codec]) -> Self {
        Self(codecs.iter().map(|&codec| 1 << Self::bit(codec)).sum())
    }

    fn bit(codec: Codec) -> u8 {
        match codec {
            Codec::ZstdNotFinal => 15,
            codec => codec as u8,
        }
    }

    pub(super) fn has(self, byte: u8) -> bool {
        Codec::from_byte(byte).is_some_and(|codec| self.0 & 1 << Self::bit(codec) != 0)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What is known of the blocks of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartRules {
    /// Keys are internal ones.
    pub(super) internal: bool,
    /// Compressed blocks may copy from a dictionary.
    pub(super) dictionary: bool,
}

impl StartRules {
    /// The codecs of the blocks that may start with `bytes`.
    pub(super) fn codecs(self, bytes: &[u8], inflater: &mut Inflater) -> Codecs {
        let mut codecs = 0;
        // LevelDB's codec 2 is zstd, and its relatives' codec 4 is deflate.
        let zlib = Codecs::of(&[Codec::Zlib, Codec::Lz4]);
        for (may_be, those) in [
            (self.uncompressed(bytes), Codecs::PLAIN),
            (zstd(bytes), Codecs::of(&[Codec::Zstd, Codec::ZstdNotFinal, Codec::Zlib])),
            (bzip2(bytes), Codecs::of(&[Codec::Bzip2])),
            (self.snappy(bytes), Codecs::of(&[Codec::Snappy])),
            (self.lz4(bytes), Codecs::of(&[Codec::Lz4, Codec::Lz4hc])),
            (self.deflate(bytes, inflater), zlib),
        ] {
            codecs |= if may_be { those.0 } else { 0 };
        }
        Codecs(codecs)
    }

    /// Whether a block that is not compressed may start with `bytes`: its first entry has a whole key,
    /// the second shares no more of it than there is.
    fn uncompressed(self, bytes: &[u8]) -> bool {
        let Some((0, mut input)) = bytes.split_first().map(|(first, rest)| (*first, rest)) else {
            return false;
        };
        let Some(key_length) = get_varint32(&mut input) else { return false };
        let Some(value_length) = get_varint32(&mut input) else { return false };
        if key_length == 0 {
            return false;
        }
        let (key_length, value_length) = (key_length as usize, value_length as usize);
        let is_point = |input: &[u8]| {
            let Some(at) = key_length.checked_sub(InternalKey::TAIL_LENGTH) else { return false };
            // Or further away than we look.
            input.get(at).is_none_or(|&kind| EntryKind::from_byte(kind).is_some())
        };
        let is_followed = |input: &[u8], skip: usize| {
            let Some(mut next) = input.get(skip..).filter(|rest| rest.len() > 15) else {
                return true;
            };
            let shared = get_varint32(&mut next);
            let non_shared = get_varint32(&mut next);
            // The last entry is followed by the first restart point, which is 0.
            shared.is_some_and(|shared| shared as usize <= key_length)
                && non_shared.is_some_and(|it| it > 0 || shared == Some(0))
        };
        let entry = key_length.saturating_add(value_length);
        if (!self.internal || is_point(input)) && is_followed(input, entry) {
            return true;
        }
        // With separated values there is one number more before the key.
        get_varint32(&mut input).is_some_and(|offset| {
            offset == 0 && (!self.internal || is_point(input)) && is_followed(input, key_length)
        })
    }

    fn snappy(self, bytes: &[u8]) -> bool {
        let mut input = bytes;
        let Some(length) = get_varint32(&mut input) else { return false };
        let Some((&tag, rest)) = input.split_first() else { return false };
        // Nothing to copy from yet.
        if length < 8 || tag & 3 != 0 {
            return false;
        }
        let (literals, rest) = match usize::from(tag >> 2) {
            short @ ..60 => (short + 1, rest),
            long => {
                let (bytes, rest) = rest.split_at(rest.len().min(long - 59));
                let number = bytes.iter().rev().fold(0usize, |all, &it| all << 8 | usize::from(it));
                (number.saturating_add(1), rest)
            }
        };
        if literals > length as usize {
            return false;
        }
        match rest.get(literals..) {
            Some([tag, low, ..]) if tag & 3 == 1 => {
                let offset = usize::from(tag >> 5) << 8 | usize::from(*low);
                (1..=literals).contains(&offset)
            }
            Some([tag, low, high, ..]) if tag & 3 == 2 => {
                (1..=literals).contains(&usize::from(u16::from_le_bytes([*low, *high])))
            }
            _ => true,
        }
    }

    fn lz4(self, bytes: &[u8]) -> bool {
        let mut input = bytes;
        let with_varint =
            get_varint32(&mut input).is_some_and(|length| length >= 8 && self.lz4_block(input));
        with_varint
            || matches!(bytes, [_, _, _, _, 0, 0, 0, 0, block @ ..] if self.lz4_block(block))
    }

    fn lz4_block(self, block: &[u8]) -> bool {
        let Some((token, mut rest)) = block.split_first() else { return false };
        let mut literals = usize::from(token >> 4);
        if literals == 15 {
            while let Some((&more, after)) = rest.split_first() {
                literals += usize::from(more);
                rest = after;
                if more != 255 {
                    break;
                }
            }
        }
        if self.dictionary {
            return true;
        }
        match rest.get(literals..) {
            Some([low, high, ..]) => {
                let offset = usize::from(u16::from_le_bytes([*low, *high]));
                (1..=literals).contains(&offset)
            }
            // Literals only, or further away than we look.
            _ => literals > 0,
        }
    }

    fn deflate(self, bytes: &[u8], inflater: &mut Inflater) -> bool {
        let mut input = bytes;
        get_varint32(&mut input)
            .is_some_and(|length| length >= 8 && self.inflates(input, &mut inflater.raw))
            || self.inflates(bytes, &mut inflater.raw)
            || is_zlib_header(bytes) && inflates(bytes, &mut inflater.zlib, true)
    }

    fn inflates(self, input: &[u8], inflater: &mut Decompress) -> bool {
        starts_deflate(input) && (self.dictionary || inflates(input, inflater, false))
    }
}

/// Decompresses the beginnings of streams.
pub(super) struct Inflater {
    raw: Decompress,
    zlib: Decompress,
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self { raw: Decompress::new(false), zlib: Decompress::new(true) }
    }
}

/// Whether the beginning of a stream can be decoded: of other bytes, a few dozen cannot.
fn inflates(input: &[u8], inflater: &mut Decompress, zlib: bool) -> bool {
    let mut output = [0; LOOKED_AT];
    inflater.reset(zlib);
    let input = &input[..input.len().min(LOOKED_AT / 2)];
    let result = inflater.decompress(input, &mut output, FlushDecompress::None);
    matches!(result, Ok(Status::Ok | Status::BufError | Status::StreamEnd))
}

/// The header of a zlib stream: its method, and a multiple of 31.
fn is_zlib_header(bytes: &[u8]) -> bool {
    matches!(bytes, [a, b, ..] if a & 0x0f == 8 && (u16::from(*a) << 8 | u16::from(*b)) % 31 == 0)
}

/// Whether a deflate block may start with `input`, by its header.
fn starts_deflate(input: &[u8]) -> bool {
    let Some(bits) = input.first_chunk().map(|it| u64::from_le_bytes(*it)) else { return false };
    match bits >> 1 & 3 {
        // Stored: a length and its complement.
        0 => input.get(1..5).is_some_and(|it| (it[0], it[1]) == (!it[2], !it[3])),
        // The fixed code: the first symbol is a literal, which a code of 8 or 9 bits stands for.
        1 => (bits >> 3 & 0x7f).reverse_bits() >> 57 >= 0b001_1000,
        // A code of its own: lengths of the codes of its lengths, which must be complete.
        2 => {
            let counts = (bits >> 3 & 31, bits >> 8 & 31, bits >> 13 & 15);
            let lengths = counts.2 + 4;
            let sum: u64 = (0..lengths)
                .filter_map(|nth| {
                    let bits = u128::from_le_bytes(*input.first_chunk::<16>()?);
                    let length = (bits >> (17 + 3 * nth)) as u64 & 7;
                    (length > 0).then(|| 128 >> length)
                })
                .sum();
            counts.0 < 30 && counts.1 < 30 && sum == 128
        }
        _ => false,
    }
}

fn zstd(bytes: &[u8]) -> bool {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    after_length(bytes).any(|rest| rest.starts_with(&MAGIC))
}

fn bzip2(bytes: &[u8]) -> bool {
    after_length(bytes).any(|rest| rest.starts_with(b"BZh"))
}

/// With and without a length before it.
fn after_length(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut input = bytes;
    let rest = get_varint32(&mut input).map(|_| input);
    rest.into_iter().chain([bytes])
}
