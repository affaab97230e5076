//! Encodes one column of keys.

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

use super::ordered::Ordered;
use crate::bytes_column::BytesColumn;
use crate::error::{Error, Result};

/// Ends a value of variable length that another column follows.
pub(super) const TERMINATOR: [u8; 2] = [0x00, 0x01];

/// Stands for a zero byte in such a value. Larger than the terminator, so that a value sorts before
/// those that it is a prefix of.
pub(super) const ESCAPED_ZERO: [u8; 2] = [0x00, 0xff];

/// Whether values of this type have no common length.
pub(super) fn is_variable(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(data_type, Binary | LargeBinary | BinaryView | Utf8 | LargeUtf8 | Utf8View)
}

/// Whether values of this type can be keys.
pub(super) fn is_supported(data_type: &DataType) -> bool {
    is_variable(data_type)
        || matches!(data_type, DataType::FixedSizeBinary(_) | DataType::Boolean)
        || with_number(data_type, Supported).is_some()
}

/// Does something with the number type that stores a data type.
pub(super) trait WithNumber {
    /// What it gives.
    type Output;

    /// Does it.
    fn call<T: Ordered>(self) -> Self::Output;
}

struct Supported;

impl WithNumber for Supported {
    type Output = ();

    fn call<T: Ordered>(self) {}
}

/// Calls `what` with the number type that stores `data_type`; `None` if it is not a number.
pub(super) fn with_number<W: WithNumber>(data_type: &DataType, what: W) -> Option<W::Output> {
    use DataType::*;
    Some(match data_type {
        Int8 => what.call::<i8>(),
        Int16 => what.call::<i16>(),
        Int32 | Date32 | Time32(_) => what.call::<i32>(),
        Int64 | Date64 | Time64(_) | Timestamp(..) | Duration(_) => what.call::<i64>(),
        Decimal128(..) => what.call::<i128>(),
        UInt8 => what.call::<u8>(),
        UInt16 => what.call::<u16>(),
        UInt32 => what.call::<u32>(),
        UInt64 => what.call::<u64>(),
        Float32 => what.call::<f32>(),
        Float64 => what.call::<f64>(),
        _ => return None,
    })
}

type EncodeNumber = Box<dyn Fn(usize, &mut Vec<u8>)>;

/// Encodes the values of one column.
pub(super) enum Encoder {
    /// Bytes that are used unchanged.
    Plain(BytesColumn),
    /// Bytes that another column follows.
    Escaped(BytesColumn),
    Boolean(BooleanArray),
    Number(EncodeNumber),
}

impl Encoder {
    pub(super) fn new(column: &ArrayRef, is_last: bool) -> Result<Self> {
        let data_type = column.data_type();
        if let Some(bytes) = BytesColumn::new(column) {
            let is_plain = is_last || !is_variable(data_type);
            return Ok(if is_plain { Self::Plain(bytes) } else { Self::Escaped(bytes) });
        }
        if let Some(booleans) = column.as_any().downcast_ref::<BooleanArray>() {
            return Ok(Self::Boolean(booleans.clone()));
        }
        let number = with_number(data_type, NumberEncoder(column)).map(Self::Number);
        number.ok_or_else(|| Error::Unsupported(format!("{data_type} has no key encoding")))
    }

    /// Appends the encoding of a row, which must exist.
    #[inline]
    pub(super) fn encode_to(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Plain(column) => out.extend_from_slice(column.value(row)),
            Self::Escaped(column) => escape_to(column.value(row), out),
            Self::Boolean(column) => out.push(u8::from(column.value(row))),
            Self::Number(encode) => encode(row, out),
        }
    }
}

struct NumberEncoder<'c>(&'c ArrayRef);

impl WithNumber for NumberEncoder<'_> {
    type Output = EncodeNumber;

    fn call<T: Ordered>(self) -> EncodeNumber {
        let data = self.0.to_data();
        let values = ScalarBuffer::<T>::new(data.buffers()[0].clone(), data.offset(), data.len());
        Box::new(move |row, out| values[row].encode_to(out))
    }
}

fn escape_to(value: &[u8], out: &mut Vec<u8>) {
    for (number, piece) in value.split(|&byte| byte == 0).enumerate() {
        if number > 0 {
            out.extend_from_slice(&ESCAPED_ZERO);
        }
        out.extend_from_slice(piece);
    }
    out.extend_from_slice(&TERMINATOR);
}
