//! The error type of this crate.

use std::error::Error as StdError;
use std::fmt;

use arrow_schema::ArrowError;
use sstkit_db::ErrorKind;

/// `std::result::Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error while moving data between record batches and tables.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A table or database could not be read or written.
    Database(sstkit_db::Error),
    /// A record batch could not be read or made.
    Arrow(ArrowError),
    /// The schema, a value of a batch, or a request that contradicts itself. Change it.
    InvalidInput(String),
    /// A column or value that cannot be represented.
    Unsupported(String),
    /// A key that does not have the encoding that was given.
    Corrupt(String),
}

impl Error {
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::InvalidInput(what.into())
    }

    /// What a caller can do.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Database(error) => error.kind(),
            Self::Arrow(_) | Self::InvalidInput(_) => ErrorKind::InvalidInput,
            Self::Unsupported(_) => ErrorKind::Unsupported,
            Self::Corrupt(_) => ErrorKind::Corrupt,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => error.fmt(f),
            Self::Arrow(error) => error.fmt(f),
            Self::InvalidInput(what) => write!(f, "invalid argument: {what}"),
            Self::Unsupported(what) => write!(f, "not supported: {what}"),
            Self::Corrupt(what) => write!(f, "corrupt: {what}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Database(error) => error.source(),
            Self::Arrow(error) => error.source(),
            _ => None,
        }
    }
}

impl From<sstkit_db::Error> for Error {
    fn from(error: sstkit_db::Error) -> Self {
        Self::Database(error)
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// Readers of record batches give errors of Arrow; this one keeps its kind inside.
impl From<Error> for ArrowError {
    fn from(error: Error) -> Self {
        match error {
            Error::Arrow(error) => error,
            error => Self::ExternalError(Box::new(error)),
        }
    }
}
