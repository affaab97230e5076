//! The entries of a table that is saved, sound or damaged.

use std::cell::Cell;

use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::visibility::UserKeys;
use sstkit_table::{Table, TableOptions, TableSalvage};

use super::table_examination::{Condition, ExaminedTable, TableHints};
use crate::error::Result;

/// A table whose entries are read.
pub(super) enum TableEntries {
    Sound(Table),
    Damaged(Box<TableSalvage>),
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
                Self::Damaged(Box::new(salvage))
            }
            _ => Self::Sound(table.open(hints, order)?),
        })
    }

    /// The settings for a table like this one.
    pub(super) fn table_options(&self) -> Option<TableOptions> {
        match self {
            Self::Sound(table) => TableOptions::like(table).ok(),
            Self::Damaged(salvage) => Some(salvage.table_options()),
        }
    }

    /// Calls `each` with all points in order, and then with the range tombstones, whose values are
    /// their ends. Timestamps that the table does not store are zeros.
    pub(super) fn each(
        &self,
        keys: &UserKeys,
        mut each: impl FnMut(&InternalKey<'_>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Sound(table) => each_of_sound(table, keys, each),
            Self::Damaged(salvage) => {
                // The table's library has another type of error.
                let failed = Cell::new(None);
                let result = salvage.for_each(|key, value| {
                    each(key, value).map_err(|error| {
                        let text = error.to_string();
                        failed.set(Some(error));
                        std::io::Error::other(text).into()
                    })
                });
                failed.take().map_or_else(|| result, Err)
            }
        }
    }
}

fn each_of_sound(
    table: &Table,
    keys: &UserKeys,
    mut each: impl FnMut(&InternalKey<'_>, &[u8]) -> Result<()>,
) -> Result<()> {
    let padding = match table.properties().has_persisted_timestamps() {
        true => Vec::new(),
        false => vec![0; keys.timestamp_size()],
    };
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
    for range in table.range_deletions() {
        let timestamp = if padding.is_empty() { &range.timestamp } else { &padding };
        let user_key = &[&range.start[..], timestamp].concat();
        let key =
            InternalKey { user_key, sequence: range.sequence, kind: EntryKind::RangeDeletion };
        each(&key, &[&range.end[..], timestamp].concat())?;
    }
    Ok(())
}
