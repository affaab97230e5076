//! The one error of this crate: what happened, where, what was expected and what was found.
//!
//! ```text
//! users.sst: the data block at offset 4096 is corrupt: the checksum does not match
//! '-------'  '--------------------------'    '-----'   '-------------------------'
//!   file          kind of block, offset        kind          what
//!   (the layer that knows it adds it)                (expected 0x11db6358, found 0x11db6359)
//! ```

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::raw::BlockKind;

/// `std::result::Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system could not read or write. Look at the source; trying again may help.
    Io,
    /// The bytes are not what any engine writes. Restore the file from a copy; reading its other
    /// blocks may still work.
    Corrupt,
    /// The file may be sound, but uses something this library does not know or was configured not to
    /// accept: another table kind, a newer format version, a custom codec, a block above the
    /// configured limit.
    Unsupported,
    /// The caller requested something contradictory. Change the request.
    InvalidInput,
}

/// Anything that can go wrong with a table.
pub struct Error {
    // Boxed, so that a `Result` of a hot path stays two words.
    inner: Box<Inner>,
}

struct Inner {
    kind: ErrorKind,
    what: String,
    /// Expected and found.
    difference: Option<(String, String)>,
    file: Option<PathBuf>,
    block: Option<(BlockKind, u64)>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        let what = what.into();
        let inner = Inner { kind, what, difference: None, file: None, block: None, source: None };
        Self { inner: Box::new(inner) }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, what)
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, what)
    }

    pub(crate) fn invalid_input(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, what)
    }

    /// Corruption: a value differs from the expected one.
    pub(crate) fn mismatch(
        what: impl Into<String>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        let mut error = Self::corrupt(what);
        error.inner.difference = Some((expected.to_string(), found.to_string()));
        error
    }

    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        self.inner.source = Some(source.into());
        self
    }

    /// Says which block it happened in; the innermost caller that knows has the word.
    #[must_use]
    pub fn in_block(mut self, kind: BlockKind, offset: u64) -> Self {
        self.inner.block.get_or_insert((kind, offset));
        self
    }

    /// Says which file it happened in; the innermost caller that knows has the word.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.inner.file.get_or_insert_with(|| file.into());
        self
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The file, where it is known.
    pub fn file(&self) -> Option<&Path> {
        self.inner.file.as_deref()
    }

    /// The kind of block it happened in, where it is known.
    pub fn block(&self) -> Option<BlockKind> {
        self.inner.block.map(|(kind, _)| kind)
    }

    /// The file offset of that block.
    pub fn offset(&self) -> Option<u64> {
        self.inner.block.map(|(_, offset)| offset)
    }

    /// What should have been there.
    pub fn expected(&self) -> Option<&str> {
        self.inner.difference.as_ref().map(|(expected, _)| expected.as_str())
    }

    /// The found value.
    pub fn found(&self) -> Option<&str> {
        self.inner.difference.as_ref().map(|(_, found)| found.as_str())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, what, difference, file, block, source } = &*self.inner;
        if let Some(file) = file {
            write!(f, "{}: ", file.display())?;
        }
        match block {
            Some((block, offset)) => write!(f, "the {block} at offset {offset} ")?,
            None if matches!(kind, ErrorKind::Io | ErrorKind::InvalidInput) => {}
            None => f.write_str("the table ")?,
        }
        f.write_str(match (kind, block) {
            (ErrorKind::Io, Some(_)) => "could not be read",
            (ErrorKind::Io, None) => "I/O error",
            (ErrorKind::Corrupt, _) => "is corrupt",
            (ErrorKind::Unsupported, _) => "is not supported",
            (ErrorKind::InvalidInput, Some(_)) => "cannot be used",
            (ErrorKind::InvalidInput, None) => "invalid argument",
        })?;
        // The message of the system is used alone.
        if !what.is_empty() {
            write!(f, ": {what}")?;
        }
        if let Some((expected, found)) = difference {
            write!(f, " (expected {expected}, found {found})")?;
        }
        if let Some(source) = source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

/// The sentence, in quotes: what `unwrap` prints should be readable too.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}, {:?})", self.inner.kind, self.to_string())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.inner.source.as_deref().map(|source| source as _)
    }
}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self::new(ErrorKind::Io, "").with_source(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_with_place_expected_and_found() {
        let error = Error::mismatch("the checksum does not match", "0x01", "0x02")
            .in_block(BlockKind::Data, 4096)
            .in_block(BlockKind::Index, 7)
            .in_file("users.sst")
            .in_file("other.sst");
        assert_eq!(
            error.to_string(),
            "users.sst: the data block at offset 4096 is corrupt: the checksum does not match \
             (expected 0x01, found 0x02)"
        );
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(error.file(), Some(Path::new("users.sst")));
        assert_eq!((error.block(), error.offset()), (Some(BlockKind::Data), Some(4096)));
        assert_eq!((error.expected(), error.found()), (Some("0x01"), Some("0x02")));
    }

    #[test]
    fn the_system_speaks_through_the_source() {
        let error = Error::from(io::Error::other("disk on fire"));
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.source().is_some());
        assert!(error.to_string().ends_with("I/O error: disk on fire"));
    }

    #[test]
    fn a_result_stays_small() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }
}
