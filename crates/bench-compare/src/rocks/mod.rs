//! RocksDB: its table reader, writer and filters called from C++ (`src/shim`), and a database as
//! Rust programs have it.

mod database;
mod ffi;
mod filter;
mod table;

pub(crate) use self::database::{Database, Entry};
pub(crate) use self::filter::{Builder as FilterBuilder, Filter};
pub(crate) use self::table::{Reader, sort_and_write, write};

/// The version that is linked.
pub(crate) fn version() -> String {
    let mut version = [0; 3];
    // SAFETY: writes three numbers.
    unsafe { ffi::shim_version(version.as_mut_ptr()) };
    version.map(|part| part.to_string()).join(".")
}
