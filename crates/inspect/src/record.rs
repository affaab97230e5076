//! A key and its value, as a line of JSON.
//!
//! ```text
//! visible    {"key":"alice","value":"1"}
//! entity     {"key":"bob","value":"","columns":[["","…"],["age","7"]]}
//! merges     {"key":"carol","value":null,"merge":["+1","+2"]}
//! internal   {"type":"put","key":"alice","seq":7,"value":"1"}
//! ```

use serde::Serialize;
use sstkit_db::raw::WriteOperation;
use sstkit_db::{ColumnFamily, file_system};
use sstkit_table::raw::{
    BlobIndex, ColumnValue, EntryKind, InternalKey, decode_wide_columns, split_preferred_seqno,
};
use sstkit_table::{ErrorKind, RangeTombstone, RecordValue, Result, Value};

use crate::encoding::Encoding;
use crate::inspected_table::InspectedTable;
use crate::names;

/// A key and its value, in an [`Encoding`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JsonRecord {
    /// The type of the entry; only for internal entries.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The key, without timestamp.
    pub key: String,
    /// The timestamp, if keys have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The sequence number; only for internal entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The value, the default column of an entity, or the end key of a range deletion. `None` is
    /// omitted; `Some(None)` is written as `null`: there is no value, or it is not available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Option<String>>,
    /// Names and values of the columns of an entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<(String, String)>>,
    /// Operands that were not merged, oldest first; `value` is their base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<Vec<String>>,
    /// The location of a value that is not in its entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobReference>,
    /// The preferred sequence number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_seq: Option<u64>,
    /// The id of the column family; only for writes in a log, and values in a blob file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_family: Option<u32>,
    /// What the key means, if its comparator says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoded_key: Option<String>,
    /// The time of the write in seconds since 1970, in a database with a time to live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<u32>,
    /// When the value expires, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// The location of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlobReference {
    /// The number of the blob file; 0 for the table itself.
    pub file: u64,
    /// The offset of the value.
    pub offset: u64,
    /// The stored size.
    pub size: u64,
}

impl BlobReference {
    /// The location in `index`; `None` if the value is inlined.
    pub fn of(index: &BlobIndex<'_>) -> Option<Self> {
        match *index {
            BlobIndex::Stored { file, offset, size, .. } => Some(Self { file, offset, size }),
            _ => None,
        }
    }
}

impl JsonRecord {
    /// A record with only a key.
    pub fn of_key(key: &[u8], encoding: Encoding) -> Self {
        Self { key: encoding.encode(key), ..Self::default() }
    }

    /// A key and its value.
    pub fn of_value(key: &[u8], value: &[u8], encoding: Encoding) -> Self {
        Self { value: Some(Some(encoding.encode(value))), ..Self::of_key(key, encoding) }
    }

    /// Leaves the key alone, with its timestamp, type and sequence number.
    pub fn remove_value(&mut self) {
        self.value = None;
        self.columns = None;
        self.merge = None;
        self.blob = None;
    }

    /// Adds a timestamp, unless it is empty.
    #[must_use]
    pub fn with_timestamp(mut self, timestamp: &[u8], encoding: Encoding) -> Self {
        self.timestamp = (!timestamp.is_empty()).then(|| encoding.encode(timestamp));
        self
    }

    /// Adds the columns of an entity. Its value is the default column, whose name is empty.
    #[must_use]
    pub fn with_columns<B: AsRef<[u8]>>(
        mut self,
        columns: impl IntoIterator<Item = (B, B)>,
        encoding: Encoding,
    ) -> Self {
        let mut default = String::new();
        let columns = columns.into_iter().map(|(name, value)| {
            let (name, value) = (name.as_ref(), encoding.encode(value.as_ref()));
            if name.is_empty() {
                default.clone_from(&value);
            }
            (encoding.encode(name), value)
        });
        self.columns = Some(columns.collect());
        self.value = Some(Some(default));
        self
    }

    /// Adds unmerged operands, oldest first, over `base`.
    #[must_use]
    pub fn with_operands<B: AsRef<[u8]>>(
        mut self,
        operands: impl IntoIterator<Item = B>,
        base: Option<&[u8]>,
        encoding: Encoding,
    ) -> Self {
        let operands = operands.into_iter().map(|operand| encoding.encode(operand.as_ref()));
        self.merge = Some(operands.collect());
        self.value = Some(base.map(|base| encoding.encode(base)));
        self
    }

    /// The value of a visible key.
    pub fn of_record_value(key: &[u8], value: &RecordValue, encoding: Encoding) -> Self {
        match value {
            RecordValue::Value(value) => Self::of_value(key, value, encoding),
            RecordValue::Entity(columns) => {
                let columns = columns.iter().map(|column| (&column.name, &column.value));
                Self::of_key(key, encoding).with_columns(columns, encoding)
            }
            RecordValue::Unresolved { base, operands, .. } => {
                Self::of_key(key, encoding).with_operands(operands, base.as_deref(), encoding)
            }
        }
    }

