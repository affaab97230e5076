//! Which range tombstone covers which entry of a lookup.
//!
//! A source by itself knows its own tombstones only. What it shows is settled here, once all sources
//! are known: a tombstone covers the entries that are older than it, wherever they are.

use super::{FoundEntry, LookupStep};

/// Says of each entry whether a tombstone covers it, and of each tombstone whether it covers the key,
/// as of a sequence number.
pub(super) fn settle(steps: &mut [LookupStep], as_of: u64) {
    let newest = steps.iter().filter_map(range_deletion).max();
    let mut newest_entry = None;
    for entry in steps.iter_mut().flat_map(entries_of) {
        entry.covered |= newest.is_some_and(|tombstone| tombstone > entry.seq);
        if entry.seq <= as_of {
            newest_entry = newest_entry.max(Some(entry.seq));
        }
    }
    for step in steps {
        let covers = |tombstone: u64| newest_entry.is_none_or(|entry| tombstone > entry);
        match step {
            LookupStep::Memtable { range_deletion, range_deletion_covers, .. } => {
                *range_deletion_covers = range_deletion.map(covers);
            }
            LookupStep::Table(table) => {
                table.range_deletion_covers = table.range_deletion.map(covers);
            }
            LookupStep::OutOfRange { .. } | LookupStep::NotAsked { .. } => {}
        }
    }
}

fn range_deletion(step: &LookupStep) -> Option<u64> {
    match step {
        LookupStep::Memtable { range_deletion, .. } => *range_deletion,
        LookupStep::Table(table) => table.range_deletion,
        LookupStep::OutOfRange { .. } | LookupStep::NotAsked { .. } => None,
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
        LookupStep::OutOfRange { .. } | LookupStep::NotAsked { .. } => Vec::new(),
    }
}
