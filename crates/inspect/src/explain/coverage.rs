//! Which range tombstone covers which entry of a lookup.
//!
//! A source by itself knows its own tombstones only. What it shows is settled here, once all sources
//! are known: a tombstone covers the smaller sequence numbers of its own source, and all of older
//! sources. If it is unknown which source is older, it covers smaller numbers in all of them.

use super::{FoundEntry, LookupStep};

/// Says of each entry whether a tombstone covers it, and of each tombstone whether it covers the key,
/// as of a sequence number.
pub(super) fn settle(steps: &mut [LookupStep], as_of: u64, is_by_sequence: bool) {
    let ages = ages(steps, is_by_sequence);
    let tombstones: Vec<Dated> = ages
        .iter()
        .zip(&*steps)
        .filter_map(|(&age, step)| range_deletion(step).map(|sequence| Dated { age, sequence }))
        .collect();
    let mut visible = Vec::new();
    for (&age, step) in ages.iter().zip(&mut *steps) {
        for entry in entries_of(step) {
            let written = Dated { age, sequence: entry.seq };
            entry.covered |= tombstones.iter().any(|tombstone| tombstone.covers(written));
            visible.extend(Some(written).filter(|_| entry.seq <= as_of));
        }
    }
    for (&age, step) in ages.iter().zip(steps) {
        let covers = |sequence: u64| {
            let tombstone = Dated { age, sequence };
            visible.iter().all(|&entry| tombstone.covers(entry))
        };
        match step {
            LookupStep::Memtable { range_deletion, range_deletion_covers, .. } => {
                *range_deletion_covers = range_deletion.map(covers);
            }
            LookupStep::Table(table) => {
                table.range_deletion_covers = table.range_deletion.map(covers);
            }
            LookupStep::OutOfRange { .. }
            | LookupStep::Skipped { .. }
            | LookupStep::Blob { .. } => {}
        }
    }
}

/// When something was written.
#[derive(Clone, Copy)]
struct Dated {
    /// Of its source: the newest has the smallest.
    age: usize,
    sequence: u64,
}

impl Dated {
    fn covers(self, entry: Self) -> bool {
        self.age < entry.age || self.age == entry.age && self.sequence > entry.sequence
    }
}

/// How old the source of each step is. The files of a level below 0 are one source.
fn ages(steps: &[LookupStep], is_by_sequence: bool) -> Vec<usize> {
    let level = |step: &LookupStep| match step {
        LookupStep::Table(table) => table.level,
        LookupStep::OutOfRange { level, .. } | LookupStep::Skipped { level, .. } => Some(*level),
        LookupStep::Memtable { .. } | LookupStep::Blob { .. } => None,
    };
    let mut ages = Vec::with_capacity(steps.len());
    let mut age = 0;
    for (at, step) in steps.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| level(&steps[before]));
        let is_same = before == level(step) && before.is_some_and(|level| level > 0);
        age += usize::from(!is_same && !is_by_sequence);
        ages.push(age);
    }
    ages
}

fn range_deletion(step: &LookupStep) -> Option<u64> {
    match step {
        LookupStep::Memtable { range_deletion, .. } => *range_deletion,
        LookupStep::Table(table) => table.range_deletion,
        LookupStep::OutOfRange { .. } | LookupStep::Skipped { .. } | LookupStep::Blob { .. } => {
            None
        }
    }
}

/// The entries of the key that a source has.
fn entries_of(step: &mut LookupStep) -> Vec<&mut FoundEntry> {
    match step {
        LookupStep::Memtable { entries, .. } => entries.iter_mut().collect(),
        LookupStep::Table(table) => {
            let searches = table.blocks.iter_mut().filter_map(|block| block.search.as_mut());
            searches.flat_map(|search| &mut search.entries).collect()
        }
        LookupStep::OutOfRange { .. } | LookupStep::Skipped { .. } | LookupStep::Blob { .. } => {
            Vec::new()
        }
    }
}
