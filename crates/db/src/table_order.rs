//! The order of the keys of a single table file that does not name it, as LevelDB's.
//!
//! | where the order comes from | |
//! |---|---|
//! | the table, or the caller | nothing to do |
//! | the MANIFEST beside the table | the comparator of its column family |
//! | nowhere | assumed to be bytewise, until [`detect_order`] has read all keys |

use std::path::Path;

use sstkit_table::{Comparator, Table, TableReadOptions};

use crate::database::read_manifest;
use crate::directory;
use crate::file_system;
use crate::raw::{ColumnFamilyState, FileName};

/// Where the order of the keys of a table comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderSource {
    /// The table names it, or the caller has given it.
    Known,
    /// The MANIFEST beside the table names it. Without a comparator of that name, the table is opened
    /// in an unknown order.
    Manifest(String),
    /// Nothing names it: it is assumed to be bytewise. Unless [`detect_order`] says so, too, a key may
    /// be in the table that a search does not find.
    Assumed,
}

/// Opens a table file on its own, in the order of the database that it is in, unless the options
/// [give](TableReadOptions::gives_order) an order.
#[cfg(any(unix, windows))]
pub fn open_table(
    path: &Path,
    options: &TableReadOptions,
) -> sstkit_table::Result<(Table, OrderSource)> {
    let table = file_system::open_table(path, options)?;
    if options.gives_order() || table.properties().comparator().is_some() {
        return Ok((table, OrderSource::Known));
    }
    let Some(name) = manifest_comparator(path) else { return Ok((table, OrderSource::Assumed)) };
    let options = match name.parse::<Comparator>() {
        Ok(comparator) => options.clone().comparator(comparator),
        Err(_) => options.clone().unknown_order(&name),
    };
    Ok((file_system::open_table(path, &options)?, OrderSource::Manifest(name)))
}

/// The name of the comparator that the MANIFEST in the directory of a table has for it.
fn manifest_comparator(table: &Path) -> Option<String> {
    let folder = table.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let FileName::Table(number) = FileName::parse(table.file_name()?.to_str()?) else {
        return None;
    };
    let manifest = directory::read_current(folder).ok()?;
    let path = directory::manifest_path(folder, manifest);
    let listed = directory::list(folder).ok()?;
    let (_, state) = read_manifest(&path, manifest, &listed, &mut None).ok()?;
    let families = &state.column_families;
    let lists_it = |family: &&ColumnFamilyState| family.level_of(number).is_some();
    // An obsolete table is listed nowhere.
    let only = || families.values().next().filter(|_| families.len() == 1);
    families.values().find(lists_it).or_else(only)?.comparator.clone()
}

/// The orders that are tried where none is known, the most likely first. Keys that are equal in them
/// have the same bytes, so a wrong guess hides none.
pub(crate) fn common_orders() -> impl Iterator<Item = Comparator> {
    let names = ["bytewise", "reverse", "shortlex", "little-endian", "idb_cmp1"];
    names.into_iter().filter_map(Comparator::from_short_name)
}

/// Finds out in which order the keys of a table are, by reading all of them: bytewise, the opposite,
/// or another one that has a name here. `None` if it is none of them.
pub fn detect_order(table: &Table) -> sstkit_table::Result<Option<Comparator>> {
    let mut orders = OrderDetector::default();
    orders.add(table)?;
    Ok(orders.first())
}

/// The orders that the keys of some tables may be in.
pub(crate) struct OrderDetector(Vec<Comparator>);

impl Default for OrderDetector {
    fn default() -> Self {
        Self(common_orders().collect())
    }
}

impl OrderDetector {
    /// Drops the orders that the keys of a table are not in.
    pub(crate) fn add(&mut self, table: &Table) -> sstkit_table::Result<()> {
        let Self(orders) = self;
        let mut cursor = table.entry_cursor();
        let mut last: Option<(Vec<u8>, u64)> = None;
        let mut more = cursor.seek_to_first()?;
        while more && !orders.is_empty() {
            let (key, sequence) = (cursor.user_key(), cursor.sequence());
            if let Some((last_key, last_sequence)) = &last {
                orders.retain(|order| {
                    let order = order.compare(last_key, key);
                    order.is_lt() || order.is_eq() && *last_sequence >= sequence
                });
            }
            let (last_key, last_sequence) = last.get_or_insert_default();
            last_key.clear();
            last_key.extend_from_slice(key);
            *last_sequence = sequence;
            more = cursor.next()?;
        }
        Ok(())
    }

    /// The most likely of the orders that are left.
    pub(crate) fn first(self) -> Option<Comparator> {
        self.0.into_iter().next()
    }
}
