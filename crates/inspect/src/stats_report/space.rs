//! What the space is used for.
//!
//! ```text
//! entries     | visible | older versions | covered | tombstones |
//! blob files  | values of visible entries | garbage              |
//!
//! space amplification = all of it / visible entries and their values
//! ```

use serde::Serialize;
use sstkit_db::raw::BlobFileMetaData;
use sstkit_db::{EntryCounts, EntryUse, FileAnalysis};

/// What the space is used for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SpaceReport {
    /// Entries that make up the visible state.
    pub visible: SpaceUse,
    /// Entries that newer ones of their key replace.
    pub older_versions: SpaceUse,
    /// Entries that range tombstones cover.
    pub covered: SpaceUse,
    /// Deletions of single keys.
    pub tombstones: SpaceUse,
    /// Blob files; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob_files: Option<BlobSpace>,
    /// Bytes of all entries and blob files per byte that is visible; `None` if nothing is.
    pub amplification: Option<f64>,
}

/// Entries of one use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SpaceUse {
    /// Entries.
    pub entries: u64,
    /// Bytes of their user keys and values before compression.
    pub bytes: u64,
    /// About how many stored bytes of data blocks they take: each file by its compression.
    pub stored_bytes: u64,
    /// Bytes of the values they refer to in blob files, as stored there.
    pub blob_bytes: u64,
}

/// Blob files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlobSpace {
    /// Their number.
    pub files: u64,
    /// Bytes of all their records.
    pub bytes: u64,
    /// Bytes of records that the MANIFEST counts as garbage.
    pub garbage_bytes: u64,
}

/// Bytes of keys and values that are not visible.
pub(super) fn garbage_bytes(counts: &EntryCounts) -> u64 {
    let hidden = EntryUse::ALL.iter().copied().filter(|&it| it != EntryUse::Visible);
    hidden.map(|it| counts.used_for(it).bytes).sum()
}

impl SpaceReport {
    pub(super) fn of(files: &[FileAnalysis]) -> Self {
        let used_for = |entry_use| {
            let mut sum = SpaceUse::default();
            for file in files {
                let counts = file.counts.used_for(entry_use);
                sum.entries += counts.entries;
                sum.bytes += counts.bytes;
                sum.blob_bytes = sum.blob_bytes.saturating_add(counts.blob_bytes);
                let stored = u128::from(file.data_bytes_in_range) * u128::from(counts.bytes);
                sum.stored_bytes += (stored / u128::from(file.counts.bytes().max(1))) as u64;
            }
            sum
        };
        let report = Self {
            visible: used_for(EntryUse::Visible),
            older_versions: used_for(EntryUse::OlderVersion),
            covered: used_for(EntryUse::Covered),
            tombstones: used_for(EntryUse::Tombstone),
            ..Self::default()
        };
        report.with_amplification()
    }

    pub(super) fn add_blob_files<'b>(&mut self, files: impl Iterator<Item = &'b BlobFileMetaData>) {
        let mut space = BlobSpace::default();
        for file in files {
            space.files += 1;
            space.bytes = space.bytes.saturating_add(file.blob_bytes);
            space.garbage_bytes = space.garbage_bytes.saturating_add(file.garbage_bytes);
        }
        self.blob_files = (space.files > 0).then_some(space);
        *self = std::mem::take(self).with_amplification();
    }

    fn with_amplification(mut self) -> Self {
        let visible = self.visible.bytes as f64 + self.visible.blob_bytes as f64;
        let uses = [self.visible, self.older_versions, self.covered, self.tombstones];
        let entries: f64 = uses.iter().map(|it| it.bytes as f64).sum();
        let blobs = match self.blob_files {
            Some(files) => files.bytes as f64,
            None => uses.iter().map(|it| it.blob_bytes as f64).sum(),
        };
        self.amplification = (visible > 0.0).then(|| (entries + blobs) / visible);
        self
    }
}
