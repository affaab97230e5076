//! The properties of a table: a block of names and values, written by the engine and by the user's
//! collectors.
//!
//! ```text
//! rocksdb.block.based.table.index.type     00 00 00 00                 fixed32
//! rocksdb.comparator                       leveldb.BytewiseComparator  text
//! rocksdb.external_sst_file.global_seqno   00 00 00 00 00 00 00 00     fixed64
//! rocksdb.num.entries                      E8 07                       varint64: 1000
//! rocksdb.block.based.table.prefix.filtering   30                      "0" or "1"
//! mine.whatever                            …                           the user's own
//! ```
//!
//! As in the engines, a number that is not readable counts as absent, and unknown names
//! are kept as they are.

pub mod names;

use sstkit_coding::fixed::{get_fixed32, get_fixed64};
use sstkit_coding::varint::get_varint64;

use self::names::PropertyEncoding;
#[cfg(feature = "write")]
use super::block::{BlockBuilder, BlockFormat};
use super::internal_key::MAX_SEQUENCE_NUMBER;
use super::named_entries;
use crate::error::{Error, Result};

/// One restart point: the block is read from its beginning to its end, never searched.
#[cfg(feature = "write")]
const RESTART_INTERVAL: usize = i32::MAX as usize;

/// The properties of a table, in the order of their names. LevelDB's tables have none.
#[derive(Clone, Default)]
pub struct Properties {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
}

sstkit_coding::debug_struct!(Properties { entries: bytes });

impl Properties {
    /// Decodes the contents of a properties block.
    pub fn decode_from(contents: &[u8]) -> Result<Self> {
        Ok(Self { entries: named_entries::decode(contents)? })
    }

    /// Sets the value called `name`, as it is to be stored.
    pub fn insert(&mut self, name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        let (name, value) = (name.into(), value.into());
        match self.entries.binary_search_by(|(entry, _)| entry.cmp(&name)) {
            Ok(found) => self.entries[found].1 = value,
            Err(place) => self.entries.insert(place, (name, value)),
        }
    }

    #[cfg(feature = "write")]
    pub(crate) fn remove(&mut self, name: &str) {
        self.entries.retain(|(entry, _)| entry != name.as_bytes());
    }

