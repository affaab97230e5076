//! A table in a version edit: four forms, each adding to the one before.
//!
//! ```text
//! custom field       value                  custom field         value
//!  1 end             none                   10 / 11 timestamps   bytes: smallest, largest
//!  2 need compaction 1 byte                 12 unique id         16 bytes
//!  3 log to keep     fixed64                13 epoch number      varint, 0: unknown
//!  4 oldest blob     varint                 14 range deletions   varint bytes
//!  5 / 6 times       varint seconds         15 tail size         varint bytes
//!  7 / 8 checksum    bytes, function name   16 timestamps kept   1 byte
//!  9 temperature     1 byte                 65 path id           1 byte, 0 to 3
//! bit 6 of the tag: a reader that does not know the field must fail
//! ```

use sstkit_coding::fixed::decode_fixed64;

use super::encoder::Encoder;
use super::fields::Fields;
use super::file_meta_data::FileMetaData;
use crate::error::{Error, Result};

/// The encodings of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NewFileForm {
    /// Tag 7: level, number, size and bounds.
    Plain,
    /// Tag 100: adds sequence numbers.
    Sequences,
    /// Tag 102: adds the path.
    Path,
    /// Tag 103: adds anything else.
    Custom,
}

const END: u32 = 1;
const MARKED_FOR_COMPACTION: u32 = 2;
const LOG_TO_KEEP: u32 = 3;
const OLDEST_BLOB_FILE: u32 = 4;
const OLDEST_ANCESTOR_TIME: u32 = 5;
const FILE_CREATION_TIME: u32 = 6;
const FILE_CHECKSUM: u32 = 7;
const FILE_CHECKSUM_FUNCTION: u32 = 8;
const TEMPERATURE: u32 = 9;
const MIN_TIMESTAMP: u32 = 10;
const MAX_TIMESTAMP: u32 = 11;
const UNIQUE_ID: u32 = 12;
const EPOCH_NUMBER: u32 = 13;
const COMPENSATED_RANGE_DELETION_SIZE: u32 = 14;
const TAIL_SIZE: u32 = 15;
const TIMESTAMPS_PERSISTED: u32 = 16;
const PATH_ID: u32 = 65;
/// The engine's name for the function of a file without a checksum.
const NO_CHECKSUM: &str = "Unknown";
const NEEDED: u32 = 1 << 6;
const MAX_PATH_ID: u8 = 3;
/// Larger numbers belong to newer versions.
const HIGHEST_TEMPERATURE: u8 = 16;

/// The level and the table. An old encoding of the logs to keep is among its fields.
pub(super) fn decode_new_file(
    form: NewFileForm,
    fields: &mut Fields<'_>,
    min_log_number_to_keep: &mut Option<u64>,
) -> Result<(u32, FileMetaData)> {
    let level = fields.level()?;
    Ok((level, decode_new_table(form, fields, min_log_number_to_keep)?))
}

/// The table, behind its level.
pub(super) fn decode_new_table(
    form: NewFileForm,
    fields: &mut Fields<'_>,
    min_log_number_to_keep: &mut Option<u64>,
) -> Result<FileMetaData> {
    let number = fields.varint64("file number")?;
    let path_id = if form == NewFileForm::Path { fields.varint32("path id")? } else { 0 };
    let size = fields.varint64("file size")?;
    let smallest = fields.internal_key("smallest key")?;
    let largest = fields.internal_key("largest key")?;
    let mut file = FileMetaData::new(number, size, smallest, largest);
    file.path_id = path_id;
    if form >= NewFileForm::Sequences {
        file.smallest_sequence = Some(fields.varint64("smallest sequence")?);
        file.largest_sequence = Some(fields.varint64("largest sequence")?);
    }
    if form == NewFileForm::Custom {
        decode_custom_fields(fields, &mut file, min_log_number_to_keep)?;
    }
    Ok(file)
}

fn decode_custom_fields(
    fields: &mut Fields<'_>,
    file: &mut FileMetaData,
    min_log_number_to_keep: &mut Option<u64>,
) -> Result<()> {
    let (mut checksum, mut function) = (Vec::new(), String::new());
    loop {
        let tag = fields.varint32("tag of a table's field")?;
        if tag == END {
            break;
        }
        let mut field = fields.inner("table's field")?;
        match tag {
            LOG_TO_KEEP => {
                let number = field.array("log number to keep")?;
                *min_log_number_to_keep = Some(decode_fixed64(number));
            }
            FILE_CHECKSUM => checksum = field.rest().to_vec(),
            FILE_CHECKSUM_FUNCTION => function = field.rest_as_text(),
            _ => decode_custom_field(tag, &mut field, file)?,
        }
    }
    if !function.is_empty() && function != NO_CHECKSUM {
        file.file_checksum = Some((function, checksum));
    }
    Ok(())
}

