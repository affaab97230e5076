//! The contents of a block: sorted entries with shared prefixes, and an array of restart points.
//!
//! ```text
//! +----------------------+  0
//! | entry 0  (restart)   |    shared = 0: the whole key is stored
//! | entry 1              |    shared = bytes in common with the previous key
//! | …                    |
//! | entry 16 (restart)   |
//! | …                    |
//! +----------------------+  end of keys
//! | values section       |    with separated keys and values only: all values, in order
//! +----------------------+  restarts
//! | fixed32 restart[n]   |    offsets of the restart entries, ascending, the first 0
//! | u8 bucket[b]         |  \ with a hash index only
//! | fixed16 b            |  /
//! | fixed32 values start |    with separated keys and values only: the end of keys
//! | fixed32 packed       |    n in bits 0..=27, and flags
//! +----------------------+
//!
//! packed  bit 31  a hash index is present
//!         bit 30  reserved
//!         bit 29  the restart keys are uniformly distributed (a hint for searches)
//!         bit 28  keys and values are separated
//!
//! entry            | shared | non_shared | value_len | key[non_shared] | value[value_len] |
//! separated        | shared | non_shared | value_len | value_offset at restarts | key[non_shared] |
//! delta-encoded    | shared | non_shared | key[non_shared] | handle or difference |     (index)
//!                    varint32 each
//! ```
//!
//! Two data entries, `key000` and `key001` with sequence number 0 and kind 1, values of 22 bytes:
//!
//! ```text
//! 00 0E 16 | 6B 65 79 30 30 30  01 00 00 00 00 00 00 00 | value
//! 05 09 16 |                31  01 00 00 00 00 00 00 00 | value
//! ```
//!
//! In LevelDB the last word is a plain count. The two differ only from 2^28 restart points on, in blocks
//! above 1 GiB, so one decoder serves both.

#[cfg(feature = "write")]
mod builder;
mod common_prefix;
mod entries;
mod fences;
mod hash_index;
mod key_buffer;
mod key_expansion;
mod lengths;
mod position;
mod skip;
#[cfg(feature = "write")]
mod uniform;

use sstkit_coding::fixed::decode_fixed32;
use sstkit_coding::varint::get_varint32;

use crate::error::{Error, Result};

#[cfg(feature = "write")]
pub(crate) use self::builder::{BlockBuilder, BlockFormat, DeltaValue, FinishedBlock};
pub use self::common_prefix::common_prefix;
pub use self::entries::BlockEntries;
pub(crate) use self::entries::BlockMark;
pub(crate) use self::fences::{BlockFences, Sought, word};
pub use self::hash_index::{HashIndex, HashLookup};
pub(crate) use self::key_buffer::KeyBuffer;
pub use self::key_expansion::KeyExpansion;
pub(super) use self::position::{Position, decode_varint};

const RESTART_COUNT: u32 = (1 << 28) - 1;
const SEPARATED: u32 = 1 << 28;
const UNIFORM: u32 = 1 << 29;
const RESERVED: u32 = 1 << 30;
const HASH_INDEX: u32 = 1 << 31;

/// Restart offsets and the packed word are fixed32.
const WORD: usize = 4;

/// One restart point and the packed word: an empty block.
const MIN_LENGTH: usize = 2 * WORD;

/// A block whose restart array is valid. Entries are checked when they are decoded.
///
/// `B` owns or borrows the bytes: a slice, a `Vec`, a `Cow`, a shared buffer.
#[derive(Clone, Debug)]
pub struct Block<B> {
    bytes: B,
    layout: Layout,
}

/// Where the sections of the drawing start. All offsets lie inside the block and ascend.
#[derive(Clone, Copy, Debug)]
struct Layout {
    keys_end: usize,
    restarts: usize,
    restart_count: usize,
    /// Where the buckets of the hash index end; they start after the restart points.
    buckets_end: Option<usize>,
    separated: bool,
    uniform: bool,
}

impl<B: AsRef<[u8]>> Block<B> {
    /// The size of an empty block, the smallest there is.
    pub const MIN_LENGTH: usize = MIN_LENGTH;

    /// Parses and checks everything after the entries.
    pub fn parse(bytes: B) -> Result<Self> {
        let layout = Layout::parse(bytes.as_ref())?;
        let block = Self { bytes, layout };
        block.check_restarts()?;
        Ok(block)
    }

    /// The (decompressed) contents.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The owner of the bytes.
    pub fn holder(&self) -> &B {
        &self.bytes
    }

    /// The number of restart points. An empty block has one, too.
    #[inline]
    pub fn restart_count(&self) -> usize {
        self.layout.restart_count
    }

    /// The offset of restart point `index`.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`restart_count`](Self::restart_count).
    pub fn restart(&self, index: usize) -> usize {
        assert!(index < self.layout.restart_count, "restart point {index} does not exist");
        let at = self.layout.restarts + index * WORD;
        let word = self.bytes()[at..at + WORD].first_chunk().expect("four bytes");
        // Below the end of keys, see `check_restarts`.
        decode_fixed32(*word) as usize
    }

    /// Where the entries end, or the keys if values are separated.
    pub fn keys_end(&self) -> usize {
        self.layout.keys_end
    }

