//! Bytes as text in debug output.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Bound;

/// Bytes whose `Debug` output is text in quotes, with escapes as in a byte string literal.
///
/// ```
/// use sstkit_coding::EscapedBytes;
///
/// assert_eq!(format!("{:?}", EscapedBytes(b"key\xff")), r#""key\xff""#);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EscapedBytes<'a>(pub &'a [u8]);

impl fmt::Debug for EscapedBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// Bytes, and what contains bytes: `Debug` output in which they are text.
///
/// Implemented for slices and vectors of bytes, and for options, bounds, pairs and collections of
/// what it is implemented for.
pub trait DebugEscaped {
    /// Formats the value as `Debug` does, with bytes as [`EscapedBytes`].
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A value whose `Debug` output has bytes as text.
///
/// ```
/// use sstkit_coding::Escaped;
///
/// let bounds = Some((b"a".to_vec(), b"\xff".to_vec()));
/// assert_eq!(format!("{:?}", Escaped(&bounds)), r#"Some(("a", "\xff"))"#);
/// ```
#[derive(Clone, Copy)]
pub struct Escaped<'a, T: ?Sized>(pub &'a T);

impl<T: DebugEscaped + ?Sized> fmt::Debug for Escaped<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_escaped(f)
    }
}

impl DebugEscaped for [u8] {
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&EscapedBytes(self), f)
    }
}

impl DebugEscaped for Vec<u8> {
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt_escaped(f)
    }
}

impl<T: DebugEscaped + ?Sized> DebugEscaped for &T {
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt_escaped(f)
    }
}

impl<T: DebugEscaped> DebugEscaped for Option<T> {
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref().map(Escaped), f)
    }
}

impl<T: DebugEscaped> DebugEscaped for Bound<T> {
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref().map(Escaped), f)
    }
}

impl<A: DebugEscaped, B: DebugEscaped> DebugEscaped for (A, B) {
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&(Escaped(&self.0), Escaped(&self.1)), f)
    }
}

impl<T: DebugEscaped> DebugEscaped for Vec<T> {
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(Escaped)).finish()
    }
}

impl<T: DebugEscaped> DebugEscaped for BTreeSet<T> {
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Escaped)).finish()
    }
}

impl<K: DebugEscaped, V: DebugEscaped> DebugEscaped for BTreeMap<K, V> {
    fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.iter().map(|(key, value)| (Escaped(key), Escaped(value)));
        f.debug_map().entries(entries).finish()
    }
}

/// What pairs and collections have beside bytes.
macro_rules! as_they_are {
    ($($type:ty),+) => {$(
        impl DebugEscaped for $type {
            fn fmt_escaped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self, f)
            }
        }
    )+};
}

as_they_are!(u32, u64, String);

/// Implements `Debug` for a struct with bytes: a field marked `bytes` is printed as text, as
/// [`DebugEscaped`] does. All fields must be named.
///
/// ```
/// struct Pair<'k> {
///     key: &'k [u8],
///     sequence: u64,
///     timestamp: Option<Vec<u8>>,
/// }
///
/// sstkit_coding::debug_struct!(Pair<'_> { key: bytes, sequence, timestamp: bytes });
///
/// let pair = Pair { key: b"k", sequence: 7, timestamp: Some(vec![1]) };
/// let text = format!("{pair:?}");
/// assert_eq!(text, r#"Pair { key: "k", sequence: 7, timestamp: Some("\x01") }"#);
/// ```
#[macro_export]
macro_rules! debug_struct {
    (
        $([$($generics:tt)*])? $type:ident $(<$($argument:tt),+>)?
        { $($(#[$attribute:meta])* $field:ident $(: $form:ident)?),+ $(,)? }
    ) => {
        impl$(<$($generics)*>)? core::fmt::Debug for $type$(<$($argument),+>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let Self { $($field),+ } = self;
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($field), $crate::debug_struct!(@ $field $($form)?)))+
                    .finish()
            }
        }
    };
    (@ $field:ident) => { $field };
    (@ $field:ident bytes) => { &$crate::Escaped($field) };
}

