//! Why a page could not be made.

use serde::Serialize;

/// `std::result::Result` with this crate's [`PageError`].
pub(crate) type Result<T, E = PageError> = std::result::Result<T, E>;

/// Why a page could not be made: a status of HTTP and a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PageError {
    #[serde(skip)]
    pub(crate) status: u16,
    pub(crate) error: String,
    /// Whether the files were changed by a running engine: opening them again may help.
    #[serde(skip)]
    pub(crate) is_changed: bool,
}

impl PageError {
    fn new(status: u16, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), is_changed: false }
    }

    /// The address is wrong.
    pub(crate) fn bad_request(error: impl Into<String>) -> Self {
        Self::new(400, error)
    }

    /// The address leads to nothing.
    pub(crate) fn not_found(error: impl Into<String>) -> Self {
        Self::new(404, error)
    }

    /// It is being done already.
    pub(crate) fn busy(error: impl Into<String>) -> Self {
        Self::new(409, error)
    }

    /// A bug of the inspector, which has printed what happened.
    pub(crate) fn internal() -> Self {
        Self::new(500, "the inspector failed on this page; this is a bug, please report it")
    }

    /// It takes too long, or the client has gone.
    pub(crate) fn timed_out() -> Self {
        Self::new(503, "this takes too long; request less at once")
    }
}

impl From<sstkit_db::Error> for PageError {
    fn from(error: sstkit_db::Error) -> Self {
        if error.is_cancelled() {
            return Self::timed_out();
        }
        let is_changed = error.kind() == sstkit_db::ErrorKind::Changed;
        Self { is_changed, ..Self::new(500, error.to_string()) }
    }
}

impl From<sstkit_inspect::Error> for PageError {
    fn from(error: sstkit_inspect::Error) -> Self {
        match error {
            sstkit_inspect::Error::Read(error) => error.into(),
            other => Self::new(500, other.to_string()),
        }
    }
}
