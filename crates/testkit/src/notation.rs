//! Internal entries as text, for [data-driven](crate::datadriven) tests.
//!
//! ```text
//! KEY[@TIMESTAMP]#SEQUENCE KIND [VALUE]
//!
//! a#5 put value           bar@30#2 delete_with_timestamp
//! a#4 delete              b..d#7 range_delete
//! a#3 merge operand       b..d@40#8 range_delete
//! ```
//!
//! Keys and values are [escaped](crate::datadriven::escape); a space in a key is `\x20`. A timestamp
//! is a number, stored as the 8 bytes of RocksDB's `u64ts` comparator.

use std::fmt;

use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{Table, TableOptions, TableWriter};

use crate::datadriven::{escape, unescape};

/// The names of the kinds.
const KINDS: [(EntryKind, &str); 9] = [
    (EntryKind::Value, "put"),
    (EntryKind::Deletion, "delete"),
    (EntryKind::SingleDeletion, "single_delete"),
    (EntryKind::DeletionWithTimestamp, "delete_with_timestamp"),
    (EntryKind::RangeDeletion, "range_delete"),
    (EntryKind::Merge, "merge"),
    (EntryKind::WideColumnEntity, "put_entity"),
    (EntryKind::BlobIndex, "blob_index"),
    (EntryKind::ValuePreferredSeqno, "timed_put"),
];

/// An entry, or a range tombstone: then `key` is its start and `value` its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternalEntry {
    /// The user key without its timestamp.
    pub key: Vec<u8>,
    /// The timestamp, for a comparator that has them.
    pub timestamp: Option<u64>,
    /// The sequence number.
    pub sequence: u64,
    /// The kind.
    pub kind: EntryKind,
    /// The value as stored, or the end of a range tombstone.
    pub value: Vec<u8>,
}

impl InternalEntry {
    /// Parses one line.
    ///
    /// # Panics
    ///
    /// If it is not in the notation.
    pub fn parse(line: &str) -> Self {
        let invalid = || -> ! { panic!("not an entry: {line}") };
        let mut words = line.splitn(3, ' ');
        let (Some(key), Some(kind)) = (words.next(), words.next()) else { invalid() };
        let value = unescape(words.next().unwrap_or_default());
        let Some(&(kind, _)) = KINDS.iter().find(|(_, name)| *name == kind) else { invalid() };
        let Some((key, sequence)) = key.rsplit_once('#') else { invalid() };
        let number = |text: &str| text.parse().unwrap_or_else(|_| invalid());
        let (key, timestamp) = match key.rsplit_once('@') {
            Some((key, timestamp)) => (key, Some(number(timestamp))),
            None => (key, None),
        };
        let (key, value) = match kind == EntryKind::RangeDeletion {
            true => {
                let Some((start, end)) = key.split_once("..") else { invalid() };
                (start, unescape(end))
            }
            false => (key, value),
        };
        Self { key: unescape(key), timestamp, sequence: number(sequence), kind, value }
    }

    /// The user key as stored, followed by its timestamp.
    pub fn user_key(&self) -> Vec<u8> {
        self.with_timestamp(&self.key)
    }

    /// The value as stored. The end of a range tombstone has the timestamp of the start.
    pub fn stored_value(&self) -> Vec<u8> {
        match self.kind {
            EntryKind::RangeDeletion => self.with_timestamp(&self.value),
            _ => self.value.clone(),
        }
    }

    fn with_timestamp(&self, key: &[u8]) -> Vec<u8> {
        let timestamp = self.timestamp.map(u64::to_le_bytes);
        [key, timestamp.as_ref().map_or(&[][..], |it| &it[..])].concat()
    }
}

impl fmt::Display for InternalEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_range = self.kind == EntryKind::RangeDeletion;
        let text = |bytes: &[u8]| escape(bytes).replace(' ', "\\x20");
        f.write_str(&text(&self.key))?;
        if is_range {
            write!(f, "..{}", text(&self.value))?;
        }
        if let Some(timestamp) = self.timestamp {
            write!(f, "@{timestamp}")?;
        }
        let name = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, name)| name);
        write!(f, "#{} {name}", self.sequence)?;
        if !is_range && !self.value.is_empty() {
            write!(f, " {}", escape(&self.value))?;
        }
        Ok(())
    }
}

/// The entries of a text, one on each line; blank lines are skipped.
pub fn parse(text: &str) -> Vec<InternalEntry> {
    text.lines().filter(|line| !line.trim().is_empty()).map(InternalEntry::parse).collect()
}

/// The bytes of a table with these entries, which must be in the order of the table. Sequence numbers
/// other than 0 are allowed: the table is not an [external
/// file](sstkit_table::TableOptions::external_file).
///
/// # Panics
///
/// If the writer refuses an entry.
pub fn table_bytes(text: &str, options: &TableOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = options.clone().external_file(false);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for entry in parse(text) {
        let (user_key, value) = (entry.user_key(), entry.stored_value());
        let key = InternalKey { user_key: &user_key, sequence: entry.sequence, kind: entry.kind };
        writer.add(&key, &value).unwrap_or_else(|error| panic!("{entry}: {error}"));
    }
    writer.finish().unwrap();
    bytes
}

/// All entries of a table, then its range tombstones.
///
/// # Panics
///
/// If the table cannot be read.
pub fn print_table(table: &Table) -> String {
    let size = table.comparator().map_or(0, sstkit_table::Comparator::timestamp_size);
    let timestamp = |bytes: &[u8]| {
        (!bytes.is_empty())
            .then(|| u64::from_le_bytes(bytes.try_into().expect("timestamps of 8 bytes")))
    };
    let points = table.entries().map(|entry| {
        let entry = entry.unwrap();
        let (key, stamp) = entry.user_key.split_at(entry.user_key.len() - size);
        InternalEntry {
            key: key.to_vec(),
            timestamp: timestamp(stamp),
            sequence: entry.sequence,
            kind: entry.kind,
            value: entry.value.to_vec(),
        }
    });
    let tombstones = table.range_deletions().iter().map(|tombstone| InternalEntry {
        key: tombstone.start.clone(),
        timestamp: timestamp(&tombstone.timestamp),
        sequence: tombstone.sequence,
        kind: EntryKind::RangeDeletion,
        value: tombstone.end.clone(),
    });
    points.chain(tombstones).map(|entry| format!("{entry}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_round_trips() {
        let lines = [
            "a#5 put a value",
            "a\\x20b#4 delete",
            "a@17#3 put \\xff",
            "b..d@40#8 range_delete",
            "b..d#0 range_delete",
        ];
        for line in lines {
            assert_eq!(InternalEntry::parse(line).to_string(), line);
        }
    }

    #[test]
    fn a_table_round_trips() {
        let text = "a#5 delete\na#3 put 1\nb#4 merge x\na..c#2 range_delete\n";
        let bytes = table_bytes(text, &TableOptions::rocksdb());
        assert_eq!(print_table(&Table::from_bytes(bytes).unwrap()), text);
    }
}
