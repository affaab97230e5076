//! From the entries of one key to its value, as this file alone has it.
//!
//! ```text
//! newest first            what the user sees
//! value …                 the value
//! deletion …              nothing; the same for a point under a newer range deletion
//! merge, merge, value …   the operands on top of the value
//! merge, merge, deletion  the operands on top of nothing; the same at the end of the entries
//! ```

use crate::error::{Error, Result};
use crate::raw::{
    BlobIndex, ColumnValue, EntryKind, WideColumn, decode_wide_columns, property_names,
    split_preferred_seqno,
};
use crate::reader::open::core::Core;
use crate::reader::scan::embedded_blob_budget::EmbeddedBlobBudget;
use crate::reader::value::Value;

/// The entries of one key, as far as they matter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    /// The newest first.
    operands: Vec<Value>,
    /// What is under them: a value of some kind.
    base: Option<(EntryKind, Value)>,
    decided: bool,
}

impl Versions {
    /// Takes the next older entry; true if still older ones matter.
    pub(crate) fn add(&mut self, kind: EntryKind, is_covered: bool, value: Value) -> bool {
        if self.decided {
            return false;
        }
        match kind {
            _ if is_covered => self.decided = true,
            EntryKind::Merge => self.operands.push(value),
            EntryKind::Deletion
            | EntryKind::SingleDeletion
            | EntryKind::DeletionWithTimestamp
            | EntryKind::RangeDeletion => self.decided = true,
            EntryKind::Value
            | EntryKind::BlobIndex
            | EntryKind::WideColumnEntity
            | EntryKind::ValuePreferredSeqno => {
                self.base = Some((kind, value));
                self.decided = true;
            }
        }
        !self.decided
    }

    /// The value, if it is one that needs neither merging nor resolving.
    pub(crate) fn plain_value(&self) -> Option<&Value> {
        match &self.base {
            Some((EntryKind::Value, value)) if self.operands.is_empty() => Some(value),
            _ => None,
        }
    }

    /// Kind and value of what is under the operands.
    pub(crate) fn base(&self) -> Option<(EntryKind, &Value)> {
        self.base.as_ref().map(|(kind, value)| (*kind, value))
    }

    /// Whether the key has a value.
    pub(crate) fn is_visible(&self) -> bool {
        self.base.is_some() || !self.operands.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.operands.clear();
        self.base = None;
        self.decided = false;
    }

    /// The value of `key`, which is visible.
    pub(crate) fn value(&self, core: &Core, key: &[u8]) -> Result<Value> {
        let base = match &self.base {
            Some((kind, value)) => Some(plain_value(core, *kind, value)?),
            None => None,
        };
        if self.operands.is_empty() {
            return Ok(base.unwrap_or_default());
        }
        let Some(operator) = &core.merge_operator else {
            let name = core.properties.get(property_names::MERGE_OPERATOR).unwrap_or(b"unknown");
            return Err(Error::invalid_input(format!(
                "the value of \"{}\" has merge operands: provide a merge operator (the table was \
                 written with {})",
                key.escape_ascii(),
                name.escape_ascii()
            )));
        };
        let operands: Vec<&[u8]> = self.operands.iter().rev().map(|operand| &**operand).collect();
        operator.merge(key, base.as_deref(), &operands).map(Value::from).ok_or_else(|| {
            Error::corrupt(format!(
                "{} failed to merge the operands of \"{}\"",
                operator.name(),
                key.escape_ascii()
            ))
        })
    }
}

/// The user's bytes in a value of some kind.
pub(crate) fn plain_value(core: &Core, kind: EntryKind, value: &Value) -> Result<Value> {
    match kind {
        EntryKind::BlobIndex => blob_in(core, &BlobIndex::decode_from(value)?, value),
        EntryKind::WideColumnEntity => {
            // Names ascend, so the default column, whose name is empty, comes first.
            match decode_wide_columns(value)?.first() {
                Some(column) if column.name.is_empty() => column_value(core, column, value),
                // An entity without a default column has an empty one.
                _ => Ok(Value::default()),
            }
        }
        EntryKind::ValuePreferredSeqno => match split_preferred_seqno(value) {
            Some((bytes, _)) => Ok(part(value, bytes)),
            None => Err(Error::mismatch(
                "a value is shorter than its sequence number",
                "8 bytes or more",
                value.len(),
            )),
        },
        _ => Ok(value.clone()),
    }
}

/// Names and values of all columns of an entity.
pub(crate) fn columns(core: &Core, entity: &Value) -> Result<Vec<(Value, Value)>> {
    EmbeddedBlobBudget::new(core.size).spend(EntryKind::WideColumnEntity, entity)?;
    decode_wide_columns(entity)?
        .iter()
        .map(|column| Ok((part(entity, column.name), column_value(core, column, entity)?)))
        .collect()
}

fn column_value(core: &Core, column: &WideColumn<'_>, entity: &Value) -> Result<Value> {
    match &column.value {
        ColumnValue::Inline(bytes) => Ok(part(entity, bytes)),
        ColumnValue::Blob(index) => blob_in(core, index, entity),
    }
}

/// A handle to some bytes of `value`.
fn part(value: &Value, bytes: &[u8]) -> Value {
    Value::from(value.clone().into_bytes().slice_ref(bytes))
}

/// The value that `index` refers to. `whole` is what holds the index.
fn blob_in(core: &Core, index: &BlobIndex<'_>, whole: &Value) -> Result<Value> {
    match *index {
        BlobIndex::Inlined { value, .. } => Ok(part(whole, value)),
        BlobIndex::Stored { .. } => blob(core, index),
    }
}

/// The value that `index` refers to, if it is in this file.
pub(crate) fn blob(core: &Core, index: &BlobIndex<'_>) -> Result<Value> {
    match *index {
        BlobIndex::Inlined { value, .. } => Ok(Value::from(value.to_vec())),
        BlobIndex::Stored { file: 0, .. } => core.embedded_blob(index).map(Value::from),
        BlobIndex::Stored { file, offset, size, .. } => Err(Error::unsupported(format!(
            "the value is outside the table ({size} bytes at offset {offset} of blob file {file})"
        ))),
    }
}
