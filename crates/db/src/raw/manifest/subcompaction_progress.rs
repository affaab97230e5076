//! How far a compaction has come: the only field of the edits in `COMPACTION_PROGRESS-` files.
//!
//! ```text
//! subcompaction                              level that is written
//! 1 end                                      1 end
//! 2 next key         lp internal key         2 new files        lp of: v count, then each as lp of
//! 3 input records    lp of v                                    v 103 and the table, level 0xffffffff
//! 4 output level     lp of a level           3 output records   lp of v
//! 5 proximal level   lp of a level
//! bit 16 of a tag: a reader that does not know the field may skip it
//! ```
//!
//! A compaction service that is interrupted resumes from the last edit. Files are those that were
//! finished since the edit before.

use super::encoder::Encoder;
use super::fields::Fields;
use super::file_meta_data::FileMetaData;
use super::new_file::{NewFileForm, decode_new_table, encode_new_file};
use super::tag;
use crate::error::{Error, Result};

const END: u32 = 1;
const NEXT_KEY: u32 = 2;
const INPUT_RECORDS: u32 = 3;
const OUTPUT_LEVEL: u32 = 4;
const PROXIMAL_OUTPUT_LEVEL: u32 = 5;
const NEW_FILES: u32 = 2;
const OUTPUT_RECORDS: u32 = 3;
const MAY_BE_SKIPPED: u32 = 1 << 16;
/// Tables of an unfinished compaction are in no level: -1.
const NO_LEVEL: u32 = u32::MAX;

/// How far a compaction has come.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubcompactionProgress {
    /// The internal key from which it continues.
    pub next_key: Option<Vec<u8>>,
    /// The number of entries that it has read.
    pub input_records: u64,
    /// What it has written.
    pub output: OutputLevelProgress,
    /// What it has written to the level above the output level.
    pub proximal_output: OutputLevelProgress,
}

sstkit_coding::debug_struct!(SubcompactionProgress {
    next_key: bytes,
    input_records,
    output,
    proximal_output,
});

/// What a compaction has written to a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputLevelProgress {
    /// The number of entries in all files so far.
    pub records: u64,
    /// The files that were finished since the edit before.
    pub new_files: Vec<FileMetaData>,
}

impl SubcompactionProgress {
    pub(super) fn decode_from(fields: &mut Fields<'_>) -> Result<Self> {
        let mut progress = Self::default();
        each_field(fields, |tag, field| {
            match tag {
                NEXT_KEY => progress.next_key = Some(field.rest().to_vec()),
                INPUT_RECORDS => progress.input_records = field.varint64("input records")?,
                OUTPUT_LEVEL => progress.output = OutputLevelProgress::decode_from(field)?,
                PROXIMAL_OUTPUT_LEVEL => {
                    progress.proximal_output = OutputLevelProgress::decode_from(field)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(progress)
    }

    pub(super) fn encode_to(&self, out: &mut Encoder<'_>) {
        if let Some(key) = &self.next_key {
            out.field(NEXT_KEY, key);
        }
        out.number_field(INPUT_RECORDS, self.input_records);
        for (tag, level) in
            [(OUTPUT_LEVEL, &self.output), (PROXIMAL_OUTPUT_LEVEL, &self.proximal_output)]
        {
            if !level.new_files.is_empty() {
                let mut bytes = Vec::new();
                level.encode_to(&mut Encoder::new(&mut bytes));
                out.field(tag, &bytes);
            }
        }
        out.tag(END);
    }
}

impl OutputLevelProgress {
    fn decode_from(fields: &mut Fields<'_>) -> Result<Self> {
        let mut progress = Self::default();
        each_field(fields, |tag, field| {
            match tag {
                NEW_FILES => progress.new_files = decode_files(field)?,
                OUTPUT_RECORDS => progress.records = field.varint64("output records")?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(progress)
    }

    fn encode_to(&self, out: &mut Encoder<'_>) {
        if self.records > 0 {
            out.number_field(OUTPUT_RECORDS, self.records);
        }
        let mut files = Vec::new();
        let list = &mut Encoder::new(&mut files);
        list.varint(self.new_files.len() as u64);
        for file in &self.new_files {
            let mut bytes = Vec::new();
            let table = &mut Encoder::new(&mut bytes);
            table.tag(tag::NEW_FILE4);
            encode_new_file(NewFileForm::Custom, NO_LEVEL, file, table);
            list.slice(&bytes);
        }
        out.field(NEW_FILES, &files);
        out.tag(END);
    }
}

fn decode_files(fields: &mut Fields<'_>) -> Result<Vec<FileMetaData>> {
    let count = fields.varint32("number of files")?;
    // Not reserved: the count is not proven by bytes.
    let mut files = Vec::new();
    for _ in 0..count {
        let mut table = fields.inner("file of a compaction")?;
        let found = table.varint32("tag")?;
        if found != tag::NEW_FILE4 {
            return Err(Error::mismatch(
                "a compaction's file has a wrong tag",
                tag::NEW_FILE4,
                found,
            ));
        }
        table.varint32("level")?;
        files.push(decode_new_table(NewFileForm::Custom, &mut table, &mut None)?);
    }
    Ok(files)
}

/// Passes tags and fields to `decode` until they end. It returns false for an unknown tag.
fn each_field<'a>(
    fields: &mut Fields<'a>,
    mut decode: impl FnMut(u32, &mut Fields<'a>) -> Result<bool>,
) -> Result<()> {
    loop {
        let tag = fields.varint32("tag of a compaction's progress")?;
        if tag == END {
            return Ok(());
        }
        let mut field = fields.inner("field of a compaction's progress")?;
        if !decode(tag, &mut field)? && tag & MAY_BE_SKIPPED == 0 {
            return Err(Error::unsupported(format!(
                "the progress of a compaction has the unknown field {tag}"
            )));
        }
    }
}
