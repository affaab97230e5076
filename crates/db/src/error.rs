//! The error type of this crate: what happened, where, what was expected and what was found.
//!
//! ```text
//! db/MANIFEST-000005: corrupt at offset 4096: the checksum does not match (expected 0x01, found 0x02)
//! '----------------'  '-----'    '---------'  '-------------------------'
//!        file           kind       offset            what
//!    (added by the layer that knows it)
//! ```
//!
//! An error from a table keeps its own message, which names the kind of block.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// `std::result::Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an [`Error`], which tells what a caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An I/O error. See the source; retrying may help.
    Io,
    /// The bytes are not what any engine writes, or the files do not match each other. Restore the
    /// file from a copy; other files may still be readable.
    Corrupt,
    /// The directory may be sound, but uses a feature that this library does not support or was
    /// configured not to accept.
    Unsupported,
    /// The caller passed an invalid or contradictory argument. Change the request.
    InvalidInput,
    /// The directory is in use and changed while it was read. Open it again.
    Changed,
}

/// An error while reading or writing database files.
pub struct Error {
    // Boxed to keep `Result` small on hot paths.
    inner: Box<Inner>,
}

struct Inner {
    kind: ErrorKind,
    what: What,
    /// The expected and the found value.
    difference: Option<(String, String)>,
    file: Option<PathBuf>,
    offset: Option<u64>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What happened.
enum What {
    Said(String),
    /// The source is a table error, whose message is complete, except perhaps for the file.
    InTable {
        names_file: bool,
    },
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        let what = What::Said(what.into());
        let inner = Inner { kind, what, difference: None, file: None, offset: None, source: None };
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

    pub(crate) fn changed(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Changed, what)
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

    /// Adds the file. The innermost caller that knows it takes precedence.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.inner.file.get_or_insert_with(|| file.into());
        self
    }

    /// Adds the offset in the file. The innermost caller that knows it takes precedence.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.inner.offset.get_or_insert(offset);
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The file, if known.
    pub fn file(&self) -> Option<&Path> {
        self.inner.file.as_deref()
    }

    /// The offset in that file, if known.
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }

    /// The expected value, if any.
    pub fn expected(&self) -> Option<&str> {
        self.inner.difference.as_ref().map(|(expected, _)| expected.as_str())
    }

    /// The found value, if any.
    pub fn found(&self) -> Option<&str> {
        self.inner.difference.as_ref().map(|(_, found)| found.as_str())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, what, difference, file, offset, source } = &*self.inner;
        if let (Some(file), What::Said(_) | What::InTable { names_file: false }) = (file, what) {
            write!(f, "{}: ", file.display())?;
        }
        let what = match (what, source) {
            (What::InTable { .. }, Some(table)) => return write!(f, "{table}"),
            (What::InTable { .. }, None) => "in a table",
            (What::Said(what), _) => what,
        };
        f.write_str(match kind {
            ErrorKind::Io => "I/O error",
            ErrorKind::Corrupt => "corrupt",
            ErrorKind::Unsupported => "not supported",
            ErrorKind::InvalidInput => "invalid argument",
            ErrorKind::Changed => "changed while being read",
        })?;
        if let Some(offset) = offset {
            write!(f, " at offset {offset}")?;
        }
        // I/O errors have only a source.
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

/// The message in quotes, so that `unwrap` prints it readably.
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

/// Takes kind, file, offset and message from the table error.
impl From<sstkit_table::Error> for Error {
    fn from(source: sstkit_table::Error) -> Self {
        let kind = match source.kind() {
            sstkit_table::ErrorKind::Io => ErrorKind::Io,
            sstkit_table::ErrorKind::Corrupt => ErrorKind::Corrupt,
            sstkit_table::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
            // New kinds are features that this version does not support.
            _ => ErrorKind::Unsupported,
        };
        let text = |text: Option<&str>| text.map(str::to_owned);
        let inner = Inner {
            kind,
            what: What::InTable { names_file: source.file().is_some() },
            difference: text(source.expected()).zip(text(source.found())),
            file: source.file().map(Path::to_path_buf),
            offset: source.offset(),
            source: Some(source.into()),
        };
        Self { inner: Box::new(inner) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_with_place_expected_and_found() {
        let error = Error::mismatch("the checksum does not match", "0x01", "0x02")
            .at_offset(4096)
            .at_offset(7)
            .in_file("db/MANIFEST-000005")
            .in_file("other");
        assert_eq!(
            error.to_string(),
            "db/MANIFEST-000005: corrupt at offset 4096: the checksum does not match \
             (expected 0x01, found 0x02)"
        );
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(error.file(), Some(Path::new("db/MANIFEST-000005")));
        assert_eq!(error.offset(), Some(4096));
        assert_eq!((error.expected(), error.found()), (Some("0x01"), Some("0x02")));
    }

    #[test]
    fn the_system_and_tables_speak_through_the_source() {
        let error = Error::from(io::Error::other("disk on fire"));
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.source().is_some());
        assert!(error.to_string().ends_with("I/O error: disk on fire"));

        let table = sstkit_table::raw::TableView::open(b"no table").map(drop).expect_err("refused");
        let sentence = table.to_string();
        assert!(sentence.starts_with("the footer at offset 0 is corrupt: "), "{sentence}");
        let later = Error::from(table).in_file("000011.sst");
        let table = sstkit_table::raw::TableView::open(b"no table").map(drop).expect_err("refused");
        let before = Error::from(table.in_file("000011.sst")).in_file("other");
        for error in [later, before] {
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert_eq!(error.file(), Some(Path::new("000011.sst")));
            assert_eq!(error.to_string(), format!("000011.sst: {sentence}"));
        }
    }

    #[test]
    fn a_result_stays_small() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }
}
