//! The order of the keys, where no file says it.
//!
//! ```text
//! LevelDB     the MANIFEST names the comparator, tables and logs do not
//! MANIFEST    lost
//! tables      a ... m, n ... z        bytewise fits
//!             z ... n, m ... a        reverse bytewise fits
//!             neither                 idb_cmp1, where the keys are such; or else it is not known
//! ```
//!
//! A wrong order is worse than none: with it, most blocks of a table look damaged.

use sstkit_table::Comparator;
use sstkit_table::raw::Engine;

use super::database_survey::Survey;
use super::log_scan::LogScan;
use super::salvage_report::DatabaseUncertainty;
use super::table_examination::{ExaminedTable, TableHints};
use crate::error::Result;

/// The comparator of a column family whose order is neither recorded nor one of the known ones.
pub(super) const UNKNOWN_COMPARATOR: &str = "unknown";

/// The comparator of Chromium's IndexedDB.
const INDEXED_DB: &str = "idb_cmp1";

/// The first key of every IndexedDB: its schema version.
const SCHEMA_VERSION: [u8; 5] = [0; 5];

impl Survey<'_> {
    /// Finds the order of LevelDB's tables that fits their keys, if nothing says it, and reads them
    /// in this order.
    pub(super) fn infer_order(
        &mut self,
        engine: Engine,
        tables: &mut [ExaminedTable],
        scans: &[LogScan],
        hints: &TableHints,
    ) -> Result<()> {
        let is_recorded =
            self.choice.evidence.families.get(&0).is_some_and(|it| it.comparator.is_some());
        let is_given = !self.options.read.comparators.is_empty();
        if engine != Engine::LevelDb || is_recorded || is_given {
            return Ok(());
        }
        let has_tables = tables.iter().any(ExaminedTable::has_entries);
        let indexed_db: Option<Comparator> = INDEXED_DB.parse().ok();
        let name = match has_tables {
            true => {
                let candidates = [Some(Comparator::ReverseBytewise), indexed_db.clone()];
                self.order_of_tables(tables, candidates.into_iter().flatten(), hints)?
            }
            false => None,
        };
        let name = match name {
            Some(name) => name,
            // Bytewise, as far as tables tell: few keys are in several orders.
            None => {
                let is_indexed_db = match &indexed_db {
                    Some(order) => is_indexed_db(order, engine, tables, scans)?,
                    None => false,
                };
                match (is_indexed_db, &indexed_db) {
                    (true, Some(order)) => {
                        tables.iter_mut().for_each(|it| *it = it.examined_in(hints, order));
                        INDEXED_DB.to_owned()
                    }
                    _ => Comparator::Bytewise.name().into_owned(),
                }
            }
        };
        if name == UNKNOWN_COMPARATOR {
            // It is said of each table.
        } else if name != Comparator::Bytewise.name() {
            let what = format!("the comparator is not recorded any more; {name} fits the keys");
            self.uncertain.push(DatabaseUncertainty::assumed(None, what));
        } else if !has_tables && !scans.is_empty() {
            let what = format!(
                "the comparator is not recorded any more, and logs do not tell it; {name} is assumed \
                 (use --comparator to name another)"
            );
            self.uncertain.push(DatabaseUncertainty::assumed(None, what));
        }
        self.choice.evidence.families.entry(0).or_default().comparator = Some(name);
        Ok(())
    }

    /// The name of the order in which most entries of the tables can be read; `None` for bytewise.
    fn order_of_tables(
        &self,
        tables: &mut [ExaminedTable],
        candidates: impl Iterator<Item = Comparator>,
        hints: &TableHints,
    ) -> Result<Option<String>> {
        let is_bytewise = |table: &ExaminedTable| match &table.order {
            Some(order) => *order.name() == *Comparator::Bytewise.name(),
            None => !table.has_entries(),
        };
        if tables.iter().all(is_bytewise) {
            return Ok(None);
        }
        let entries = |tables: &[ExaminedTable]| tables.iter().map(ExaminedTable::entries).sum();
        // Without an order, blocks are only checked for themselves.
        let all: u64 = entries(tables);
        let mut best: Option<(u64, String, Vec<ExaminedTable>)> = None;
        for order in std::iter::once(Comparator::Bytewise).chain(candidates) {
            let mut read = Vec::new();
            for table in tables.iter() {
                read.push(table.examined_in(hints, &order));
                self.reporter.report()?;
            }
            let count = entries(&read);
            if best.as_ref().is_none_or(|(most, ..)| count > *most) {
                best = Some((count, order.name().into_owned(), read));
            }
        }
        Ok(match best {
            Some((count, name, read)) if count >= all => {
                for (table, read) in tables.iter_mut().zip(read) {
                    *table = read;
                }
                Some(name)
            }
            _ => Some(UNKNOWN_COMPARATOR.to_owned()),
        })
    }
}

/// Whether all that is left are keys of IndexedDB, the first of which is its schema version.
fn is_indexed_db(
    order: &Comparator,
    engine: Engine,
    tables: &[ExaminedTable],
    scans: &[LogScan],
) -> Result<bool> {
    let is_key = |key: &[u8]| order.describe_key(key).is_some();
    let mut has_version = false;
    for (first, last) in tables.iter().filter_map(ExaminedTable::bounds) {
        if !is_key(&first) || !is_key(&last) {
            return Ok(false);
        }
        has_version |= first == SCHEMA_VERSION;
    }
    let mut is_all = true;
    for scan in scans {
        scan.each_write(engine, 0, |write, _| {
            is_all = is_all && is_key(write.key);
            has_version |= write.key == SCHEMA_VERSION;
        })?;
    }
    Ok(is_all && has_version)
}
