//! How a read loads data blocks that are not in the cache.

/// The parts of [`ReadOptions`](crate::ReadOptions) that concern single blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockAccess {
    /// Whether they are added to the cache.
    pub(crate) fill_cache: bool,
    /// Whether their checksums are verified, if those of the table are.
    pub(crate) verify_checksums: bool,
}

impl Default for BlockAccess {
    #[inline]
    fn default() -> Self {
        Self { fill_cache: true, verify_checksums: true }
    }
}
