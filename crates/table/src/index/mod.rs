//! The index of a table: its builder, and how it is searched.
//!
//! ```text
//! builder/, separator.rs         one entry per data block: a key between two blocks, and a handle
//! index_cursor.rs, position.rs   one level or two, forwards and backwards
//! flat_index.rs                  all entries of a small index in one array, for point lookups
//! ```

#[cfg(feature = "write")]
pub(crate) mod builder;
pub(crate) mod flat_index;
pub(crate) mod index_cursor;
pub(crate) mod position;
#[cfg(feature = "write")]
pub(crate) mod separator;
