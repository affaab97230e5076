//! One record of a MANIFEST: tags and fields, until it ends.
//!
//! ```text
//! tag (varint32)            fields (v: varint, lp: length and bytes)               LevelDB
//!    1 Comparator           lp name                                                yes
//!    2 LogNumber            v                                                      yes
//!    3 NextFileNumber       v                                                      yes
//!    4 LastSequence         v                                                      yes
//!    5 CompactCursor        v level, lp internal key                               yes
//!    6 DeletedFile          v level, v number                                      yes
//!    7 NewFile              v level, v number, v size, lp smallest, lp largest     yes
//!    9 PrevLogNumber        v                                                      yes
//!   10 MinLogNumberToKeep   v
//!  100 NewFile2             as 7, v smallest sequence, v largest sequence
//!  102 NewFile3             as 100, with v path id after the number
//!  103 NewFile4             as 100, then custom fields: v tag, lp value; 1 ends
//!  200 ColumnFamily         v id that the whole edit is about
//!  201 ColumnFamilyAdd      lp name
//!  202 ColumnFamilyDrop     -
//!  203 MaxColumnFamily      v
//!  300 InAtomicGroup        v edits of the group that follow
//!  400 BlobFileAddition     v number, v count, v bytes, lp method, lp checksum, custom; 0 ends
//!  401 BlobFileGarbage      v number, v count, v bytes, custom; 0 ends
//! 8192 and more             with a length, so that unknown ones can be skipped, but for
//! 8194, 8195, 8196, 8197    old forms of 400, 401, 8199, 8200, which have none
//! 8193 DbId                 lp
//! 8198 FullHistoryTsLow     lp
//! 8199 WalAddition          lp of: v number, [2, v synced size], 1
//! 8200 WalDeletion          lp of: v number
//! 8201 PersistTimestamps    lp of one byte
//!
//! 02 06 | 09 00 | 03 07 | 04 05          log 6, no previous log, next file 7, last sequence 5
//! ```

use sstkit_table::raw::Engine;

use super::fields::Fields;
use super::file_meta_data::{BlobFileGarbage, BlobFileMetaData, FileMetaData, WalAddition};
use super::new_file::{NewFileForm, decode_new_file};
use crate::error::{Error, Result};

/// A tag with this bit has a length behind it.
const SAFE_TO_IGNORE: u32 = 1 << 13;
/// A custom field of a blob file with this bit must be understood.
const BLOB_FIELD_NEEDED: u32 = 1 << 6;

/// A change to the state of the database: one record of the MANIFEST.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// The column family that it is about.
    pub column_family: u32,
    /// The family is created, with this name.
    pub column_family_add: Option<String>,
    /// The family is dropped.
    pub column_family_drop: bool,
    /// The largest id that a column family has had.
    pub max_column_family: Option<u32>,
    /// The comparator's name.
    pub comparator: Option<String>,
    /// Whether keys in tables keep their timestamps.
    pub persist_timestamps: Option<bool>,
    /// Logs with smaller numbers hold nothing for the family any more.
    pub log_number: Option<u64>,
    /// A second log that may still be needed (LevelDB).
    pub prev_log_number: Option<u64>,
    /// The number that the next new file will get.
    pub next_file_number: Option<u64>,
    /// The largest sequence number in use.
    pub last_sequence: Option<u64>,
    /// Logs with smaller numbers are not needed any more.
    pub min_log_number_to_keep: Option<u64>,
    /// Where the next compaction of a level starts: level, encoded internal key.
    pub compact_cursors: Vec<(u32, Vec<u8>)>,
    /// Tables that are gone: level, number.
    pub deleted_files: Vec<(u32, u64)>,
    /// Tables that are new, with their levels.
    pub new_files: Vec<(u32, FileMetaData)>,
    /// Blob files that are new.
    pub blob_file_additions: Vec<BlobFileMetaData>,
    /// Blobs that became garbage.
    pub blob_file_garbage: Vec<BlobFileGarbage>,
    /// The edit belongs to an atomic group; this number of edits follow.
    pub atomic_group_remaining: Option<u32>,
    /// The database's id.
    pub db_id: Option<String>,
    /// Logs to track.
    pub wal_additions: Vec<WalAddition>,
    /// Logs with smaller numbers are no longer tracked.
    pub wal_deletion: Option<u64>,
    /// History below this timestamp may be gone.
    pub full_history_timestamp_low: Option<Vec<u8>>,
}

impl VersionEdit {
    /// Decodes a whole record, in the dialect of the engine that wrote it.
    pub fn decode_from(bytes: &[u8], dialect: Engine) -> Result<Self> {
        let mut edit = Self::default();
        let mut fields = Fields::new(bytes, dialect);
        while !fields.is_empty() {
            let tag = fields.varint32("tag")?;
            let known = edit.decode_common(tag, &mut fields)?
                || (dialect == Engine::RocksDb
                    && (edit.decode_rocksdb(tag, &mut fields)?
                        || edit.decode_ignorable(tag, &mut fields)?));
            if !known {
                return Err(Error::corrupt(format!("the version edit has the unknown tag {tag}")));
            }
        }
        Ok(edit)
    }