fn decode_custom_field(tag: u32, field: &mut Fields<'_>, file: &mut FileMetaData) -> Result<()> {
    match tag {
        MARKED_FOR_COMPACTION => {
            file.marked_for_compaction = field.single_byte("marked for compaction")? == 1;
        }
        OLDEST_BLOB_FILE => file.oldest_blob_file = non_zero(field.varint64("oldest blob file")?),
        OLDEST_ANCESTOR_TIME => {
            file.oldest_ancestor_time = non_zero(field.varint64("oldest ancestor time")?);
        }
        FILE_CREATION_TIME => {
            file.file_creation_time = non_zero(field.varint64("file creation time")?);
        }
        TEMPERATURE => {
            let temperature = field.single_byte("temperature")?;
            file.temperature = Some(temperature)
                .filter(|temperature| (1..=HIGHEST_TEMPERATURE).contains(temperature));
        }
        MIN_TIMESTAMP => file.min_timestamp = Some(field.rest().to_vec()),
        MAX_TIMESTAMP => file.max_timestamp = Some(field.rest().to_vec()),
        UNIQUE_ID => file.unique_id = Some(field.array("unique id")?),
        EPOCH_NUMBER => file.epoch_number = non_zero(field.varint64("epoch number")?),
        COMPENSATED_RANGE_DELETION_SIZE => {
            file.compensated_range_deletion_size = field.varint64("size of range tombstones")?;
        }
        TAIL_SIZE => file.tail_size = field.varint64("tail size")?,
        TIMESTAMPS_PERSISTED => {
            file.timestamps_persisted = field.single_byte("timestamps persisted")? == 1;
        }
        PATH_ID => {
            let path_id = field.single_byte("path id")?;
            if path_id > MAX_PATH_ID {
                return Err(Error::mismatch(
                    "the table's path id is out of range",
                    "0 to 3",
                    path_id,
                ));
            }
            file.path_id = u32::from(path_id);
        }
        _ if tag & NEEDED != 0 => {
            return Err(Error::unsupported(format!("the table has the unknown field {tag}")));
        }
        _ => {}
    }
    Ok(())
}

/// Encodes what follows the tag of the form: the level and the table. `Path` has not been written
/// since RocksDB has custom fields; its field is one of these.
pub(super) fn encode_new_file(
    form: NewFileForm,
    level: u32,
    file: &FileMetaData,
    out: &mut Encoder<'_>,
) {
    out.varint(u64::from(level));
    out.varint(file.number);
    out.varint(file.size);
    out.slice(&file.smallest);
    out.slice(&file.largest);
    if form >= NewFileForm::Sequences {
        out.varint(file.smallest_sequence.unwrap_or(0));
        out.varint(file.largest_sequence.unwrap_or(0));
    }
    if form == NewFileForm::Custom {
        encode_custom_fields(file, out);
    }
}

/// In the order in which RocksDB writes them.
fn encode_custom_fields(file: &FileMetaData, out: &mut Encoder<'_>) {
    out.number_field(OLDEST_ANCESTOR_TIME, file.oldest_ancestor_time.unwrap_or(0));
    out.number_field(FILE_CREATION_TIME, file.file_creation_time.unwrap_or(0));
    out.number_field(EPOCH_NUMBER, file.epoch_number.unwrap_or(0));
    if let Some((function, checksum)) = &file.file_checksum {
        out.field(FILE_CHECKSUM, checksum);
        out.field(FILE_CHECKSUM_FUNCTION, function.as_bytes());
    }
    if file.path_id != 0 {
        out.field(PATH_ID, &[file.path_id as u8]);
    }
    if let Some(temperature) = file.temperature {
        out.field(TEMPERATURE, &[temperature]);
    }
    if file.marked_for_compaction {
        out.field(MARKED_FOR_COMPACTION, &[1]);
    }
    if let Some(number) = file.oldest_blob_file {
        out.number_field(OLDEST_BLOB_FILE, number);
    }
    if let Some(id) = file.unique_id {
        out.field(UNIQUE_ID, &id);
    }
    if file.compensated_range_deletion_size != 0 {
        out.number_field(COMPENSATED_RANGE_DELETION_SIZE, file.compensated_range_deletion_size);
    }
    if file.tail_size != 0 {
        out.number_field(TAIL_SIZE, file.tail_size);
    }
    if !file.timestamps_persisted {
        out.field(TIMESTAMPS_PERSISTED, &[0]);
    }
    if let Some(timestamp) = &file.min_timestamp {
        out.field(MIN_TIMESTAMP, timestamp);
    }
    if let Some(timestamp) = &file.max_timestamp {
        out.field(MAX_TIMESTAMP, timestamp);
    }
    out.varint(u64::from(END));
}

/// The engine stores zero for unknown.
fn non_zero(number: u64) -> Option<u64> {
    (number != 0).then_some(number)
}
