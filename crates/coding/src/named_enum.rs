//! Enums whose values have names.

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
/// ```
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
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            $(#[$of_name])*
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The value with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl ::core::fmt::Display for $enum {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
