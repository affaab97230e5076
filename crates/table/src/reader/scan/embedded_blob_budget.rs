//! How much of embedded blobs one pass over a table may show.
//!
//! ```text
//! entries    a -> blob 0    b -> blob 1    c -> blob 2       each blob belongs to one entry
//! forged     a -> blob 0    b -> blob 0    c -> blob 0 …     a few bytes each, and all of the file again
//! ```
//!
//! Blobs of different entries do not overlap, so that those of all entries together are no longer than
//! the file. What is more is refused.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::raw::EntryKind;
use crate::reader::scan::embedded_blobs::embedded_blobs;

/// Counts the bytes of embedded blobs that a pass over the entries of some tables shows, and refuses
/// more of them than the files have. For those who go through entries and [resolve](crate::Table::resolve)
/// their values; cursors do it by themselves.
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

    /// Another pass begins.
    pub fn restart(&self) {
        self.left.store(self.total, Ordering::Relaxed);
    }

    /// Counts the blobs of an entry that lie in its own file.
    ///
    /// # Errors
    ///
    /// Damage, if there are more than the file has room for, or if the value cannot be decoded.
    pub fn spend(&self, kind: EntryKind, value: &[u8]) -> Result<()> {
        if !matches!(kind, EntryKind::BlobIndex | EntryKind::WideColumnEntity) {
            return Ok(());
        }
        let blobs = embedded_blobs(kind, value)?;
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
