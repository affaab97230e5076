//! A value, without a copy.

use std::fmt;
use std::ops::Deref;

use bytes::Bytes;

/// The bytes of a value: usually a handle into its block, which stays in memory.
///
/// Cloning is cheap. A caller that keeps small values of large blocks for a long time should copy
/// them (`value.to_vec()`), so that the blocks are freed.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(Bytes);

impl Value {
    /// The handle.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// A handle of a part of the value, given as a slice of it.
    ///
    /// # Panics
    ///
    /// If `part` is not a slice of this value.
    #[must_use]
    pub fn slice_ref(&self, part: &[u8]) -> Self {
        Self(self.0.slice_ref(part))
    }
}

impl From<Bytes> for Value {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq<[u8]> for Value {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl PartialEq<&[u8]> for Value {
    fn eq(&self, other: &&[u8]) -> bool {
        **self == **other
    }
}

impl<const N: usize> PartialEq<&[u8; N]> for Value {
    fn eq(&self, other: &&[u8; N]) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}
