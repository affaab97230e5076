//! A limit for the work of a search, so that a hostile file cannot make it quadratic.

/// Bytes that may be looked at for each byte of the region.
const PER_BYTE: u64 = 16;

/// … and in any case.
const AT_LEAST: u64 = 8 << 20;

/// What is left of the bytes that a search may look at: hashed, decompressed or compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    left: u64,
}

impl Effort {
    /// For a region of this length.
    pub(super) fn for_region(length: u64) -> Self {
        Self { left: length.saturating_mul(PER_BYTE).saturating_add(AT_LEAST) }
    }

    pub(super) fn spend(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// No more than this is left.
    pub(super) fn left(self) -> u64 {
        self.left
    }

    pub(super) fn is_spent(self) -> bool {
        self.left == 0
    }
}