    /// What both engines write.
    fn decode_common(&mut self, tag: u32, fields: &mut Fields<'_>) -> Result<bool> {
        match tag {
            1 => self.comparator = Some(fields.text("comparator")?),
            2 => self.log_number = Some(fields.varint64("log number")?),
            3 => self.next_file_number = Some(fields.varint64("next file number")?),
            4 => self.last_sequence = Some(fields.sequence("last sequence")?),
            5 => {
                let cursor = (fields.level()?, fields.internal_key("compact cursor")?);
                self.compact_cursors.push(cursor);
            }
            6 => self.deleted_files.push((fields.level()?, fields.varint64("file number")?)),
            7 => self.decode_file(NewFileForm::Plain, fields)?,
            9 => self.prev_log_number = Some(fields.varint64("previous log number")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn decode_rocksdb(&mut self, tag: u32, fields: &mut Fields<'_>) -> Result<bool> {
        match tag {
            10 => self.min_log_number_to_keep = Some(fields.varint64("log number to keep")?),
            100 => self.decode_file(NewFileForm::Sequences, fields)?,
            102 => self.decode_file(NewFileForm::Path, fields)?,
            103 => self.decode_file(NewFileForm::Custom, fields)?,
            200 => self.column_family = fields.varint32("column family")?,
            201 => self.column_family_add = Some(fields.text("column family's name")?),
            202 => self.column_family_drop = true,
            203 => self.max_column_family = Some(fields.varint32("largest column family")?),
            300 => {
                self.atomic_group_remaining =
                    Some(fields.varint32("remaining edits of an atomic group")?);
            }
            400 | 8194 => self.blob_file_additions.push(decode_blob_addition(fields)?),
            401 | 8195 => self.blob_file_garbage.push(decode_blob_garbage(fields)?),
            8196 => self.wal_additions.push(decode_wal_addition(fields)?),
            8197 => self.wal_deletion = Some(fields.varint64("log number")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Fields with a length. Remaining bytes belong to a newer version.
    fn decode_ignorable(&mut self, tag: u32, fields: &mut Fields<'_>) -> Result<bool> {
        if tag & SAFE_TO_IGNORE == 0 {
            return Ok(false);
        }
        let mut inner = fields.inner("length-prefixed field")?;
        match tag {
            8193 => self.db_id = Some(inner.rest_as_text()),
            8198 => {
                let timestamp = inner.rest();
                if timestamp.is_empty() {
                    return Err(Error::corrupt("the version edit has an empty timestamp"));
                }
                self.full_history_timestamp_low = Some(timestamp.to_vec());
            }
            8199 => self.wal_additions.push(decode_wal_addition(&mut inner)?),
            8200 => self.wal_deletion = Some(inner.varint64("log number")?),
            8201 => {
                self.persist_timestamps = Some(inner.single_byte("timestamps persisted")? == 1);
            }
            _ => {}
        }
        Ok(true)
    }

    fn decode_file(&mut self, form: NewFileForm, fields: &mut Fields<'_>) -> Result<()> {
        let file = decode_new_file(form, fields, &mut self.min_log_number_to_keep)?;
        self.new_files.push(file);
        Ok(())
    }
}

fn decode_blob_addition(fields: &mut Fields<'_>) -> Result<BlobFileMetaData> {
    let mut file = BlobFileMetaData {
        number: fields.varint64("blob file number")?,
        blob_count: fields.varint64("blob count")?,
        blob_bytes: fields.varint64("blob bytes")?,
        ..BlobFileMetaData::default()
    };
    let method = fields.text("checksum method")?;
    let checksum = fields.slice("checksum")?;
    if !method.is_empty() {
        file.file_checksum = Some((method, checksum.to_vec()));
    }
    skip_blob_fields(fields)?;
    Ok(file)
}

fn decode_blob_garbage(fields: &mut Fields<'_>) -> Result<BlobFileGarbage> {
    let garbage = BlobFileGarbage {
        number: fields.varint64("blob file number")?,
        count: fields.varint64("garbage count")?,
        bytes: fields.varint64("garbage bytes")?,
    };
    skip_blob_fields(fields)?;
    Ok(garbage)
}

/// No custom fields are defined yet.
fn skip_blob_fields(fields: &mut Fields<'_>) -> Result<()> {
    loop {
        match fields.varint32("tag of a blob file's field")? {
            0 => return Ok(()),
            tag if tag & BLOB_FIELD_NEEDED != 0 => {
                return Err(Error::unsupported(format!(
                    "the blob file has the unknown field {tag}"
                )));
            }
            _ => fields.slice("blob file's field")?,
        };
    }
}

fn decode_wal_addition(fields: &mut Fields<'_>) -> Result<WalAddition> {
    let mut wal = WalAddition { number: fields.varint64("log number")?, synced_size: None };
    loop {
        match fields.varint32("tag of a log's field")? {
            1 => return Ok(wal),
            2 => wal.synced_size = Some(fields.varint64("synced size")?),
            tag => return Err(Error::corrupt(format!("the log has the unknown field {tag}"))),
        }
    }
}
