//! Errors as Python exceptions, one class for each kind.
//!
//! The classes are in `sstkit/_errors.py`: some also are exceptions of Python (a missing file is a
//! `FileNotFoundError`), which only Python code can declare.

use std::fmt;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use sstkit_db::ErrorKind;

/// What a call fails with.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the library.
    Library(sstkit_db::Error),
    /// An error of the conversion from or to Arrow.
    Arrow(sstkit_arrow::Error),
    /// A policy, prefix extractor or filter.
    Filter(sstkit_filter::Error),
    /// An argument.
    Invalid(String),
    /// The caller has stopped the work.
    Stopped,
    /// An exception of Python.
    Python(PyErr),
}

/// The result of work.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid(what.into())
    }

    /// The name of the class.
    fn class(&self) -> &'static str {
        let kind = match self {
            Self::Library(error) => error.kind(),
            Self::Arrow(error) => error.kind(),
            Self::Filter(error) => match error.kind() {
                sstkit_filter::ErrorKind::Corrupt => ErrorKind::Corrupt,
                sstkit_filter::ErrorKind::Unsupported => ErrorKind::Unsupported,
                _ => ErrorKind::InvalidInput,
            },
            Self::Invalid(_) => ErrorKind::InvalidInput,
            Self::Stopped | Self::Python(_) => return "Error",
        };
        match kind {
            ErrorKind::Io => "Io",
            ErrorKind::NotFound => "NotFound",
            ErrorKind::Corrupt => "Corrupt",
            ErrorKind::Unsupported => "Unsupported",
            ErrorKind::InvalidInput => "InvalidInput",
            ErrorKind::Changed => "Changed",
            _ => "Error",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            Self::Arrow(error) => error.fmt(f),
            Self::Filter(error) => error.fmt(f),
            Self::Invalid(what) => f.write_str(what),
            Self::Stopped => f.write_str("interrupted"),
            Self::Python(error) => error.fmt(f),
        }
    }
}

impl From<sstkit_db::Error> for Failure {
    fn from(error: sstkit_db::Error) -> Self {
        Self::Library(error)
    }
}

impl From<sstkit_arrow::Error> for Failure {
    fn from(error: sstkit_arrow::Error) -> Self {
        Self::Arrow(error)
    }
}

impl From<sstkit_filter::Error> for Failure {
    fn from(error: sstkit_filter::Error) -> Self {
        Self::Filter(error)
    }
}

impl From<arrow_schema::ArrowError> for Failure {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Arrow(error.into())
    }
}

impl From<sstkit_inspect::Error> for Failure {
    fn from(error: sstkit_inspect::Error) -> Self {
        match error {
            sstkit_inspect::Error::Read(error) => Self::Library(error),
            error => Self::Invalid(error.to_string()),
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        if let Failure::Python(error) = failure {
            return error;
        }
        Python::attach(|py| match class(py, failure.class()) {
            Ok(class) => PyErr::from_type(class, failure.to_string()),
            Err(error) => error,
        })
    }
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module =
        MODULE.get_or_try_init(py, || py.import("sstkit._errors").map(Bound::unbind))?.bind(py);
    Ok(module.getattr(name)?.cast_into::<PyType>()?)
}
