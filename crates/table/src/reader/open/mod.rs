//! Opens a table: its source, its options, and the tail of the file.

pub(crate) mod core;
mod counted_source;
pub(crate) mod key_space;
pub(crate) mod layout;
pub(crate) mod source;
pub(crate) mod source_identity;
pub(crate) mod table_read_options;
pub(crate) mod tail;

pub use self::layout::{Layout, LayoutBlock};
pub use self::source::Source;
pub use self::source_identity::SourceIdentity;
pub use self::table_read_options::{DEFAULT_CACHE_SIZE, KeyForm, TableReadOptions};
