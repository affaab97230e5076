//! Descriptions as dictionaries, with the fields of the command's JSON.

use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::Failure;

/// A description as the objects that Python's `json` makes of its JSON.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    description: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(description)
        .map_err(|error| Failure::invalid(format!("not representable as JSON: {error}")))?;
    py.import("json")?.call_method1("loads", (text,))
}
