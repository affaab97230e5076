//! Rows of record batches as tuples, for use without an Arrow library.

use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader as _};
use arrow_schema::DataType;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString, PyTuple};
use sstkit_arrow::Batches;

use crate::errors::{Failure, Outcome};

/// Iterates over the rows of a scan, as tuples of its columns.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct ScanRows {
    /// `None` while a thread reads a batch.
    state: Mutex<Option<State>>,
}

struct State {
    batches: Batches,
    batch: Option<RecordBatch>,
    row: usize,
}

impl State {
    /// Whether the next row is in another batch.
    fn is_at_end(&self) -> bool {
        self.batch.as_ref().is_none_or(|batch| self.row >= batch.num_rows())
    }

    /// Reads the next batch.
    fn advance(&mut self) -> Outcome<()> {
        self.row = 0;
        self.batch = None;
        self.batch = self.batches.next_batch()?;
        Ok(())
    }
}

impl ScanRows {
    pub(crate) fn new(batches: Batches) -> PyResult<Self> {
        for field in batches.schema().fields() {
            if !is_supported(field.data_type()) {
                let (name, of) = (field.name(), field.data_type());
                let what = format!("the column {name} of type {of}: use pyarrow or polars for it");
                return Err(Failure::Arrow(sstkit_arrow::Error::Unsupported(what)).into());
            }
        }
        Ok(Self { state: Mutex::new(Some(State { batches, batch: None, row: 0 })) })
    }

    fn take(&self) -> Outcome<State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner).take();
        state.ok_or_else(|| Failure::invalid("another thread reads these rows"))
    }

    fn put_back(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }
}

#[pymethods]
impl ScanRows {
    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let mut state = self.take()?;
        if state.is_at_end() {
            let (returned, advanced) = py.detach(move || {
                let advanced = state.advance();
                (state, advanced)
            });
            state = returned;
            if let Err(failure) = advanced {
                self.put_back(state);
                return Err(failure.into());
            }
        }
        let row = state.batch.as_ref().filter(|batch| state.row < batch.num_rows()).map(|batch| {
            let values = batch.columns().iter().map(|it| value(py, it.as_ref(), state.row));
            PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
        });
        state.row += 1;
        self.put_back(state);
        row.transpose()
    }
}

fn is_supported(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Float32
            | DataType::Float64
            | DataType::Date32
            | DataType::List(_)
            | DataType::Map(..)
    )
}

fn value<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::Binary => PyBytes::new(py, column.as_binary::<i32>().value(row)).into_any(),
        DataType::LargeBinary => PyBytes::new(py, column.as_binary::<i64>().value(row)).into_any(),
        DataType::BinaryView => PyBytes::new(py, column.as_binary_view().value(row)).into_any(),
        DataType::FixedSizeBinary(_) => {
            PyBytes::new(py, column.as_fixed_size_binary().value(row)).into_any()
        }
        DataType::Utf8 => PyString::new(py, column.as_string::<i32>().value(row)).into_any(),
        DataType::LargeUtf8 => PyString::new(py, column.as_string::<i64>().value(row)).into_any(),
        DataType::Utf8View => PyString::new(py, column.as_string_view().value(row)).into_any(),
        DataType::Boolean => PyBool::new(py, column.as_boolean().value(row)).to_owned().into_any(),
        DataType::Int8 => number::<Int8Type>(py, column, row)?,
        DataType::Int16 => number::<Int16Type>(py, column, row)?,
        DataType::Int32 => number::<Int32Type>(py, column, row)?,
        DataType::Int64 => number::<Int64Type>(py, column, row)?,
        DataType::UInt8 => number::<UInt8Type>(py, column, row)?,
        DataType::UInt16 => number::<UInt16Type>(py, column, row)?,
        DataType::UInt32 => number::<UInt32Type>(py, column, row)?,
        DataType::UInt64 => number::<UInt64Type>(py, column, row)?,
        DataType::Float32 => number::<Float32Type>(py, column, row)?,
        DataType::Float64 => number::<Float64Type>(py, column, row)?,
        DataType::Date32 => date(py, column.as_primitive::<Date32Type>().value(row))?,
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            let items = (0..items.len()).map(|item| value(py, items.as_ref(), item));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        DataType::Map(..) => {
            let entries = column.as_map().value(row);
            let (names, values) = (entries.column(0), entries.column(1));
            let map = PyDict::new(py);
            for entry in 0..entries.len() {
                map.set_item(value(py, names, entry)?, value(py, values, entry)?)?;
            }
            map.into_any()
        }
        _ => py.None().into_bound(py),
    })
}

fn number<'py, T>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>>
where
    T: ArrowPrimitiveType<Native: IntoPyObjectExt<'py>>,
{
    column.as_primitive::<T>().value(row).into_bound_py_any(py)
}

/// The ordinal of 1970-01-01 in Python, where 0001-01-01 is 1.
const EPOCH: i64 = 719_163;

/// A `datetime.date`; one before the year 1 or after 9999 is an error of Python.
fn date(py: Python<'_>, days: i32) -> PyResult<Bound<'_, PyAny>> {
    let ordinal = EPOCH + i64::from(days);
    py.import("datetime")?.getattr("date")?.call_method1("fromordinal", (ordinal,))
}
