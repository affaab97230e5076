//! Data types as text, under pyarrow's names.

use arrow_schema::{DataType, TimeUnit};

use crate::error::{Error, Result};

/// The types without parameters; the first name of a type is the one that is written.
const NAMES: [(&str, DataType); 24] = [
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("binary_view", DataType::BinaryView),
    ("string", DataType::Utf8),
    ("utf8", DataType::Utf8),
    ("large_string", DataType::LargeUtf8),
    ("string_view", DataType::Utf8View),
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("float", DataType::Float32),
    ("float32", DataType::Float32),
    ("double", DataType::Float64),
    ("float64", DataType::Float64),
    ("date32", DataType::Date32),
    ("date32[day]", DataType::Date32),
    ("date64", DataType::Date64),
    ("date64[ms]", DataType::Date64),
];

const UNITS: [(&str, TimeUnit); 4] = [
    ("s", TimeUnit::Second),
    ("ms", TimeUnit::Millisecond),
    ("us", TimeUnit::Microsecond),
    ("ns", TimeUnit::Nanosecond),
];

/// The name of a type of key columns, as pyarrow prints it; other types as Arrow's Rust library does.
pub fn data_type_name(data_type: &DataType) -> String {
    if let Some((name, _)) = NAMES.iter().find(|(_, known)| known == data_type) {
        return (*name).to_owned();
    }
    let unit = |unit: &TimeUnit| UNITS.iter().find(|(_, it)| it == unit).map_or("", |it| it.0);
    match data_type {
        DataType::Timestamp(of, None) => format!("timestamp[{}]", unit(of)),
        DataType::Timestamp(of, Some(zone)) => format!("timestamp[{}, tz={zone}]", unit(of)),
        DataType::Time32(of) => format!("time32[{}]", unit(of)),
        DataType::Time64(of) => format!("time64[{}]", unit(of)),
        DataType::Duration(of) => format!("duration[{}]", unit(of)),
        DataType::FixedSizeBinary(width) => format!("fixed_size_binary[{width}]"),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        other => other.to_string(),
    }
}

/// The type of this name.
///
/// ```
/// use arrow_schema::{DataType, TimeUnit};
/// use sstkit_arrow::parse_data_type;
///
/// assert_eq!(parse_data_type("int64")?, DataType::Int64);
/// assert_eq!(parse_data_type("timestamp[us]")?, DataType::Timestamp(TimeUnit::Microsecond, None));
/// # Ok::<(), sstkit_arrow::Error>(())
/// ```
pub fn parse_data_type(name: &str) -> Result<DataType> {
    let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, it)| it.clone());
    known.or_else(|| parse_with_parameters(name)).ok_or_else(|| {
        Error::invalid(format!(
            "unknown type of a key column {name:?} (expected int64, string, binary, \
             timestamp[us] and the like)"
        ))
    })
}

fn parse_with_parameters(name: &str) -> Option<DataType> {
    let (kind, parameters) = name.split_once(['[', '('])?;
    let parameters = parameters.strip_suffix([']', ')'])?;
    let (first, second) = match parameters.split_once(',') {
        Some((first, second)) => (first.trim(), Some(second.trim())),
        None => (parameters.trim(), None),
    };
    let unit = || UNITS.iter().find(|(name, _)| *name == first).map(|(_, unit)| *unit);
    Some(match (kind, second) {
        ("timestamp", None) => DataType::Timestamp(unit()?, None),
        ("timestamp", Some(zone)) => {
            DataType::Timestamp(unit()?, Some(zone.strip_prefix("tz=")?.into()))
        }
        ("time32", None) => match unit()? {
            it @ (TimeUnit::Second | TimeUnit::Millisecond) => DataType::Time32(it),
            _ => return None,
        },
        ("time64", None) => match unit()? {
            it @ (TimeUnit::Microsecond | TimeUnit::Nanosecond) => DataType::Time64(it),
            _ => return None,
        },
        ("duration", None) => DataType::Duration(unit()?),
        ("fixed_size_binary", None) => {
            DataType::FixedSizeBinary(first.parse().ok().filter(|&width: &i32| width >= 0)?)
        }
        ("decimal128", Some(scale)) => {
            DataType::Decimal128(first.parse().ok()?, scale.parse().ok()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let others = [
            "timestamp[us]",
            "timestamp[ns, tz=Europe/Berlin]",
            "time32[ms]",
            "time64[ns]",
            "duration[s]",
            "fixed_size_binary[16]",
            "decimal128(38, 2)",
        ];
        let all = NAMES.iter().map(|(name, _)| *name).chain(others);
        let is_second = |name: &str| {
            matches!(name, "utf8" | "float32" | "float64" | "date32[day]" | "date64[ms]")
        };
        for name in all.filter(|name| !is_second(name)) {
            let data_type = parse_data_type(name).unwrap();
            assert_eq!(data_type_name(&data_type), name);
            assert_eq!(parse_data_type(&data_type_name(&data_type)).unwrap(), data_type);
        }
        // As pyarrow prints it.
        assert_eq!(parse_data_type("date32[day]").unwrap(), DataType::Date32);
        for name in ["", "int", "time32[us]", "timestamp[]", "fixed_size_binary[-1]", "list"] {
            assert!(parse_data_type(name).is_err(), "{name}");
        }
    }
}
