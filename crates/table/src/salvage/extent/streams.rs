//! Deflate, bzip2 and zstd: streams that say where they end.

#[cfg(feature = "zlib")]
use flate2::{Decompress, FlushDecompress, Status};
#[cfg(any(feature = "zlib", feature = "zstd", feature = "bzip2"))]
use sstkit_coding::varint::get_varint32;
#[cfg(feature = "zstd")]
use zstd::zstd_safe::find_frame_compressed_size;

use super::{Extent, Extents};
#[cfg(feature = "zlib")]
use crate::raw::Block;

/// What it costs to start with bzip2, which allocates megabytes.
#[cfg(feature = "bzip2")]
const BZIP2_START: u64 = 256 << 10;

/// Blocks of a codec that is left out cannot be read, so none are found.
impl Extents {
    #[cfg(not(feature = "zlib"))]
    pub(super) fn deflate(&mut self, _: &[u8]) -> Extent {
        Extent::NoBlock
    }

    #[cfg(not(feature = "zstd"))]
    pub(super) fn zstd(&mut self, _: &[u8]) -> Extent {
        Extent::NoBlock
    }

    #[cfg(not(feature = "bzip2"))]
    pub(super) fn bzip2(&mut self, _: &[u8]) -> Extent {
        Extent::NoBlock
    }

    #[cfg(feature = "zlib")]
    pub(super) fn deflate(&mut self, bytes: &[u8]) -> Extent {
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

    #[cfg(feature = "zlib")]
    fn inflated(&mut self, input: &[u8], zlib: bool) -> Extent {
        let stream = if zlib { &mut self.zlib } else { &mut self.raw_deflate };
        stream.reset(zlib);
        let extent = stream_end(stream, input);
        self.work += stream.total_in() + stream.total_out();
        extent
    }

    #[cfg(feature = "zstd")]
    pub(super) fn zstd(&mut self, bytes: &[u8]) -> Extent {
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

    #[cfg(feature = "bzip2")]
    pub(super) fn bzip2(&mut self, bytes: &[u8]) -> Extent {
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
}

/// A codec whose streams say where they end.
#[cfg(any(feature = "zlib", feature = "bzip2"))]
trait Stream {
    fn totals(&self) -> (u64, u64);

    /// Decodes a part; true at the end of the stream, `None` if it is not valid.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Option<bool>;
}

#[cfg(feature = "zlib")]
impl Stream for Decompress {
    fn totals(&self) -> (u64, u64) {
        (self.total_in(), self.total_out())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Option<bool> {
        let status = self.decompress(input, output, FlushDecompress::None).ok()?;
        Some(status == Status::StreamEnd)
    }
}

#[cfg(feature = "bzip2")]
impl Stream for bzip2::Decompress {
    fn totals(&self) -> (u64, u64) {
        (self.total_in(), self.total_out())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Option<bool> {
        Some(self.decompress(input, output).ok()? == bzip2::Status::StreamEnd)
    }
}

/// Where a stream ends.
#[cfg(any(feature = "zlib", feature = "bzip2"))]
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
#[cfg(any(feature = "zlib", feature = "bzip2"))]
const MAX_STREAM: u64 = 64 << 20;

/// The header of a zlib stream: its method, and a multiple of 31.
#[cfg(feature = "zlib")]
fn is_zlib_header(bytes: &[u8]) -> bool {
    matches!(bytes, [a, b, ..] if a & 0x0f == 8 && (u16::from(*a) << 8 | u16::from(*b)) % 31 == 0)
}

/// Whether a deflate block may start with `input`, by its header.
#[cfg(feature = "zlib")]
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
#[cfg(any(feature = "zstd", feature = "bzip2"))]
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
