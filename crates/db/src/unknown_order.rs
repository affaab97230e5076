//! Column families whose comparator is not known here.
//!
//! ```text
//! entries         source by source, each as it is stored: needs no order
//! anything else   keys are the same if their bytes are, and
//!                   all files are in the order that was given, or by bytes,
//!                   or in another common order                                merged as usual
//!                   they are not                                              sorted in memory
//! ```
//!
//! A common order other than that of the bytes is not assumed where there are range tombstones: in the
//! wrong order they would hide keys.
//!
//! To find out whether files are in an order, their keys are read once, when it is first needed.

use std::sync::Arc;
use std::sync::OnceLock;

use sstkit_coding::striped::StripedCounters;
use sstkit_table::Comparator;
use sstkit_table::raw::InternalKey;
use sstkit_table::visibility::{InternalIterator, UserKeys};

use crate::caveat::{Caveat, CaveatKind};
use crate::column_family_data::{ColumnFamilyData, FamilySettings};
use crate::error::{Error, Result};
use crate::log_records::LogRecords;
use crate::memtable::{ENTRY_SIZE, Memtable, MemtableBuilder, MemtableCursor};
use crate::table_order::common_orders;
use crate::version::{Arrangement, Run, TableFile, Version, arrange};

pub(crate) fn caveat(column_family: &str, settings: &FamilySettings) -> Option<Caveat> {
    let name = settings.unknown_order.as_ref()?;
    let order = match &settings.given_order {
        Some(given) => format!("{given:?} instead"),
        None => "the order that its keys are in (use --comparator to choose another)".to_owned(),
    };
    let message = format!(
        "column family {column_family:?} uses the unknown comparator {name:?}; assuming {order}"
    );
    Some(Caveat::new(CaveatKind::UnknownOrder, message).of_column_family(column_family))
}

impl ColumnFamilyData {
    /// The same entries in a known order, to be read if the comparator is unknown.
    pub(crate) fn readable(&self) -> Result<Option<&Arc<ColumnFamilyData>>> {
        if self.settings.unknown_order.is_none() {
            return Ok(None);
        }
        if let Some(ordered) = self.ordered.get() {
            return Ok(Some(ordered));
        }
        let ordered = self.in_assumed_order().map_err(|error| {
            let path = self.files.directory().path();
            error.in_file(path)
        })?;
        Ok(Some(self.ordered.get_or_init(|| ordered)))
    }

    fn in_assumed_order(&self) -> Result<Arc<ColumnFamilyData>> {
        let (keys, version, memtable) = match self.version_in_order()? {
            // Their names are the same.
            Some((keys, version))
                if keys.comparator().order() == self.keys.comparator().order() =>
            {
                (keys, version, Arc::clone(&self.memtable))
            }
            Some((keys, version)) => {
                let memtable = self.sorted_in_memory(&keys, &[])?;
                (keys, version, Arc::new(memtable))
            }
            None => {
                let memtable = self.sorted_in_memory(&self.keys, &self.version.runs)?;
                (self.keys.clone(), Version::default(), Arc::new(memtable))
            }
        };
        let comparator = keys.comparator().clone();
        Ok(Arc::new(ColumnFamilyData {
            id: self.id,
            name: self.name.clone(),
            settings: FamilySettings { unknown_order: None, comparator, ..self.settings.clone() },
            keys,
            memtable,
            version,
            blobs: self.blobs.clone(),
            files: Arc::new(self.files.all_closed()),
            lookups: StripedCounters::default(),
            merging: OnceLock::new(),
            ordered: OnceLock::new(),
            left_out: self.left_out.clone(),
        }))
    }

