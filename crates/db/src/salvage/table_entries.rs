//! The entries of a table that is saved, sound or damaged.

use std::cell::Cell;
use std::path::PathBuf;

use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::visibility::UserKeys;
use sstkit_table::{RangeTombstone, Table, TableOptions, TableSalvage};

use super::table_examination::{Condition, ExaminedTable, TableHints};
use crate::error::Result;

/// A table whose entries are read.
pub(super) enum TableEntries {
    Sound(Table),
    /// What is left of it, and its path.
    Damaged(Box<TableSalvage>, PathBuf),
}

impl TableEntries {
    pub(super) fn open(
        table: &ExaminedTable,
        hints: &TableHints,
        order: Option<&sstkit_table::Comparator>,
    ) -> Result<Self> {
        Ok(match &table.condition {
            Condition::Damaged(_) => {
                let salvage = hints.salvage(&table.path, order, table.listed.as_ref())?;
                Self::Damaged(Box::new(salvage), table.path.clone())
            }
            _ => Self::Sound(table.open(hints, order)?),
        })
    }

    /// The settings for a table like this one.
    pub(super) fn table_options(&self) -> Option<TableOptions> {
        match self {
            Self::Sound(table) => TableOptions::like(table).ok(),
            Self::Damaged(salvage, _) => Some(salvage.table_options()),
        }
    }

    /// The range tombstones. Timestamps that the table does not store are zeros.
    pub(super) fn tombstones(&self, keys: &UserKeys) -> Result<Vec<RangeTombstone>> {
        let mut found = Vec::new();
        match self {
            Self::Sound(table) => {
                let padding = padding(table, keys);
                found.extend_from_slice(table.range_deletions());
                if !padding.is_empty() {
                    found.iter_mut().for_each(|it| it.timestamp.clone_from(&padding));
                }
            }
            Self::Damaged(salvage, path) => {
                let read = salvage.for_each_range_tombstone(|key, end| {
                    let timestamp = keys.timestamp(key.user_key);
                    let (start, end) = (keys.bare(key.user_key), keys.bare(end));
                    found.push(RangeTombstone::new(start, end, key.sequence, timestamp));
                    Ok(())
                });
                read.map_err(|error| error.in_file(path))?;
            }
        }
        Ok(found)
    }

    /// Calls `each` with all points in order. Timestamps that the table does not store are zeros.
    pub(super) fn each_point(
        &self,
        keys: &UserKeys,
        mut each: impl FnMut(&InternalKey<'_>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Sound(table) => each_of_sound(table, keys, each),
            Self::Damaged(salvage, path) => {
                // The table's library has another type of error.
                let failed = Cell::new(None);
                let result = salvage.for_each(|key, value| {
                    if key.kind == EntryKind::RangeDeletion {
                        return Ok(());
                    }
                    each(key, value).map_err(|error| {
                        let text = error.to_string();
                        failed.set(Some(error));
                        std::io::Error::other(text).into()
                    })
                });
                let read = || result.map_err(|error| error.in_file(path));
                failed.take().map_or_else(read, Err)
            }
        }
    }
}

fn each_of_sound(
    table: &Table,
    keys: &UserKeys,
    mut each: impl FnMut(&InternalKey<'_>, &[u8]) -> Result<()>,
) -> Result<()> {
    let padding = padding(table, keys);
    let mut cursor = table.entry_cursor();
    let mut more = cursor.seek_to_first()?;
    while more {
        let key = cursor.key();
        if padding.is_empty() {
            each(&key, cursor.value())?;
        } else {
            let user_key = &[key.user_key, &padding].concat();
            each(&InternalKey { user_key, ..key }, cursor.value())?;
        }
        more = cursor.next()?;
    }
    Ok(())
}

/// The timestamp of all keys, if the table does not store them.
fn padding(table: &Table, keys: &UserKeys) -> Vec<u8> {
    match table.properties().has_persisted_timestamps() {
        true => Vec::new(),
        false => vec![0; keys.timestamp_size()],
    }
}