    /// Whether the block has no entries.
    pub fn is_empty(&self) -> bool {
        self.layout.keys_end == 0
    }

    /// Whether all values are stored after all keys (data blocks of RocksDB 11).
    pub fn has_separated_values(&self) -> bool {
        self.layout.separated
    }

    /// Whether the writer found the restart keys uniformly distributed (index blocks of RocksDB 11).
    pub fn has_uniform_keys(&self) -> bool {
        self.layout.uniform
    }

    /// The hash index, if the block has one.
    pub fn hash_index(&self) -> Option<HashIndex<'_>> {
        let end = self.layout.buckets_end?;
        let start = self.layout.restarts + self.layout.restart_count * WORD;
        Some(HashIndex::new(&self.bytes()[start..end]))
    }

    /// The same block with another owner of the same bytes.
    pub(crate) fn map<C: AsRef<[u8]>>(self, hold: impl FnOnce(B) -> C) -> Block<C> {
        Block { bytes: hold(self.bytes), layout: self.layout }
    }

    /// The same block, borrowed.
    pub(crate) fn lend(&self) -> Block<&[u8]> {
        Block { bytes: self.bytes(), layout: self.layout }
    }

    /// A cursor over the entries.
    pub fn entries(&self) -> BlockEntries<&[u8]> {
        BlockEntries::new(self.lend())
    }

    /// A cursor over the entries that owns the block.
    pub fn into_entries(self) -> BlockEntries<B> {
        BlockEntries::new(self)
    }

    /// The key of restart point `restart`, borrowed from the block. `numbers` varints precede it.
    /// `None` if the entry is corrupt; decoding it gives the error.
    #[inline]
    pub(in crate::raw) fn restart_key(&self, restart: usize, numbers: usize) -> Option<&[u8]> {
        let mut input = self.keys().get(self.restart(restart)..)?;
        let shared = get_varint32(&mut input)?;
        let non_shared = get_varint32(&mut input)?;
        for _ in 2..numbers {
            get_varint32(&mut input)?;
        }
        input.get(..non_shared as usize).filter(|_| shared == 0)
    }

    /// The entries, or only their keys if values are separated.
    #[inline]
    fn keys(&self) -> &[u8] {
        &self.bytes()[..self.layout.keys_end]
    }

    /// Restart points start at 0, ascend strictly and lie before the end of keys. `Position` relies on
    /// this to notice each of them.
    fn check_restarts(&self) -> Result<()> {
        if self.is_empty() {
            // One restart point at 0, where no entry is.
            return match self.restart_count() {
                0 => Ok(()),
                1 if self.restart(0) == 0 => Ok(()),
                count => Err(Error::mismatch("restart points without entries", 1, count)),
            };
        }
        let mut floor = 0;
        for index in 0..self.restart_count() {
            let restart = self.restart(index);
            if (index == 0 && restart != 0) || restart < floor || restart >= self.layout.keys_end {
                return Err(Error::mismatch(
                    format!("restart point {index} is misplaced"),
                    if index == 0 { "0".into() } else { format!("{floor} or more") },
                    restart,
                ));
            }
            floor = restart + 1;
        }
        Ok(())
    }
}

impl Layout {
    /// Parses from the end of the block, each step within the bytes that the previous one left.
    fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() < MIN_LENGTH {
            return Err(Error::mismatch("too short for a block", "8 bytes or more", bytes.len()));
        }
        let mut rest = bytes;
        let packed = take_word(&mut rest).ok_or_else(too_short)?;
        if packed & RESERVED != 0 {
            return Err(Error::unsupported("the block uses an unknown flag (bit 30)"));
        }
        let separated = packed & SEPARATED != 0;
        let values_start = match separated {
            true => Some(take_word(&mut rest).ok_or_else(too_short)? as usize),
            false => None,
        };
        let buckets_end = match packed & HASH_INDEX != 0 {
            true => Some(hash_index::take_buckets(&mut rest, bytes.len() - WORD)?),
            false => None,
        };
        let restart_count = (packed & RESTART_COUNT) as usize;
        // No overflow: 2^28 * 4 fits 32 bits.
        let restarts = rest.len().checked_sub(restart_count * WORD).ok_or_else(|| {
            let room = rest.len() / WORD;
            Error::mismatch(
                "too many restart points",
                format_args!("{room} or less"),
                restart_count,
            )
        })?;
        let keys_end = values_start.unwrap_or(restarts);
        if keys_end > restarts {
            return Err(Error::mismatch(
                "the values section starts after the restart points",
                format_args!("{restarts} or less"),
                keys_end,
            ));
        }
        // No engine writes this; both read it as an empty block.
        let keys_end = if restart_count == 0 { 0 } else { keys_end };
        let uniform = packed & UNIFORM != 0;
        Ok(Self { keys_end, restarts, restart_count, buckets_end, separated, uniform })
    }
}

fn take_word(rest: &mut &[u8]) -> Option<u32> {
    let (before, word) = rest.split_last_chunk()?;
    *rest = before;
    Some(decode_fixed32(*word))
}

fn too_short() -> Error {
    Error::corrupt("too short for its footer")
}

#[cfg(test)]
mod tests;