    /// A visible key of a table or database.
    pub fn of_visible(record: &sstkit_table::Record, encoding: Encoding) -> Self {
        Self::of_record_value(&record.key, &record.value, encoding)
            .with_timestamp(&record.timestamp, encoding)
    }

    /// The key of an entry of a database, with its type and sequence number. The value is not read.
    pub fn of_entry_key(entry: &sstkit_db::DatabaseEntry, encoding: Encoding) -> Self {
        Self {
            kind: Some(names::entry_kind(entry.kind)),
            seq: Some(entry.sequence),
            ..Self::of_key(&entry.key, encoding)
        }
        .with_timestamp(&entry.timestamp, encoding)
    }

    /// An entry of a database as stored, with its value resolved.
    pub fn of_database_entry(
        family: &ColumnFamily,
        entry: &sstkit_db::DatabaseEntry,
        encoding: Encoding,
    ) -> sstkit_db::Result<Self> {
        let mut record = Self::of_entry_key(entry, encoding);
        if record.is_foreign(entry.kind, &entry.value, encoding)? {
            return Ok(record);
        }
        if entry.kind == EntryKind::WideColumnEntity {
            let columns = family.resolve_columns(entry)?;
            let columns = columns.iter().map(|column| (&column.name, &column.value));
            return Ok(record.with_columns(columns, encoding));
        }
        record.value = Some(match family.resolve(entry) {
            Ok(value) => Some(encoding.encode(&value)),
            // The value is in a file that is missing.
            Err(error) if is_missing_file(&error) && record.blob.is_some() => None,
            Err(error) => return Err(error),
        });
        Ok(record)
    }

    /// An entry of a table as stored, in the form that entries of databases have.
    pub fn of_table_entry(
        file: &InspectedTable,
        entry: &sstkit_db::DatabaseEntry,
        encoding: Encoding,
    ) -> Result<Self> {
        let mut user_key = entry.key.clone();
        // Otherwise the table does not keep it.
        if file.table().properties().has_persisted_timestamps() {
            user_key.extend_from_slice(&entry.timestamp);
        }
        let (sequence, kind) = (entry.sequence, entry.kind);
        let key = InternalKey { user_key: &user_key, sequence, kind };
        let record = Self::of_entry(file, &key, &entry.value, encoding)?;
        Ok(record.with_timestamp(&entry.timestamp, encoding))
    }

    /// An entry of a table as stored, with its value resolved if it is in the file.
    pub fn of_entry(
        file: &InspectedTable,
        key: &InternalKey<'_>,
        value: &Value,
        encoding: Encoding,
    ) -> Result<Self> {
        let table = file.table();
        let mut record = Self {
            kind: Some(names::entry_kind(key.kind)),
            seq: Some(key.sequence),
            ..Self::of_key(file.bare(key.user_key), encoding)
        }
        .with_timestamp(file.timestamp(key.user_key).unwrap_or_default(), encoding);
        if record.is_foreign(key.kind, value, encoding)? {
            return Ok(record);
        }
        if key.kind == EntryKind::WideColumnEntity {
            let columns = table.resolve_columns(value)?;
            let columns = columns.iter().map(|column| (&column.name, &column.value));
            return Ok(record.with_columns(columns, encoding));
        }
        record.value = Some(match table.resolve(key.kind, value) {
            Ok(value) => Some(encoding.encode(&value)),
            // The value is in another file, which a single table does not have.
            Err(error) if error.kind() == ErrorKind::Unsupported && record.blob.is_some() => None,
            Err(error) => return Err(error),
        });
        Ok(record)
    }

    /// A write of a log, whose key and end key have timestamps of this size. A value in a blob file
    /// is not read.
    pub fn of_write(
        write: &WriteOperation<'_>,
        sequence: u64,
        timestamp_size: usize,
        encoding: Encoding,
    ) -> Self {
        // Keys that are too short are damage, which verification reports; they are shown as stored.
        let split = |key: &'_ [u8]| key.len().checked_sub(timestamp_size).unwrap_or(key.len());
        let (key, timestamp) = write.key.split_at(split(write.key));
        let mut record = Self {
            kind: Some(names::entry_kind(write.kind)),
            seq: Some(sequence),
            column_family: Some(write.column_family),
            ..Self::of_key(key, encoding)
        }
        .with_timestamp(timestamp, encoding);
        let plain = |value: &[u8]| Some(Some(encoding.encode(value)));
        record.value = match write.kind {
            EntryKind::RangeDeletion => plain(&write.value[..split(write.value)]),
            EntryKind::BlobIndex => match BlobIndex::decode_from(write.value) {
                Ok(BlobIndex::Inlined { value, .. }) => plain(value),
                Ok(index) => {
                    record.blob = BlobReference::of(&index);
                    Some(None)
                }
                Err(_) => plain(write.value),
            },
            EntryKind::WideColumnEntity => match inline_columns(write.value) {
                Some(columns) => return record.with_columns(columns, encoding),
                None => plain(write.value),
            },
            EntryKind::ValuePreferredSeqno => match split_preferred_seqno(write.value) {
                // In a log it is the time of the write, from which the number follows.
                Some((value, time)) => {
                    record.written = u32::try_from(time).ok();
                    plain(value)
                }
                None => plain(write.value),
            },
            _ => plain(write.value),
        };
        record
    }

