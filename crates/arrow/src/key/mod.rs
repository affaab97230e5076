//! Keys from columns and back: bytes that sort as the values do.
//!
//! ```text
//! column               bytes                                     example
//! binary, string       unchanged if it is the last column        "ab"        61 62
//!                      else 00 -> 00 FF, and 00 01 at the end    "a\0b"      61 00 FF 62 00 01
//! unsigned integer     big-endian                                258 (u16)   01 02
//! signed integer,      big-endian, sign bit inverted             -1 (i16)    7F FF
//!   date, time,                                                   1 (i16)    80 01
//!   timestamp, decimal
//! float                big-endian; negative: all bits inverted,  -1.0 (f32)  40 7F FF FF
//!                      else the sign bit                          1.0 (f32)  BF 80 00 00
//! boolean              00 or 01                                  true        01
//! fixed-size binary    unchanged                                 61 62       61 62
//! ```
//!
//! A key of several columns is their bytes one after another. The bytes are described in
//! `docs/formats/key-encoding.md`, whose examples a test prints.

mod decoder;
mod encoder;
mod names;
mod ordered;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema};

use self::decoder::Decoder;
use self::encoder::Encoder;
use crate::dictionary::{plain_column, plain_type};
use crate::error::{Error, Result};

pub use self::names::{data_type_name, parse_data_type};

/// How the bytes of a key are made of columns.
///
/// ```
/// use arrow_schema::DataType;
/// use sstkit_arrow::KeyEncoding;
///
/// let encoding = KeyEncoding::new([("country", DataType::Utf8), ("id", DataType::Int64)])?;
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Int64Array, StringArray};
/// let columns: [ArrayRef; 2] =
///     [Arc::new(StringArray::from(vec!["de"])), Arc::new(Int64Array::from(vec![-1]))];
/// let keys = encoding.encode(&columns)?;
/// assert_eq!(keys.get(0), b"de\x00\x01\x7f\xff\xff\xff\xff\xff\xff\xff");
/// assert_eq!(&encoding.decode([keys.get(0)])?[..], &columns[..]);
/// # Ok::<(), sstkit_arrow::Error>(())
/// ```
///
/// The order of the keys is that of the columns: by the first, then by the second, and so on.
/// Strings and binary values compare by their bytes, floats by IEEE 754's total order (-0.0 before
/// 0.0; NaNs at the ends). A null has no encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEncoding {
    fields: Vec<Arc<Field>>,
}

impl KeyEncoding {
    /// An encoding of named columns.
    ///
    /// # Errors
    ///
    /// Fails without columns, and for types that have no encoding: nested types, intervals, nulls. The
    /// values of dictionaries are encoded.
    pub fn new<N: Into<String>>(columns: impl IntoIterator<Item = (N, DataType)>) -> Result<Self> {
        let fields: Vec<_> = columns
            .into_iter()
            .map(|(name, data_type)| {
                Arc::new(Field::new(name, plain_type(&data_type).clone(), true))
            })
            .collect();
        if fields.is_empty() {
            return Err(Error::invalid("a key needs at least one column"));
        }
        for field in &fields {
            if !encoder::is_supported(field.data_type()) {
                return Err(Error::Unsupported(format!(
                    "column {:?} of type {} has no key encoding",
                    field.name(),
                    data_type_name(field.data_type())
                )));
            }
        }
        Ok(Self { fields })
    }

    /// The encoding of columns of a schema, by name.
    pub fn of_columns<N: AsRef<str>>(schema: &Schema, names: &[N]) -> Result<Self> {
        let columns: Vec<_> = names
            .iter()
            .map(|name| {
                let field = crate::input::field(schema, name.as_ref())?.1;
                Ok((field.name().clone(), field.data_type().clone()))
            })
            .collect::<Result<_>>()?;
        Self::new(columns)
    }

    /// The columns, all of them nullable, as most consumers expect.
    pub fn fields(&self) -> &[Arc<Field>] {
        &self.fields
    }

    /// Whether the key is one binary or string column, whose bytes are used unchanged.
    pub fn is_plain(&self) -> bool {
        matches!(&self.fields[..], [field] if encoder::is_variable(field.data_type()))
    }

    /// The keys of the rows of `columns`.
    ///
    /// # Errors
    ///
    /// Fails if the columns have other types or lengths, or contain nulls.
    pub fn encode(&self, columns: &[ArrayRef]) -> Result<Keys> {
        let encoders = self.encoders(columns)?;
        let rows = columns.first().map_or(0, Array::len);
        let mut keys = Keys::default();
        for row in 0..rows {
            for encoder in &encoders {
                encoder.encode_to(row, &mut keys.bytes);
            }
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }

    fn encoders(&self, columns: &[ArrayRef]) -> Result<Vec<Encoder>> {
        if columns.len() != self.fields.len() {
            let (given, expected) = (columns.len(), self.fields.len());
            return Err(Error::invalid(format!("{given} key columns, but {expected} expected")));
        }
        let last = columns.len() - 1;
        let mut encoders = Vec::with_capacity(columns.len());
        for (number, (column, field)) in columns.iter().zip(&self.fields).enumerate() {
            let column = &plain_column(column)?;
            if column.data_type() != field.data_type() || column.len() != columns[0].len() {
                return Err(Error::invalid(format!(
                    "key column {:?} does not have the type and length that were announced",
                    field.name()
                )));
            }
            if let Some(row) = crate::input::first_null(column) {
                let name = field.name();
                return Err(Error::invalid(format!("row {row}: the key column {name:?} is null")));
            }
            encoders.push(Encoder::new(column, number == last)?);
        }
        Ok(encoders)
    }

    /// The columns of encoded keys.
    ///
    /// # Errors
    ///
    /// Fails if a key does not have this encoding.
    pub fn decode<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> Result<Vec<ArrayRef>> {
        let last = self.fields.len() - 1;
        let mut decoders: Vec<Decoder> = self
            .fields
            .iter()
            .enumerate()
            .map(|(number, field)| Decoder::new(field.data_type(), number == last))
            .collect::<Result<_>>()?;
        for key in keys {
            let refused = || {
                let shown = &key[..key.len().min(64)];
                Error::Corrupt(format!(
                    "the key \"{}\" does not have the encoding of {}",
                    shown.escape_ascii(),
                    self.describe()
                ))
            };
            let mut rest = key;
            for decoder in &mut decoders {
                rest = decoder.decode_from(rest).ok_or_else(refused)?;
            }
            if !rest.is_empty() {
                return Err(refused());
            }
        }
        decoders.into_iter().map(Decoder::finish).collect()
    }

    /// The types of the columns, for messages.
    fn describe(&self) -> String {
        let types: Vec<_> =
            self.fields.iter().map(|field| data_type_name(field.data_type())).collect();
        types.join(", ")
    }
}

/// Encoded keys, one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    /// The number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A key, by its row; empty if there is no such row.
    pub fn get(&self, row: usize) -> &[u8] {
        let end = self.ends.get(row).copied().unwrap_or(0);
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.bytes.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// All keys in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|row| self.get(row))
    }
}
