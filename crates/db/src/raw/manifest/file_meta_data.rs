//! What a MANIFEST says about one file.

use sstkit_coding::debug_struct;

/// One table, as the MANIFEST knows it.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileMetaData {
    /// The number in its name.
    pub number: u64,
    /// Which of the column family's folders it is in, counted from 0.
    pub path_id: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Its first internal key, encoded.
    pub smallest: Vec<u8>,
    /// Its last internal key, encoded.
    pub largest: Vec<u8>,
    /// The smallest sequence number of its entries; unknown in LevelDB.
    pub smallest_sequence: Option<u64>,
    /// The largest sequence number of its entries; unknown in LevelDB. For an ingested table
    /// this is the number that all of its entries have.
    pub largest_sequence: Option<u64>,
    /// Newer files of level 0 have larger ones; unknown in files of older versions.
    pub epoch_number: Option<u64>,
    /// The oldest blob file that it refers to.
    pub oldest_blob_file: Option<u64>,
    /// Name of the function and checksum of the whole file.
    pub file_checksum: Option<(String, Vec<u8>)>,
    /// The file's unique id, in the engine's internal form.
    pub unique_id: Option<[u8; 16]>,
    /// The smallest user timestamp.
    pub min_timestamp: Option<Vec<u8>>,
    /// The largest user timestamp.
    pub max_timestamp: Option<Vec<u8>>,
    /// Whether the keys in the file, and so the bounds here, contain their timestamps.
    pub timestamps_persisted: bool,
    /// When the oldest data in it was written, in seconds since 1970.
    pub oldest_ancestor_time: Option<u64>,
    /// When the file was written, in seconds since 1970.
    pub file_creation_time: Option<u64>,
    /// How warm its storage is: the engine's number (4 hot, 8 warm, 10 cool, 12 cold, 16 ice).
    pub temperature: Option<u8>,
    /// Whether the engine wanted to compact it soon.
    pub marked_for_compaction: bool,
    /// Estimated bytes in lower levels that its range tombstones delete.
    pub compensated_range_deletion_size: u64,
    /// Bytes from the end of the data blocks to the end of the file.
    pub tail_size: u64,
}

debug_struct!(FileMetaData {
    number,
    path_id,
    size,
    smallest: bytes,
    largest: bytes,
    smallest_sequence,
    largest_sequence,
    epoch_number,
    oldest_blob_file,
    file_checksum: bytes,
    unique_id,
    min_timestamp: bytes,
    max_timestamp: bytes,
    timestamps_persisted,
    oldest_ancestor_time,
    file_creation_time,
    temperature,
    marked_for_compaction,
    compensated_range_deletion_size,
    tail_size
});

impl FileMetaData {
    /// A table with these bounds, of which nothing else is known.
    pub fn new(number: u64, size: u64, smallest: Vec<u8>, largest: Vec<u8>) -> Self {
        Self { number, size, smallest, largest, timestamps_persisted: true, ..Self::default() }
    }
}

/// One blob file, as the MANIFEST knows it.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobFileMetaData {
    /// The number in its name.
    pub number: u64,
    /// How many blobs it holds.
    pub blob_count: u64,
    /// How many bytes all its records take, without header and footer.
    pub blob_bytes: u64,
    /// Name of the function and checksum of the whole file.
    pub file_checksum: Option<(String, Vec<u8>)>,
    /// The number of its blobs that no table refers to.
    pub garbage_count: u64,
    /// How many bytes the records of those take.
    pub garbage_bytes: u64,
}

sstkit_coding::debug_struct!(BlobFileMetaData {
    number,
    blob_count,
    blob_bytes,
    file_checksum: bytes,
    garbage_count,
    garbage_bytes,
});

/// Blobs of one file that became garbage by an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobFileGarbage {
    /// Number of the blob file.
    pub number: u64,
    /// How many more blobs are garbage.
    pub count: u64,
    /// How many bytes their records take.
    pub bytes: u64,
}

/// A write-ahead log that is tracked in the MANIFEST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalAddition {
    /// The number in its name.
    pub number: u64,
    /// Synced size in bytes, if it was synced.
    pub synced_size: Option<u64>,
}
