//! Keys and values as arguments.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyMemoryView, PyString};

/// `bytes`, `bytearray`, `memoryview`, or `str` as UTF-8.
#[derive(Debug)]
pub(crate) enum BytesArg {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

impl AsRef<[u8]> for BytesArg {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for BytesArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            return Ok(Self::Text(object.extract()?));
        }
        if object.is_instance_of::<PyMemoryView>() {
            return Ok(Self::Bytes(object.call_method0("tobytes")?.extract()?));
        }
        object.extract().map(Self::Bytes).map_err(|_| {
            let name = object.get_type().name().map_or_else(|_| "?".into(), |it| it.to_string());
            PyTypeError::new_err(format!("expected bytes or str, found {name}"))
        })
    }
}
