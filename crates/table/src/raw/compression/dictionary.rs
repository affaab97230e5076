//! The compression dictionary of a table, shared by all its data blocks.

use std::fmt;
#[cfg(any(feature = "zstd", feature = "ruzstd"))]
use std::sync::OnceLock;

#[cfg(feature = "zstd")]
use zstd::zstd_safe::DDict;

use crate::error::{Error, Result};

/// The bytes of the meta block `rocksdb.compression_dict`.
///
/// The meaning depends on the codec: for zlib and LZ4 the bytes precede the window; for zstd they are
/// either that or a trained dictionary, which starts with a magic number. snappy and bzip2 have no
/// dictionaries.
pub struct Dictionary {
    bytes: Vec<u8>,
    /// Prepared for zstd on first use; `None` inside if it is invalid.
    #[cfg(feature = "zstd")]
    zstd: OnceLock<Option<DDict<'static>>>,
    #[cfg(all(feature = "ruzstd", any(test, not(feature = "zstd"))))]
    ruzstd: OnceLock<Option<super::ruzstd::SharedDecoder>>,
}

impl Dictionary {
    /// A dictionary of these bytes. An empty one is corrupt, because none is ever written.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(Error::corrupt("the compression dictionary is empty"));
        }
        Ok(Self {
            bytes,
            #[cfg(feature = "zstd")]
            zstd: OnceLock::new(),
            #[cfg(all(feature = "ruzstd", any(test, not(feature = "zstd"))))]
            ruzstd: OnceLock::new(),
        })
    }

    /// The bytes as stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[cfg(feature = "zstd")]
    pub(super) fn for_zstd(&self) -> Result<&DDict<'static>> {
        self.zstd.get_or_init(|| DDict::try_create(&self.bytes)).as_ref().ok_or_else(invalid)
    }

    #[cfg(all(feature = "ruzstd", any(test, not(feature = "zstd"))))]
    pub(super) fn for_ruzstd(&self) -> Result<&super::ruzstd::SharedDecoder> {
        let decoder = || super::ruzstd::SharedDecoder::with_dictionary(&self.bytes);
        self.ruzstd.get_or_init(decoder).as_ref().ok_or_else(invalid)
    }
}

#[cfg(any(feature = "zstd", feature = "ruzstd"))]
fn invalid() -> Error {
    Error::corrupt("the zstd dictionary is invalid")
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.bytes.len())
    }
}
