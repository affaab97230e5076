//! Bytes as text in debug output.

use core::fmt;

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

/// Implements `Debug` for a struct with bytes: a field marked `bytes` (or `option`, if it is an
/// `Option`) is printed as text.
///
/// ```
/// struct Pair {
///     key: Vec<u8>,
///     sequence: u64,
///     timestamp: Option<Vec<u8>>,
/// }
///
/// sstkit_coding::debug_struct!(Pair { key: bytes, sequence, timestamp: option });
///
/// let pair = Pair { key: b"k".to_vec(), sequence: 7, timestamp: Some(vec![1]) };
/// let text = format!("{pair:?}");
/// assert_eq!(text, r#"Pair { key: "k", sequence: 7, timestamp: Some("\x01") }"#);
/// ```
#[macro_export]
macro_rules! debug_struct {
    ($type:ident { $($field:ident $(: $form:ident)?),+ $(,)? }) => {
        impl core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($field), $crate::debug_struct!(@ self.$field $($form)?)))+
                    .finish()
            }
        }
    };
    (@ $self:ident.$field:ident) => { &$self.$field };
    (@ $self:ident.$field:ident bytes) => { &$crate::EscapedBytes(&$self.$field) };
    (@ $self:ident.$field:ident option) => { &$self.$field.as_deref().map($crate::EscapedBytes) };
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
