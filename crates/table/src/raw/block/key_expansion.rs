//! How far the keys of one block may expand by sharing prefixes.
//!
//! ```text
//! | 0 | 400000 | 0 | key of 400 KB |   | 399990 | 10 | 0 | 10 bytes |   | 399990 | 10 | 0 | …
//!                                       13 bytes stand for another 400 KB, again and again
//! ```
//!
//! Sharing ends at a restart point, so the keys of a real block add up to at most the restart interval
//! times the size of the block, and only if they are long, almost equal, and have short values.
//! Without a limit the keys of a forged block of n bytes add up to about n²/12: 80 GB for a block of
//! 1 MB, which compresses to a few kilobytes.

use crate::error::{Error, Result};

/// Counts the bytes of a block's keys, up to a limit.
///
/// The limit is [`MAX_FACTOR`](Self::MAX_FACTOR) times the uncompressed size of the block, or
/// [`MIN_LIMIT`](Self::MIN_LIMIT) if that is more. It bounds the work of reading every key of a file,
/// as [`Table::verify`](crate::Table::verify) does.
///
/// ```
/// use sstkit_table::raw::KeyExpansion;
///
/// let mut keys = KeyExpansion::of_block(4096);
/// keys.add(1 << 20)?;
/// assert!(keys.add(1 << 30).is_err());
/// # Ok::<(), sstkit_table::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyExpansion {
    limit: u64,
    total: u64,
}

impl KeyExpansion {
    /// Bytes of keys per byte of an uncompressed block.
    pub const MAX_FACTOR: u64 = 256;

    /// Bytes of keys that any block may have. Blocks below 28 KB cannot reach it.
    pub const MIN_LIMIT: u64 = 64 << 20;

    /// Starts counting the keys of a block of `size` uncompressed bytes.
    pub fn of_block(size: usize) -> Self {
        let limit = (size as u64).saturating_mul(Self::MAX_FACTOR).max(Self::MIN_LIMIT);
        Self { limit, total: 0 }
    }

    /// Counts a key of `length` bytes.
    #[inline]
    pub fn add(&mut self, length: usize) -> Result<()> {
        self.total = self.total.saturating_add(length as u64);
        if self.total > self.limit { Err(self.exceeded()) } else { Ok(()) }
    }

    #[cold]
    fn exceeded(&self) -> Error {
        Error::mismatch(
            "its keys expand too far by sharing prefixes; the rest of the block was not read",
            format_args!("keys of {} bytes or less in total", self.limit),
            format_args!("{} bytes and more", self.total),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_grows_with_the_block() {
        for (size, limit) in [(0, 64 << 20), (4096, 64 << 20), (1 << 20, 256 << 20)] {
            let mut keys = KeyExpansion::of_block(size);
            keys.add(limit).unwrap();
            let error = keys.add(1).unwrap_err();
            assert!(error.to_string().contains("sharing prefixes"), "{error}");
        }
    }
}
