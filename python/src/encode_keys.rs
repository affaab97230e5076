//! The keys that are made of columns.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use sstkit_arrow::{KeyEncoding, Keys};

use crate::arrow_capsule::batches;
use crate::errors::{Failure, Outcome};
use crate::read_settings::OneOrMany;
use crate::work;

/// The keys of the rows of Arrow data, encoded as `build` does: for lookups, ranges and split keys.
#[pyfunction]
#[pyo3(signature = (data, key))]
pub(crate) fn encode_keys<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    key: OneOrMany,
) -> PyResult<Bound<'py, PyList>> {
    let batches = batches(data)?;
    let (names, schema) = (key.into_names(), batches.schema());
    let encoding = KeyEncoding::of_columns(&schema, &names).map_err(Failure::from)?;
    let encoded = work::write(py, move |stop| {
        let keys = batches.map(|batch| {
            stop.check()?;
            let batch = batch?;
            let columns = names.iter().filter_map(|name| batch.column_by_name(name).cloned());
            Ok(encoding.encode(&columns.collect::<Vec<_>>())?)
        });
        keys.collect::<Outcome<Vec<Keys>>>()
    })?;
    let list = PyList::empty(py);
    for key in encoded.iter().flat_map(Keys::iter) {
        list.append(PyBytes::new(py, key))?;
    }
    Ok(list)
}
