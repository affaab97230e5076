//! The position of a file among the sorted runs of a database.

use std::cmp::Ordering;
use std::sync::Arc;

use sstkit_db::{ColumnFamily, LevelFile};
use sstkit_table::Comparator;

use super::sampling::{self, SampleBudget};
use crate::inspected_table::InspectedTable;

/// The key space of a column family.
#[derive(Debug, PartialEq)]
pub(crate) struct LookupSpace {
    /// `None` if it is unknown.
    comparator: Option<Comparator>,
    pub(super) budget: SampleBudget,
}

impl LookupSpace {
    pub(crate) fn of(family: &ColumnFamily) -> Arc<Self> {
        let files = family.levels().iter().map(|level| level.files.len()).sum();
        Self::new(family.comparator().ok().cloned(), files)
    }

    pub(super) fn new(comparator: Option<Comparator>, files: usize) -> Arc<Self> {
        Arc::new(Self { comparator, budget: SampleBudget::of_one_in(files) })
    }

    pub(super) fn comparator(&self) -> Option<&Comparator> {
        self.comparator.as_ref()
    }
}

/// The position of a file among the sorted runs of its column family. Keys have no timestamps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunPlace {
    /// The same for all files of a column family, and for no others.
    pub(super) family: Arc<LookupSpace>,
    pub(super) run: usize,
    /// The number of entries, if known.
    pub(super) entries: Option<u64>,
    pub(super) size: u64,
    pub(super) bounds: KeyBounds,
    /// The distribution of its entries: keys within the bounds, each for the same number of
    /// entries.
    pub(super) samples: Vec<Vec<u8>>,
}

/// The key range of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeyBounds {
    pub(super) smallest: Vec<u8>,
    pub(super) largest: Vec<u8>,
    pub(super) largest_is_exclusive: bool,
}

impl RunPlace {
    pub(super) fn new(
        family: &Arc<LookupSpace>,
        file: &LevelFile,
        table: &InspectedTable,
        entries: Option<u64>,
    ) -> Self {
        let bounds = KeyBounds {
            smallest: file.smallest().to_vec(),
            largest: file.largest().to_vec(),
            largest_is_exclusive: file.largest_is_exclusive(),
        };
        let mut place = Self {
            family: Arc::clone(family),
            run: file.run(),
            entries,
            size: file.metadata().size,
            bounds,
            samples: sampling::sample(table, family.budget),
        };
        place.settle();
        place
    }

    /// The last separator of an index may be greater than all keys. A file with only range
    /// deletions has no keys and counts at its start.
    pub(super) fn settle(&mut self) {
        let Self { family, bounds, samples, .. } = self;
        if let Some(comparator) = family.comparator() {
            samples.retain(|key| bounds.has(key, comparator));
        }
        if samples.is_empty() {
            samples.push(bounds.smallest.clone());
        }
    }

    /// The weight of the file when keys are sampled.
    pub(super) fn weight(&self, by_entries: bool) -> f64 {
        let weight = if by_entries { self.entries.unwrap_or(0) } else { self.size };
        weight.max(1) as f64
    }
}

impl KeyBounds {
    fn has(&self, key: &[u8], comparator: &Comparator) -> bool {
        let compare = |bound: &[u8]| comparator.compare_without_timestamp(key, bound);
        compare(&self.smallest).is_ge() && !self.is_before(compare(&self.largest))
    }

    /// Whether the file ends before a key, which compares like this with the largest one.
    pub(super) fn is_before(&self, order: Ordering) -> bool {
        order.is_gt() || order.is_eq() && self.largest_is_exclusive
    }
}
