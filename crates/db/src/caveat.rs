//! Caveats: problems that do not prevent a database from being read.

use std::fmt;
use std::path::{Path, PathBuf};

/// A caveat about the contents of a [`Database`](crate::Database): something was missing, damaged
/// or assumed, and reading continued as the engine would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caveat {
    kind: CaveatKind,
    file: Option<PathBuf>,
    column_family: Option<String>,
    message: String,
}

/// The kinds of caveats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CaveatKind {
    /// A write-ahead log or MANIFEST ends inside a record. Engines tolerate this result of a crash,
    /// but the record and everything after it is lost.
    TornTail,
    /// Records of a write-ahead log are damaged; they, or everything after them, are ignored.
    DamagedLog,
    /// A file that may contain data or settings is ignored.
    LeftOut,
    /// Something that no file states was assumed.
    Assumed,
    /// The comparator is unknown.
    UnknownOrder,
}

impl fmt::Display for CaveatKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TornTail => "torn tail",
            Self::DamagedLog => "damaged log",
            Self::LeftOut => "left out",
            Self::Assumed => "assumed",
            Self::UnknownOrder => "unknown order",
        })
    }
}

impl Caveat {
    pub(crate) fn new(kind: CaveatKind, message: impl Into<String>) -> Self {
        Self { kind, file: None, column_family: None, message: message.into() }
    }

    pub(crate) fn about(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    pub(crate) fn of_column_family(mut self, name: &str) -> Self {
        self.column_family = Some(name.to_owned());
        self
    }

    /// The kind.
    pub fn kind(&self) -> CaveatKind {
        self.kind
    }

    /// The file, if any.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The column family, if it is about one alone.
    pub fn column_family(&self) -> Option<&str> {
        self.column_family.as_deref()
    }

    /// A message for people, which names the file.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The message.
impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
