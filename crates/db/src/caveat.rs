//! What a reader of a database should know about what is shown: reservations that are not errors.

use std::fmt;
use std::path::{Path, PathBuf};

/// A reservation about what a [`Database`](crate::Database) shows: something was missing, damaged
/// or assumed, and reading went on as the engine would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caveat {
    kind: CaveatKind,
    file: Option<PathBuf>,
    message: String,
}

/// The kinds of caveats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CaveatKind {
    /// A write-ahead log or MANIFEST ends inside of a record. Engines tolerate that: it is what a
    /// crash leaves behind. But the record, and whatever followed it, is lost.
    TornTail,
    /// Records of a write-ahead log are damaged, and they or what follows them is left out.
    DamagedLog,
    /// A file that may hold data or settings is left out.
    LeftOut,
    /// Something that no file says was assumed.
    Assumed,
    /// The order of the keys is not known for certain.
    UnknownOrder,
}

impl Caveat {
    pub(crate) fn new(kind: CaveatKind, message: impl Into<String>) -> Self {
        Self { kind, file: None, message: message.into() }
    }

    /// Says which file it is about.
    pub(crate) fn about(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// What kind it is.
    pub fn kind(&self) -> CaveatKind {
        self.kind
    }

    /// The file that it is about, where it is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// A sentence for a person. It names the file.
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
