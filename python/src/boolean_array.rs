//! Answers to many questions.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray as Booleans};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyIterator, PyList, PyTuple};

use crate::arrow_capsule::array_capsules;

/// A sequence of booleans that exports an Arrow array: `pyarrow.array(answers)`.
#[pyclass(frozen, sequence, module = "sstkit")]
pub(crate) struct BooleanArray(Booleans);

impl BooleanArray {
    pub(crate) fn new(values: Vec<bool>) -> Self {
        Self(values.into())
    }
}

#[pymethods]
impl BooleanArray {
    #[new]
    fn of_values(values: Vec<bool>) -> Self {
        Self::new(values)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<bool> {
        let length = self.0.len();
        let index = if index < 0 { index.checked_add_unsigned(length) } else { Some(index) };
        let index = index.and_then(|index| usize::try_from(index).ok());
        match index.filter(|&index| index < length) {
            Some(index) => Ok(self.0.value(index)),
            None => Err(PyIndexError::new_err("index out of range")),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.0.values().iter())?.try_iter()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = this.py();
        let values = PyList::new(py, this.get().0.values().iter())?;
        PyTuple::new(py, [this.get_type().into_any(), PyTuple::new(py, [values])?.into_any()])
    }

    /// The array in `arrow_schema` and `arrow_array` capsules.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let array: ArrayRef = Arc::new(self.0.clone());
        array_capsules(py, &array)
    }
}
