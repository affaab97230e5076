//! Which writes of logs are in memtables.

use std::collections::BTreeMap;

use sstkit_table::visibility::UserKeys;

/// Writes that were added to memtables, by log and column family.
#[derive(Clone, Debug, Default)]
pub(crate) struct AppliedWrites(BTreeMap<(u64, u32), LoggedWrites>);

/// Writes of a log to a column family.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoggedWrites {
    pub(crate) count: u64,
    /// The smallest and the largest key, without timestamps.
    pub(crate) bounds: Option<(Vec<u8>, Vec<u8>)>,
}

impl AppliedWrites {
    /// Counts a write.
    pub(crate) fn count(&mut self, log: u64, column_family: u32) {
        self.0.entry((log, column_family)).or_default().count += 1;
    }

    /// Adds the keys of a write to the bounds.
    pub(crate) fn include(
        &mut self,
        log: u64,
        column_family: u32,
        written: [Option<&[u8]>; 2],
        keys: &UserKeys,
    ) {
        let bounds = &mut self.0.entry((log, column_family)).or_default().bounds;
        for key in written.into_iter().flatten().map(|key| keys.bare(key)) {
            let (first, last) = bounds.get_or_insert_with(|| (key.to_vec(), key.to_vec()));
            if keys.compare(key, first).is_lt() {
                *first = key.to_vec();
            }
            if keys.compare(key, last).is_gt() {
                *last = key.to_vec();
            }
        }
    }

    /// All writes of a log.
    pub(crate) fn total(&self, log: u64) -> u64 {
        self.of_log(log).map(|(_, writes)| writes.count).sum()
    }

    /// The writes of a log to each column family.
    pub(crate) fn of_log(&self, log: u64) -> impl Iterator<Item = (u32, &LoggedWrites)> {
        let range = self.0.range((log, 0)..=(log, u32::MAX));
        range.map(|(&(_, column_family), writes)| (column_family, writes))
    }
}
