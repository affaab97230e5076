//! The hashes of a filter in the making, in the order they came.
//!
//! They are kept in chunks, each as long as all before it together, so that nothing is copied as
//! they grow:
//!
//! ```text
//!   512   512   1024   2048   4096   8192   16384 ...
//! ```

/// The longest chunk: 32 MiB.
const MAX_CHUNK_LENGTH: usize = 1 << 22;

const FIRST_CHUNK_LENGTH: usize = 1 << 9;

/// A list that only grows.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    full: Vec<Vec<u64>>,
    open: Vec<u64>,
    /// Entries of the full chunks.
    full_length: usize,
}

impl Entries {
    #[inline]
    pub(super) fn push(&mut self, entry: u64) {
        if self.open.len() == self.open.capacity() {
            self.open_chunk();
        }
        self.open.push(entry);
    }

    #[cold]
    fn open_chunk(&mut self) {
        self.full_length += self.open.len();
        let length = self.full_length.clamp(FIRST_CHUNK_LENGTH, MAX_CHUNK_LENGTH);
        let full = std::mem::replace(&mut self.open, Vec::with_capacity(length));
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.full_length + self.open.len()
    }

    pub(crate) fn first(&self) -> Option<u64> {
        self.iter().next()
    }

    /// In order, by slices of some length.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &[u64]> + Clone {
        self.full.iter().chain([&self.open]).map(Vec::as_slice)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        self.chunks().flatten().copied()
    }

    #[cfg(test)]
    pub(super) fn first_mut(&mut self) -> Option<&mut u64> {
        self.full.first_mut().unwrap_or(&mut self.open).first_mut()
    }
}

impl FromIterator<u64> for Entries {
    fn from_iter<I: IntoIterator<Item = u64>>(iter: I) -> Self {
        let mut entries = Self::default();
        iter.into_iter().for_each(|entry| entries.push(entry));
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_kept_in_order() {
        for count in [0, 1, 512, 513, 1024, 1025, 5000] {
            let entries: Entries = (0..count).collect();
            assert_eq!(entries.len() as u64, count);
            assert_eq!(entries.first(), (count > 0).then_some(0));
            assert!(entries.iter().eq(0..count));
        }
    }

    #[test]
    fn chunks_grow() {
        let entries: Entries = (0..20_000).collect();
        let lengths: Vec<usize> = entries.chunks().map(<[u64]>::len).collect();
        assert_eq!(lengths, [512, 512, 1024, 2048, 4096, 8192, 3616]);
    }
}
