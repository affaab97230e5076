//! The uncompressed size that a block declares, checked before it is used.

use sstkit_coding::fixed::{get_fixed64, put_fixed64};
use sstkit_coding::varint::{get_varint64, put_varint64};

use crate::error::{Error, Result};

/// Where a block stores its uncompressed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeclaredSize {
    /// In a varint before the stream.
    Varint,
    /// In eight bytes before the stream: the writer's `size_t`. Only the low four bytes are used, as in
    /// RocksDB.
    SizeT,
    /// In the header of the stream itself.
    InFrame,
    /// Not stored.
    None,
}

impl DeclaredSize {
    /// The bytes before the stream.
    pub(super) fn encode(self, size: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Varint => put_varint64(&mut bytes, size as u64),
            Self::SizeT => put_fixed64(&mut bytes, size as u64),
            Self::InFrame | Self::None => {}
        }
        bytes
    }

    /// Splits the size off the front of `stored`, if present.
    pub(super) fn take(self, stored: &mut &[u8]) -> Result<Option<u64>> {
        let size = match self {
            Self::Varint => get_varint64(stored),
            Self::SizeT => get_fixed64(stored).map(|size| u64::from(size as u32)),
            Self::InFrame | Self::None => return Ok(None),
        };
        size.map(Some).ok_or_else(|| Error::corrupt("the uncompressed size is unreadable"))
    }
}

/// Checks that `declared` bytes may be allocated: no more than `stored` bytes can expand to, and no more
/// than the limit.
pub(super) fn check(
    declared: u64,
    stored: usize,
    max_expansion: u64,
    max_size: usize,
) -> Result<usize> {
    let possible = (stored as u64).saturating_mul(max_expansion);
    if declared > possible {
        return Err(Error::mismatch(
            "the declared size is larger than the compressed data can expand to",
            format_args!("{possible} or less"),
            declared,
        ));
    }
    match usize::try_from(declared) {
        Ok(size) if size <= max_size => Ok(size),
        _ => Err(over_limit(declared, max_size)),
    }
}

/// The error for contents of at least `size` bytes.
pub(super) fn over_limit(size: u64, max_size: usize) -> Error {
    Error::unsupported(format!(
        "the block decompresses to at least {size} bytes, above the limit of {max_size} bytes \
         (raise max_block_size or --max-block-size)"
    ))
}

/// From this size on, running out of memory is an error instead of an abort.
const LARGE: usize = 16 << 20;

/// An empty vector with room for `size` bytes, a size that has been [checked](check).
pub(super) fn allocate(size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reserve(&mut bytes, size)?;
    Ok(bytes)
}

/// The same, filled with zeros.
pub(super) fn allocate_zeroed(size: usize) -> Result<Vec<u8>> {
    if size < LARGE {
        return Ok(vec![0; size]);
    }
    let mut bytes = allocate(size)?;
    bytes.resize(size, 0);
    Ok(bytes)
}

pub(super) fn reserve(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    bytes.try_reserve_exact(more).map_err(|source| {
        let size = bytes.len().saturating_add(more);
        let what = format!("out of memory for a block that decompresses to {size} bytes");
        Error::unsupported(what).with_source(source)
    })
}

pub(super) fn check_output(declared: usize, output: usize) -> Result<()> {
    if declared == output {
        return Ok(());
    }
    Err(Error::mismatch("the decompressed size does not match", declared, output))
}
