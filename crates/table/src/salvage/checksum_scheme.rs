//! How the blocks of a file are sealed: the type of their checksums, and what is added to them.

use sstkit_coding::checksum::{ChecksumType, context_modifier};

use crate::raw::Footer;

/// The checksums of a file's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChecksumScheme {
    pub(super) checksum: ChecksumType,
    /// The base context checksum; 0 before format version 6.
    pub(super) base: u32,
}

impl ChecksumScheme {
    pub(super) fn of(footer: &Footer) -> Self {
        Self { checksum: footer.checksum, base: footer.base_context_checksum }
    }

    /// What is stored for a block at `offset` whose checksum without context is `plain`.
    pub(super) fn stored(self, plain: u32, offset: u64) -> u32 {
        plain.wrapping_add(context_modifier(self.base, offset))
    }

    /// The scheme under which a block at `offset` has the checksum `stored`; with a base of 0 if it is
    /// stored as it is.
    pub(super) fn with_context(
        checksum: ChecksumType,
        plain: u32,
        stored: u32,
        offset: u64,
    ) -> Self {
        // modifier = base ^ fold(offset), and a base of u32::MAX shows fold(offset) inverted.
        let fold = !context_modifier(u32::MAX, offset);
        let base = if stored == plain { 0 } else { stored.wrapping_sub(plain) ^ fold };
        Self { checksum, base }
    }

    /// Whether checksums say anything about where a block ends: without them, and without context,
    /// the field is always 0.
    pub(super) fn is_weak(self) -> bool {
        self.checksum == ChecksumType::None && self.base == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_found_again() {
        for offset in [0, 7, 0x1_0000_0005] {
            let scheme = ChecksumScheme { checksum: ChecksumType::Xxh3, base: 0x50ef_9fb7 };
            let stored = scheme.stored(0x1234_5678, offset);
            let found =
                ChecksumScheme::with_context(ChecksumType::Xxh3, 0x1234_5678, stored, offset);
            assert_eq!(found, scheme);
        }
    }
}
