//! The open tables of a database: at most a given number, each in a slot of its file.
//!
//! ```text
//! TableFile ---> TableSlot: table, if it is open        a lookup reads the slot, and no map
//!                   ^
//! OpenTables   | slot | slot | slot |                   a clock: slots used since the hand passed
//!                 hand                                  stay open, the next one is closed
//! ```

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use sstkit_table::Table;

use crate::error::Result;

/// The slots of open tables.
pub(crate) struct OpenTables {
    capacity: usize,
    /// The hand of the clock is at the front.
    clock: Mutex<VecDeque<Arc<TableSlot>>>,
}

/// A table, while it is open.
#[derive(Debug, Default)]
pub(crate) struct TableSlot {
    table: RwLock<Option<Table>>,
    /// Since the hand of the clock passed.
    is_used: AtomicBool,
}

impl TableSlot {
    /// Closes the table, unless it is in use.
    fn close(&self) -> bool {
        self.table.try_write().is_ok_and(|mut table| table.take().is_some())
    }
}

impl OpenTables {
    /// At most `capacity` tables, not counting those in use.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), clock: Mutex::default() }
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
        if let Some(table) = &*place {
            return Ok(table.clone());
        }
        let table = place.insert(open()?).clone();
        drop(place);
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.push_back(Arc::clone(slot));
        // Two rounds: in the first, all slots may have been used.
        for _ in 0..2 * clock.len() {
            if clock.len() <= self.capacity {
                break;
            }
            let Some(next) = clock.pop_front() else { break };
            if next.is_used.swap(false, Ordering::Relaxed) || !next.close() {
                clock.push_back(next);
            }
        }
        Ok(table)
    }

    /// Closes all tables that are not in use. Returns their number.
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

    #[test]
    fn closes_what_is_used_least() {
        let tables = OpenTables::new(3);
        let slots: Vec<Arc<TableSlot>> = (0..10).map(|_| Arc::default()).collect();
        let is_open = |slot: &TableSlot| slot.table.read().unwrap().is_some();
        for slot in &slots {
            tables.with(slot, || Ok(table()), |_| Ok(())).unwrap();
            // The first one is used again and again.
            tables.with(&slots[0], || Ok(table()), |_| Ok(())).unwrap();
            assert!(slots.iter().filter(|slot| is_open(slot)).count() <= 3);
            assert!(is_open(slot) && is_open(&slots[0]));
        }
        // Tables in use stay open, regardless of the capacity.
        tables
            .with(
                &slots[0],
                || Ok(table()),
                |_| {
                    assert_eq!(tables.close_unused(), 2);
                    assert!(is_open(&slots[0]));
                    Ok(())
                },
            )
            .unwrap();
        assert_eq!((tables.close_unused(), tables.close_unused()), (1, 0));
    }

    #[test]
    fn a_table_that_cannot_be_opened_is_tried_again() {
        let (tables, slot) = (OpenTables::new(1), Arc::default());
        let fail = || Err(crate::error::Error::corrupt("damaged"));
        assert!(tables.with(&slot, fail, |_| Ok(())).is_err());
        assert!(tables.with(&slot, || Ok(table()), |_| Ok(())).is_ok());
    }
}
