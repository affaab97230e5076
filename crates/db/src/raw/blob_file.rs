//! Blob files: values that are too large to be copied by compactions.
//!
//! ```text
//!     0       1       2       3       4       5       6       7       8
//!     +-------+-------+-------+-------+-------+-------+-------+-------+
//!   0 | magic 37 8F 24 00             | version 1                     |   header, 30 bytes
//!   8 | column family                 | flags | codec | expiration …  |   (bit 0: with expiration)
//!  16 |   … from                                      | expiration …  |
//!  24 |   … to                                        +-------+-------+
//!  30 +-------+-------+-------+-------+-------+-------+
//!     | key length                                                    |   record, for each blob
//!     | value length                                                  |
//!     | expiration                                                    |
//!     | CRC of these 24 bytes         | CRC of key and value          |
//!     | key …            | value …                                    |   <- BlobIndex.offset
//!     +-------+-------+-------+-------+-------+-------+-------+-------+
//!     | magic 37 8F 24 00             | blob count …                  |   footer, 32 bytes
//!     |   …                           | expiration from …             |
//!     |   …                           | expiration to …               |
//!     |   …                           | CRC of these 28 bytes         |
//!     +-------+-------+-------+-------+-------+-------+-------+-------+
//! ```
//!
//! CRCs are masked CRC-32Cs. All values of a file are compressed with the one codec, each on its
//! own, the way blocks of tables are from format version 2 on. Expirations belong to an older kind
//! of blob database; they are 0 in these files.

use bytes::Bytes;
use sstkit_coding::checksum::{ChecksumType, mask_crc};
use sstkit_coding::fixed::{get_fixed32, get_fixed64};
use sstkit_table::raw::{BlobIndex, Engine, FormatVersion, decompress};
use sstkit_table::{KeyExcerpt, Source, Value};

use super::read_ahead::ReadAhead;
use crate::error::{Error, Result};

/// The largest blob that is decompressed; one that is stored as it is can have any size.
pub const MAX_BLOB_SIZE: usize = 1 << 30;

const MAGIC: u32 = 0x0024_8f37;
/// Of the blob files of Titan (TiKV), which have the same names and another format.
pub(crate) const TITAN_MAGIC: [u8; 4] = 0x2be0_a614_u32.to_le_bytes();
const VERSION: u32 = 1;
const HEADER_SIZE: usize = 4 + 4 + 4 + 1 + 1 + 8 + 8;
const FOOTER_SIZE: usize = 4 + 8 + 8 + 8 + CRC_SIZE;
/// Lengths and expiration, before the record's CRCs.
const RECORD_LENGTHS_SIZE: usize = 8 + 8 + 8;
const RECORD_HEADER_SIZE: usize = RECORD_LENGTHS_SIZE + CRC_SIZE + CRC_SIZE;
const CRC_SIZE: usize = 4;

/// An open blob file.
pub struct BlobFile<S> {
    source: ReadAhead<S>,
    size: u64,
    header: BlobFileHeader,
    /// From the footer, if there is one.
    blob_count: Option<u64>,
}

sstkit_coding::debug_opaque!([S] BlobFile<S>);

/// The first bytes of a blob file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobFileHeader {
    /// Id of the column family that it belongs to.
    pub column_family: u32,
    /// The codec byte of all its blobs.
    pub codec: u8,
}

/// One record of a blob file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobRecord {
    /// The file offset of the record's header.
    pub offset: u64,
    /// The user key, with its timestamp if there is one.
    pub key: Value,
    /// The file offset of the value: what a blob index names.
    pub value_offset: u64,
    /// The value's size as stored: what a blob index names.
    pub stored_size: u64,
    /// The value, decompressed.
    pub value: Value,
}

impl BlobRecord {
    /// The bytes that a record takes, for a user key and the size of the value as stored.
    pub(crate) fn stored_length(user_key: &[u8], stored_size: u64) -> u64 {
        (RECORD_HEADER_SIZE as u64 + user_key.len() as u64).saturating_add(stored_size)
    }
}

/// The records of a [`BlobFile`], in order, all checked.
pub struct BlobRecords<'a, S> {
    file: &'a BlobFile<S>,
    /// Where the next record starts; past the last record at the end.
    offset: u64,
    count: u64,
}

