//! Structs whose fields have default values.

/// Declares a struct with the default value of each field beside it, and implements [`Default`]. Fields
/// without a value have the default of their type.
///
/// ```
/// sstkit_coding::with_defaults! {
///     #[derive(Debug)]
///     pub struct Options {
///         /// The number of threads.
///         pub threads: usize = 1,
///         pub name: Option<String>,
///     }
/// }
///
/// let options = Options::default();
/// assert_eq!((options.threads, options.name), (1, None));
/// ```
#[macro_export]
macro_rules! with_defaults {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $struct:ident {
            $($(#[$of_field:meta])* $reach:vis $field:ident: $type:ty $(= $default:expr)?,)+
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $struct {
            $($(#[$of_field])* $reach $field: $type,)+
        }

        impl Default for $struct {
            fn default() -> Self {
                Self { $($field: $crate::with_defaults!(@ $($default)?),)+ }
            }
        }
    };
    (@ $default:expr) => { $default };
    (@) => { Default::default() };
}
