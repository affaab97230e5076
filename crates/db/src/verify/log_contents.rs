//! What a write-ahead log contains, counted while it is verified; and verifying a MANIFEST.

use std::collections::BTreeMap;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use sstkit_table::raw::{BlobIndex, Engine, EntryKind, decode_wide_columns};

use super::log_file::{LogFile, open};
use super::report::FileVerification;
use crate::error::Result;
use crate::file_kind::FileKind;
use crate::file_system;
use crate::raw::{ManifestState, PredecessorWal, WriteBatch, WriteRecord};

/// The column families that are counted one by one. A forged log could name any number.
const MAX_FAMILIES: usize = 10_000;

/// The header of a record. The rest of a block that is shorter is filled with zeros.
const HEADER_SIZE: u64 = 7;

/// What a write-ahead log contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogContents {
    /// The smallest and largest sequence number, if there are writes.
    pub sequences: Option<(u64, u64)>,
    /// The number of records: write batches.
    pub batches: u64,
    /// The number of physical records that they are stored in.
    pub fragments: u64,
    /// The number of writes of each kind.
    pub writes: BTreeMap<EntryKind, u64>,
    /// The number of writes to each column family, by id; the first 10,000 that occur.
    pub column_families: BTreeMap<u32, u64>,
    /// Transactions that were prepared.
    pub prepared: u64,
    /// Transactions that were committed.
    pub committed: u64,
    /// Transactions that were rolled back.
    pub rolled_back: u64,
    /// Whether the file was used by another log before, or may be.
    pub is_recycled: bool,
    /// Whether records are compressed.
    pub is_compressed: bool,
    /// The sizes of user timestamps, by column family.
    pub timestamp_sizes: BTreeMap<u32, u16>,
    /// What it says about the log before it.
    pub predecessor: Option<PredecessorWal>,
}

impl LogContents {
    fn add(&mut self, batch: &WriteBatch<'_>) {
        if let Some(further) = u64::from(batch.count()).checked_sub(1) {
            let (first, last) = (batch.sequence(), batch.sequence().saturating_add(further));
            let (smallest, largest) = self.sequences.unwrap_or((first, last));
            self.sequences = Some((smallest.min(first), largest.max(last)));
        }
        for record in batch.records() {
            match record {
                WriteRecord::Write(write) => {
                    *self.writes.entry(write.kind).or_default() += 1;
                    let is_full = self.column_families.len() >= MAX_FAMILIES;
                    if !is_full || self.column_families.contains_key(&write.column_family) {
                        *self.column_families.entry(write.column_family).or_default() += 1;
                    }
                }
                WriteRecord::EndPrepare(_) => self.prepared += 1,
                WriteRecord::Commit(_) | WriteRecord::CommitWithTimestamp { .. } => {
                    self.committed += 1;
                }
                WriteRecord::Rollback(_) => self.rolled_back += 1,
                _ => {}
            }
        }
    }
}

/// Verifies all records of a write-ahead log and the write batches in them.
pub(super) fn verify_log(
    path: &Path,
    engine: Engine,
    max_log_memory: Option<u64>,
    report: &mut FileVerification,
) -> LogContents {
    let mut contents = LogContents::default();
    match LogFile::open(path, FileKind::Log, engine, max_log_memory) {
        Ok(mut log) => {
            let mut end = Some(0);
            log.verify_records(|record| {
                // Of a long record not all fragments are kept.
                let last = record
                    .fragments
                    .last()
                    .filter(|_| record.fragments.len() as u64 == record.fragment_count);
                end = last.map(|it| it.offset + u64::from(it.length));
                contents.batches += 1;
                contents.fragments += record.fragment_count;
                verify_batch(record.payload, engine, &mut contents)
            });
            contents.is_recycled = log.reader().is_recycled();
            contents.is_compressed = log.reader().is_compressed();
            contents.timestamp_sizes = log.reader().timestamp_sizes().clone();
            contents.predecessor = log.reader().predecessor();
            report.absorb(log.finish());
            report.notes.extend(end.and_then(|end| zeros_behind(path, end)));
        }
        Err(error) => report.add(&error.in_file(path)),
    }
    report.entries += contents.writes.values().sum::<u64>();
    contents
}

/// What is said about a log with nothing but zeros behind its last record: what engines take for its end.
fn zeros_behind(path: &Path, end: u64) -> Option<String> {
    let mut file = file_system::open(path).ok()?;
    let length = file.size().ok()?.checked_sub(end).filter(|&it| it >= HEADER_SIZE)?;
    file.seek(SeekFrom::Start(end)).ok()?;
    let bytes = BufReader::new(file.take(length)).bytes();
    let is_zeros = bytes.into_iter().all(|byte| byte.is_ok_and(|byte| byte == 0));
    is_zeros.then(|| {
        format!(
            "{}: {length} bytes of zeros at offset {end}, up to the end: preallocated, or overwritten, \
             and then writes are lost",
            path.display()
        )
    })
}

fn verify_batch(payload: &[u8], engine: Engine, contents: &mut LogContents) -> Result<()> {
    let batch = WriteBatch::decode_from(payload, engine)?;
    contents.add(&batch);
    for record in batch.records() {
        let WriteRecord::Write(write) = record else { continue };
        match write.kind {
            EntryKind::BlobIndex => BlobIndex::decode_from(write.value).map(drop)?,
            EntryKind::WideColumnEntity => decode_wide_columns(write.value).map(drop)?,
            _ => {}
        }
    }
    Ok(())
}

/// Verifies all records of a log of edits, and the edits in them.
pub(super) fn verify_edits(
    path: &Path,
    kind: FileKind,
    engine: Engine,
    report: &mut FileVerification,
) {
    match LogFile::open(path, kind, engine, None) {
        Ok(mut log) => {
            log.verify_records(|_| {
                report.entries += 1;
                Ok(())
            });
            report.absorb(log.finish());
        }
        Err(error) => report.add(&error.in_file(path)),
    }
}

/// Verifies all records of a MANIFEST and the edits in them. Returns the state that they add up to,
/// if they do.
pub(super) fn verify_manifest(
    path: &Path,
    engine: Engine,
    report: &mut FileVerification,
) -> Option<ManifestState> {
    verify_edits(path, FileKind::Manifest, engine, report);
    match open(path).and_then(|file| ManifestState::replay(file, engine)) {
        Ok(state) => Some(state),
        Err(error) => {
            // Damage to records has been reported already.
            if report.is_sound() {
                report.add(&error.in_file(path));
            }
            None
        }
    }
}