sstkit_coding::debug_opaque!([S] BlobRecords<'_, S>);

impl<S: Source> BlobFile<S> {
    /// Opens a whole blob file of the column family with this id: reads header and footer.
    pub fn open(source: S, column_family: u32) -> Result<Self> {
        let mut file = Self::open_header(source)?.of_family(column_family)?;
        file.blob_count = Some(file.read_footer()?);
        Ok(file)
    }

    /// Opens a whole blob file of any column family.
    pub fn open_any(source: S) -> Result<Self> {
        let mut file = Self::open_header(source)?;
        file.blob_count = Some(file.read_footer()?);
        Ok(file)
    }

    /// Opens a blob file of any column family, also one without a footer: its end is missing, or it is
    /// still being written.
    pub fn open_any_unfinished(source: S) -> Result<Self> {
        let mut file = Self::open_header(source)?;
        file.blob_count = file.read_footer().ok();
        Ok(file)
    }

    /// Opens a blob file that may still be open for writing and then has no footer. That is sound
    /// only for a file that is not in the MANIFEST yet.
    pub fn open_unfinished(source: S, column_family: u32) -> Result<Self> {
        let mut file = Self::open_header(source)?.of_family(column_family)?;
        file.blob_count = file.read_footer().ok();
        Ok(file)
    }

    /// Opens a blob file whose header or footer may be damaged, for blobs that were compressed with this
    /// codec. Each blob that is read is verified.
    pub(crate) fn open_damaged(source: S, codec: u8) -> Result<Self> {
        let size = source.size()?;
        let header = BlobFileHeader { column_family: 0, codec };
        let source = ReadAhead::new(source);
        let mut file = Self { source, size, header, blob_count: None };
        file.blob_count = file.read_footer().ok();
        Ok(file)
    }

    fn open_header(source: S) -> Result<Self> {
        let size = source.size()?;
        if size < HEADER_SIZE as u64 {
            let expected = format!("{HEADER_SIZE} bytes or more");
            return Err(Error::mismatch("the blob file is too short", expected, size));
        }
        let source = ReadAhead::new(source);
        let bytes = read(&source, size, 0, HEADER_SIZE)?;
        if bytes.starts_with(&TITAN_MAGIC) {
            return Err(Error::unsupported("a blob file of Titan (TiKV)"));
        }
        let header = BlobFileHeader::decode_from(&bytes)?;
        Ok(Self { source, size, header, blob_count: None })
    }

    fn of_family(self, column_family: u32) -> Result<Self> {
        match self.header.column_family {
            own if own == column_family => Ok(self),
            own => {
                let what = "the blob file belongs to another column family";
                Err(Error::mismatch(what, column_family, own).at_offset(8))
            }
        }
    }

    fn read(&self, offset: u64, length: usize) -> Result<Bytes> {
        read(&self.source, self.size, offset, length)
    }

    fn read_footer(&self) -> Result<u64> {
        let offset = self.size.checked_sub(FOOTER_SIZE as u64);
        let Some(offset) = offset.filter(|&offset| offset >= HEADER_SIZE as u64) else {
            let expected = format!("{} bytes or more", HEADER_SIZE + FOOTER_SIZE);
            return Err(Error::mismatch("the blob file is too short", expected, self.size));
        };
        decode_footer(&self.read(offset, FOOTER_SIZE)?).map_err(|error| error.at_offset(offset))
    }

    /// The header.
    pub fn header(&self) -> BlobFileHeader {
        self.header
    }

    /// How many blobs the footer counts; `None` where there is no footer yet.
    pub fn blob_count(&self) -> Option<u64> {
        self.blob_count
    }

    /// The file's size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The value that an entry of `user_key` refers to: checksums verified, decompressed. The
    /// caller has found this file by the number in the index.
    pub fn get(&self, user_key: &[u8], index: &BlobIndex<'_>) -> Result<Value> {
        let (start, size) = self.locate(user_key, index)?;
        let record = self.record(start, user_key.len() as u64, size)?;
        check_key(user_key, &record.key).map_err(|error| error.at_offset(start))?;
        Ok(record.value)
    }

    /// Whether the record that an index refers to belongs to `user_key`: checks its lengths, their checksum and
    /// its key. The value is not read.
    pub fn check_reference(&self, user_key: &[u8], index: &BlobIndex<'_>) -> Result<()> {
        let (start, size) = self.locate(user_key, index)?;
        let key_length = user_key.len() as u64;
        let before_value = RECORD_HEADER_SIZE + user_key.len();
        let is_inside = size
            .checked_add(before_value as u64)
            .is_some_and(|length| self.records_end().checked_sub(start) >= Some(length));
        if !is_inside {
            return Err(outside(start, size).at_offset(start));
        }
        let bytes = self.read(start, before_value)?;
        RecordHeader::decode_from(&bytes)
            .and_then(|header| header.check_lengths(key_length, size))
            .and_then(|()| check_key(user_key, &bytes[RECORD_HEADER_SIZE..]))
            .map_err(|error| error.at_offset(start))
    }

    /// The start of the record that an index refers to, and the size of its value.
    fn locate(&self, user_key: &[u8], index: &BlobIndex<'_>) -> Result<(u64, u64)> {
        let &BlobIndex::Stored { expiration: None, offset, size, codec, .. } = index else {
            return Err(Error::unsupported("blob indexes with an expiration time"));
        };
        if codec != self.header.codec {
            let what = "the blob index and the blob file name different codecs";
            return Err(Error::mismatch(what, self.header.codec, codec).at_offset(offset));
        }
        let before_value = (RECORD_HEADER_SIZE + user_key.len()) as u64;
        let start = offset
            .checked_sub(before_value)
            .filter(|&start| start >= HEADER_SIZE as u64)
            .ok_or_else(|| outside(offset, size))?;
        Ok((start, size))
    }

    /// All records, in order, all checked, and their number compared with the footer's, if there is one. Reads the
    /// whole file. Ends after the first error.
    pub fn records(&self) -> BlobRecords<'_, S> {
        BlobRecords { file: self, offset: HEADER_SIZE as u64, count: 0 }
    }

    /// The bytes of all records: what the MANIFEST counts.
    pub fn record_bytes(&self) -> u64 {
        self.records_end() - HEADER_SIZE as u64
    }

    fn records_end(&self) -> u64 {
        match self.blob_count {
            // It was read, so there is room for it.
            Some(_) => self.size - FOOTER_SIZE as u64,
            None => self.size,
        }
    }

    /// The record at `offset`, which must have these lengths.
    fn record(&self, offset: u64, key_length: u64, value_length: u64) -> Result<BlobRecord> {
        let in_file = key_length
            .checked_add(value_length)
            .and_then(|length| length.checked_add(RECORD_HEADER_SIZE as u64))
            .filter(|length| self.records_end().checked_sub(offset) >= Some(*length));
        // The file is that long, so that reading it whole is justified.
        let Some(length) = in_file.and_then(|length| usize::try_from(length).ok()) else {
            return Err(outside(offset, value_length).at_offset(offset));
        };
        let bytes = self.read(offset, length)?;
        self.check_record(offset, key_length, value_length, &bytes)
            .map_err(|error| error.at_offset(offset))
    }

    fn check_record(
        &self,
        offset: u64,
        key_length: u64,
        value_length: u64,
        bytes: &Bytes,
    ) -> Result<BlobRecord> {
        let header = RecordHeader::decode_from(bytes)?;
        header.check_lengths(key_length, value_length)?;
        let blob = bytes.slice(RECORD_HEADER_SIZE..);
        check_crc("the blob's checksum does not match", &blob, header.blob_crc)?;
        // Below the length of `bytes`.
        let key_length = key_length as usize;
        let stored = blob.slice(key_length..);
        Ok(BlobRecord {
            offset,
            key: blob.slice(..key_length).into(),
            value_offset: offset + (RECORD_HEADER_SIZE + key_length) as u64,
            stored_size: value_length,
            value: self.decompress(stored)?,
        })
    }

    fn decompress(&self, stored: Bytes) -> Result<Value> {
        let (engine, version) = (Engine::RocksDb, FormatVersion::V2);
        let codec = self.header.codec;
        match decompress(engine, version, codec, &stored, None, MAX_BLOB_SIZE)? {
            std::borrow::Cow::Borrowed(_) => Ok(stored.into()),
            std::borrow::Cow::Owned(value) => Ok(value.into()),
        }
    }
}

