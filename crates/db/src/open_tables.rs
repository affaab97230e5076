//! The open tables of a database: at most a given number, each in a slot of its file.
//!
//! ```text
//! TableFile ---> TableSlot: table, if it is open        a lookup reads the slot, and no map
//!                   ^
//! OpenTables   | slot | slot | slot |                   a clock: slots used since the hand passed
//!                 hand                                  stay open, the next one is closed
//! ```
//!
//! The first tables, up to half of that number, are pinned: they stay open as long as the database. A
//! lookup reads them without a lock, which takes as long as probing a filter. In most databases these
//! are all tables.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use sstkit_table::Table;

use crate::error::Result;
use crate::open_files::{FilePermit, PINNED};

/// The slots of open tables.
pub(crate) struct OpenTables {
    capacity: usize,
    /// The number of pinned tables.
    pinned: AtomicUsize,
    /// The hand of the clock is at the front.
    clock: Mutex<VecDeque<Arc<TableSlot>>>,
}

/// A table, while it is open.
#[derive(Debug, Default)]
pub(crate) struct TableSlot {
    pinned: OnceLock<PinnedTable>,
    /// If it is not pinned.
    table: RwLock<Option<Table>>,
    /// Since the hand of the clock passed.
    is_used: AtomicBool,
}

/// A table that stays open.
#[derive(Debug)]
struct PinnedTable {
    table: Table,
    _permit: FilePermit,
}

impl TableSlot {
    /// The table, if it is open for as long as the database.
    #[inline]
    pub(crate) fn pinned(&self) -> Option<&Table> {
        self.pinned.get().map(|pinned| &pinned.table)
    }

    /// Whether the table is open.
    pub(crate) fn is_open(&self) -> bool {
        let is_open = || self.table.read().unwrap_or_else(PoisonError::into_inner).is_some();
        self.pinned().is_some() || is_open()
    }

    /// Closes the table, unless it is in use.
    fn close(&self) -> bool {
        self.table.try_write().is_ok_and(|mut table| table.take().is_some())
    }
}

impl OpenTables {
    /// At most `capacity` tables, not counting those in use.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), pinned: AtomicUsize::new(0), clock: Mutex::default() }
    }

    /// The number of tables that stay open when they are opened one after the other: all that are not pinned may
    /// be closed for them.
    pub(crate) fn max_open_together(&self) -> usize {
        self.capacity.div_ceil(2)
    }

    /// Passes the table of a slot to `then`. Opens it if it is closed; it stays open during
    /// the call.
    #[inline]
    pub(crate) fn with<T>(
        &self,
        slot: &Arc<TableSlot>,
        open: impl FnOnce() -> Result<Table>,
        then: impl FnOnce(&Table) -> Result<T>,
    ) -> Result<T> {
        match slot.pinned() {
            Some(table) => then(table),
            None => self.with_locked(slot, open, then),
        }
    }

    fn with_locked<T>(
        &self,
        slot: &Arc<TableSlot>,
        open: impl FnOnce() -> Result<Table>,
        then: impl FnOnce(&Table) -> Result<T>,
    ) -> Result<T> {
        if let Some(table) = &*slot.table.read().unwrap_or_else(PoisonError::into_inner) {
            // Usually it is set already: avoid writing to a cache line that many threads read.
            if !slot.is_used.load(Ordering::Relaxed) {
                slot.is_used.store(true, Ordering::Relaxed);
            }
            return then(table);
        }
        then(&self.open(slot, open)?)
    }

    #[cold]
    fn open(&self, slot: &Arc<TableSlot>, open: impl FnOnce() -> Result<Table>) -> Result<Table> {
        // Other threads that need the table wait for this one.
        let mut place = slot.table.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = slot.pinned().or(place.as_ref()) {
            return Ok(table.clone());
        }
        let table = open()?;
        if let Some(permit) = self.pin() {
            let pinned = PinnedTable { table: table.clone(), _permit: permit };
            slot.pinned.get_or_init(|| pinned);
            return Ok(table);
        }
        *place = Some(table.clone());
        drop(place);
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.push_back(Arc::clone(slot));
        // Two rounds: in the first, all slots may have been used.
        for _ in 0..2 * clock.len() {
            if clock.len() + self.pinned.load(Ordering::Relaxed) <= self.capacity {
                break;
            }
            let Some(next) = clock.pop_front() else { break };
            if next.is_used.swap(false, Ordering::Relaxed) || !next.close() {
                clock.push_back(next);
            }
        }
        Ok(table)
    }

    /// Permission to pin a table, if there is room for it.
    fn pin(&self) -> Option<FilePermit> {
        let room = |pinned| (pinned < self.capacity / 2).then_some(pinned + 1);
        self.pinned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        let permit = PINNED.take();
        if permit.is_none() {
            self.pinned.fetch_sub(1, Ordering::Relaxed);
        }
        permit
    }

    /// Closes all tables that are neither pinned nor in use. Returns their number.
    pub(crate) fn close_unused(&self) -> usize {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let before = clock.len();
        clock.retain(|slot| !slot.close());
        before - clock.len()
    }
}

#[cfg(test)]
mod tests {
    use sstkit_table::{TableOptions, TableWriter};

    use super::*;

    fn table() -> Table {
        let mut bytes = Vec::new();
        let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
        writer.put(b"key", b"value").unwrap();
        writer.finish().unwrap();
        Table::from_bytes(bytes).unwrap()
    }

    fn open(tables: &OpenTables, slot: &Arc<TableSlot>) {
        tables.with(slot, || Ok(table()), |_| Ok(())).unwrap();
    }

    #[test]
    fn closes_what_is_used_least() {
        let tables = OpenTables::new(5);
        let slots: Vec<Arc<TableSlot>> = (0..12).map(|_| Arc::default()).collect();
        let (pinned, slots) = slots.split_at(2);
        pinned.iter().for_each(|slot| open(&tables, slot));
        for slot in slots {
            open(&tables, slot);
            // The first one is used again and again.
            open(&tables, &slots[0]);
            assert!(slots.iter().filter(|slot| slot.is_open()).count() <= 3);
            assert!(slot.is_open() && slots[0].is_open());
        }
        // Tables in use stay open, regardless of the capacity.
        tables
            .with(
                &slots[0],
                || Ok(table()),
                |_| {
                    assert_eq!(tables.close_unused(), 2);
                    assert!(slots[0].is_open());
                    Ok(())
                },
            )
            .unwrap();
        assert_eq!((tables.close_unused(), tables.close_unused()), (1, 0));
        assert!(pinned.iter().all(|slot| slot.is_open()), "they stay open");
    }

    #[test]
    fn a_table_that_cannot_be_opened_is_tried_again() {
        let (tables, slot) = (OpenTables::new(1), Arc::default());
        let fail = || Err(crate::error::Error::corrupt("damaged"));
        assert!(tables.with(&slot, fail, |_| Ok(())).is_err());
        assert!(tables.with(&slot, || Ok(table()), |_| Ok(())).is_ok());
    }
}
