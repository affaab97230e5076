//! What a table should show: made of the list of what went into it, and of nothing else.

use std::cmp::Ordering;
use std::sync::Arc;

use sstkit_table::raw::EntryKind;
use sstkit_table::{Comparator, MergeOperator, Table, TableReadOptions};

use crate::expected::{Expected, expected_entries};
use crate::tables::Golden;

/// Keys and values, in the order of the file.
pub(crate) struct Model {
    pub(crate) visible: Vec<(Vec<u8>, Vec<u8>)>,
    /// Keys that the table has entries of, visible or not.
    pub(crate) keys: Vec<Vec<u8>>,
    order: Comparator,
}

/// Puts operands behind each other: what went in stays in sight.
#[derive(Debug)]
pub(crate) struct Concatenate;

impl MergeOperator for Concatenate {
    fn name(&self) -> &str {
        "test.Concatenate"
    }

    fn merge(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut merged = base.unwrap_or_default().to_vec();
        operands.iter().for_each(|operand| merged.extend_from_slice(operand));
        Some(merged)
    }
}

pub(crate) fn options() -> TableReadOptions {
    TableReadOptions::default().merge_operator(Arc::new(Concatenate))
}

pub(crate) fn open(golden: &Golden, options: &TableReadOptions) -> Table {
    Table::open_with(golden.bytes.clone(), options)
        .unwrap_or_else(|error| panic!("{}: {error}", golden.path.display()))
}

impl Model {
    pub(crate) fn of(golden: &Golden) -> Self {
        let name = golden.path.file_name().unwrap().to_str().unwrap();
        let order = if name.contains("reverse") {
            Comparator::ReverseBytewise
        } else {
            Comparator::Bytewise
        };
        let mut model = Self { visible: Vec::new(), keys: Vec::new(), order };
        let mut points: Vec<Expected> = expected_entries(&golden.path);
        // All tables have sequence number 0 throughout, and only newer range deletions delete.
        points.retain(|entry| !entry.is_range());
        for entry in points {
            if model.keys.last() == Some(&entry.key) {
                // Versions of one key, told apart by their timestamps: the newest came first.
                continue;
            }
            let kind = entry.kind(!entry.timestamp.is_empty()).unwrap_or(EntryKind::Value);
            if !matches!(
                kind,
                EntryKind::Deletion | EntryKind::SingleDeletion | EntryKind::DeletionWithTimestamp
            ) {
                model.visible.push((entry.key.clone(), entry.value));
            }
            model.keys.push(entry.key);
        }
        model
    }

    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare(a, b)
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let found = self.visible.binary_search_by(|(k, _)| self.compare(k, key)).ok()?;
        Some(&self.visible[found].1)
    }

    /// The place of the first visible key at or after `key`.
    pub(crate) fn lower_bound(&self, key: &[u8]) -> usize {
        self.visible.partition_point(|(k, _)| self.compare(k, key).is_lt())
    }

    /// The place after the last visible key at or before `key`.
    pub(crate) fn upper_bound(&self, key: &[u8]) -> usize {
        self.visible.partition_point(|(k, _)| self.compare(k, key).is_le())
    }

    /// Keys that the table does not have entries of, spread over all of its range.
    pub(crate) fn absent_keys(&self) -> Vec<Vec<u8>> {
        let mut absent: Vec<Vec<u8>> = vec![b"".to_vec(), b"\xff\xff\xff\xff\xff".to_vec()];
        for key in &self.keys {
            absent.push([key.as_slice(), b"\0"].concat());
            absent.push(key[..key.len().saturating_sub(1)].to_vec());
            let mut other = key.clone();
            if let Some(last) = other.last_mut() {
                *last ^= 0x55;
            }
            absent.push(other);
        }
        absent.retain(|key| self.keys.binary_search_by(|k| self.compare(k, key)).is_err());
        absent
    }
}