impl<S: Source> Iterator for BlobRecords<'_, S> {
    type Item = Result<BlobRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = self.file.records_end();
        if self.offset > end {
            return None;
        }
        let record = self.read_next(end).transpose();
        if !matches!(record, Some(Ok(_))) {
            self.offset = u64::MAX;
        }
        record
    }
}

impl<S: Source> BlobRecords<'_, S> {
    fn read_next(&mut self, end: u64) -> Result<Option<BlobRecord>> {
        if self.offset == end {
            return match self.file.blob_count {
                Some(count) if count != self.count => {
                    let what = "the number of blobs does not match the footer";
                    Err(Error::mismatch(what, count, self.count).at_offset(end))
                }
                _ => Ok(None),
            };
        }
        if end - self.offset < RECORD_HEADER_SIZE as u64 {
            return Err(outside(self.offset, 0).at_offset(self.offset));
        }
        let header = self.file.read(self.offset, RECORD_HEADER_SIZE)?;
        let header =
            RecordHeader::decode_from(&header).map_err(|error| error.at_offset(self.offset))?;
        let record = self.file.record(self.offset, header.key_length, header.value_length)?;
        self.offset = record.value_offset + record.stored_size;
        self.count += 1;
        Ok(Some(record))
    }
}

impl BlobFileHeader {
    fn decode_from(mut input: &[u8]) -> Result<Self> {
        Self::decode(&mut input)?.ok_or_else(|| Error::corrupt("the blob file header is truncated"))
    }

