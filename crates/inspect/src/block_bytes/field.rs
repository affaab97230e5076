//! A field: some bytes with a name and a meaning.

use std::ops::Range;

use serde::Serialize;

/// Some bytes of a block, their name and their value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Field {
    /// The offset of the first byte: in the contents, or in a trailer or footer.
    pub start: u64,
    /// The offset after the last byte.
    pub end: u64,
    /// The name, as in the format documents.
    pub name: &'static str,
    /// The value, decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The entry that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
}

impl Field {
    pub(super) fn new(range: Range<usize>, name: &'static str, value: Option<String>) -> Self {
        Self { start: range.start as u64, end: range.end as u64, name, value, entry: None }
    }
}

/// The fields within a window. Values of the others are not computed.
pub(super) struct Fields {
    window: Range<usize>,
    fields: Vec<Field>,
    entry: Option<u64>,
}

impl Fields {
    pub(super) fn within(window: Range<usize>) -> Self {
        Self { window, fields: Vec::new(), entry: None }
    }

    /// Whether any of these bytes is in the window.
    pub(super) fn overlap(&self, range: &Range<usize>) -> bool {
        range.start < self.window.end && range.end > self.window.start
    }

    /// The fields added from now on belong to this entry.
    pub(super) fn of_entry(&mut self, entry: Option<u64>) {
        self.entry = entry;
    }

    /// Adds a field, unless it is empty or outside of the window.
    pub(super) fn add(
        &mut self,
        range: Range<usize>,
        name: &'static str,
        value: impl FnOnce() -> Option<String>,
    ) {
        if !range.is_empty() && self.overlap(&range) {
            let entry = self.entry;
            self.fields.push(Field { entry, ..Field::new(range, name, value()) });
        }
    }

    pub(super) fn into_sorted(mut self) -> Vec<Field> {
        self.fields.sort_by_key(|field| (field.start, field.end));
        self.fields
    }
}
