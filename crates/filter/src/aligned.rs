//! Bytes that begin where a cache line does.
//!
//! Blocks of a cache-local Bloom filter are as long as a cache line, but memory from an allocator
//! begins anywhere: a block then lies in two lines, and a query waits for both. What is read from a
//! file has to be put somewhere anyway, so it may as well be put here.
//!
//! ```text
//!   memory   start = where the first line of it begins
//! +--------+----------+----------+-----+-----+
//! | unused | line     | line     | ... |     |
//! +--------+----------+----------+-----+-----+
//! ```

use std::fmt;
use std::ops::{Deref, DerefMut};

use sstkit_coding::huge_pages::advise_huge_pages;
use sstkit_coding::prefetch::CACHE_LINE;

/// Bytes that begin where a cache line does: the memory in which filters are asked fastest.
///
/// ```
/// use sstkit_filter::{AlignedBytes, BuildContext, Filter, FilterPolicy};
///
/// let policy: FilterPolicy = "bloomfilter:10".parse()?;
/// let mut builder = policy.builder(&BuildContext::default()).expect("builds filters");
/// builder.add(b"alice");
/// let from_a_file = builder.finish()?;
///
/// let filter = Filter::from_bytes(AlignedBytes::from(&from_a_file[..]));
/// assert!(filter.may_contain(b"alice"));
/// # Ok::<(), sstkit_filter::Error>(())
/// ```
pub struct AlignedBytes {
    memory: Vec<u8>,
    /// The bytes are those from here on. Memory stays where it is, however this is moved.
    start: usize,
}

impl AlignedBytes {
    /// So many zeros, to be written over.
    ///
    /// # Panics
    ///
    /// As vectors do, if there is no such memory.
    pub fn zeroed(length: usize) -> Self {
        let mut memory = vec![0; length.saturating_add(CACHE_LINE)];
        advise_huge_pages(&mut memory);
        // An alignment that cannot be had is told by a number that is too large.
        let start = memory.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE);
        memory.truncate(start + length);
        Self { memory, start }
    }

    /// The bytes, moved to where memory begins.
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
        self.memory.get(self.start..).unwrap_or_default()
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
    /// Other memory may begin elsewhere.
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
    fn bytes_are_kept_and_aligned() {
        // All at once, so that memory begins in many places.
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
