//! A column of values as bytes.

use arrow_array::{Array, ArrayRef, PrimitiveArray, types};

use crate::bytes_column::BytesColumn;

/// Appends the integer of a row.
type EncodeInteger = Box<dyn Fn(usize, &mut Vec<u8>)>;

/// A column of values.
pub(super) enum ValueColumn {
    Bytes(BytesColumn),
    Integer(EncodeInteger),
}

impl ValueColumn {
    /// Binary and strings as they are, integers big-endian in two's complement; `None` for other
    /// types, whose encoding the caller has to choose.
    pub(super) fn new(column: &ArrayRef) -> Option<Self> {
        if let Some(bytes) = BytesColumn::new(column) {
            return Some(Self::Bytes(bytes));
        }
        macro_rules! integers {
            ($($integer:ident),*) => {
                $(if let Some(array) =
                    column.as_any().downcast_ref::<PrimitiveArray<types::$integer>>()
                {
                    let array = array.clone();
                    return Some(Self::Integer(Box::new(move |row, out| {
                        out.extend_from_slice(&array.value(row).to_be_bytes());
                    })));
                })*
            };
        }
        integers!(Int8Type, Int16Type, Int32Type, Int64Type);
        integers!(UInt8Type, UInt16Type, UInt32Type, UInt64Type);
        None
    }

    /// The bytes of a row, in `buffer` if they have to be made.
    #[inline]
    pub(super) fn value<'v>(&'v self, row: usize, buffer: &'v mut Vec<u8>) -> &'v [u8] {
        match self {
            Self::Bytes(column) => column.value(row),
            Self::Integer(encode) => {
                buffer.clear();
                encode(row, buffer);
                buffer
            }
        }
    }
}
