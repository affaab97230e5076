//! The error of tables and databases: what happened, where, what was expected and what was found.
//!
//! ```text
//! users.sst: the data block at offset 4096 is corrupt: the checksum does not match
//! '-------'  '--------------------------'    '-----'   '-------------------------'
//!   file          kind of block, offset        kind          what
//!   (the layer that knows it adds it)                (expected 0x11db6358, found 0x11db6359)
//!
//! db/MANIFEST-000005: corrupt at offset 4096: the checksum does not match (expected 0x01, found 0x02)
//! '----------------'  '-----'    '---------'
//!        file           kind       offset in a file without blocks
//! ```

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::raw::BlockKind;

/// `std::result::Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an [`Error`], which tells what a caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An I/O error, [of the system](Error::get_ref) or of a [`Source`](crate::Source). Retrying may
    /// help.
    Io,
    /// There is no such file, directory or column family. Check the name.
    NotFound,
    /// The bytes are not what any engine writes, or the files do not match each other. Restore the
    /// file from a copy; other blocks and files may still be readable.
    Corrupt,
    /// The file may be sound, but uses something that this library does not support or was
    /// configured not to accept: another table kind, a newer format version, a custom codec, a
    /// block above the configured limit.
    Unsupported,
    /// The caller passed an invalid or contradictory argument. Change the request.
    InvalidInput,
    /// The database is in use and changed while it was read. Open it again.
    Changed,
}

/// An error while reading or writing tables and databases.
pub struct Error {
    // Boxed to keep `Result` small on hot paths.
    inner: Box<Inner>,
}

struct Inner {
    kind: ErrorKind,
    what: String,
    /// The expected and the found value.
    difference: Option<(String, String)>,
    file: Option<PathBuf>,
    place: Option<Place>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Where in the file.
struct Place {
    offset: u64,
    block: Option<BlockKind>,
}

impl Error {
    /// An error with this message, which follows the kind and a colon.
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        let what = what.into();
        let inner = Inner { kind, what, difference: None, file: None, place: None, source: None };
        Self { inner: Box::new(inner) }
    }

    /// An [`ErrorKind::Corrupt`] with this message.
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, what)
    }

    /// An [`ErrorKind::Unsupported`] with this message.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, what)
    }

    /// An [`ErrorKind::NotFound`] with this message.
    pub fn not_found(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, what)
    }

    /// An [`ErrorKind::InvalidInput`] with this message.
    pub fn invalid_input(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, what)
    }

    /// An [`ErrorKind::Io`]: the caller cancelled the work.
    pub fn cancelled() -> Self {
        io::Error::new(io::ErrorKind::Interrupted, "cancelled by the caller").into()
    }

    /// Whether the caller cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        let source = self.inner.source.as_ref();
        source
            .and_then(|source| source.downcast_ref::<io::Error>())
            .is_some_and(|error| error.kind() == io::ErrorKind::Interrupted)
    }

    /// An [`ErrorKind::Corrupt`]: a value differs from the expected one.
    pub fn mismatch(
        what: impl Into<String>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        let mut error = Self::corrupt(what);
        error.inner.difference = Some((expected.to_string(), found.to_string()));
        error
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.inner.source = Some(source.into());
        self
    }

    /// Adds the block of a table. The innermost caller that knows the place takes precedence.
    #[must_use]
    pub fn in_block(mut self, kind: BlockKind, offset: u64) -> Self {
        self.inner.place.get_or_insert(Place { offset, block: Some(kind) });
        self
    }

    /// Adds the offset in the file. The innermost caller that knows the place takes precedence.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.inner.place.get_or_insert(Place { offset, block: None });
        self
    }

    /// Adds the file. The innermost caller that knows it takes precedence.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.inner.file.get_or_insert_with(|| file.into());
        self
    }

    pub(crate) fn filter_kind(error: &sstkit_filter::Error) -> ErrorKind {
        match error.kind() {
            sstkit_filter::ErrorKind::Unsupported => ErrorKind::Unsupported,
            sstkit_filter::ErrorKind::Corrupt => ErrorKind::Corrupt,
            sstkit_filter::ErrorKind::Storage => ErrorKind::Io,
            _ => ErrorKind::InvalidInput,
        }
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The file, if known.
    pub fn file(&self) -> Option<&Path> {
        self.inner.file.as_deref()
    }

    /// The kind of the block, if the error is in a block.
    pub fn block(&self) -> Option<BlockKind> {
        self.inner.place.as_ref().and_then(|place| place.block)
    }

    /// The offset in the file, if known: that of the block, if the error is in a block.
    pub fn offset(&self) -> Option<u64> {
        self.inner.place.as_ref().map(|place| place.offset)
    }

    /// The error of the system, a codec or a custom policy that caused this one, if any. The message
    /// contains its message, so that [`source`](StdError::source) is what is behind it, as in
    /// [`io::Error`].
    ///
    /// ```
    /// use std::io;
    /// use sstkit_table::{Error, ErrorKind};
    ///
    /// let error = Error::from(io::Error::from(io::ErrorKind::TimedOut));
    /// assert_eq!(error.kind(), ErrorKind::Io);
    /// let system = error.get_ref().and_then(|it| it.downcast_ref::<io::Error>());
    /// assert_eq!(system.map(io::Error::kind), Some(io::ErrorKind::TimedOut));
    /// ```
    pub fn get_ref(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.inner.source.as_deref()
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
        let Inner { kind, what, difference, file, place, source } = &*self.inner;
        if let Some(file) = file {
            write!(f, "{}: ", file.display())?;
        }
        match place {
            Some(Place { offset, block: Some(block) }) => {
                write!(f, "the {block} at offset {offset} {}", in_block(*kind))?;
            }
            Some(Place { offset, block: None }) => {
                write!(f, "{kind} at offset {offset}")?;
            }
            None => kind.fmt(f)?,
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

/// As in the message of an [`Error`].
impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Io => "I/O error",
            Self::NotFound => "not found",
            Self::Corrupt => "corrupt",
            Self::Unsupported => "not supported",
            Self::InvalidInput => "invalid argument",
            Self::Changed => "changed while being read",
        })
    }
}

