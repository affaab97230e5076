//! The visible state of a golden table, computed from the list of its entries alone.

use std::cmp::Ordering;
use std::sync::Arc;

use sstkit_table::raw::EntryKind;
use sstkit_table::{Comparator, MergeOperator, Table, TableReadOptions};

use super::{Expected, Golden, expected_entries};

/// Keys and values, in file order.
#[derive(Debug)]
pub struct Model {
    /// Visible keys with their values.
    pub visible: Vec<(Vec<u8>, Vec<u8>)>,
    /// Keys with at least one entry, visible or not.
    pub keys: Vec<Vec<u8>>,
    order: Comparator,
}

/// Concatenates the base value and the operands.
#[derive(Debug)]
pub struct Concatenate;

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

/// Read options with [`Concatenate`] as the merge operator.
pub fn options() -> TableReadOptions {
    TableReadOptions::default().merge_operator(Arc::new(Concatenate))
}

/// Opens a golden table from memory.
///
/// # Panics
///
/// If it cannot be opened.
pub fn open(golden: &Golden, options: &TableReadOptions) -> Table {
    Table::from_source(golden.bytes.clone(), options)
        .unwrap_or_else(|error| panic!("{}: {error}", golden.path.display()))
}

impl Model {
    /// The model of a golden table.
    ///
    /// # Panics
    ///
    /// If the list of its entries cannot be read.
    pub fn of(golden: &Golden) -> Self {
        let name = golden.path.file_name().unwrap().to_str().unwrap();
        let order = if name.contains("reverse") {
            Comparator::ReverseBytewise
        } else {
            Comparator::Bytewise
        };
        let mut model = Self { visible: Vec::new(), keys: Vec::new(), order };
        let mut points: Vec<Expected> = expected_entries(&golden.path);
        // All entries have sequence number 0, and a range tombstone deletes older entries only.
        points.retain(|entry| !entry.is_range());
        for entry in points {
            if model.keys.last() == Some(&entry.key) {
                // An older version of the same key, with a smaller timestamp.
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

    /// Compares two keys in the order of the table.
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare(a, b)
    }

    /// The visible value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let found = self.visible.binary_search_by(|(k, _)| self.compare(k, key)).ok()?;
        Some(&self.visible[found].1)
    }

    /// The index of the first visible key at or after `key`.
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        self.visible.partition_point(|(k, _)| self.compare(k, key).is_lt())
    }

    /// The index after the last visible key at or before `key`.
    pub fn upper_bound(&self, key: &[u8]) -> usize {
        self.visible.partition_point(|(k, _)| self.compare(k, key).is_le())
    }

    /// Keys without an entry, spread over the key range of the table.
    pub fn absent_keys(&self) -> Vec<Vec<u8>> {
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