/// Implements `Debug` for an enum with bytes, which are marked as in
/// [`debug_struct!`](crate::debug_struct). The values of tuples get names.
///
/// ```
/// enum Change<'k> {
///     Nothing,
///     Put(&'k [u8], u64),
///     Delete { key: Vec<u8> },
/// }
///
/// sstkit_coding::debug_enum!(Change<'_> { Nothing, Put(key: bytes, number), Delete { key: bytes } });
///
/// assert_eq!(format!("{:?}", Change::Nothing), "Nothing");
/// assert_eq!(format!("{:?}", Change::Put(b"\xff", 7)), r#"Put("\xff", 7)"#);
/// assert_eq!(format!("{:?}", Change::Delete { key: b"k".to_vec() }), r#"Delete { key: "k" }"#);
/// ```
#[macro_export]
macro_rules! debug_enum {
    (
        $type:ident $(<$($argument:tt),+>)? {
            $($variant:ident
                $(($($value:ident $(: $value_form:ident)?),+))?
                $({$($field:ident $(: $form:ident)?),+ $(,)?})?
            ),+ $(,)?
        }
    ) => {
        impl core::fmt::Debug for $type$(<$($argument),+>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $(Self::$variant $(($($value),+))? $({$($field),+})? => {
                        $crate::debug_enum!(@ f $variant
                            $(($($value $($value_form)?),+))? $({$($field $($form)?),+})?)
                    })+
                }
            }
        }
    };
    (@ $f:ident $variant:ident) => { $f.write_str(stringify!($variant)) };
    (@ $f:ident $variant:ident ($($value:ident $($form:ident)?),+)) => {
        $f.debug_tuple(stringify!($variant))
            $(.field($crate::debug_struct!(@ $value $($form)?)))+
            .finish()
    };
    (@ $f:ident $variant:ident {$($field:ident $($form:ident)?),+}) => {
        $f.debug_struct(stringify!($variant))
            $(.field(stringify!($field), $crate::debug_struct!(@ $field $($form)?)))+
            .finish()
    };
}

/// Implements `Debug` for types that have nothing to show: only the name is printed.
///
/// ```
/// struct Cursor<R>(R);
///
/// sstkit_coding::debug_opaque!([R] Cursor<R>);
///
/// assert_eq!(format!("{:?}", Cursor(7)), "Cursor { .. }");
/// ```
#[macro_export]
macro_rules! debug_opaque {
    ($([$($generics:tt)*])? $type:ident $(<$($argument:tt),+>)?) => {
        impl$(<$($generics)*>)? core::fmt::Debug for $type$(<$($argument),+>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_at_any_depth() {
        let shown = |value: &dyn fmt::Debug| alloc::format!("{value:?}");
        let key = || b"k\xff".to_vec();
        assert_eq!(shown(&Escaped(&key())), r#""k\xff""#);
        assert_eq!(shown(&Escaped(&Some(&b"k"[..]))), r#"Some("k")"#);
        assert_eq!(shown(&Escaped(&None::<Vec<u8>>)), "None");
        assert_eq!(shown(&Escaped(&Bound::Excluded(key()))), r#"Excluded("k\xff")"#);
        assert_eq!(shown(&Escaped(&Vec::from([(key(), 7_u64)]))), r#"[("k\xff", 7)]"#);
        assert_eq!(shown(&Escaped(&BTreeMap::from([(7_u32, key())]))), r#"{7: "k\xff"}"#);
        assert_eq!(shown(&Escaped(&BTreeSet::from([key()]))), r#"{"k\xff"}"#);
        assert_eq!(shown(&Escaped(&(String::from("a"), key()))), r#"("a", "k\xff")"#);
    }
}
