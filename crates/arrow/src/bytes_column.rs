//! A column of byte strings, in any of Arrow's layouts.

use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, StringArray, StringViewArray,
};

/// A column whose values are bytes.
#[derive(Clone)]
pub(crate) enum BytesColumn {
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    BinaryView(BinaryViewArray),
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    Fixed(FixedSizeBinaryArray),
}

impl BytesColumn {
    /// `None` if the values are something else.
    pub(crate) fn new(column: &ArrayRef) -> Option<Self> {
        let any = column.as_any();
        macro_rules! first_of {
            ($($variant:ident($array:ty)),*) => {
                $(if let Some(array) = any.downcast_ref::<$array>() {
                    return Some(Self::$variant(array.clone()));
                })*
            };
        }
        first_of!(
            Binary(BinaryArray),
            LargeBinary(LargeBinaryArray),
            BinaryView(BinaryViewArray),
            Utf8(StringArray),
            LargeUtf8(LargeStringArray),
            Utf8View(StringViewArray),
            Fixed(FixedSizeBinaryArray)
        );
        None
    }

    /// The bytes of a row, which must exist; of a null, unspecified.
    #[inline]
    pub(crate) fn value(&self, row: usize) -> &[u8] {
        match self {
            Self::Binary(array) => array.value(row),
            Self::LargeBinary(array) => array.value(row),
            Self::BinaryView(array) => array.value(row),
            Self::Utf8(array) => array.value(row).as_bytes(),
            Self::LargeUtf8(array) => array.value(row).as_bytes(),
            Self::Utf8View(array) => array.value(row).as_bytes(),
            Self::Fixed(array) => array.value(row),
        }
    }
}
