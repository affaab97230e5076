//! Bytes aligned to a cache line.
//!
//! The blocks of a cache-local Bloom filter are as long as a cache line, but an allocator does not align
//! them to one. A block then spans two lines, and a probe reads both.
//!
//! ```text
//!   memory   start: the first cache line boundary
//! +--------+----------+----------+-----+-----+
//! | unused | line     | line     | ... |     |
//! +--------+----------+----------+-----+-----+
//! ```

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

use sstkit_coding::huge_pages::advise_huge_pages;
use sstkit_coding::prefetch::CACHE_LINE;

/// Bytes aligned to a cache line, for the fastest probes.
///
/// ```
/// use sstkit_filter::{AlignedBytes, BuildContext, Filter, FilterPolicy};
///
/// let policy: FilterPolicy = "bloomfilter:10".parse()?;
/// let mut builder = policy.builder(&BuildContext::default())?;
/// builder.add(b"alice");
/// let bytes = builder.finish()?;
///
/// let filter = Filter::from_bytes(AlignedBytes::from(&bytes[..]));
/// assert!(filter.may_contain(b"alice"));
/// # Ok::<(), sstkit_filter::Error>(())
/// ```
pub struct AlignedBytes {
    memory: Vec<u8>,
    /// The offset of the bytes. Moving the vector does not move its memory.
    start: usize,
}

impl AlignedBytes {
    /// `length` zero bytes.
    ///
    /// # Panics
    ///
    /// If the allocation is too large, like `Vec`.
    pub fn zeroed(length: usize) -> Self {
        let mut memory = vec![0; length.saturating_add(CACHE_LINE)];
        advise_huge_pages(&mut memory);
        // `align_offset` may return `usize::MAX` if it cannot compute the alignment.
        let start = memory.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE);
        memory.truncate(start + length);
        Self { memory, start }
    }

    /// Converts to a vector. Moves the bytes to the start of the allocation.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.memory.copy_within(self.start.., 0);
        self.memory.truncate(self.memory.len() - self.start);
        self.memory
    }
}

impl From<&[u8]> for AlignedBytes {
    fn from(bytes: &[u8]) -> Self {
        let mut aligned = Self::zeroed(bytes.len());
        aligned.copy_from_slice(bytes);
        aligned
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

impl DerefMut for AlignedBytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(self.start..).unwrap_or_default()
    }
}

impl AsRef<[u8]> for AlignedBytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Clone for AlignedBytes {
    /// The new allocation may need a different offset.
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl fmt::Debug for AlignedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_preserved_and_aligned() {
        // All alive at the same time, so that allocations have different alignments.
        let lengths = [0, 1, 63, 64, 65, 1000, 4096, 300_000];
        let source: Vec<u8> =
            (0..300_000u32).map(|i| ((u64::from(i) * u64::from(i)) >> 3) as u8).collect();
        let all: Vec<AlignedBytes> =
            lengths.iter().map(|&length| AlignedBytes::from(&source[..length])).collect();
        for (bytes, length) in all.iter().chain(&all.clone()).zip(lengths.repeat(2)) {
            assert_eq!(**bytes, source[..length]);
            assert_eq!(bytes.as_ptr().addr() % CACHE_LINE, 0, "{length}");
        }
        for (bytes, length) in all.into_iter().zip(lengths) {
            assert_eq!(bytes.into_vec(), source[..length]);
        }
    }
}
