//! A table to ingest: whether RocksDB accepts it for a column family, and the keys it is about.

use std::path::{Path, PathBuf};

use sstkit_table::raw::property_names as names;
use sstkit_table::raw::{BlockKind, InternalKey};
use sstkit_table::visibility::UserKeys;
use sstkit_table::{RangeTombstone, Table};

use super::{Check, IngestionRefusal, PlannedTable};
use crate::error::Result;

/// A table that no column family is named in.
const UNKNOWN_COLUMN_FAMILY: u64 = i32::MAX as u64;
/// The version of tables that a global sequence number can be assigned to.
const EXTERNAL_FILE_VERSION: u64 = 2;
/// What comparators with timestamps are called, after the name of the one without.
const TIMESTAMP_SUFFIX: &str = ".u64ts";

/// A range of user keys, without timestamps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyBounds {
    pub(super) smallest: Vec<u8>,
    pub(super) largest: Vec<u8>,
    /// The largest key is the end of a range tombstone.
    pub(super) largest_is_exclusive: bool,
}

impl KeyBounds {
    /// Extends the range to contain another.
    pub(super) fn extend(&mut self, other: &Self, keys: &UserKeys) {
        if keys.compare(&other.smallest, &self.smallest).is_lt() {
            self.smallest.clone_from(&other.smallest);
        }
        let order = keys.compare(&other.largest, &self.largest);
        if order.is_gt() || order.is_eq() && !other.largest_is_exclusive {
            self.largest.clone_from(&other.largest);
            self.largest_is_exclusive = other.largest_is_exclusive;
        }
    }
}

/// A table to ingest.
pub(super) struct ExternalTable {
    path: PathBuf,
    pub(super) range: Option<KeyBounds>,
    refusals: Vec<IngestionRefusal>,
    warnings: Vec<String>,
}

impl ExternalTable {
    pub(super) fn planned(&self) -> PlannedTable {
        let range = self.range.as_ref();
        PlannedTable {
            path: self.path.clone(),
            smallest: range.map(|range| range.smallest.clone()),
            largest: range.map(|range| range.largest.clone()),
            largest_is_exclusive: range.is_some_and(|range| range.largest_is_exclusive),
            refusals: self.refusals.clone(),
            warnings: self.warnings.clone(),
            placement: None,
        }
    }
}