    /// The tables in the first order that is theirs, of those that are assumed.
    fn version_in_order(&self) -> Result<Option<(UserKeys, Version)>> {
        let mut orders = vec![self.keys.clone()];
        if self.settings.given_order.is_none() && !self.has_range_tombstones()? {
            let name = self.keys.comparator().name();
            let named = |order| UserKeys::new(Comparator::named(&*name, &order));
            // The first one, by bytes, is assumed already.
            orders.extend(common_orders().skip(1).map(named));
        }
        for file in self.version.files() {
            self.retain_orders(file, &mut orders)?;
        }
        for keys in orders {
            // Those that are open are open without an order.
            let files = self.version.files().map(|file| Arc::new(file.reopened())).collect();
            if let Ok(version) = arrange(files, &keys, Arrangement::Levels) {
                return Ok(Some((keys, version)));
            }
        }
        Ok(None)
    }

    fn has_range_tombstones(&self) -> Result<bool> {
        let mut has_some = !self.memtable.range_deletions().is_empty();
        for file in self.version.files() {
            has_some |= !self.table(file)?.range_deletions().is_empty();
        }
        Ok(has_some)
    }

    /// Keeps the orders in which all keys of a table ascend and are within its bounds.
    fn retain_orders(&self, file: &TableFile, orders: &mut Vec<UserKeys>) -> Result<()> {
        let table = self.table(file)?;
        let mut cursor = table.entry_cursor();
        let (mut last, mut last_sequence) = (Vec::new(), 0);
        let mut more = cursor.seek_to_first()?;
        let mut is_first = true;
        while more && !orders.is_empty() {
            let (user_key, sequence) = (cursor.user_key(), cursor.sequence());
            orders.retain(|keys| {
                let order = match is_first {
                    true => keys.compare(file.smallest(), keys.bare(user_key)),
                    false => keys.compare_stored(&last, user_key),
                };
                let is_older = is_first || sequence <= last_sequence;
                order.is_lt() || order.is_eq() && is_older
            });
            last.clear();
            last.extend_from_slice(user_key);
            (last_sequence, is_first) = (sequence, false);
            more = cursor.next()?;
        }
        if !is_first {
            orders.retain(|keys| keys.compare(keys.bare(&last), file.largest()).is_le());
        }
        Ok(())
    }

    /// All entries of these runs and of the logs, sorted.
    fn sorted_in_memory(&self, keys: &UserKeys, runs: &[Arc<Run>]) -> Result<Memtable> {
        let unknown = self.settings.unknown_order.as_deref().unwrap_or_default();
        let limit = self.settings.max_unordered_memory;
        let mut records = LogRecords::default();
        let mut entries = MemtableBuilder::default();
        let mut count = 0;
        let mut add = |key: InternalKey<'_>, value: &[u8]| -> Result<()> {
            let place = records.append_write(key.kind, key.user_key, value)?;
            entries.add(place, key.sequence, key.kind);
            count += 1;
            match records.size() + count * ENTRY_SIZE > limit {
                true => Err(Error::unsupported(format!(
                    "the comparator {unknown:?} is unknown, and sorting the keys takes more than \
                     {limit} bytes of memory (raise max_log_memory or --max-log-memory, or read \
                     the internal entries)"
                ))),
                false => Ok(()),
            }
        };
        // The oldest first: of equal numbers what is added later is newer.
        for run in runs.iter().rev() {
            for file in &run.files {
                let table = self.table(file)?;
                let mut cursor = table.entry_cursor();
                let mut more = cursor.seek_to_first()?;
                while more {
                    add(cursor.key(), cursor.value())?;
                    more = cursor.next()?;
                }
            }
        }
        let mut cursor = MemtableCursor::new(&self.memtable);
        let mut more = cursor.seek_to_last()?;
        while more {
            let (user_key, sequence) = (cursor.user_key(), cursor.sequence());
            add(InternalKey { user_key, sequence, kind: cursor.kind() }, cursor.value())?;
            more = cursor.prev()?;
        }
        if self.has_range_tombstones()? {
            return Err(Error::unsupported(format!(
                "the comparator {unknown:?} is unknown, and range tombstones cannot be applied \
                 without it (read the internal entries instead)"
            )));
        }
        Ok(entries.finish(keys, &Arc::new(records.finish())))
    }
}
