//! Settings of the file as a whole: format version and checksums.

use sstkit_coding::checksum::ChecksumType;
use sstkit_coding::{setters, with_defaults};

use super::TableOptions;
use super::check::refuse;
use super::defaults::{DEFAULT_CHECKSUM, DEFAULT_FORMAT_VERSION};
use crate::error::Result;
use crate::raw::FormatVersion;

with_defaults! {
    #[derive(Clone, Debug)]
    pub(crate) struct FormatOptions {
        pub(crate) version: FormatVersion = DEFAULT_FORMAT_VERSION,
        /// Whether the version was set, and is not a default.
        pub(super) version_is_given: bool,
        pub(crate) checksum: ChecksumType = DEFAULT_CHECKSUM,
        /// Whether the checksum was set, and is not a default.
        pub(super) checksum_is_given: bool,
        pub(crate) context_seed: u64,
        pub(crate) base_context_checksum: Option<u32>,
    }
}

impl FormatOptions {
    pub(super) fn check(&self) -> Result<()> {
        refuse(self.base_context_checksum == Some(0), || {
            "base_context_checksum = 0 is reserved for files without context checksums".into()
        })
    }
}

setters! {
    impl TableOptions:

    /// RocksDB's `format_version`, 0 to 7. Default:
    /// [`DEFAULT_FORMAT_VERSION`]. Lower it for old readers:
    /// 7 needs RocksDB 10.4, 6 needs 8.6, 5 needs 6.6; [`readable_by`](Self::readable_by) picks one.
    ///
    /// With versions 0 and 1, which RocksDB 11 does not read, the table is what RocksDB 6.20 wrote,
    /// and the default checksum is CRC-32C.
    pub fn format_version(mut self, version: FormatVersion) {
        self.format.version = version;
        self.format.version_is_given = true;
        if version < FormatVersion::V2 && !self.format.checksum_is_given {
            self.format.checksum = ChecksumType::Crc32c;
        }
    }

    /// The checksum of blocks. Default: [`DEFAULT_CHECKSUM`].
    pub fn checksum(mut self, checksum: ChecksumType) {
        self.format.checksum = checksum;
        self.format.checksum_is_given = true;
    }

    /// Seed of the base context checksum (format version 6 and later), together with the identity.
    /// RocksDB uses a random number for each file. Default: 0. Vary it when many files have one
    /// identity and a block of one must fail in another.
    pub fn context_seed(mut self, seed: u64) { self.format.context_seed = seed; }

    /// The base context checksum itself, not 0, for files that must equal a given one. Default:
    /// computed from identity and seed.
    pub fn base_context_checksum(mut self, base: u32) {
        self.format.base_context_checksum = Some(base);
    }
}

impl TableOptions {
    /// The base context checksum, which ties blocks to this file; 0 before format version 6.
    pub(crate) fn context_checksum(&self) -> u32 {
        if !self.format.version.has_context_checksums() {
            return 0;
        }
        self.format
            .base_context_checksum
            .unwrap_or_else(|| self.properties.identity.context_checksum(self.format.context_seed))
    }
}