    /// The contents of the properties block.
    #[cfg(feature = "write")]
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut block = BlockBuilder::new(BlockFormat::plain(RESTART_INTERVAL));
        for (name, value) in self.iter() {
            block.add(name, value);
        }
        Ok(block.finish()?.contents)
    }

    /// The value called `name`, as stored.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let name = name.as_ref();
        let found = self.entries.binary_search_by(|(entry, _)| entry.as_slice().cmp(name)).ok()?;
        Some(&self.entries[found].1)
    }

    /// All names and values, as stored.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
    }

    /// Those of the user's collectors: all that the engine does not know itself.
    pub fn user(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.iter().filter(|(name, _)| names::encoding(name).is_none())
    }

    /// A number stored as varint64, fixed32, fixed64 or digit, whichever `name` has; `None` if it
    /// is absent, not readable, or not a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        let mut value = self.get(name)?;
        match names::encoding(name.as_bytes())? {
            PropertyEncoding::Varint => get_varint64(&mut value),
            PropertyEncoding::Fixed32 => get_fixed32(&mut value).map(u64::from),
            PropertyEncoding::Fixed64 => get_fixed64(&mut value),
            PropertyEncoding::Digit => match value {
                b"0" => Some(0),
                b"1" => Some(1),
                _ => None,
            },
            PropertyEncoding::Text => None,
        }
    }

    /// The name of the comparator.
    pub fn comparator(&self) -> Option<&[u8]> {
        self.get(names::COMPARATOR)
    }

    /// Points and range deletions.
    pub fn num_entries(&self) -> u64 {
        self.number(names::NUM_ENTRIES).unwrap_or(0)
    }

    /// Range deletions.
    pub fn num_range_deletions(&self) -> u64 {
        self.number(names::NUM_RANGE_DELETIONS).unwrap_or(0)
    }

    /// Data blocks.
    pub fn num_data_blocks(&self) -> u64 {
        self.number(names::NUM_DATA_BLOCKS).unwrap_or(0)
    }

    /// Bytes of all internal keys, range deletions' among them.
    pub fn raw_key_size(&self) -> u64 {
        self.number(names::RAW_KEY_SIZE).unwrap_or(0)
    }

    /// Bytes of all values as stored, the end keys of range deletions among them.
    pub fn raw_value_size(&self) -> u64 {
        self.number(names::RAW_VALUE_SIZE).unwrap_or(0)
    }

    /// Whether index keys are user keys, without sequence number and kind.
    pub fn index_key_is_user_key(&self) -> bool {
        self.flag(names::INDEX_KEY_IS_USER_KEY)
    }

    /// Whether index values are stored as differences.
    pub fn index_value_is_delta_encoded(&self) -> bool {
        self.flag(names::INDEX_VALUE_IS_DELTA_ENCODED)
    }

    /// How many values are kept in the same file beside the data blocks, and their bytes. `None`
    /// means that the table knows no such thing; `Some((0, 0))` that the stats are not readable.
    pub fn embedded_blobs(&self) -> Option<(u64, u64)> {
        let mut value = self.get(names::EMBEDDED_BLOB_STATS)?;
        Some(get_varint64(&mut value).zip(get_varint64(&mut value)).unwrap_or_default())
    }

    /// Whether the timestamps of the comparator are stored in the keys; false if they were cut off.
    pub fn has_persisted_timestamps(&self) -> bool {
        self.number(names::USER_DEFINED_TIMESTAMPS_PERSISTED) != Some(0)
    }

    /// Bytes of the timestamp at the end of each stored user key: 8 for the built-in comparators
    /// with timestamps unless they were cut off, else 0.
    pub fn timestamp_size(&self) -> usize {
        let timestamped = self.comparator().is_some_and(|name| name.ends_with(b".u64ts"));
        if timestamped && self.has_persisted_timestamps() { size_of::<u64>() } else { 0 }
    }

    /// The sequence number that a table made outside of a database got when it was taken in, and
    /// that replaces those of all its entries.
    ///
    /// 0 means that it was not taken in, or that the MANIFEST knows the number. `None` for tables
    /// that a database wrote itself.
    pub fn global_sequence_number(&self) -> Result<Option<u64>> {
        let version = self.number(names::EXTERNAL_SST_FILE_VERSION);
        match (version, self.number(names::GLOBAL_SEQNO)) {
            (None, None) => Ok(None),
            (Some(1), None) => Ok(None),
            (Some(2), Some(sequence)) if sequence <= MAX_SEQUENCE_NUMBER => Ok(Some(sequence)),
            (Some(2), Some(sequence)) => Err(Error::mismatch(
                "the global sequence number is too large",
                format_args!("{MAX_SEQUENCE_NUMBER} or less"),
                sequence,
            )),
            (version, sequence) => Err(Error::mismatch(
                "the version and global sequence number of an external table do not match",
                "both (version 2), only a version (version 1), or neither",
                format_args!("version {version:?}, sequence number {sequence:?}"),
            )),
        }
    }

    fn flag(&self, name: &str) -> bool {
        self.number(name).is_some_and(|value| value != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(entries: &[(&str, &[u8])]) -> Properties {
        let mut entries: Vec<_> = entries
            .iter()
            .map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec()))
            .collect();
        entries.sort();
        Properties { entries }
    }

    #[test]
    fn each_encoding_is_read() {
        let properties = properties(&[
            (names::NUM_ENTRIES, &[0xe8, 0x07]),
            (names::INDEX_TYPE, &[2, 0, 0, 0]),
            (names::GLOBAL_SEQNO, &[42, 0, 0, 0, 0, 0, 0, 0]),
            (names::WHOLE_KEY_FILTERING, b"1"),
            (names::COMPARATOR, b"leveldb.BytewiseComparator.u64ts"),
            ("mine", b"\xff"),
        ]);
        assert_eq!(properties.num_entries(), 1000);
        assert_eq!(properties.number(names::INDEX_TYPE), Some(2));
        assert_eq!(properties.number(names::GLOBAL_SEQNO), Some(42));
        assert_eq!(properties.number(names::WHOLE_KEY_FILTERING), Some(1));
        assert_eq!(properties.number(names::COMPARATOR), None);
        assert_eq!(properties.timestamp_size(), 8);
        assert_eq!(properties.user().collect::<Vec<_>>(), [(&b"mine"[..], &b"\xff"[..])]);
    }

    #[test]
    fn they_come_back_in_the_order_of_their_names() {
        let mut properties = Properties::default();
        for (name, value) in [("b", "1"), ("ab", "2"), ("b", "3")] {
            properties.insert(name, value);
        }
        let again = Properties::decode_from(&properties.encode().unwrap()).unwrap();
        let entries: Vec<_> = again.iter().collect();
        assert_eq!(entries, [(&b"ab"[..], &b"2"[..]), (b"b", b"3")]);
    }

    #[test]
    fn an_unreadable_number_counts_as_absent() {
        let properties = properties(&[
            (names::NUM_ENTRIES, &[0xe8]),
            (names::INDEX_TYPE, &[2, 0]),
            (names::WHOLE_KEY_FILTERING, b"yes"),
        ]);
        assert_eq!(properties.num_entries(), 0);
        assert_eq!(properties.number(names::INDEX_TYPE), None);
        assert_eq!(properties.number(names::WHOLE_KEY_FILTERING), None);
    }

    #[test]
    fn cut_off_timestamps_have_no_size() {
        let properties = properties(&[
            (names::COMPARATOR, b"leveldb.BytewiseComparator.u64ts"),
            (names::USER_DEFINED_TIMESTAMPS_PERSISTED, &[0]),
        ]);
        assert_eq!(properties.timestamp_size(), 0);
    }

    #[test]
    fn global_sequence_numbers_need_version_2() {
        let version = |number: u8| [number, 0, 0, 0];
        let seqno = [7, 0, 0, 0, 0, 0, 0, 0];
        let of = |entries: &[(&str, &[u8])]| properties(entries).global_sequence_number().ok();
        const VERSION: &str = names::EXTERNAL_SST_FILE_VERSION;
        const SEQNO: &str = names::GLOBAL_SEQNO;
        assert_eq!(of(&[]), Some(None));
        assert_eq!(of(&[(VERSION, &version(1))]), Some(None));
        assert_eq!(of(&[(VERSION, &version(2)), (SEQNO, &seqno)]), Some(Some(7)));
        assert_eq!(of(&[(SEQNO, &seqno)]), None);
        assert_eq!(of(&[(VERSION, &version(1)), (SEQNO, &seqno)]), None);
        assert_eq!(of(&[(VERSION, &version(2))]), None);
        assert_eq!(of(&[(VERSION, &version(3)), (SEQNO, &seqno)]), None);
        assert_eq!(of(&[(VERSION, &version(2)), (SEQNO, &[0xff; 8])]), None);
    }
}
