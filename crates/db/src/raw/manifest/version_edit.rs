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
//! 8202 SubcompactionProgress lp of tagged fields, in files of their own
//!
//! 02 06 | 09 00 | 03 07 | 04 05          log 6, no previous log, next file 7, last sequence 5
//! ```

use sstkit_table::raw::Engine;

use super::encoder::Encoder;
use super::fields::Fields;
use super::file_meta_data::{BlobFileGarbage, BlobFileMetaData, FileMetaData, WalAddition};
use super::new_file::{NewFileForm, decode_new_file, encode_new_file};
use super::subcompaction_progress::SubcompactionProgress;
use super::tag;
use crate::error::{Error, Result};

/// A custom field of a blob file with this bit must be understood.
const BLOB_FIELD_NEEDED: u32 = 1 << 6;
/// Ends the custom fields of a blob file.
const BLOB_FIELDS_END: u32 = 0;
/// Ends the fields of a log.
const WAL_END: u32 = 1;
const WAL_SYNCED_SIZE: u32 = 2;

/// A change to the state of the database: one record of the MANIFEST.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Logs with smaller numbers have no writes for the column family.
    pub log_number: Option<u64>,
    /// A second log that may still be needed (LevelDB).
    pub prev_log_number: Option<u64>,
    /// The number that the next new file will get.
    pub next_file_number: Option<u64>,
    /// The largest sequence number in use.
    pub last_sequence: Option<u64>,
    /// Logs with smaller numbers are obsolete.
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
    /// How far a compaction has come. MANIFESTs have none: it is in `COMPACTION_PROGRESS-` files.
    pub subcompaction_progress: Option<SubcompactionProgress>,
}

