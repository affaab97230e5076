//! Whether a block may start at a place, and where it then ends, by its own bytes.
//!
//! ```text
//! not compressed   00 | key length | value length | key | value | … | 0, restart … | count
//! snappy           size | literals and copies: ends when they make up the size
//! LZ4              size | literals and copies: ends when they make up the size
//! zlib             size | deflate: ends with its last block
//! bzip2            size | 'B' 'Z' 'h' …: ends with the stream
//! zstd             size | 28 B5 2F FD …: ends with the frame
//! ```
//!
//! Old versions have no size before bzip2 and deflate, and one of eight bytes before LZ4. LevelDB has
//! none before zstd. Bytes that are no block are nearly always recognised by the first few.

use flate2::{Decompress, FlushDecompress, Status};
use sstkit_coding::fixed::{decode_fixed16, decode_fixed32};
use sstkit_coding::varint::get_varint32;
use zstd::zstd_safe::find_frame_compressed_size;

use crate::raw::{Block, Codec, EntryKind, InternalKey};

/// Where a block ends that may start with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// No such block starts with these bytes.
    NoBlock,
    /// After this number of bytes.
    Ends(usize),
    /// Its bytes do not say.
    Unknown,
    /// After the last byte given.
    Beyond,
}

/// Codecs that a block may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Codecs(u16);

impl Codecs {
    pub(super) const ALL: Self = Self(u16::MAX);

    /// Not compressed.
    pub(super) const PLAIN: Self = Self(1);

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

    pub(super) fn has(self, byte: u8) -> bool {
        Codec::from_byte(byte).is_some_and(|codec| self.0 & 1 << Self::bit(codec) != 0)
    }
}

const SNAPPY: Codecs = Codecs::of(&[Codec::Snappy]);
const LZ4: Codecs = Codecs::of(&[Codec::Lz4, Codec::Lz4hc]);
/// LevelDB's relatives write deflate as codec 4.
const DEFLATE: Codecs = Codecs::of(&[Codec::Zlib, Codec::Lz4]);
const BZIP2: Codecs = Codecs::of(&[Codec::Bzip2]);
/// LevelDB's codec 2 is zstd.
const ZSTD: Codecs = Codecs::of(&[Codec::Zstd, Codec::ZstdNotFinal, Codec::Zlib]);

/// Finds out where blocks end.
pub(super) struct Extents {
    /// Keys are internal ones.
    pub(super) internal: bool,
    /// Compressed blocks may copy from a dictionary.
    pub(super) dictionary: bool,
    raw_deflate: Decompress,
    zlib: Decompress,
    /// Offsets of the entries whose whole keys are stored.
    whole_keys: Vec<u32>,
    /// About how many bytes were looked at.
    work: u64,
}

/// What a step over an entry or a sequence costs, in bytes looked at.
const STEP: u64 = 16;

/// What it costs to start with bzip2, which allocates megabytes.
const BZIP2_START: u64 = 256 << 10;

impl Extents {
    /// How many kinds of blocks may start with the same bytes.
    pub(super) const KINDS: usize = 7;

    pub(super) fn new(internal: bool, dictionary: bool) -> Self {
        Self {
            internal,
            dictionary,
            raw_deflate: Decompress::new(false),
            zlib: Decompress::new(true),
            whole_keys: Vec::new(),
            work: 0,
        }
    }

    /// About how many bytes were looked at since the last call.
    pub(super) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// Calls `visit` for each kind of block that may start with `bytes`.
    pub(super) fn each(&mut self, bytes: &[u8], mut visit: impl FnMut(Codecs, Extent)) {
        let is_separated = bytes.first() == Some(&0) && self.separated(bytes);
        let separated = if is_separated { Extent::Unknown } else { Extent::NoBlock };
        let found: [_; Self::KINDS] = [
            (Codecs::PLAIN, self.uncompressed(bytes)),
            (Codecs::PLAIN, separated),
            (SNAPPY, self.snappy(bytes)),
            (LZ4, self.lz4(bytes)),
            (DEFLATE, self.deflate(bytes)),
            (ZSTD, self.zstd(bytes)),
            (BZIP2, self.bzip2(bytes)),
        ];
        for (codecs, extent) in found {
            if extent != Extent::NoBlock {
                visit(codecs, extent);
            }
        }
    }

