//! A value, without a copy.

use std::borrow::Borrow;
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

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// Copies them.
impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(bytes))
    }
}

/// Copies them.
impl<const N: usize> From<&[u8; N]> for Value {
    fn from(bytes: &[u8; N]) -> Self {
        Self::from(bytes.as_slice())
    }
}

/// Copies it.
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl From<Value> for Bytes {
    fn from(value: Value) -> Self {
        value.0
    }
}

/// Copies them, unless this is the only handle.
impl From<Value> for Vec<u8> {
    fn from(value: Value) -> Self {
        value.0.into()
    }
}

/// Values are ordered and hashed like their bytes.
impl Borrow<[u8]> for Value {
    fn borrow(&self) -> &[u8] {
        &self.0
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

/// Comparisons with other types that hold bytes, from both sides.
macro_rules! equals {
    ($([$($generics:tt)*] $other:ty;)+) => {$(
        impl<$($generics)*> PartialEq<$other> for Value {
            fn eq(&self, other: &$other) -> bool {
                let other: &[u8] = other.as_ref();
                *self.0 == *other
            }
        }

        impl<$($generics)*> PartialEq<Value> for $other {
            fn eq(&self, other: &Value) -> bool {
                other == self
            }
        }
    )+};
}

equals! {
    [] [u8];
    [] &[u8];
    [const N: usize] [u8; N];
    [const N: usize] &[u8; N];
    [] Vec<u8>;
    [] Bytes;
    [] str;
    [] &str;
    [] String;
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;

    #[test]
    fn compares_and_converts_like_bytes() {
        let value = Value::from("abc");
        assert_eq!(value, "abc");
        assert_eq!("abc", value);
        assert_eq!(value, *b"abc");
        assert_eq!(b"abc", value);
        assert_eq!(value, b"abc".to_vec());
        assert_eq!(value, Bytes::from_static(b"abc"));
        assert_ne!(value, b"abd");
        assert_eq!(Value::from(b"abc"), Value::from(b"abc".as_slice()));
        assert_eq!(Vec::from(value.clone()), Bytes::from(value));
    }

    #[test]
    fn is_found_in_maps_by_its_bytes() {
        let keys = [Value::from("a"), Value::from(b"bc"), Value::default()];
        let hashed: HashMap<Value, usize> = keys.iter().cloned().zip(0..).collect();
        let ordered: BTreeMap<Value, usize> = keys.iter().cloned().zip(0..).collect();
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(hashed.get(&key[..]), Some(&at));
            assert_eq!(ordered.get(&key[..]), Some(&at));
        }
    }
}