sstkit_coding::debug_struct!(VersionEdit {
    column_family,
    column_family_add,
    column_family_drop,
    max_column_family,
    comparator,
    persist_timestamps,
    log_number,
    prev_log_number,
    next_file_number,
    last_sequence,
    min_log_number_to_keep,
    compact_cursors: bytes,
    deleted_files,
    new_files,
    blob_file_additions,
    blob_file_garbage,
    atomic_group_remaining,
    db_id,
    wal_additions,
    wal_deletion,
    full_history_timestamp_low: bytes,
    subcompaction_progress,
});

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

    /// Appends the record, in the dialect of the engine that is to read it, with the fields in the
    /// order in which that engine writes them. LevelDB's dialect has no place for the fields that
    /// only RocksDB knows, which are left out.
    ///
    /// ```
    /// use sstkit_db::raw::VersionEdit;
    /// use sstkit_table::raw::Engine;
    ///
    /// let mut edit = VersionEdit::default();
    /// edit.log_number = Some(6);
    /// edit.prev_log_number = Some(0);
    /// edit.next_file_number = Some(7);
    /// edit.last_sequence = Some(5);
    /// let mut record = Vec::new();
    /// edit.encode_to(&mut record, Engine::LevelDb);
    /// assert_eq!(record, [2, 6, 9, 0, 3, 7, 4, 5]);
    /// assert_eq!(VersionEdit::decode_from(&record, Engine::LevelDb)?, edit);
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    pub fn encode_to(&self, out: &mut Vec<u8>, dialect: Engine) {
        let out = &mut Encoder::new(out);
        let rocksdb = dialect == Engine::RocksDb;
        if let (true, Some(id)) = (rocksdb, &self.db_id) {
            out.field(tag::DB_ID, id.as_bytes());
        }
        if let Some(name) = &self.comparator {
            out.field(tag::COMPARATOR, name.as_bytes());
        }
        let numbers = [
            (tag::LOG_NUMBER, self.log_number),
            (tag::PREV_LOG_NUMBER, self.prev_log_number),
            (tag::NEXT_FILE_NUMBER, self.next_file_number),
            (tag::MAX_COLUMN_FAMILY, self.max_column_family.map(u64::from).filter(|_| rocksdb)),
            (tag::MIN_LOG_NUMBER_TO_KEEP, self.min_log_number_to_keep.filter(|_| rocksdb)),
            (tag::LAST_SEQUENCE, self.last_sequence),
        ];
        for (tag, number) in numbers {
            if let Some(number) = number {
                out.number(tag, number);
            }
        }
        for (level, key) in &self.compact_cursors {
            out.number(tag::COMPACT_CURSOR, u64::from(*level));
            out.slice(key);
        }
        for &(level, number) in &self.deleted_files {
            out.number(tag::DELETED_FILE, u64::from(level));
            out.varint(number);
        }
        let (tag, form) = match dialect {
            Engine::LevelDb => (tag::NEW_FILE, NewFileForm::Plain),
            Engine::RocksDb => (tag::NEW_FILE4, NewFileForm::Custom),
        };
        for (level, file) in &self.new_files {
            out.tag(tag);
            encode_new_file(form, *level, file, out);
        }
        if rocksdb {
            self.encode_rocksdb(out);
        }
    }

    /// What only RocksDB writes, after the tables.
    fn encode_rocksdb(&self, out: &mut Encoder<'_>) {
        for file in &self.blob_file_additions {
            encode_blob_addition(file, out);
        }
        for garbage in &self.blob_file_garbage {
            out.number(tag::BLOB_FILE_GARBAGE, garbage.number);
            out.varint(garbage.count);
            out.varint(garbage.bytes);
            out.tag(BLOB_FIELDS_END);
        }
        for wal in &self.wal_additions {
            let mut inner = Vec::new();
            encode_wal_addition(*wal, &mut Encoder::new(&mut inner));
            out.field(tag::WAL_ADDITION, &inner);
        }
        if let Some(number) = self.wal_deletion {
            out.number_field(tag::WAL_DELETION, number);
        }
        if self.column_family != 0 {
            out.number(tag::COLUMN_FAMILY, u64::from(self.column_family));
        }
        if let Some(name) = &self.column_family_add {
            out.field(tag::COLUMN_FAMILY_ADD, name.as_bytes());
        }
        if self.column_family_drop {
            out.tag(tag::COLUMN_FAMILY_DROP);
        }
        if let Some(remaining) = self.atomic_group_remaining {
            out.number(tag::IN_ATOMIC_GROUP, u64::from(remaining));
        }
        if let Some(timestamp) = &self.full_history_timestamp_low {
            out.field(tag::FULL_HISTORY_TS_LOW, timestamp);
        }
        if let Some(persist) = self.persist_timestamps {
            out.field(tag::PERSIST_TIMESTAMPS, &[u8::from(persist)]);
        }
        if let Some(progress) = &self.subcompaction_progress {
            let mut inner = Vec::new();
            progress.encode_to(&mut Encoder::new(&mut inner));
            out.field(tag::SUBCOMPACTION_PROGRESS, &inner);
        }
    }

    /// What both engines write.
    fn decode_common(&mut self, tag: u32, fields: &mut Fields<'_>) -> Result<bool> {
        match tag {
            tag::COMPARATOR => self.comparator = Some(fields.text("comparator")?),
            tag::LOG_NUMBER => self.log_number = Some(fields.varint64("log number")?),
            tag::NEXT_FILE_NUMBER => {
                self.next_file_number = Some(fields.varint64("next file number")?);
            }
            tag::LAST_SEQUENCE => self.last_sequence = Some(fields.sequence("last sequence")?),
            tag::COMPACT_CURSOR => {
                let cursor = (fields.level()?, fields.internal_key("compact cursor")?);
                self.compact_cursors.push(cursor);
            }
            tag::DELETED_FILE => {
                self.deleted_files.push((fields.level()?, fields.varint64("file number")?));
            }
            tag::NEW_FILE => self.decode_file(NewFileForm::Plain, fields)?,
            tag::PREV_LOG_NUMBER => {
                self.prev_log_number = Some(fields.varint64("previous log number")?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn decode_rocksdb(&mut self, tag: u32, fields: &mut Fields<'_>) -> Result<bool> {
        match tag {
            tag::MIN_LOG_NUMBER_TO_KEEP => {
                self.min_log_number_to_keep = Some(fields.varint64("log number to keep")?);
            }
            tag::NEW_FILE2 => self.decode_file(NewFileForm::Sequences, fields)?,
            tag::NEW_FILE3 => self.decode_file(NewFileForm::Path, fields)?,
            tag::NEW_FILE4 => self.decode_file(NewFileForm::Custom, fields)?,
            tag::COLUMN_FAMILY => self.column_family = fields.varint32("column family")?,
            tag::COLUMN_FAMILY_ADD => {
                self.column_family_add = Some(fields.text("column family's name")?);
            }
            tag::COLUMN_FAMILY_DROP => self.column_family_drop = true,
            tag::MAX_COLUMN_FAMILY => {
                self.max_column_family = Some(fields.varint32("largest column family")?);
            }
            tag::IN_ATOMIC_GROUP => {
                self.atomic_group_remaining =
                    Some(fields.varint32("remaining edits of an atomic group")?);
            }
            tag::BLOB_FILE_ADDITION | tag::OLD_BLOB_FILE_ADDITION => {
                self.blob_file_additions.push(decode_blob_addition(fields)?);
            }
            tag::BLOB_FILE_GARBAGE | tag::OLD_BLOB_FILE_GARBAGE => {
                self.blob_file_garbage.push(decode_blob_garbage(fields)?);
            }
            tag::OLD_WAL_ADDITION => self.wal_additions.push(decode_wal_addition(fields)?),
            tag::OLD_WAL_DELETION => self.wal_deletion = Some(fields.varint64("log number")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Fields with a length. Remaining bytes belong to a newer version.
    fn decode_ignorable(&mut self, tag: u32, fields: &mut Fields<'_>) -> Result<bool> {
        if tag & tag::SAFE_TO_IGNORE == 0 {
            return Ok(false);
        }
        let mut inner = fields.inner("length-prefixed field")?;
        match tag {
            tag::DB_ID => self.db_id = Some(inner.rest_as_text()),
            tag::FULL_HISTORY_TS_LOW => {
                let timestamp = inner.rest();
                if timestamp.is_empty() {
                    return Err(Error::corrupt("the version edit has an empty timestamp"));
                }
                self.full_history_timestamp_low = Some(timestamp.to_vec());
            }
            tag::WAL_ADDITION => self.wal_additions.push(decode_wal_addition(&mut inner)?),
            tag::WAL_DELETION => self.wal_deletion = Some(inner.varint64("log number")?),
            tag::PERSIST_TIMESTAMPS => {
                self.persist_timestamps = Some(inner.single_byte("timestamps persisted")? == 1);
            }
            tag::SUBCOMPACTION_PROGRESS => {
                let progress = SubcompactionProgress::decode_from(&mut inner)?;
                self.subcompaction_progress = Some(progress);
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

fn encode_blob_addition(file: &BlobFileMetaData, out: &mut Encoder<'_>) {
    let (method, checksum) = match &file.file_checksum {
        Some((method, checksum)) => (method.as_str(), &checksum[..]),
        None => ("", &[][..]),
    };
    out.number(tag::BLOB_FILE_ADDITION, file.number);
    out.varint(file.blob_count);
    out.varint(file.blob_bytes);
    out.slice(method.as_bytes());
    out.slice(checksum);
    out.tag(BLOB_FIELDS_END);
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
            BLOB_FIELDS_END => return Ok(()),
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
            WAL_END => return Ok(wal),
            WAL_SYNCED_SIZE => wal.synced_size = Some(fields.varint64("synced size")?),
            tag => return Err(Error::corrupt(format!("the log has the unknown field {tag}"))),
        }
    }
}

fn encode_wal_addition(wal: WalAddition, out: &mut Encoder<'_>) {
    out.varint(wal.number);
    if let Some(size) = wal.synced_size {
        out.number(WAL_SYNCED_SIZE, size);
    }
    out.tag(WAL_END);
}
