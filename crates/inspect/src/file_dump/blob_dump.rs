//! Dumps a blob file.

use sstkit_db::file_system;
use sstkit_table::Source;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use sstkit_db::raw::{BlobFile, BlobRecord, FileName};
use sstkit_table::raw::Engine;

use super::{FileDumpOptions, FileRecord, Visitor};
use crate::encoding::Encoding;
use crate::names;
use crate::record::{BlobReference, JsonRecord};
use crate::verify::VerifyReport;

/// The header of a blob file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlobFileHeaderRecord {
    /// The id of the column family.
    pub column_family: u32,
    /// The codec of all values.
    pub compression: String,
    /// The size of the file in bytes.
    pub size: u64,
}

/// A value of a blob file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlobValueRecord {
    /// The offset of the record's header.
    pub offset: u64,
    /// The offset of the value: what a blob index names.
    pub value_offset: u64,
    /// The size of the value as stored: what a blob index names.
    pub stored_size: u64,
    /// The size of the value, decompressed.
    pub value_size: u64,
    /// The user key, with its timestamp if it has one.
    pub key: String,
    /// The value.
    pub value: String,
}

impl BlobValueRecord {
    fn of(record: &BlobRecord, encoding: Encoding) -> Self {
        Self {
            offset: record.offset,
            value_offset: record.value_offset,
            stored_size: record.stored_size,
            value_size: record.value.len() as u64,
            key: encoding.encode(&record.key),
            value: encoding.encode(&record.value),
        }
    }
}

/// Shows the header, all values up to the first damage, and the footer.
pub(super) fn dump_blobs(
    path: &Path,
    options: &FileDumpOptions,
    visit: Visitor<'_>,
) -> io::Result<VerifyReport> {
    let mut count = 0;
    let dumped = read_blobs(path, |part| {
        match part {
            BlobPart::Header(file) => {
                let header = file.header();
                visit(&FileRecord::BlobHeader(BlobFileHeaderRecord {
                    column_family: header.column_family,
                    compression: names::codec(Engine::RocksDb, header.codec),
                    size: file.size(),
                }))?;
            }
            BlobPart::Value(_, record) => {
                count += 1;
                visit(&FileRecord::Blob(BlobValueRecord::of(&record, options.encoding)))?;
            }
            BlobPart::Footer(blobs) => visit(&FileRecord::BlobFooter { blobs })?,
        }
        Ok::<_, io::Error>(true)
    })?;
    let report = report_of(path, dumped, count);
    report.problems.iter().try_for_each(|problem| visit(&problem.into()))?;
    Ok(report)
}

/// Shows each value of a blob file to `visit`, in file order, until it returns `false`. Returns what
/// verification found up to there.
///
/// # Errors
///
/// Fails if `visit` does. Everything else is in the report.
pub fn scan_blob_file<E>(
    path: &Path,
    options: &FileDumpOptions,
    mut visit: impl FnMut(JsonRecord) -> Result<bool, E>,
) -> Result<VerifyReport, E> {
    let name = path.file_name().and_then(|name| name.to_str()).map(FileName::parse);
    let number = match name {
        Some(FileName::Blob(number)) => number,
        _ => 0,
    };
    let mut count = 0;
    let scanned = read_blobs(path, |part| {
        let BlobPart::Value(column_family, record) = part else { return Ok(true) };
        count += 1;
        let blob =
            BlobReference { file: number, offset: record.value_offset, size: record.stored_size };
        visit(JsonRecord {
            kind: Some("blob"),
            column_family: Some(column_family),
            blob: Some(blob),
            ..JsonRecord::of_value(&record.key, &record.value, options.encoding)
        })
    })?;
    Ok(report_of(path, scanned, count))
}

enum BlobPart<'a> {
    Header(&'a BlobFile<Arc<dyn Source>>),
    Value(u32, BlobRecord),
    Footer(u64),
}

/// Reads the parts of a blob file until `see` returns `false`. The inner error is one of the file.
fn read_blobs<E>(
    path: &Path,
    mut see: impl FnMut(BlobPart<'_>) -> Result<bool, E>,
) -> Result<sstkit_db::Result<()>, E> {
    let open = |path: &Path| Ok::<_, sstkit_db::Error>(file_system::open(path)?.into_source());
    // What is wrong with the footer is known after the values.
    let footer = open(path).and_then(BlobFile::open_any).map(drop);
    let file = match open(path).and_then(BlobFile::open_any_unfinished) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    if !see(BlobPart::Header(&file))? {
        return Ok(Ok(()));
    }
    for record in file.records() {
        match record {
            Ok(record) => {
                if !see(BlobPart::Value(file.header().column_family, record))? {
                    return Ok(Ok(()));
                }
            }
            Err(error) => return Ok(Err(footer.err().unwrap_or(error))),
        }
    }
    if let Some(blobs) = file.blob_count() {
        see(BlobPart::Footer(blobs))?;
    }
    Ok(footer)
}

fn report_of(path: &Path, result: sstkit_db::Result<()>, entries: u64) -> VerifyReport {
    let (name, kind) = (path.display().to_string(), sstkit_db::FileKind::BlobFile.name());
    let mut report = match result {
        Ok(()) => VerifyReport { file: name, kind, sound: true, ..VerifyReport::default() },
        Err(error) => VerifyReport::of_error(name, kind, &error.in_file(path)),
    };
    report.entries = entries;
    report
}