    /// Over the entries, up to the restart points that follow them.
    pub(super) fn uncompressed(&mut self, bytes: &[u8]) -> Extent {
        if bytes.first() != Some(&0) {
            return Extent::NoBlock;
        }
        self.whole_keys.clear();
        let (mut at, mut last_key) = (0, 0);
        loop {
            self.work += STEP;
            let rest = &bytes[at..];
            // An entry would have an empty key.
            if rest.starts_with(&[0; 4]) && at > 0 {
                return self.restarts(bytes, at);
            }
            let Some((lengths, header)) = entry_lengths(rest) else {
                return if rest.len() < 15 { Extent::Beyond } else { Extent::NoBlock };
            };
            let [shared, non_shared, value] = lengths;
            let key = shared.saturating_add(non_shared);
            if shared > last_key || key == 0 {
                return Extent::NoBlock;
            }
            if at == 0 && self.internal && !may_be_first(&rest[header..], non_shared) {
                return Extent::NoBlock;
            }
            if shared == 0 {
                self.whole_keys.push(at as u32);
            }
            last_key = key;
            at = (at + header).saturating_add(non_shared).saturating_add(value);
            if at > bytes.len() {
                return Extent::Beyond;
            }
        }
    }

    /// The restart points at `at`: each is the offset of an entry with a whole key. Behind them is
    /// their number, or a hash index and then their number.
    fn restarts(&mut self, bytes: &[u8], at: usize) -> Extent {
        const HASH_INDEX: u32 = 1 << 31;
        const UNIFORM: u32 = 1 << 29;
        let word = |at: usize| Some(decode_fixed32(*bytes.get(at..)?.first_chunk()?));
        let (mut count, mut next) = (0, at);
        let mut candidates = self.whole_keys.iter();
        loop {
            let Some(found) = word(next) else { return Extent::Beyond };
            // Never an offset, since entries are longer than a byte.
            if count > 0 && found & !UNIFORM == count {
                return Extent::Ends(next + 4);
            }
            if !candidates.any(|&offset| offset == found) {
                break;
            }
            (count, next) = (count + 1, next + 4);
        }
        if count == 0 {
            return Extent::NoBlock;
        }
        let after = &bytes[next..];
        self.work += after.len().min(usize::from(u16::MAX)) as u64;
        for buckets in 1..=usize::from(u16::MAX) {
            let Some(tail) = after.get(buckets..buckets + 6) else { return Extent::Beyond };
            let &[a, b, ref packed @ ..] = tail else { continue };
            let Some(packed) = packed.first_chunk().map(|it| decode_fixed32(*it)) else { continue };
            if packed & !UNIFORM == HASH_INDEX | count
                && usize::from(decode_fixed16([a, b])) == buckets
            {
                return Extent::Ends(next + buckets + 6);
            }
        }
        Extent::NoBlock
    }

    /// With separated values, the first entry has one number more before its key, a zero; the values
    /// are somewhere behind the keys.
    fn separated(&self, bytes: &[u8]) -> bool {
        let Some(([_, key, _], header)) = entry_lengths(bytes) else { return false };
        let rest = &bytes[header..];
        let Some((0, rest)) = rest.split_first().map(|(first, rest)| (*first, rest)) else {
            return false;
        };
        let is_followed = rest.get(key..).is_none_or(|next| match entry_lengths(next) {
            Some(([shared, non_shared, _], _)) => shared <= key && shared.max(non_shared) > 0,
            None => next.len() < 15,
        });
        key > 0 && is_followed && (!self.internal || is_point(rest, key))
    }

    fn lz4(&mut self, bytes: &[u8]) -> Extent {
        let mut input = bytes;
        let with_varint = match get_varint32(&mut input) {
            Some(size) => self.lz4_block(input, size).after(bytes.len() - input.len()),
            None => Extent::NoBlock,
        };
        match bytes {
            [a, b, c, d, 0, 0, 0, 0, block @ ..] if with_varint == Extent::NoBlock => {
                self.lz4_block(block, u32::from_le_bytes([*a, *b, *c, *d])).after(8)
            }
            _ => with_varint,
        }
    }

