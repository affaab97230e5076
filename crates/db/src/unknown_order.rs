//! Column families with an unknown comparator, such as `idb_cmp1` of Chromium.
//!
//! ```text
//! entries         source by source, each as it is stored: needs no order
//! anything else   keys are the same if their bytes are, and
//!                   all files are in the order that was given, or by bytes    merged as usual
//!                   they are not                                             sorted in memory
//! ```
//!
//! Whether files are in an order is found out by reading their keys once, on first use.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::OnceLock;

use sstkit_coding::striped::StripedCounters;
use sstkit_table::raw::InternalKey;
use sstkit_table::visibility::InternalIterator;
use sstkit_table::{Comparator, KeyOrder};

use crate::caveat::{Caveat, CaveatKind};
use crate::column_family_data::{ColumnFamilyData, FamilySettings};
use crate::error::{Error, Result};
use crate::log_records::LogRecords;
use crate::memtable::{ENTRY_SIZE, Memtable, MemtableBuilder, MemtableCursor};
use crate::version::{Arrangement, TableFile, Version, arrange};

/// A known order under the name of the unknown one, so that tables with that name can be read.
#[derive(Debug)]
struct AssumedOrder {
    name: String,
    order: Comparator,
}

impl KeyOrder for AssumedOrder {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare(a, b)
    }

    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare_without_timestamp(a, b)
    }

    fn timestamp_size(&self) -> usize {
        self.order.timestamp_size()
    }

    fn equal_means_same_bytes(&self) -> bool {
        self.order.equal_means_same_bytes()
    }
}

/// `order`, under the name `name`.
pub(crate) fn in_place_of(name: &str, order: &Comparator) -> Comparator {
    Comparator::User(Arc::new(AssumedOrder { name: name.to_owned(), order: order.clone() }))
}

pub(crate) fn caveat(column_family: &str, settings: &FamilySettings) -> Option<Caveat> {
    let name = settings.unknown_order.as_ref()?;
    let order = match &settings.given_order {
        Some(given) => format!("{given:?} instead"),
        None => "the bytewise order (use --comparator to choose another)".to_owned(),
    };
    let message = format!(
        "column family {column_family:?} uses the unknown comparator {name:?}; assuming {order}"
    );
    Some(Caveat::new(CaveatKind::UnknownOrder, message))
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
        let (version, memtable) = match self.version_in_order()? {
            Some(version) => (version, Arc::clone(&self.memtable)),
            None => (Version::default(), Arc::new(self.sorted_in_memory()?)),
        };
        Ok(Arc::new(ColumnFamilyData {
            id: self.id,
            name: self.name.clone(),
            settings: FamilySettings { unknown_order: None, ..self.settings.clone() },
            keys: self.keys.clone(),
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

    /// The tables, if they are in this order.
    fn version_in_order(&self) -> Result<Option<Version>> {
        for file in self.version.files() {
            if !self.is_in_order(file)? {
                return Ok(None);
            }
        }
        // Tables that are open were opened without an order.
        let files = self.version.files().map(|file| Arc::new(file.reopened())).collect();
        Ok(arrange(files, &self.keys, Arrangement::Levels).ok())
    }

    /// Whether all keys of a table ascend and are within its bounds.
    fn is_in_order(&self, file: &TableFile) -> Result<bool> {
        let (keys, table) = (&self.keys, self.table(file)?);
        let mut cursor = table.entry_cursor();
        let (mut last, mut last_sequence) = (Vec::new(), 0);
        let mut more = cursor.seek_to_first()?;
        let mut is_first = true;
        while more {
            let user_key = cursor.user_key();
            let order = match is_first {
                true => keys.compare(file.smallest(), keys.bare(user_key)),
                false => keys.compare_stored(&last, user_key),
            };
            let is_older = is_first || cursor.sequence() <= last_sequence;
            if order.is_gt() || order.is_eq() && !is_older {
                return Ok(false);
            }
            last.clear();
            last.extend_from_slice(user_key);
            (last_sequence, is_first) = (cursor.sequence(), false);
            more = cursor.next()?;
        }
        Ok(is_first || keys.compare(keys.bare(&last), file.largest()).is_le())
    }

    /// All entries of all sources, sorted.
    fn sorted_in_memory(&self) -> Result<Memtable> {
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
        let mut has_ranges = !self.memtable.range_deletions().is_empty();
        // The oldest first: of equal sequence numbers, the entry added later is newer.
        for run in self.version.runs.iter().rev() {
            for file in &run.files {
                let table = self.table(file)?;
                has_ranges |= !table.range_deletions().is_empty();
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
        if has_ranges {
            return Err(Error::unsupported(format!(
                "the comparator {unknown:?} is unknown, and range tombstones cannot be applied \
                 without it (read the internal entries instead)"
            )));
        }
        Ok(entries.finish(&self.keys, &Arc::new(records.finish())))
    }
}
