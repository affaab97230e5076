//! What the MANIFEST says about a table, read from the table.
//!
//! ```text
//! points          [ b@7 … k@3 ]                smallest  b@7, or the start of a range tombstone
//! range tombstone    [d ======= p)@5           largest   k@3, or p@max: an end that is not in it
//! ```

use sstkit_coding::fixed::put_fixed64;
use sstkit_table::raw::{
    BlobIndex, ColumnValue, EntryKind, InternalKey, MAX_SEQUENCE_NUMBER, Properties,
    decode_wide_columns, property_names as names,
};
use sstkit_table::{Comparator, RangeTombstone, Table, UniqueId};

use super::levels::compare_internal;
use super::live_blobs::LiveBlobs;
use crate::error::{Error, Result};
use crate::raw::FileMetaData;

impl FileMetaData {
    /// What a MANIFEST says about a table: bounds, sequence numbers, the oldest blob file, and what
    /// its properties tell. Reads the whole table. Number and level are not in the table.
    ///
    /// # Errors
    ///
    /// Fails if the table has no entries, or keys without sequence numbers.
    pub fn of_table(table: &Table) -> Result<Self> {
        if !table.has_internal_keys() {
            return Err(Error::unsupported(
                "the table has keys without sequence numbers, which no database has: rewrite it \
                 with sst compact",
            ));
        }
        let mut bounds = TableBounds::default();
        let mut cursor = table.entry_cursor();
        let mut is_valid = cursor.seek_to_first()?;
        while is_valid {
            bounds.point(&cursor.key());
            bounds.blobs(&cursor.key(), cursor.value())?;
            is_valid = cursor.next()?;
        }
        // Without a known order the bounds of points have to do.
        if let Ok(comparator) = table.comparator() {
            let ranges = table.range_deletions().iter();
            ranges.for_each(|range| bounds.range(range, comparator));
        }
        bounds
            .metadata(table.properties(), table.size())
            .ok_or_else(|| Error::invalid_input("the table has no entries"))
    }
}

impl FileMetaData {
    /// Sets what differs between two files with the same entries: size, unique id, size of the tail.
    pub(crate) fn describe_file(&mut self, properties: &Properties, size: u64) {
        self.size = size;
        self.unique_id = unique_id(properties);
        let tail = properties.number(names::TAIL_START_OFFSET);
        self.tail_size = tail.and_then(|start| size.checked_sub(start)).unwrap_or(0);
    }
}

/// The unique id of a table, as a MANIFEST has it.
pub(crate) fn unique_id(properties: &Properties) -> Option<[u8; 16]> {
    let id = UniqueId::of(properties)?;
    let mut bytes = Vec::with_capacity(16);
    id.internal().into_iter().for_each(|word| put_fixed64(&mut bytes, word));
    bytes.try_into().ok()
}

/// Calls `visit` with each reference of an entry to a blob file, and the number of the file.
pub(crate) fn each_blob_reference(
    kind: EntryKind,
    value: &[u8],
    mut visit: impl FnMut(u64, &BlobIndex<'_>),
) -> Result<()> {
    let mut index = |index: &BlobIndex<'_>| {
        if let BlobIndex::Stored { file: file @ 1.., .. } = index {
            visit(*file, index);
        }
    };
    match kind {
        EntryKind::BlobIndex => index(&BlobIndex::decode_from(value)?),
        EntryKind::WideColumnEntity => {
            for column in decode_wide_columns(value)? {
                if let ColumnValue::Blob(blob) = &column.value {
                    index(blob);
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// The internal keys and sequence numbers of a table, entry by entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableBounds {
    smallest: Option<Vec<u8>>,
    largest: Option<Vec<u8>>,
    /// The smallest and the largest number.
    sequences: Option<(u64, u64)>,
    live_blobs: LiveBlobs,
}

impl TableBounds {
    /// Adds a point entry, in order.
    pub(crate) fn point(&mut self, key: &InternalKey<'_>) {
        self.sequence(key.sequence);
        let largest = self.largest.get_or_insert_default();
        largest.clear();
        key.encode_to(largest);
        if self.smallest.is_none() {
            self.smallest = Some(largest.clone());
        }
    }

    /// The smallest and the largest user key of the points, before range tombstones are added.
    pub(crate) fn user_keys(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let user_key =
            |key: &Vec<u8>| key[..key.len().saturating_sub(InternalKey::TAIL_LENGTH)].to_vec();
        self.smallest.as_ref().map(user_key).zip(self.largest.as_ref().map(user_key))
    }

    /// Adds what a point entry refers to.
    pub(crate) fn blobs(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        self.live_blobs.add_entry(key.user_key, key.kind, value)
    }

    /// The blobs that the entries refer to.
    pub(crate) fn live_blobs(&self) -> &LiveBlobs {
        &self.live_blobs
    }

    /// Adds a range tombstone, in any order, after the points.
    pub(crate) fn range(&mut self, range: &RangeTombstone, comparator: &Comparator) {
        self.sequence(range.sequence);
        let key = |user_key: &[u8], sequence: u64| {
            let mut key = [user_key, &range.timestamp].concat();
            put_fixed64(&mut key, sequence << 8 | EntryKind::RangeDeletion as u64);
            key
        };
        let start = key(&range.start, range.sequence);
        let end = key(&range.end, MAX_SEQUENCE_NUMBER);
        let has_timestamps = range.timestamp.len() == comparator.timestamp_size();
        let less = |a: &[u8], b: &[u8]| compare_internal(a, b, comparator, has_timestamps).is_lt();
        if self.smallest.as_ref().is_none_or(|smallest| less(&start, smallest)) {
            self.smallest = Some(start);
        }
        if self.largest.as_ref().is_none_or(|largest| less(largest, &end)) {
            self.largest = Some(end);
        }
    }

    /// The smallest and the largest sequence number.
    pub(crate) fn sequences(&self) -> Option<(u64, u64)> {
        self.sequences
    }

    fn sequence(&mut self, number: u64) {
        let (low, high) = self.sequences.unwrap_or((number, number));
        self.sequences = Some((low.min(number), high.max(number)));
    }

    /// What a MANIFEST says about a table of this size with these bounds and properties; `None`
    /// without entries.
    pub(crate) fn metadata(self, properties: &Properties, size: u64) -> Option<FileMetaData> {
        let (smallest, largest) = self.smallest.zip(self.largest)?;
        let mut metadata = FileMetaData::new(0, size, smallest, largest);
        metadata.smallest_sequence = self.sequences.map(|(smallest, _)| smallest);
        metadata.largest_sequence = self.sequences.map(|(_, largest)| largest);
        metadata.oldest_blob_file = self.live_blobs.numbers().next();
        metadata.timestamps_persisted = properties.has_persisted_timestamps();
        let time = |name| properties.number(name).filter(|&time| time != 0);
        metadata.oldest_ancestor_time = time(names::CREATION_TIME);
        metadata.file_creation_time = time(names::FILE_CREATION_TIME);
        metadata.describe_file(properties, size);
        Some(metadata)
    }
}
