//! A column of bytes that is being filled.
//!
//! ```text
//! Binary       offsets of 32 bits, bytes one after another: a copy of each value
//! LargeBinary  the same with 64 bits
//! BinaryView   16 bytes for each value: up to 12 of its own bytes, or where the rest is. A value of
//!              1 KiB or more is not copied: the column refers to the block that contains it.
//! ```

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::BinaryViewBuilder;
use arrow_array::types::{BinaryType, LargeBinaryType};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use sstkit_table::Value;

use super::concatenated_builder::ConcatenatedBuilder;
use crate::error::{Error, Result};

/// Values of this size and larger are referred to, where the layout allows. Each reference is a
/// buffer of its own, which costs about as much as copying this many bytes.
const MIN_REFERENCE: usize = 1 << 10;

/// The type of binary columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BinaryLayout {
    /// `binary`, which everything reads. Values are copied; a batch has at most 2 GiB of them.
    #[default]
    Binary,
    /// `large_binary`, for values larger than 2 GiB.
    LargeBinary,
    /// `binary_view`: values of 1 KiB and more are not copied out of their blocks, which stay in
    /// memory as long as the batch. Not every consumer reads it.
    BinaryView,
}

impl BinaryLayout {
    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::Binary => DataType::Binary,
            Self::LargeBinary => DataType::LargeBinary,
            Self::BinaryView => DataType::BinaryView,
        }
    }
}

/// A column of bytes that is being filled.
pub(super) enum BytesBuilder {
    Binary(ConcatenatedBuilder<BinaryType>),
    LargeBinary(ConcatenatedBuilder<LargeBinaryType>),
    BinaryView(BinaryViewBuilder),
}

impl BytesBuilder {
    pub(super) fn new(layout: BinaryLayout) -> Self {
        match layout {
            BinaryLayout::Binary => Self::Binary(ConcatenatedBuilder::with_capacity(0, 0)),
            BinaryLayout::LargeBinary => {
                Self::LargeBinary(ConcatenatedBuilder::with_capacity(0, 0))
            }
            BinaryLayout::BinaryView => Self::BinaryView(BinaryViewBuilder::new()),
        }
    }

    /// Whether a value is better appended by its handle.
    #[inline]
    pub(super) fn wants_handle(&self, value: &[u8]) -> bool {
        matches!(self, Self::BinaryView(_)) && value.len() >= MIN_REFERENCE
    }

    #[inline]
    pub(super) fn append(&mut self, value: &[u8]) -> Result<()> {
        match self {
            Self::Binary(column) => column.append(value),
            Self::LargeBinary(column) => column.append(value),
            Self::BinaryView(column) => Ok(column.try_append_value(value)?),
        }
    }

    /// Appends a value without copying it, if the layout allows that.
    pub(super) fn append_handle(&mut self, value: Value) -> Result<()> {
        match self {
            Self::BinaryView(column) if value.len() >= MIN_REFERENCE => {
                let length = u32::try_from(value.len()).map_err(|_| {
                    Error::Unsupported("a value of 4 GiB or more: use large_binary".into())
                })?;
                let block = column.append_block(Buffer::from(value.into_bytes()));
                Ok(column.try_append_view(block, 0, length)?)
            }
            _ => self.append(&value),
        }
    }

    pub(super) fn append_null(&mut self) {
        match self {
            Self::Binary(column) => column.append_null(),
            Self::LargeBinary(column) => column.append_null(),
            Self::BinaryView(column) => column.append_null(),
        }
    }

    /// The column. It is empty then, with room for as much as this one had: batches are much alike.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        match self {
            Self::Binary(column) => column.finish(),
            Self::LargeBinary(column) => column.finish(),
            Self::BinaryView(column) => Ok(Arc::new(column.finish())),
        }
    }
}
