//! Blob files that are taken over by a new database, with their garbage recounted.
//!
//! ```text
//! blob file   key a | key b | key c | key d       4 blobs
//! tables      a ----^       c ------^             2 of them are referred to: 2 are garbage
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use sstkit_table::raw::EntryKind;

use crate::column_family_data::ColumnFamilyData;
use crate::database_writer::{DatabaseWriter, FileSource, each_blob_reference};
use crate::error::{Error, Result};
use crate::raw::BlobRecord;

/// References to a blob file.
#[derive(Clone, Copy, Debug, Default)]
struct References {
    count: u64,
    /// Bytes of the records in the blob file.
    bytes: u64,
}

/// The blob files that tables refer to, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct BlobReferences(BTreeMap<u64, References>);

impl BlobReferences {
    /// Adds what an entry refers to.
    pub(super) fn add(&mut self, user_key: &[u8], kind: EntryKind, value: &[u8]) -> Result<()> {
        each_blob_reference(kind, value, |number, size| {
            let references = self.0.entry(number).or_default();
            references.count += 1;
            references.bytes += BlobRecord::stored_length(user_key, size);
        })
    }

    pub(super) fn append(&mut self, other: &Self) {
        for (number, more) in &other.0 {
            let references = self.0.entry(*number).or_default();
            references.count += more.count;
            references.bytes += more.bytes;
        }
    }

    /// Adds all files that are referred to, and returns how many these are.
    pub(super) fn take_over(
        &self,
        family: &Arc<ColumnFamilyData>,
        writer: &mut DatabaseWriter,
        column_family: u32,
    ) -> Result<u64> {
        if !self.0.is_empty() && column_family != family.id {
            return Err(Error::invalid_input(format!(
                "blob files contain the id of their column family: {} cannot become {column_family}",
                family.id
            )));
        }
        for (&number, live) in &self.0 {
            let mut metadata = family.listed_blob_file(number).cloned().unwrap_or_default();
            metadata.garbage_count = metadata.blob_count.saturating_sub(live.count);
            metadata.garbage_bytes = metadata.blob_bytes.saturating_sub(live.bytes);
            let source = FileSource::Link(family.blobs.path(number));
            writer.add_blob_file(column_family, number, &source, Some(metadata))?;
        }
        Ok(self.0.len() as u64)
    }
}
