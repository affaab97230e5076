//! What the tests of all crates share.
//!
//! | module | contents |
//! |---|---|
//! | [`datadriven`] | test cases in text files: command, input, expected output |
//! | [`environment`] | environments of Python and node |
//! | [`page`] | dumps in documents, compared with what the library prints |
//! | [`random`] | the random number generator of all tests |
//! | `goldens` | the tables and databases in `testdata`, and models of their contents |
//! | `notation` | internal entries as text, and tables made of them |
//! | `database_notation` | databases as text: a log and levels |
//! | `orders` | user-made comparators |
//! | `history` | random writes to the column families of a new database, and what is visible of them |
//! | `engines` | RocksDB and LevelDB themselves, from PyPI |
//! | `faults` | sources and sinks that fail, writers to be killed |
//! | `object_stores` | an S3 server, and a proxy that makes requests fail |
//!
//! The last eight need the feature `tables`, which is on by default. The tests of this crate are those
//! with failing disks, killed processes and many threads.
//!
//! A crate may use `testkit` in `tests/` but not in unit tests: there, the types of the crate under
//! test are different from those that `testkit` was compiled with.

#![forbid(unsafe_code)]

#[cfg(feature = "tables")]
pub mod database_notation;
pub mod datadriven;
#[cfg(feature = "tables")]
pub mod engines;
pub mod environment;
#[cfg(feature = "tables")]
pub mod faults;
#[cfg(feature = "tables")]
pub mod goldens;
#[cfg(feature = "tables")]
pub mod history;
#[cfg(feature = "tables")]
pub mod notation;
#[cfg(feature = "tables")]
pub mod object_stores;
#[cfg(feature = "tables")]
pub mod orders;
pub mod page;
pub mod random;

use std::path::{Path, PathBuf};

pub use random::Random;

/// The root of the project.
///
/// # Panics
///
/// If this crate is not two directories below it.
pub fn root() -> PathBuf {
    let this = Path::new(env!("CARGO_MANIFEST_DIR"));
    this.ancestors().nth(2).expect("two directories below the root").to_path_buf()
}

/// Whether the tests rewrite expected outputs instead of comparing them: `UPDATE_GOLDENS=1`.
pub fn update_goldens() -> bool {
    std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1")
}

/// The number in an environment variable, or `default`.
fn number_from_environment(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")),
        Err(_) => default,
    }
}

/// The factor by which tests do more work than usual: `SSTKIT_CASES`, or 1.
pub fn cases() -> usize {
    number_from_environment("SSTKIT_CASES", 1).max(1) as usize
}

/// The lines that differ between two texts, with their numbers.
pub(crate) fn difference(old: &str, new: &str) -> String {
    let mut out = String::new();
    for (i, (old, new)) in old.lines().zip(new.lines()).enumerate() {
        if old != new {
            out.push_str(&format!("line {}:\n- {old}\n+ {new}\n", i + 1));
        }
    }
    let (old, new) = (old.lines().count(), new.lines().count());
    if old != new {
        out.push_str(&format!("{old} lines, expected {new}\n"));
    }
    out
}

/// Decodes hexadecimal digits.
///
/// # Panics
///
/// If the text is not made of pairs of digits.
pub fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "odd number of digits in {text}");
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit") as u8;
    text.as_bytes().as_chunks().0.iter().map(|&[high, low]| digit(high) << 4 | digit(low)).collect()
}
