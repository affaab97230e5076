//! Errors while describing a table or database.

use std::error::Error as StdError;
use std::fmt;
use std::io;

/// `std::result::Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error while describing a table or database.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A table or database could not be read.
    Read(sstkit_table::Error),
    /// The description could not be written: a full disk, a closed pipe.
    Output(io::Error),
}

impl Error {
    /// Whether the error is a broken pipe, which is usually ignored.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Output(error) => write!(f, "the output could not be written: {error}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Read(error) => error.source(),
            Self::Output(error) => error.source(),
        }
    }
}

impl From<sstkit_table::Error> for Error {
    fn from(error: sstkit_table::Error) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
