//! Objects that can be closed, and opened again elsewhere.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{Failure, Outcome};
use crate::location::to_object;

/// A handle, until it is closed.
pub(crate) struct Closable<T>(RwLock<Option<T>>);

impl<T: Clone> Closable<T> {
    pub(crate) fn new(handle: T) -> Self {
        Self(RwLock::new(Some(handle)))
    }

    pub(crate) fn get(&self) -> Outcome<T> {
        let handle = self.0.read().unwrap_or_else(PoisonError::into_inner);
        handle.clone().ok_or_else(|| Failure::invalid("it is closed"))
    }

    /// Work that has started ends with its own handle.
    pub(crate) fn close(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Keyword arguments, to be given again.
pub(crate) fn copied<'py>(
    py: Python<'py>,
    given: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    match given {
        Some(given) => given.copy(),
        None => Ok(PyDict::new(py)),
    }
}

/// What pickles as a call of its class.
pub(crate) fn reduced<'py>(
    object: &Bound<'py, PyAny>,
    path: &Path,
    arguments: &Py<PyDict>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = object.py();
    let partial = py.import("functools")?.getattr("partial")?;
    let call = partial.call((object.get_type(),), Some(arguments.bind(py)))?;
    PyTuple::new(py, [call, PyTuple::new(py, [to_object(py, path)?])?.into_any()])
}
