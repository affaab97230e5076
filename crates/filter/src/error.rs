//! What can go wrong: little, since readers answer "may contain" to anything they do not know.

use std::{error, fmt};

/// An error of this crate: a [`kind`](Error::kind) to act on and a sentence for a person.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// What the caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text of a policy or prefix extractor is malformed: correct it.
    InvalidInput,
    /// The name is well formed but nothing is known under it: register it, or use another.
    Unsupported,
    /// A filter under construction did not check out: the memory of this machine is suspect. The
    /// table must not be kept.
    Corrupt,
    /// A user-made policy failed; its own error is the [source](error::Error::source).
    User,
}

/// The result of whatever can fail here.
pub type Result<T> = std::result::Result<T, Error>;

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
            message: format!("filter policy {policy} failed: {source}"),
            source: Some(source),
        }
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}
