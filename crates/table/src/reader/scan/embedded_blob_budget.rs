//! Limits the embedded blobs that one pass over a table may read.
//!
//! ```text
//! entries    a -> blob 0    b -> blob 1    c -> blob 2       each blob belongs to one entry
//! forged     a -> blob 0    b -> blob 0    c -> blob 0 …     a few bytes each, and all of the file again
//! ```
//!
//! Blobs of different entries do not overlap, so those of all entries together are not larger than
//! the file. More are rejected.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::raw::EntryKind;
use crate::reader::scan::embedded_blobs::embedded_blobs;

/// Counts the bytes of embedded blobs that a pass over the entries of some tables reads, and
/// rejects more of them than the files have. For callers that iterate over entries and
/// [resolve](crate::Table::resolve) their values; cursors do it themselves.
///
/// ```
/// use sstkit_table::EmbeddedBlobBudget;
/// use sstkit_table::raw::{BlobIndex, EntryKind};
///
/// let budget = EmbeddedBlobBudget::new(1000); // bytes of the file
/// let mut reference = Vec::new();
/// let index = BlobIndex::Stored { expiration: None, file: 0, offset: 0, size: 600, codec: 0 };
/// index.encode_to(&mut reference);
/// assert!(budget.spend(EntryKind::BlobIndex, &reference).is_ok());
/// assert!(budget.spend(EntryKind::BlobIndex, &reference).is_err()); // the same bytes again
/// ```
#[derive(Debug)]
pub struct EmbeddedBlobBudget {
    total: u64,
    left: AtomicU64,
}

impl EmbeddedBlobBudget {
    /// For tables of this total size.
    pub fn new(file_bytes: u64) -> Self {
        Self { total: file_bytes, left: AtomicU64::new(file_bytes) }
    }

    /// Starts another pass.
    pub fn restart(&self) {
        self.left.store(self.total, Ordering::Relaxed);
    }

    /// Counts the blobs of an entry that are in its own file.
    ///
    /// # Errors
    ///
    /// Corruption if there are more than the file can contain, or if the value cannot be decoded.
    pub fn spend(&self, kind: EntryKind, value: &[u8]) -> Result<()> {
        if !matches!(kind, EntryKind::BlobIndex | EntryKind::WideColumnEntity) {
            return Ok(());
        }
        let blobs = match embedded_blobs(kind, value) {
            // A reference into files of another engine.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
            blobs => blobs?,
        };
        let bytes = blobs.iter().fold(0u64, |sum, blob| sum.saturating_add(blob.size));
        let spent = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        match spent {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::mismatch(
                "entries share embedded blobs: their total size exceeds the file size",
                format_args!("{} or less", self.total),
                "more",
            )),
        }
    }
}
