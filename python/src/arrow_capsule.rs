//! Arrow data in and out, through the Arrow PyCapsule interface.
//!
//! ```text
//! in    object.__arrow_c_stream__() ---> capsule "arrow_array_stream" ---> moved out ---> batches
//!       object.__arrow_c_array__()  ---> capsules "arrow_schema", "arrow_array" -------> an array
//! out   batches ---> stream in a capsule, which releases it unless it was moved out
//! ```
//!
//! The only `unsafe` code of this crate: taking over what an object has exported.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    Array as _, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray,
    make_array,
};
use arrow_schema::{ArrowError, DataType, Schema};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{Failure, Outcome};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// Batches that may be read on any thread.
pub(crate) type BatchSource = Box<dyn RecordBatchReader + Send>;

/// The batches of a table, data frame, reader or batch: of anything that exports Arrow.
pub(crate) fn batches(data: &Bound<'_, PyAny>) -> PyResult<BatchSource> {
    if data.hasattr("__arrow_c_stream__")? {
        let stream = RecordBatchStreamReader::try_new(stream(data)?);
        return Ok(Box::new(stream.map_err(Failure::from)?));
    }
    if !data.hasattr("__arrow_c_array__")? {
        return Err(does_not_export(data));
    }
    let rows = array(data)?;
    let Some(rows) = rows.as_any().downcast_ref::<StructArray>() else {
        let what = format!("expected rows with columns, found an array of {}", rows.data_type());
        return Err(Failure::invalid(what).into());
    };
    let batch = RecordBatch::from(rows);
    let schema = batch.schema();
    Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

/// Chunks of an array, which may be read on any thread.
pub(crate) type ChunkSource = Box<dyn Iterator<Item = Result<ArrayRef, ArrowError>> + Send>;

/// The chunks of an array. They are read without the interpreter's lock, as the threads that make them
/// may need it.
pub(crate) fn arrays(data: &Bound<'_, PyAny>) -> PyResult<ChunkSource> {
    if data.hasattr("__arrow_c_array__")? {
        return Ok(Box::new(std::iter::once(Ok(array(data)?))));
    }
    if !data.hasattr("__arrow_c_stream__")? {
        return Err(does_not_export(data));
    }
    Ok(Box::new(ArrayStreamReader::try_new(stream(data)?).map_err(Failure::from)?))
}

fn does_not_export(data: &Bound<'_, PyAny>) -> PyErr {
    let name = data.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "{name} does not export Arrow data: neither __arrow_c_stream__ nor __arrow_c_array__"
    ))
}

fn capsule<'py>(object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    Ok(object.cast_into::<PyCapsule>()?)
}

#[expect(unsafe_code, reason = "takes over a stream that another library has made")]
fn stream(data: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let capsule = capsule(data.call_method0("__arrow_c_stream__")?)?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name points to an ArrowArrayStream, which is live until the capsule
    // is freed, and only this thread has the capsule. Moving it out leaves a released one behind.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) })
}

#[expect(unsafe_code, reason = "takes over an array that another library has made")]
fn array(data: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let exported = data.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = exported.extract()?;
    let (schema, array) = (capsule(schema)?, capsule(array)?);
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name points to an ArrowSchema, which is live until the capsule is
    // freed, and only this thread has the capsule. Moving it out leaves a released one behind.
    let schema = unsafe { FFI_ArrowSchema::from_raw(schema.as_ptr()) };
    // SAFETY: as above, of an ArrowArray.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    // SAFETY: the array has the type of the schema: the object has exported them together.
    let data = unsafe { from_ffi(array, &schema) };
    Ok(make_array(data.map_err(Failure::from)?))
}

/// A capsule with a stream of batches.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    batches: BatchSource,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(batches), STREAM)
}

/// A capsule with a schema.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let exported: Outcome<FFI_ArrowSchema> = schema.try_into().map_err(Failure::from);
    PyCapsule::new_with_value(py, exported?, SCHEMA)
}

/// Capsules with an array and its type.
pub(crate) fn array_capsules<'py>(
    py: Python<'py>,
    array: &ArrayRef,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let data_type: &DataType = array.data_type();
    let schema: Outcome<FFI_ArrowSchema> = data_type.try_into().map_err(Failure::from);
    let array = FFI_ArrowArray::new(&Arc::clone(array).to_data());
    Ok((
        PyCapsule::new_with_value(py, schema?, SCHEMA)?,
        PyCapsule::new_with_value(py, array, ARRAY)?,
    ))
}
