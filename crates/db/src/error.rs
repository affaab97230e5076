//! Databases have the errors of tables: an error in a table passes through unchanged.

pub use sstkit_table::{Error, ErrorKind, Result};