    fn lz4_block(&mut self, block: &[u8], size: u32) -> Extent {
        let (size, mut made, mut at) = (size as usize, 0, 0);
        if size < Block::<&[u8]>::MIN_LENGTH {
            return Extent::NoBlock;
        }
        let length = |nibble: u8, at: &mut usize| {
            let mut length = usize::from(nibble);
            while length >= 15 {
                let more = *block.get(*at)?;
                *at += 1;
                length += usize::from(more);
                if more != 255 {
                    break;
                }
            }
            Some(length)
        };
        loop {
            self.work += STEP;
            let Some(&token) = block.get(at) else { return Extent::Beyond };
            at += 1;
            let Some(literals) = length(token >> 4, &mut at) else { return Extent::Beyond };
            at += literals;
            made += literals;
            if made >= size {
                // The last sequence is literals only.
                let is_end = made == size && token & 15 == 0;
                return match is_end {
                    true if at <= block.len() => Extent::Ends(at),
                    true => Extent::Beyond,
                    false => Extent::NoBlock,
                };
            }
            let Some(&offset) = block.get(at..).and_then(<[u8]>::first_chunk) else {
                return Extent::Beyond;
            };
            let offset = usize::from(decode_fixed16(offset));
            at += 2;
            let Some(copied) = length(token & 15, &mut at) else { return Extent::Beyond };
            if offset == 0 || offset > made && !self.dictionary {
                return Extent::NoBlock;
            }
            made += copied + 4;
            if made > size {
                return Extent::NoBlock;
            }
        }
    }

    fn snappy(&mut self, bytes: &[u8]) -> Extent {
        let mut input = bytes;
        let Some(size) = get_varint32(&mut input).map(|size| size as usize) else {
            return Extent::NoBlock;
        };
        if size < Block::<&[u8]>::MIN_LENGTH {
            return Extent::NoBlock;
        }
        let (mut at, mut made) = (0, 0);
        while made < size {
            self.work += STEP;
            let Some(rest) = input.get(at..) else { return Extent::Beyond };
            let Some(&tag) = rest.first() else { return Extent::Beyond };
            let number = |bytes: usize| {
                let bytes = rest.get(1..1 + bytes)?;
                Some(bytes.iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte)))
            };
            let upper = usize::from(tag >> 2);
            let (length, offset, header) = match tag & 3 {
                0 if upper < 60 => (upper + 1, None, 1),
                0 => match number(upper - 59) {
                    Some(length) => (length + 1, None, upper - 58),
                    None => return Extent::Beyond,
                },
                kind => {
                    let bytes = [0, 1, 2, 4][usize::from(kind)];
                    let Some(low) = number(bytes) else { return Extent::Beyond };
                    match kind {
                        1 => (4 + (upper & 7), Some((upper >> 3) << 8 | low), 2),
                        _ => (upper + 1, Some(low), 1 + bytes),
                    }
                }
            };
            if offset.is_some_and(|offset| offset == 0 || offset > made) {
                return Extent::NoBlock;
            }
            at += header + if offset.is_none() { length } else { 0 };
            made += length;
        }
        match made == size {
            true if at <= input.len() => Extent::Ends(bytes.len() - input.len() + at),
            true => Extent::Beyond,
            false => Extent::NoBlock,
        }
    }

    fn zstd(&mut self, bytes: &[u8]) -> Extent {
        const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
        after_size(bytes, |frame| match frame.starts_with(&MAGIC) {
            true => match find_frame_compressed_size(frame) {
                Ok(size) => {
                    self.work += size as u64;
                    Extent::Ends(size)
                }
                // Also if the frame is not valid.
                Err(_) => {
                    self.work += frame.len() as u64;
                    Extent::Beyond
                }
            },
            false => Extent::NoBlock,
        })
    }

    fn bzip2(&mut self, bytes: &[u8]) -> Extent {
        after_size(bytes, |stream| match stream.starts_with(b"BZh") {
            true => {
                let mut decoder = bzip2::Decompress::new(false);
                let extent = stream_end(&mut decoder, stream);
                self.work += BZIP2_START + decoder.total_in() + decoder.total_out();
                extent
            }
            false => Extent::NoBlock,
        })
    }

    fn deflate(&mut self, bytes: &[u8]) -> Extent {
        let mut input = bytes;
        let sized = get_varint32(&mut input)
            .is_some_and(|size| size as usize >= Block::<&[u8]>::MIN_LENGTH);
        if sized && starts_deflate(input) {
            if self.dictionary {
                return Extent::Unknown;
            }
            let extent = self.inflated(input, false);
            if extent != Extent::NoBlock {
                return extent.after(bytes.len() - input.len());
            }
        }
        if is_zlib_header(bytes) {
            let extent = self.inflated(bytes, true);
            if extent != Extent::NoBlock {
                return extent;
            }
        }
        match starts_deflate(bytes) {
            true if self.dictionary => Extent::Unknown,
            true => self.inflated(bytes, false),
            false => Extent::NoBlock,
        }
    }

    fn inflated(&mut self, input: &[u8], zlib: bool) -> Extent {
        let stream = if zlib { &mut self.zlib } else { &mut self.raw_deflate };
        stream.reset(zlib);
        let extent = stream_end(stream, input);
        self.work += stream.total_in() + stream.total_out();
        extent
    }
}

