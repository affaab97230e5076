//! The methods of an options type that set one option each.

/// Implements methods that change `self` and return it.
///
/// ```
/// #[derive(Default)]
/// pub struct Options {
///     threads: usize,
/// }
///
/// sstkit_coding::setters! {
///     impl Options:
///
///     /// The number of threads.
///     pub fn threads(mut self, threads: usize) { self.threads = threads; }
/// }
///
/// assert_eq!(Options::default().threads(4).threads, 4);
/// ```
#[macro_export]
macro_rules! setters {
    (
        impl $options:ident $(<$lifetime:lifetime>)?:
        $($(#[$doc:meta])* pub fn $name:ident(mut $self:ident $(, $arg:ident: $type:ty)* $(,)?) $set:block)+
    ) => {
        impl $(<$lifetime>)? $options $(<$lifetime>)? {$(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut $self $(, $arg: $type)*) -> Self {
                $set
                $self
            }
        )+}
    };
}
