//! The values of entries: read from blob files, or left there, and merged.

use sstkit_table::raw::{
    BlobIndex, ColumnValue, EntryKind, WideColumn, decode_wide_columns, encode_wide_columns,
    split_preferred_seqno,
};
use sstkit_table::visibility::{InternalIterator, MergingIterator};
use sstkit_table::{KeyExcerpt, MergeOperator, Value};

use super::input::InputCursor;
use super::part::Part;
use super::retained_versions::RetainedVersion;
use crate::error::{Error, Result};
use crate::output::without_timestamp;

impl Part<'_> {
    /// One value of operands, the newest first, and what lies below them.
    pub(super) fn merge(
        &self,
        operator: &dyn MergeOperator,
        operands: &[RetainedVersion],
        base: Option<&RetainedVersion>,
    ) -> Result<RetainedVersion> {
        let key = without_timestamp(&self.key, self.shared.comparator.timestamp_size());
        let values: Vec<&[u8]> = operands.iter().rev().map(|version| &*version.value).collect();
        let merge = |base: Option<&[u8]>| {
            operator.merge(key, base, &values).ok_or_else(|| {
                let name = operator.name();
                Error::corrupt(format!(
                    "{name} failed to merge the operands of {}",
                    KeyExcerpt(key)
                ))
            })
        };
        let sequence = operands.first().map_or(0, |version| version.sequence);
        let version =
            |kind, value: Vec<u8>| RetainedVersion { sequence, kind, value: value.into() };
        let plain = |value: Option<&[u8]>| Ok(version(EntryKind::Value, merge(value)?));
        match base {
            Some(base) if base.kind == EntryKind::WideColumnEntity => {
                let mut columns = decode_wide_columns(&base.value)?;
                let default = columns.first().filter(|column| column.name.is_empty());
                let merged = merge(Some(match default.map(|column| column.value) {
                    Some(ColumnValue::Inline(value)) => value,
                    _ => &[],
                }))?;
                let has_default = default.is_some();
                let column = WideColumn { name: &[], value: ColumnValue::Inline(&merged) };
                columns.splice(..usize::from(has_default), [column]);
                let mut entity = Vec::new();
                encode_wide_columns(&columns, &mut entity)?;
                Ok(version(EntryKind::WideColumnEntity, entity))
            }
            Some(base) if base.kind == EntryKind::ValuePreferredSeqno => {
                plain(Some(split_preferred_seqno(&base.value).map_or(&[], |(value, _)| value)))
            }
            Some(base) if !base.kind.is_point_deletion() => plain(Some(&base.value)),
            _ => plain(None),
        }
    }

    /// The current entry, with the values that it refers to in it, unless these stay in blob files.
    pub(super) fn version(
        &self,
        entries: &MergingIterator<InputCursor>,
    ) -> Result<RetainedVersion> {
        let (kind, value) = self.contained(entries)?;
        Ok(RetainedVersion { sequence: entries.sequence(), kind, value })
    }

    fn contained(&self, entries: &MergingIterator<InputCursor>) -> Result<(EntryKind, Value)> {
        let (kind, value) = (entries.kind(), entries.value_handle());
        self.blobs.spend(kind, &value)?;
        let blob = |index: &BlobIndex<'_>| match entries.source() {
            Some(source) => {
                self.input(entries).blob(&entries.sources()[source], index, &self.key, &value)
            }
            None => Ok(Value::default()),
        };
        let stays = |index: &BlobIndex<'_>| self.stays_in_blob_file(index, entries);
        match kind {
            EntryKind::BlobIndex => match BlobIndex::decode_from(&value)? {
                index if stays(&index) => Ok((kind, value)),
                index => Ok((EntryKind::Value, blob(&index)?)),
            },
            EntryKind::WideColumnEntity => match inline_columns(&value, blob, stays)? {
                Some(entity) => Ok((kind, entity.into())),
                None => Ok((kind, value)),
            },
            _ => Ok((kind, value)),
        }
    }

    /// Whether a value of the current entry stays in its blob file. Operands need it.
    fn stays_in_blob_file(
        &self,
        index: &BlobIndex<'_>,
        entries: &MergingIterator<InputCursor>,
    ) -> bool {
        let is_merged = self.versions.operands() > 0 && self.shared.operator.is_some();
        let family = self.input(entries).family();
        let is_listed = |number| family.is_some_and(|it| it.listed_blob_file(number).is_some());
        match *index {
            BlobIndex::Stored { file: number @ 1.., .. } => {
                self.shared.options.keep_blob_files && !is_merged && is_listed(number)
            }
            _ => false,
        }
    }
}

/// An entity with the values of its columns in it, except for those that stay in blob files. `None` if
/// it is the same.
fn inline_columns(
    entity: &[u8],
    blob: impl Fn(&BlobIndex<'_>) -> Result<Value>,
    stays: impl Fn(&BlobIndex<'_>) -> bool,
) -> Result<Option<Vec<u8>>> {
    let mut columns = decode_wide_columns(entity)?;
    let moves = |column: &WideColumn<'_>| match &column.value {
        ColumnValue::Blob(index) => !stays(index),
        _ => false,
    };
    if !columns.iter().any(moves) {
        return Ok(None);
    }
    let value = |column: &WideColumn<'_>| match &column.value {
        ColumnValue::Blob(index) if !stays(index) => blob(index).map(Some),
        _ => Ok(None),
    };
    let values: Vec<Option<Value>> = columns.iter().map(value).collect::<Result<_>>()?;
    for (column, value) in columns.iter_mut().zip(&values) {
        if let Some(value) = value {
            column.value = ColumnValue::Inline(value);
        }
    }
    let mut inline = Vec::new();
    encode_wide_columns(&columns, &mut inline)?;
    Ok(Some(inline))
}
