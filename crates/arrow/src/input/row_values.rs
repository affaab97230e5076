//! The values of the rows of one batch.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch};
use arrow_schema::{DataType, Schema};
use serde_json::{Map, Value as Json};
use sstkit_table::raw::{ColumnValue, WideColumn, encode_wide_columns};

use super::field;
use super::value_column::ValueColumn;
use crate::bytes_column::BytesColumn;
use crate::error::{Error, Result};

/// The columns of values, by index.
#[derive(Debug)]
pub(super) enum ValueIndexes {
    One(usize),
    Entity(Vec<usize>),
    Json(Vec<usize>),
}

/// A named column of values.
type Named = (String, ValueColumn, ArrayRef);

pub(super) enum RowValues {
    One(ValueColumn, ArrayRef),
    Entity(Vec<Named>),
    Json(Vec<(String, ArrayRef)>),
}

impl RowValues {
    pub(super) fn new(
        schema: &Schema,
        indexes: &ValueIndexes,
        batch: &RecordBatch,
    ) -> Result<Self> {
        let array = |index: usize| ArrayRef::clone(batch.column(index));
        let name = |index: usize| schema.field(index).name().clone();
        let column = |index: usize| {
            let values = ValueColumn::new(&array(index));
            let values =
                values.ok_or_else(|| unsupported_value(&name(index), array(index).data_type()))?;
            Ok::<_, Error>((name(index), values, array(index)))
        };
        Ok(match indexes {
            ValueIndexes::One(index) => {
                let (_, values, array) = column(*index)?;
                Self::One(values, array)
            }
            ValueIndexes::Entity(indexes) => {
                Self::Entity(indexes.iter().map(|&index| column(index)).collect::<Result<_>>()?)
            }
            ValueIndexes::Json(indexes) => {
                Self::Json(indexes.iter().map(|&index| (name(index), array(index))).collect())
            }
        })
    }
}

/// A column of values with this name.
pub(super) fn value_index(schema: &Schema, name: &str) -> Result<usize> {
    let (index, field) = field(schema, name)?;
    match ValueColumn::new(&arrow_array::new_empty_array(field.data_type())) {
        Some(_) => Ok(index),
        None => Err(unsupported_value(name, field.data_type())),
    }
}

/// A column of JSON values with this name.
pub(super) fn json_index(schema: &Schema, name: &str) -> Result<usize> {
    let (index, field) = field(schema, name)?;
    let empty = arrow_array::new_empty_array(field.data_type());
    let is_known = BytesColumn::new(&empty).is_some() || is_json_type(field.data_type());
    match is_known {
        true => Ok(index),
        false => Err(Error::Unsupported(format!(
            "column {name:?} of type {} has no form in JSON: convert it to a string or number",
            field.data_type()
        ))),
    }
}

fn is_json_type(data_type: &DataType) -> bool {
    use DataType::{Boolean, Float32, Float64, Null};
    data_type.is_integer() || matches!(data_type, Boolean | Float32 | Float64 | Null)
}

fn unsupported_value(name: &str, data_type: &DataType) -> Error {
    Error::Unsupported(format!(
        "column {name:?} of type {data_type} has no encoding as a value: convert it to binary, \
         string or integers"
    ))
}

/// The stored form of an entity.
pub(super) fn entity(columns: &[Named], row: usize) -> Result<Vec<u8>> {
    let values = columns.iter().filter(|(_, _, array)| !array.is_null(row));
    encode_entity(
        values
            .map(|(name, values, _)| (name.as_bytes(), values.value(row, &mut Vec::new()).to_vec()))
            .collect(),
    )
}

fn encode_entity(mut values: Vec<(&[u8], Vec<u8>)>) -> Result<Vec<u8>> {
    values.sort_by_key(|(name, _)| *name);
    let columns: Vec<WideColumn<'_>> = values
        .iter()
        .map(|(name, value)| WideColumn { name, value: ColumnValue::Inline(value) })
        .collect();
    let mut entity = Vec::new();
    encode_wide_columns(&columns, &mut entity)?;
    Ok(entity)
}

/// The stored form of an entity whose columns are in a map.
pub(super) fn entity_of_map(map: &MapArray, row: usize) -> Result<Vec<u8>> {
    let entries = map.value(row);
    let columns = [entries.column(0), entries.column(1)].map(BytesColumn::new);
    let [Some(names), Some(values)] = columns else {
        return Err(Error::invalid("the columns of an entity must be binary"));
    };
    encode_entity(
        (0..entries.len()).map(|at| (names.value(at), values.value(at).to_vec())).collect(),
    )
}

/// Refuses operands that were not combined.
pub(super) fn refuse_operands(operands: Option<&ListArray>, row: usize) -> Result<()> {
    match operands.is_some_and(|operands| !operands.is_null(row)) {
        true => Err(Error::invalid(
            "the merge operands were not combined: scan with a merge operator, or all versions",
        )),
        false => Ok(()),
    }
}

/// A row as a JSON object.
pub(super) fn json(columns: &[(String, ArrayRef)], row: usize) -> Result<Vec<u8>> {
    let mut object = Map::new();
    for (name, array) in columns {
        let value = json_value(array, row).map_err(|what| {
            Error::invalid(format!("column {name:?} {what}, which JSON does not have"))
        })?;
        object.insert(name.clone(), value);
    }
    Ok(Json::Object(object).to_string().into_bytes())
}

fn json_value(array: &ArrayRef, row: usize) -> Result<Json, &'static str> {
    if array.is_null(row) {
        return Ok(Json::Null);
    }
    if let Some(bytes) = BytesColumn::new(array) {
        let text = std::str::from_utf8(bytes.value(row)).map_err(|_| "is not UTF-8")?;
        return Ok(text.into());
    }
    let finite = |number: f64| {
        serde_json::Number::from_f64(number).map(Json::Number).ok_or("is not a finite number")
    };
    Ok(match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Float32 => finite(f64::from(array.as_primitive::<Float32Type>().value(row)))?,
        DataType::Float64 => finite(array.as_primitive::<Float64Type>().value(row))?,
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        _ => small_integer(array, row).ok_or("has a type")?.into(),
    })
}

/// An integer of 32 bits or fewer.
fn small_integer(array: &ArrayRef, row: usize) -> Option<i64> {
    use arrow_array::types::{Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type, UInt32Type};
    macro_rules! first_of {
        ($($integer:ty),*) => {
            $(if let Some(array) = array.as_primitive_opt::<$integer>() {
                return Some(i64::from(array.value(row)));
            })*
        };
    }
    first_of!(Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type, UInt32Type);
    None
}