impl Check<'_> {
    pub(super) fn external_table(
        &self,
        path: &Path,
        table: &sstkit_table::Result<Table>,
    ) -> ExternalTable {
        let mut external = ExternalTable {
            path: path.to_owned(),
            range: None,
            refusals: Vec::new(),
            warnings: Vec::new(),
        };
        let table = match table {
            Ok(table) => table,
            Err(error) => {
                external.refusals.push(IngestionRefusal::new(
                    "Corruption",
                    None,
                    error.to_string(),
                ));
                return external;
            }
        };
        self.check_version(table, &mut external);
        self.check_properties(table, &mut external);
        self.check_comparator(table, &mut external);
        match self.read_keys(table, &mut external) {
            Ok(range) => external.range = range,
            Err(error) => {
                external.refusals.push(IngestionRefusal::new(
                    "Corruption",
                    None,
                    error.to_string(),
                ));
            }
        }
        external
    }

    fn check_version(&self, table: &Table, external: &mut ExternalTable) {
        let version = self.rules.version;
        for feature in table.features().into_iter().filter(|it| !it.is_read_by(version)) {
            let message = match feature.since() {
                Some(since) if since > version => format!(
                    "{feature} is read by RocksDB {since} and later, not by {version}: build the \
                     table with --for rocksdb-{version}"
                ),
                _ => format!("{feature} is not read by RocksDB {version}"),
            };
            external.refusals.push(IngestionRefusal::new("Corruption", None, message));
        }
    }

    fn check_properties(&self, table: &Table, external: &mut ExternalTable) {
        let number = |name| table.properties().number(name);
        let mut refuse = |status, engine: Option<&'static str>, message: String| {
            external.refusals.push(IngestionRefusal::new(status, engine, message));
        };
        match number(names::EXTERNAL_SST_FILE_VERSION) {
            None => refuse(
                "Corruption",
                Some("External file version not found"),
                "it was not written for ingestion: rewrite it with sst compact".into(),
            ),
            Some(EXTERNAL_FILE_VERSION) => match number(names::GLOBAL_SEQNO) {
                Some(0) => {}
                Some(sequence) => refuse(
                    "Corruption",
                    Some("An external sst file with version 2 has global seqno property"),
                    format!(
                        "it was ingested before and has the global sequence number {sequence}: \
                         rewrite it with sst compact"
                    ),
                ),
                None => refuse(
                    "Corruption",
                    Some("External file global sequence number not found"),
                    "it has no property for a global sequence number".into(),
                ),
            },
            Some(1) => refuse(
                "InvalidArgument",
                Some("External SST file V1 does not support global seqno"),
                "it is of version 1, which has no global sequence number".into(),
            ),
            Some(version) => refuse(
                "InvalidArgument",
                Some("External file version"),
                format!("external file version {version} is not supported"),
            ),
        }
        let family = number(names::COLUMN_FAMILY_ID).unwrap_or(UNKNOWN_COLUMN_FAMILY);
        if family != UNKNOWN_COLUMN_FAMILY && family != u64::from(self.family.id) {
            refuse(
                "InvalidArgument",
                Some("External file column family id don't match"),
                format!(
                    "it was written for column family {family}, not for {} ({:?})",
                    self.family.id, self.family.name
                ),
            );
        }
        if table.properties().num_entries() == 0 {
            let message = "it has no entries".to_owned();
            refuse("InvalidArgument", Some("File contain no entries"), message);
        }
        let largest = number(names::KEY_LARGEST_SEQNO).filter(|&it| it != u64::MAX && it > 0);
        if let Some(sequence) = largest.filter(|_| self.rules.checks_largest_sequence) {
            refuse(
                "Corruption",
                Some("External file has non zero largest sequence number"),
                format!("it has entries with sequence numbers up to {sequence}, not 0"),
            );
        }
    }

    fn check_comparator(&self, table: &Table, external: &mut ExternalTable) {
        let expected = self.keys.comparator().name();
        let stored = table.properties().comparator().unwrap_or_default();
        let found = String::from_utf8_lossy(stored);
        let keeps_timestamps = table.properties().has_persisted_timestamps();
        let with_timestamps = |name: &str| format!("{name}{TIMESTAMP_SUFFIX}");
        let (is_accepted, engine) = if found == expected {
            let is_same = keeps_timestamps == self.levels.persists_timestamps;
            let message = "Cannot toggle the persist_user_defined_timestamps flag";
            (is_same || self.keys.timestamp_size() == 0, message)
        } else if expected == with_timestamps(&found) {
            (!self.levels.persists_timestamps, "Cannot open a column family and enable")
        } else if found == with_timestamps(&expected) {
            (!keeps_timestamps, "Cannot open a column family and disable")
        } else {
            (false, "does not match existing comparator")
        };
        if is_accepted {
            return;
        }
        let found = if found.is_empty() { "no comparator" } else { &*found };
        let message =
            format!("its comparator is {}, that of the column family is {expected}", quoted(found));
        match self.rules.checks_comparator {
            // The name of the comparator comes before it.
            true if engine == "does not match existing comparator" => {
                external.refusals.push(IngestionRefusal::new("InvalidArgument", None, message));
            }
            true => {
                external.refusals.push(IngestionRefusal::new("InvalidArgument", engine, message));
            }
            false => external.warnings.push(format!(
                "{message}; RocksDB {} does not check that, and would not find keys",
                self.rules.version
            )),
        }
    }

    /// The range of its keys, and their sequence numbers, which must be 0.
    fn read_keys(&self, table: &Table, external: &mut ExternalTable) -> Result<Option<KeyBounds>> {
        let mut range: Option<KeyBounds> = None;
        let mut is_sequenced = false;
        for key in end_keys(table)? {
            let key = InternalKey::decode_from(&key)?;
            is_sequenced |= key.sequence != 0;
            let bare = self.keys.bare(key.user_key).to_vec();
            match &mut range {
                None => {
                    let (smallest, largest) = (bare.clone(), bare);
                    range = Some(KeyBounds { smallest, largest, largest_is_exclusive: false });
                }
                Some(range) => range.largest = bare,
            }
        }
        if is_sequenced {
            external.refusals.push(IngestionRefusal::new(
                "Corruption",
                "External file has non zero sequence number",
                "its entries have sequence numbers: rewrite it with sst compact",
            ));
        }
        let mut tombstones = table.view().range_deletions()?;
        let mut is_sequenced = false;
        while tombstones.advance()? {
            is_sequenced |= tombstones.begin()?.sequence != 0;
        }
        if is_sequenced {
            external.refusals.push(IngestionRefusal::new(
                "Corruption",
                "External file has a range deletion with non zero sequence number.",
                "its range tombstones have sequence numbers: rewrite it with sst compact",
            ));
        }
        for RangeTombstone { start, end, .. } in table.range_deletions() {
            let (smallest, largest) = (start.clone(), end.clone());
            let of_tombstone = KeyBounds { smallest, largest, largest_is_exclusive: true };
            match &mut range {
                None => range = Some(of_tombstone),
                Some(range) => range.extend(&of_tombstone, self.keys),
            }
        }
        Ok(range)
    }
}

fn quoted(name: &str) -> String {
    if name == "no comparator" { name.to_owned() } else { format!("{name:?}") }
}

/// The first and the last internal key as stored; nothing if there are no entries.
fn end_keys(table: &Table) -> Result<Vec<Vec<u8>>> {
    let view = table.view();
    let mut index = view.index()?;
    let (mut first, mut last) = (None, None);
    while index.advance()? {
        first = first.or(Some(index.handle()));
        last = Some(index.handle());
    }
    let mut keys = Vec::new();
    if let Some(handle) = first {
        let mut entries = view.parsed_block(BlockKind::Data, handle)?.into_entries();
        if entries.advance()? {
            keys.push(entries.key().to_vec());
        }
    }
    if let Some(handle) = last {
        let mut entries = view.parsed_block(BlockKind::Data, handle)?.into_entries();
        let mut key = None;
        while entries.advance()? {
            key = Some(entries.key().to_vec());
        }
        keys.extend(key);
    }
    Ok(keys)
}
