//! Decodes one column of keys.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BinaryViewBuilder, BooleanBuilder, FixedSizeBinaryBuilder, LargeBinaryBuilder,
    LargeStringBuilder, StringBuilder, StringViewBuilder,
};
use arrow_array::{ArrayRef, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::encoder::{ESCAPED_ZERO, TERMINATOR, WithNumber, with_number};
use super::ordered::Ordered;
use crate::error::{Error, Result};

/// Decodes the values of one column.
pub(super) struct Decoder {
    is_last: bool,
    values: Values,
}

enum Values {
    Binary(BinaryBuilder),
    LargeBinary(LargeBinaryBuilder),
    BinaryView(BinaryViewBuilder),
    Utf8(StringBuilder),
    LargeUtf8(LargeStringBuilder),
    Utf8View(StringViewBuilder),
    Fixed(FixedSizeBinaryBuilder, usize),
    Boolean(BooleanBuilder),
    Number(Box<dyn Numbers>),
}

impl Decoder {
    pub(super) fn new(data_type: &DataType, is_last: bool) -> Result<Self> {
        let values =
            match data_type {
                DataType::Binary => Values::Binary(BinaryBuilder::new()),
                DataType::LargeBinary => Values::LargeBinary(LargeBinaryBuilder::new()),
                DataType::BinaryView => Values::BinaryView(BinaryViewBuilder::new()),
                DataType::Utf8 => Values::Utf8(StringBuilder::new()),
                DataType::LargeUtf8 => Values::LargeUtf8(LargeStringBuilder::new()),
                DataType::Utf8View => Values::Utf8View(StringViewBuilder::new()),
                DataType::FixedSizeBinary(width) => {
                    let bytes = usize::try_from(*width)
                        .map_err(|_| Error::invalid(format!("{data_type} has a negative width")))?;
                    Values::Fixed(FixedSizeBinaryBuilder::new(*width), bytes)
                }
                DataType::Boolean => Values::Boolean(BooleanBuilder::new()),
                _ => Values::Number(with_number(data_type, NumberDecoder(data_type)).ok_or_else(
                    || Error::Unsupported(format!("{data_type} has no key encoding")),
                )?),
            };
        Ok(Self { is_last, values })
    }

    /// Decodes the value at the start of `key` and returns the rest; `None` if there is none.
    pub(super) fn decode_from<'k>(&mut self, key: &'k [u8]) -> Option<&'k [u8]> {
        match &mut self.values {
            Values::Fixed(values, width) => {
                let (value, rest) = key.split_at_checked(*width)?;
                values.append_value(value).ok()?;
                return Some(rest);
            }
            Values::Boolean(values) => {
                let (&byte, rest) = key.split_first()?;
                values.append_value(match byte {
                    0 => false,
                    1 => true,
                    _ => return None,
                });
                return Some(rest);
            }
            Values::Number(numbers) => return numbers.decode_from(key),
            _ => {}
        }
        if self.is_last {
            return self.append(key).map(|()| &[][..]);
        }
        let (value, rest) = unescape(key)?;
        self.append(&value).map(|()| rest)
    }

    /// Appends bytes, or text if they are text.
    fn append(&mut self, value: &[u8]) -> Option<()> {
        let text = || std::str::from_utf8(value).ok();
        match &mut self.values {
            Values::Binary(values) => values.append_value(value),
            Values::LargeBinary(values) => values.append_value(value),
            Values::BinaryView(values) => values.append_value(value),
            Values::Utf8(values) => values.append_value(text()?),
            Values::LargeUtf8(values) => values.append_value(text()?),
            Values::Utf8View(values) => values.append_value(text()?),
            Values::Fixed(..) | Values::Boolean(_) | Values::Number(_) => return None,
        }
        Some(())
    }

    pub(super) fn finish(self) -> Result<ArrayRef> {
        Ok(match self.values {
            Values::Binary(mut values) => Arc::new(values.finish()),
            Values::LargeBinary(mut values) => Arc::new(values.finish()),
            Values::BinaryView(mut values) => Arc::new(values.finish()),
            Values::Utf8(mut values) => Arc::new(values.finish()),
            Values::LargeUtf8(mut values) => Arc::new(values.finish()),
            Values::Utf8View(mut values) => Arc::new(values.finish()),
            Values::Fixed(mut values, _) => Arc::new(values.finish()),
            Values::Boolean(mut values) => Arc::new(values.finish()),
            Values::Number(numbers) => numbers.finish()?,
        })
    }
}

/// The value at the start of a key, up to its terminator, and what comes after.
fn unescape(key: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut value, mut rest) = (Vec::new(), key);
    loop {
        let zero = rest.iter().position(|&byte| byte == 0)?;
        let (piece, after) = rest.split_at(zero);
        value.extend_from_slice(piece);
        let (mark, after) = after.split_first_chunk::<2>()?;
        match *mark {
            ESCAPED_ZERO => value.push(0),
            TERMINATOR => return Some((value, after)),
            _ => return None,
        }
        rest = after;
    }
}

/// Numbers of one type that are being decoded.
trait Numbers {
    fn decode_from<'k>(&mut self, key: &'k [u8]) -> Option<&'k [u8]>;
    fn finish(self: Box<Self>) -> Result<ArrayRef>;
}

struct NumberDecoder<'d>(&'d DataType);

impl WithNumber for NumberDecoder<'_> {
    type Output = Box<dyn Numbers>;

    fn call<T: Ordered>(self) -> Box<dyn Numbers> {
        Box::new(DecodedNumbers::<T> { data_type: self.0.clone(), numbers: Vec::new() })
    }
}

struct DecodedNumbers<T> {
    data_type: DataType,
    numbers: Vec<T>,
}

impl<T: Ordered> Numbers for DecodedNumbers<T> {
    fn decode_from<'k>(&mut self, key: &'k [u8]) -> Option<&'k [u8]> {
        let (number, rest) = T::decode_from(key)?;
        self.numbers.push(number);
        Some(rest)
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef> {
        let data = ArrayData::builder(self.data_type)
            .len(self.numbers.len())
            .add_buffer(Buffer::from_vec(self.numbers));
        Ok(make_array(data.build()?))
    }
}