impl Extent {
    /// The same with this number of bytes before it.
    fn after(self, bytes: usize) -> Self {
        match self {
            Self::Ends(end) => Self::Ends(bytes + end),
            other => other,
        }
    }
}

/// Lengths of the shared and the other part of a key and of the value, and how many bytes say so.
fn entry_lengths(bytes: &[u8]) -> Option<([usize; 3], usize)> {
    let mut input = bytes;
    let mut next = || get_varint32(&mut input).map(|length| length as usize);
    let lengths = [next()?, next()?, next()?];
    Some((lengths, bytes.len() - input.len()))
}

/// Whether a block of internal keys, or of names, may start with this key; what is not there is not
/// held against it.
fn may_be_first(key: &[u8], length: usize) -> bool {
    let names: [&[u8]; 4] = [b"rocksdb.", b"filter.", b"fullfilter.", b"partitionedfilter."];
    is_point(key, length) || names.into_iter().any(|name| key.starts_with(name))
}

fn is_point(key: &[u8], length: usize) -> bool {
    let Some(at) = length.checked_sub(InternalKey::TAIL_LENGTH) else { return false };
    key.get(at).is_none_or(|&kind| EntryKind::from_byte(kind).is_some())
}

/// A codec whose streams say where they end.
trait Stream {
    fn totals(&self) -> (u64, u64);

    /// Decodes a part; true at the end of the stream, `None` if it is not valid.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Option<bool>;
}

impl Stream for Decompress {
    fn totals(&self) -> (u64, u64) {
        (self.total_in(), self.total_out())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Option<bool> {
        let status = self.decompress(input, output, FlushDecompress::None).ok()?;
        Some(status == Status::StreamEnd)
    }
}

impl Stream for bzip2::Decompress {
    fn totals(&self) -> (u64, u64) {
        (self.total_in(), self.total_out())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Option<bool> {
        Some(self.decompress(input, output).ok()? == bzip2::Status::StreamEnd)
    }
}

/// Where a stream ends.
fn stream_end(stream: &mut impl Stream, input: &[u8]) -> Extent {
    let mut output = [0; 4096];
    loop {
        let before = stream.totals();
        let taken = usize::try_from(before.0).unwrap_or(usize::MAX);
        match stream.step(input.get(taken..).unwrap_or_default(), &mut output) {
            Some(true) => return Extent::Ends(stream.totals().0 as usize),
            Some(false) if stream.totals() == before => return Extent::Beyond,
            Some(false) if stream.totals().1 > MAX_STREAM => return Extent::NoBlock,
            Some(false) => {}
            None => return Extent::NoBlock,
        }
    }
}

/// No block decompresses to more, as far as the search for blocks is concerned.
const MAX_STREAM: u64 = 64 << 20;

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
            let Some(bits) = input.first_chunk().map(|it| u128::from_le_bytes(*it)) else {
                return false;
            };
            let counts = (bits >> 3 & 31, bits >> 8 & 31, bits >> 13 & 15);
            let lengths = (0..counts.2 + 4).map(|nth| bits >> (17 + 3 * nth) & 7);
            let sum: u32 = lengths.filter(|&it| it > 0).map(|length| 128 >> length).sum();
            counts.0 < 30 && counts.1 < 30 && sum == 128
        }
        _ => false,
    }
}

/// With and without a size before it.
fn after_size(bytes: &[u8], mut extent: impl FnMut(&[u8]) -> Extent) -> Extent {
    let mut input = bytes;
    if get_varint32(&mut input).is_some() {
        let sized = extent(input).after(bytes.len() - input.len());
        if sized != Extent::NoBlock {
            return sized;
        }
    }
    extent(bytes)
}
