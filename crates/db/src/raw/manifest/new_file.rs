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
    Ok((level, file))
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
            3 => {
                let number = field.array("log number to keep")?;
                *min_log_number_to_keep = Some(decode_fixed64(number));
            }
            7 => checksum = field.rest().to_vec(),
            8 => function = field.rest_as_text(),
            _ => decode_custom_field(tag, &mut field, file)?,
        }
    }
    // The engine's name for a file without a checksum.
    if !function.is_empty() && function != "Unknown" {
        file.file_checksum = Some((function, checksum));
    }
    Ok(())
}

fn decode_custom_field(tag: u32, field: &mut Fields<'_>, file: &mut FileMetaData) -> Result<()> {
    match tag {
        2 => file.marked_for_compaction = field.single_byte("marked for compaction")? == 1,
        4 => file.oldest_blob_file = non_zero(field.varint64("oldest blob file")?),
        5 => file.oldest_ancestor_time = non_zero(field.varint64("oldest ancestor time")?),
        6 => file.file_creation_time = non_zero(field.varint64("file creation time")?),
        9 => {
            let temperature = field.single_byte("temperature")?;
            file.temperature = Some(temperature)
                .filter(|temperature| (1..=HIGHEST_TEMPERATURE).contains(temperature));
        }
        10 => file.min_timestamp = Some(field.rest().to_vec()),
        11 => file.max_timestamp = Some(field.rest().to_vec()),
        12 => file.unique_id = Some(field.array("unique id")?),
        13 => file.epoch_number = non_zero(field.varint64("epoch number")?),
        14 => {
            file.compensated_range_deletion_size = field.varint64("size of range tombstones")?;
        }
        15 => file.tail_size = field.varint64("tail size")?,
        16 => file.timestamps_persisted = field.single_byte("timestamps persisted")? == 1,
        65 => {
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

/// The engine stores zero for unknown.
fn non_zero(number: u64) -> Option<u64> {
    (number != 0).then_some(number)
}
