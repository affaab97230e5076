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

mod codecs;

mod sequences;
mod streams;
mod uncompressed;

#[cfg(feature = "zlib")]
use flate2::Decompress;

pub(super) use self::codecs::Codecs;
use self::codecs::{BZIP2, DEFLATE, LZ4, SNAPPY, ZSTD};

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

/// Finds out where blocks end.
pub(super) struct Extents {
    /// Keys are internal ones.
    pub(super) internal: bool,
    /// Compressed blocks may copy from a dictionary.
    pub(super) dictionary: bool,
    #[cfg(feature = "zlib")]
    raw_deflate: Decompress,
    #[cfg(feature = "zlib")]
    zlib: Decompress,
    /// Offsets of the entries whose whole keys are stored.
    whole_keys: Vec<u32>,
    /// About how many bytes were looked at.
    work: u64,
}

/// What may be looked at in any place, of which there are no more than bytes.
const FREE: u64 = 512;

/// What a step over an entry or a sequence costs, in bytes looked at.
const STEP: u64 = 16;

impl Extents {
    /// How many kinds of blocks may start with the same bytes.
    pub(super) const KINDS: usize = 8;

    pub(super) fn new(internal: bool, dictionary: bool) -> Self {
        Self {
            internal,
            dictionary,
            #[cfg(feature = "zlib")]
            raw_deflate: Decompress::new(false),
            #[cfg(feature = "zlib")]
            zlib: Decompress::new(true),
            whole_keys: Vec::new(),
            work: 0,
        }
    }

    /// About how many bytes were looked at since the last call, more than a few at each place.
    pub(super) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work).saturating_sub(FREE)
    }

    /// Calls `visit` for each kind of block that may start with `bytes`.
    pub(super) fn each(&mut self, bytes: &[u8], mut visit: impl FnMut(Codecs, Extent)) {
        let is_separated = bytes.first() == Some(&0) && Self::separated(bytes);
        let separated = if is_separated { Extent::Unknown } else { Extent::NoBlock };
        let found: [_; Self::KINDS] = [
            (Codecs::PLAIN, self.uncompressed(bytes)),
            (Codecs::PLAIN, self.delta_index(bytes)),
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
