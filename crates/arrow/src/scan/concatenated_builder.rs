//! Byte strings one after another, with the offset where each ends.
//!
//! The same as arrow's builder with less work per value: nothing about nulls is recorded before there is
//! one, and an offset that does not fit is an error, not a panic.

use std::sync::Arc;

use arrow_array::types::ByteArrayType;
use arrow_array::{ArrayRef, GenericByteArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};

use crate::error::{Error, Result};

/// A column of `T` that is being filled: binary, with offsets of 32 or 64 bits.
pub(super) struct ConcatenatedBuilder<T: ByteArrayType> {
    /// Where each value ends, after a zero.
    offsets: Vec<T::Offset>,
    bytes: Vec<u8>,
    /// Once there is a null.
    nulls: Option<NullBufferBuilder>,
}

impl<T: ByteArrayType> ConcatenatedBuilder<T> {
    /// With room for this many values and bytes.
    pub(super) fn with_capacity(values: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(values + 1);
        offsets.push(T::Offset::default());
        Self { offsets, bytes: Vec::with_capacity(bytes), nulls: None }
    }

    /// The number of values.
    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    #[inline]
    pub(super) fn append(&mut self, value: &[u8]) -> Result<()> {
        let end = self.bytes.len().saturating_add(value.len());
        let Some(end) = T::Offset::from_usize(end) else {
            return Err(too_long(value.len()));
        };
        self.bytes.extend_from_slice(value);
        self.offsets.push(end);
        if let Some(nulls) = &mut self.nulls {
            nulls.append_non_null();
        }
        Ok(())
    }

    pub(super) fn append_null(&mut self) {
        let values = self.len();
        let nulls = self.nulls.get_or_insert_with(|| {
            let mut nulls = NullBufferBuilder::new(values);
            nulls.append_n_non_nulls(values);
            nulls
        });
        nulls.append_null();
        self.offsets.extend(self.offsets.last().copied());
    }

    /// The column. It is empty then, with room for as much as this one had: batches are much alike.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let next = Self::with_capacity(self.len(), self.bytes.len());
        let Self { offsets, bytes, nulls } = std::mem::replace(self, next);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let nulls = nulls.and_then(|mut nulls| nulls.finish());
        let array = GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(bytes), nulls)?;
        Ok(Arc::new(array))
    }
}

#[cold]
fn too_long(length: usize) -> Error {
    Error::Unsupported(format!(
        "a value of {length} bytes does not fit in a binary column: use large_binary"
    ))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{BinaryType, LargeBinaryType};
    use arrow_array::{Array as _, BinaryArray, LargeBinaryArray};

    use super::*;

    #[test]
    fn the_column_is_that_of_arrow() {
        let values: [&[Option<&[u8]>]; 4] = [
            &[],
            &[Some(b"a"), Some(b""), Some(b"bc")],
            &[None, Some(b"a"), None],
            &[Some(b"a"), Some(b"b"), None, Some(b"c")],
        ];
        let mut small = ConcatenatedBuilder::<BinaryType>::with_capacity(0, 0);
        let mut large = ConcatenatedBuilder::<LargeBinaryType>::with_capacity(9, 9);
        for values in values {
            for value in values {
                match value {
                    Some(value) => {
                        small.append(value).unwrap();
                        large.append(value).unwrap();
                    }
                    None => {
                        small.append_null();
                        large.append_null();
                    }
                }
            }
            assert_eq!(small.len(), values.len());
            let (small, large) = (small.finish().unwrap(), large.finish().unwrap());
            let expected = BinaryArray::from_iter(values.iter().copied());
            assert_eq!(small.to_data(), expected.to_data());
            let expected = LargeBinaryArray::from_iter(values.iter().copied());
            assert_eq!(large.to_data(), expected.to_data());
        }
    }
}
