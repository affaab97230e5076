//! Columns that store each value once, as categories of data frames do: the values that they stand for.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array, new_null_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::error::Result;

/// The type of the values.
pub(crate) fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain_type(values),
        other => other,
    }
}

/// The schema without dictionaries; `None` if there are none.
pub(crate) fn plain_schema(schema: &Schema) -> Option<SchemaRef> {
    let has_dictionary = |field: &Arc<Field>| matches!(field.data_type(), DataType::Dictionary(..));
    if !schema.fields().iter().any(has_dictionary) {
        return None;
    }
    let plain =
        |field: &Arc<Field>| Field::new(field.name(), plain_type(field.data_type()).clone(), true);
    Some(Arc::new(Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>())))
}

/// A batch with the values of its dictionaries, of the schema without them.
pub(crate) fn plain_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(plain_column).collect::<Result<_>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

/// A column with the values of its dictionary.
pub(crate) fn plain_column(column: &ArrayRef) -> Result<ArrayRef> {
    let Some(dictionary) = column.as_any_dictionary_opt() else { return Ok(Arc::clone(column)) };
    let values = plain_column(dictionary.values())?;
    if values.is_empty() {
        return Ok(new_null_array(values.data_type(), column.len()));
    }
    let data = values.to_data();
    let mut plain = MutableArrayData::new(vec![&data], true, column.len());
    for (row, value) in dictionary.normalized_keys().into_iter().enumerate() {
        match column.is_null(row) {
            true => plain.try_extend_nulls(1)?,
            false => plain.try_extend(0, value, value + 1)?,
        }
    }
    Ok(make_array(plain.freeze()))
}