fn in_block(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Io => "could not be read",
        ErrorKind::NotFound => "was not found",
        ErrorKind::Corrupt => "is corrupt",
        ErrorKind::Unsupported => "is not supported",
        ErrorKind::InvalidInput => "cannot be used",
        ErrorKind::Changed => "changed while being read",
    }
}

/// The message in quotes, so that `unwrap` prints it readably.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}, {:?})", self.inner.kind, self.to_string())
    }
}

/// The [cause](Error::get_ref) is part of the message; the source is what is behind it.
impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.inner.source.as_deref().and_then(StdError::source)
    }
}

/// An error of this type in an [`io::Error`] stays what it is, so that a [`Source`](crate::Source) can fail with any
/// kind.
impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        let source = match source.downcast::<Self>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Self::new(kind, "").with_source(source)
    }
}

impl From<sstkit_coding::UnknownName> for Error {
    fn from(error: sstkit_coding::UnknownName) -> Self {
        Self::new(ErrorKind::InvalidInput, "").with_source(error)
    }
}

/// A failing custom policy is [`ErrorKind::InvalidInput`]: the caller provided it.
impl From<sstkit_filter::Error> for Error {
    fn from(error: sstkit_filter::Error) -> Self {
        Self::new(Self::filter_kind(&error), "").with_source(error)
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
    fn an_offset_outside_blocks() {
        let error = Error::mismatch("the checksum does not match", "0x01", "0x02")
            .at_offset(4096)
            .at_offset(7)
            .in_file("db/MANIFEST-000005");
        assert_eq!(
            error.to_string(),
            "db/MANIFEST-000005: corrupt at offset 4096: the checksum does not match \
             (expected 0x01, found 0x02)"
        );
        assert_eq!((error.block(), error.offset()), (None, Some(4096)));
    }

    #[test]
    fn the_system_speaks_through_the_source() {
        let error = Error::from(io::Error::other("disk on fire"));
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.get_ref().unwrap().to_string(), "disk on fire");
        assert!(error.to_string().ends_with("I/O error: disk on fire"));
        let changed = Error::new(ErrorKind::Changed, "another version");
        let error = Error::from(io::Error::other(changed)).in_file("a.sst");
        assert_eq!(error.kind(), ErrorKind::Changed);
        assert_eq!(error.to_string(), "a.sst: changed while being read: another version");
        let error = Error::from(io::Error::from(io::ErrorKind::NotFound)).in_file("a.sst");
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().starts_with("a.sst: not found: "));
    }

    /// An error and its chain of sources, as error reporters print them.
    fn chain(error: &(dyn StdError + 'static)) -> Vec<String> {
        let mut messages = vec![error.to_string()];
        messages.extend(error.source().map(chain).unwrap_or_default());
        messages
    }

    #[test]
    fn no_message_of_the_chain_is_printed_twice() {
        let policy = "nosuchfilter:10".parse::<sstkit_filter::FilterPolicy>().unwrap_err();
        let codec = io::Error::new(io::ErrorKind::InvalidData, "the stream ends early");
        for (error, kind) in [
            (Error::from(io::Error::other("disk on fire")), ErrorKind::Io),
            (Error::corrupt("the block").with_source(codec), ErrorKind::Corrupt),
            (Error::from(policy), ErrorKind::Unsupported),
            (
                Error::from("bloomfilter:x".parse::<sstkit_filter::FilterPolicy>().unwrap_err()),
                ErrorKind::InvalidInput,
            ),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
            let chain = chain(&error);
            for (at, message) in chain.iter().enumerate() {
                assert!(chain[..at].iter().all(|before| !before.contains(message)), "{chain:?}");
            }
        }
    }

    #[test]
    fn a_result_stays_small() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }
}