    /// Adds the [references](Self::add_references) of a value. One into files of another engine is shown
    /// as it is stored.
    fn is_foreign(&mut self, kind: EntryKind, value: &[u8], encoding: Encoding) -> Result<bool> {
        match self.add_references(kind, value) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.value = Some(Some(encoding.encode(value)));
                Ok(true)
            }
            added => added.map(|()| false),
        }
    }

    /// The location of a value that is stored elsewhere, and its preferred sequence number.
    fn add_references(&mut self, kind: EntryKind, value: &[u8]) -> Result<()> {
        match kind {
            EntryKind::BlobIndex => {
                self.blob = BlobReference::of(&BlobIndex::decode_from(value)?);
            }
            EntryKind::ValuePreferredSeqno => {
                self.preferred_seq = split_preferred_seqno(value).map(|(_, sequence)| sequence);
            }
            _ => {}
        }
        Ok(())
    }

    /// A range deletion; its value is the end key.
    pub fn of_range_deletion(range: &RangeTombstone, encoding: Encoding) -> Self {
        Self {
            kind: Some(names::entry_kind(EntryKind::RangeDeletion)),
            seq: Some(range.sequence),
            ..Self::of_value(&range.start, &range.end, encoding)
        }
        .with_timestamp(&range.timestamp, encoding)
    }
}

/// Whether a file cannot be read because there is none.
fn is_missing_file(error: &sstkit_db::Error) -> bool {
    error.kind() != ErrorKind::Io && error.file().is_some_and(|path| !file_system::exists(path))
}

/// Names and values of an entity's columns; `None` if it cannot be read or a value is elsewhere.
fn inline_columns(entity: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let columns = decode_wide_columns(entity).ok()?;
    let inline = columns.into_iter().map(|column| match column.value {
        ColumnValue::Inline(value) => Some((column.name, value)),
        _ => None,
    });
    inline.collect()
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GetRecord {
    /// The key that was looked up.
    pub key: String,
    /// Whether it was found.
    pub found: bool,
    /// The value; `null` if not found or not available.
    pub value: Option<String>,
    /// Further fields, as in a [`JsonRecord`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// See [`JsonRecord::columns`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<(String, String)>>,
    /// See [`JsonRecord::merge`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<Vec<String>>,
    /// See [`JsonRecord::decoded_key`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoded_key: Option<String>,
    /// See [`JsonRecord::written`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<u32>,
    /// See [`JsonRecord::expires`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

impl GetRecord {
    /// The result for `key`.
    pub fn new(key: &[u8], found: Option<JsonRecord>, encoding: Encoding) -> Self {
        let is_found = found.is_some();
        let record = found.unwrap_or_default();
        Self {
            key: encoding.encode(key),
            found: is_found,
            value: record.value.flatten(),
            timestamp: record.timestamp,
            columns: record.columns,
            merge: record.merge,
            decoded_key: record.decoded_key,
            written: record.written,
            expires: record.expires,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(record: &impl Serialize) -> String {
        serde_json::to_string(record).unwrap()
    }

    #[test]
    fn the_drawn_lines() {
        let escape = Encoding::Escape;
        let visible = JsonRecord::of_value(b"alice", b"1", escape);
        assert_eq!(json(&visible), r#"{"key":"alice","value":"1"}"#);
        let entity = JsonRecord::of_key(b"bob", escape).with_columns([("age", "7")], escape);
        assert_eq!(json(&entity), r#"{"key":"bob","value":"","columns":[["age","7"]]}"#);
        let merges = JsonRecord::of_key(b"carol", escape).with_operands(["+1", "+2"], None, escape);
        assert_eq!(json(&merges), r#"{"key":"carol","value":null,"merge":["+1","+2"]}"#);
        let internal = JsonRecord { kind: Some("put"), seq: Some(7), ..visible };
        assert_eq!(json(&internal), r#"{"type":"put","key":"alice","seq":7,"value":"1"}"#);
    }

    #[test]
    fn answers() {
        let escape = Encoding::Escape;
        let found = GetRecord::new(b"a", Some(JsonRecord::of_value(b"a", b"1", escape)), escape);
        assert_eq!(json(&found), r#"{"key":"a","found":true,"value":"1"}"#);
        let missing = GetRecord::new(b"b", None, escape);
        assert_eq!(json(&missing), r#"{"key":"b","found":false,"value":null}"#);
    }
}
