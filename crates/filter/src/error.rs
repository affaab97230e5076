//! Errors. Reading never fails: an unknown filter may contain anything.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::{error, fmt};

/// An error of this crate, with a [`kind`](Error::kind) and a message.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// The kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text of a policy or prefix extractor, or another argument, is invalid.
    InvalidInput,
    /// Unknown name of a policy or prefix extractor. Register it, or use another one.
    Unsupported,
    /// A filter failed verification while it was built, probably because of faulty memory. Discard
    /// the table.
    Corrupt,
    /// A custom policy failed, with [this error](Error::get_ref).
    User,
    /// A [storage](crate::HashStorage) of hashes failed, with [this error](Error::get_ref).
    Storage,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InvalidInput => "invalid argument",
            Self::Unsupported => "not supported",
            Self::Corrupt => "corrupt",
            Self::User => "failed custom policy",
            Self::Storage => "failed storage of hashes",
        })
    }
}

/// A result with an [`Error`] of this crate.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    pub(crate) fn invalid_input(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::InvalidInput, message: message.into(), source: None }
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Unsupported, message: message.into(), source: None }
    }

    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Corrupt, message: message.into(), source: None }
    }

    pub(crate) fn user(policy: &str, source: Box<dyn error::Error + Send + Sync>) -> Self {
        Self {
            kind: ErrorKind::User,
            message: format!("filter policy {policy} failed"),
            source: Some(source),
        }
    }

    pub(crate) fn storage(source: Box<dyn error::Error + Send + Sync>) -> Self {
        Self {
            kind: ErrorKind::Storage,
            message: "the hashes of a filter cannot be read".into(),
            source: Some(source),
        }
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The error of a custom policy or a storage, if one failed. The message contains its message.
    pub fn get_ref(&self) -> Option<&(dyn error::Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

/// The [error behind it](Error::get_ref) is part of the message; the source is what is behind it.
impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_deref().and_then(error::Error::source)
    }
}
