//! What a pile of entries means, worked out the slow way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{MergeOperator, Table, TableOptions, TableWriter};

/// When something was written: the sequence number, then the recency of its table.
pub(crate) type Age = (u64, usize);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) key: Vec<u8>,
    pub(crate) age: Age,
    pub(crate) kind: u8,
    pub(crate) value: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    pub(crate) start: Vec<u8>,
    pub(crate) end: Vec<u8>,
    pub(crate) age: Age,
}

/// Entries of any number of tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pile {
    pub(crate) points: Vec<Point>,
    pub(crate) ranges: Vec<Range>,
}

/// Puts operands behind one another, with commas.
#[derive(Debug)]
pub(crate) struct Append;

impl MergeOperator for Append {
    fn name(&self) -> &str {
        "test.Append"
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let parts: Vec<&[u8]> = base.into_iter().chain(operands.iter().copied()).collect();
        Some(parts.join(&b","[..]))
    }
}

pub(crate) fn append() -> Arc<dyn MergeOperator> {
    Arc::new(Append)
}

impl Pile {
    pub(crate) fn with(mut self, other: &Self) -> Self {
        self.points.extend(other.points.iter().cloned());
        self.ranges.extend(other.ranges.iter().cloned());
        self
    }

    /// What a reader sees.
    pub(crate) fn visible(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let keys: BTreeSet<&[u8]> = self.points.iter().map(|point| &point.key[..]).collect();
        keys.into_iter().filter_map(|key| Some((key.to_vec(), self.value(key)?))).collect()
    }

    fn value(&self, key: &[u8]) -> Option<Vec<u8>> {
        let over =
            self.ranges.iter().filter(|range| range.start[..] <= *key && *key < range.end[..]);
        let deleted = over.map(|range| range.age).max();
        let mut points: Vec<&Point> = self
            .points
            .iter()
            .filter(|point| point.key == key && deleted.is_none_or(|age| age <= point.age))
            .collect();
        points.sort_by_key(|point| point.age);
        let mut operands: Vec<&[u8]> = Vec::new();
        let mut base = None;
        while let Some(point) = points.pop() {
            match EntryKind::from_byte(point.kind).unwrap() {
                EntryKind::Merge => operands.insert(0, &point.value),
                EntryKind::Value => {
                    base = Some(&point.value[..]);
                    break;
                }
                _ => break,
            }
        }
        match (base, operands.is_empty()) {
            (base, true) => base.map(<[u8]>::to_vec),
            (base, false) => Append.merge(key, base, &operands),
        }
    }

    /// A table of what in the pile is of this rank.
    pub(crate) fn table(&self, rank: usize) -> Table {
        let mut bytes = Vec::new();
        let options = TableOptions::rocksdb().external_file(false).block_size(512);
        let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
        let mut points: Vec<&Point> = self.points.iter().filter(|it| it.age.1 == rank).collect();
        points.sort_by(|a, b| a.key.cmp(&b.key).then(b.age.cmp(&a.age)));
        for point in points {
            let kind = EntryKind::from_byte(point.kind).unwrap();
            let key = InternalKey { user_key: &point.key, sequence: point.age.0, kind };
            writer.add(&key, &point.value).unwrap();
        }
        for range in self.ranges.iter().filter(|it| it.age.1 == rank) {
            let (sequence, kind) = (range.age.0, EntryKind::RangeDeletion);
            let key = InternalKey { user_key: &range.start, sequence, kind };
            writer.add(&key, &range.end).unwrap();
        }
        writer.finish().unwrap();
        Table::from_bytes(bytes).unwrap()
    }

    /// Everything in a table.
    pub(crate) fn of_table(table: &Table, rank: usize) -> Self {
        let point = |entry: sstkit_table::Result<sstkit_table::Entry>| {
            let entry = entry.unwrap();
            let (key, kind, value) = (entry.user_key, entry.kind as u8, entry.value.to_vec());
            Point { key, age: (entry.sequence, rank), kind, value }
        };
        let range = |range: &sstkit_table::RangeTombstone| Range {
            start: range.start.clone(),
            end: range.end.clone(),
            age: (range.sequence, rank),
        };
        Self {
            points: table.entries().map(point).collect(),
            ranges: table.range_deletions().iter().map(range).collect(),
        }
    }
}
