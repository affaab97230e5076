//! Enums whose values have names.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// The error for text that does not name a value of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    text: String,
    expected: &'static [&'static str],
}

impl UnknownName {
    /// The error for `text`, if one of `expected` must be given.
    pub fn new(text: &str, expected: &'static [&'static str]) -> Self {
        Self { text: text.to_owned(), expected }
    }

    /// Whether `text` means the value called `name`, a variant called `variant`.
    pub fn is_name(text: &str, name: &str, variant: &str) -> bool {
        let short = name.strip_prefix('k').unwrap_or(name);
        [name, short, variant].iter().any(|name| name.eq_ignore_ascii_case(text))
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown name {:?}, expected one of: {}", self.text, self.expected.join(", "))
    }
}

impl core::error::Error for UnknownName {}

/// Declares an enum with one line for each value: what it means, its number if it has one, and its name.
///
/// ```
/// sstkit_coding::named_enum! {
///     /// A shape.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Shape {
///         /// Without corners.
///         Round = 1 => "round",
///         /// With four corners.
///         Square = 4 => "square",
///     }
///
///     /// The name in messages.
///     fn name;
/// }
///
/// assert_eq!(Shape::ALL, [Shape::Round, Shape::Square]);
/// assert_eq!(Shape::from_name("square"), Some(Shape::Square));
/// assert_eq!(Shape::Square as u8, 4);
/// assert_eq!(Shape::Round.to_string(), "round");
/// assert_eq!("SQUARE".parse(), Ok(Shape::Square));
///
/// let error = "oval".parse::<Shape>().unwrap_err().to_string();
/// assert_eq!(error, r#"unknown name "oval", expected one of: round, square"#);
/// ```
///
/// Parsing accepts a name in upper or lower case, with or without the `k` of RocksDB's constants
/// (`kCRC32c`, `crc32c`), and the name of the variant.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $enum:ident {
            $($(#[$of_variant:meta])* $variant:ident $(= $number:literal)? => $name:literal,)+
        }

        $(#[$of_name:meta])*
        fn name;
    ) => {
        $(#[$attribute])*
        $visibility enum $enum {
            $($(#[$of_variant])* $variant $(= $number)?,)+
        }

        impl $enum {
            /// All values, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            $(#[$of_name])*
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The value with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl ::core::fmt::Display for $enum {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::core::str::FromStr for $enum {
            type Err = $crate::UnknownName;

            fn from_str(text: &str) -> Result<Self, $crate::UnknownName> {
                $(if $crate::UnknownName::is_name(text, $name, stringify!($variant)) {
                    return Ok(Self::$variant);
                })+
                Err($crate::UnknownName::new(text, &[$($name),+]))
            }
        }
    };
}