    fn decode(input: &mut &[u8]) -> Result<Option<Self>> {
        let (Some(magic), Some(version)) = (get_fixed32(input), get_fixed32(input)) else {
            return Ok(None);
        };
        check_magic(magic)?;
        if version != VERSION {
            return Err(Error::unsupported(format!("blob file version {version}")));
        }
        let Some(column_family) = get_fixed32(input) else { return Ok(None) };
        let &[flags, codec, ref expirations @ ..] = *input else { return Ok(None) };
        if flags & 1 != 0 || expirations.iter().any(|&byte| byte != 0) {
            return Err(Error::corrupt("the blob file has expiration times"));
        }
        Ok(Some(Self { column_family, codec }))
    }
}

/// The number of blobs.
fn decode_footer(bytes: &[u8]) -> Result<u64> {
    let short = || Error::corrupt("the blob file footer is truncated");
    let (contents, crc) = bytes.split_last_chunk().ok_or_else(short)?;
    let mut input = contents;
    check_magic(get_fixed32(&mut input).ok_or_else(short)?)?;
    check_crc(
        "the blob file footer's checksum does not match",
        contents,
        u32::from_le_bytes(*crc),
    )?;
    let count = get_fixed64(&mut input).ok_or_else(short)?;
    if input.iter().any(|&byte| byte != 0) {
        return Err(Error::corrupt("the blob file has expiration times"));
    }
    Ok(count)
}

struct RecordHeader {
    key_length: u64,
    value_length: u64,
    blob_crc: u32,
}

/// A record must be that of the key whose entry refers to it.
fn check_key(expected: &[u8], found: &[u8]) -> Result<()> {
    match expected == found {
        true => Ok(()),
        false => Err(Error::mismatch(
            "the blob belongs to another key",
            KeyExcerpt(expected),
            KeyExcerpt(found),
        )),
    }
}

impl RecordHeader {
    /// The lengths must be those that an index names.
    fn check_lengths(&self, key_length: u64, value_length: u64) -> Result<()> {
        match (self.key_length, self.value_length) == (key_length, value_length) {
            true => Ok(()),
            false => Err(Error::mismatch(
                "the blob's lengths do not match",
                format_args!("{key_length} and {value_length}"),
                format_args!("{} and {}", self.key_length, self.value_length),
            )),
        }
    }

    fn decode_from(bytes: &[u8]) -> Result<Self> {
        let mut input = bytes;
        Self::decode(&mut input)
            .ok_or_else(|| Error::corrupt("the blob header is truncated"))
            .and_then(|(header, crc)| {
                let what = "the blob header's checksum does not match";
                check_crc(what, &bytes[..RECORD_LENGTHS_SIZE], crc)?;
                Ok(header)
            })
    }

    fn decode(input: &mut &[u8]) -> Option<(Self, u32)> {
        let key_length = get_fixed64(input)?;
        let value_length = get_fixed64(input)?;
        let _expiration = get_fixed64(input)?;
        let header_crc = get_fixed32(input)?;
        let blob_crc = get_fixed32(input)?;
        Some((Self { key_length, value_length, blob_crc }, header_crc))
    }
}

fn check_magic(found: u32) -> Result<()> {
    match found {
        MAGIC => Ok(()),
        _ => Err(Error::mismatch(
            "not a blob file, or truncated",
            format_args!("{MAGIC:#010x}"),
            format_args!("{found:#010x}"),
        )),
    }
}

fn check_crc(what: &str, bytes: &[u8], stored: u32) -> Result<()> {
    let computed = match bytes.split_last() {
        Some((&last, contents)) => ChecksumType::Crc32c.compute(contents, last),
        None => mask_crc(0),
    };
    if computed != stored {
        let (expected, found) = (format!("{stored:#010x}"), format!("{computed:#010x}"));
        return Err(Error::mismatch(what, expected, found));
    }
    Ok(())
}

fn outside(offset: u64, size: u64) -> Error {
    Error::corrupt(format!("the blob of {size} bytes at offset {offset} is outside its file"))
}

/// Reads exactly this number of bytes; a short read is an error.
fn read(source: &ReadAhead<impl Source>, size: u64, offset: u64, length: usize) -> Result<Bytes> {
    let at_offset = |error: Error| error.at_offset(offset);
    let bytes = source.read_at(offset, length, size).map_err(|error| at_offset(error.into()))?;
    match bytes.len() == length {
        true => Ok(bytes),
        false => Err(at_offset(Error::mismatch("a read was short", length, bytes.len()))),
    }
}
