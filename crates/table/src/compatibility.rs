//! Which versions of RocksDB read a table.
//!
//! A table is read by every version that knows all of its features. What is listed here has its
//! version from RocksDB's `HISTORY.md` and, where that is silent, from the sources of its releases.
//!
//! | feature | read since | up to |
//! |---|---|---|
//! | format version 0 (LevelDB's), 1 | 1.5, 3.0 | 10.x |
//! | format version 2, 3, 4, 5, 6, 7 | 3.10, 5.15, 5.16, 6.6, 8.6, 10.4 | |
//! | checksums: xxHash64, XXH3 | 5.18, 6.27 | |
//! | codecs: ZSTD not final, ZSTD | 4.0, 4.12 | 9.x, |
//! | index: two-level, with first keys | 5.2, 6.4 | |
//! | hash index in data blocks | 5.16 | |
//! | keys and values apart in data blocks | 11.0 | |
//! | index blocks marked as uniform | 11.1 | |
//! | embedded blobs | 11.6 | |
//! | range tombstones | 5.0 | |
//! | timestamps in keys, cut off from them | 7.0, 8.4 | |
//! | entries: single deletions, blob indexes, deletions with timestamp, entities, preferred sequence numbers | 4.1, 6.18, 6.11, 7.9, 9.1 | |
//!
//! A filter of a kind that a version does not know is ignored by it, and no reason not to read.

use std::fmt;
use std::str::FromStr;

use sstkit_coding::checksum::ChecksumType;

use crate::error::{Error, Result};
use crate::raw::property_names as names;
use crate::raw::{Codec, Engine, EntryKind, FormatVersion, IndexKind};
use crate::reader::Table;

/// A version of RocksDB, such as 9.8.
///
/// ```
/// use sstkit_table::RocksDbVersion;
///
/// let version: RocksDbVersion = "rocksdb-9.8".parse()?;
/// assert_eq!(version, RocksDbVersion::new(9, 8));
/// assert_eq!(version, "9.8.4".parse()?);
/// assert_eq!(version.to_string(), "9.8");
/// # Ok::<(), sstkit_table::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RocksDbVersion {
    /// What breaks with the past.
    pub major: u32,
    /// The release.
    pub minor: u32,
}

impl RocksDbVersion {
    /// A version.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for RocksDbVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for RocksDbVersion {
    type Err = Error;

    /// `9.8`, `9.8.4`, `v9.8` or `rocksdb-9.8`; without a minor number the first of the major ones.
    fn from_str(text: &str) -> Result<Self> {
        let malformed = || {
            let what = format!(
                "{text:?} is not a RocksDB version (expected a version such as rocksdb-9.8 or 9.8)"
            );
            Error::invalid_input(what)
        };
        let lower = text.trim().to_ascii_lowercase();
        let version = lower.strip_prefix("rocksdb").unwrap_or(&lower);
        let version = version.trim_start_matches(['-', ' ', 'v']);
        let mut numbers = version.split('.').map(str::parse::<u32>);
        let major = numbers.next().and_then(std::result::Result::ok).ok_or_else(malformed)?;
        let minor = numbers.next().unwrap_or(Ok(0)).map_err(|_| malformed())?;
        let rest: Vec<_> = numbers.collect();
        match rest.len() <= 1 && rest.iter().all(std::result::Result::is_ok) {
            true => Ok(Self { major, minor }),
            false => Err(malformed()),
        }
    }
}

/// Something in a table that not every version of RocksDB reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFeature {
    /// The version of the whole format.
    FormatVersion(FormatVersion),
    /// How blocks are protected.
    Checksum(ChecksumType),
    /// How blocks are compressed.
    Codec(Codec),
    /// LevelDB's ZSTD, whose number is another codec's in RocksDB.
    LevelDbZstd,
    /// How the index is built.
    Index(IndexKind),
    /// A hash index in data blocks.
    DataBlockHashIndex,
    /// Data blocks with all values after all keys.
    SeparatedKeyValues,
    /// Index blocks that are marked as having uniform keys.
    UniformIndexBlocks,
    /// Values between the data blocks.
    EmbeddedBlobs,
    /// Range tombstones.
    RangeTombstones,
    /// Keys that end in a timestamp.
    Timestamps,
    /// Keys whose timestamps were cut off.
    TimestampsCutOff,
    /// Entries of a kind.
    Entry(EntryKind),
}

impl TableFeature {
    /// The first version that reads it; `None` if none does.
    pub fn since(self) -> Option<RocksDbVersion> {
        let (major, minor) = match self {
            Self::FormatVersion(version) => match version {
                FormatVersion::V0 => FIRST,
                FormatVersion::V1 => (3, 0),
                FormatVersion::V2 => (3, 10),
                FormatVersion::V3 => (5, 15),
                FormatVersion::V4 => (5, 16),
                FormatVersion::V5 => (6, 6),
                FormatVersion::V6 => (8, 6),
                FormatVersion::V7 => (10, 4),
            },
            Self::Checksum(ChecksumType::XxHash64) => (5, 18),
            Self::Checksum(ChecksumType::Xxh3) => (6, 27),
            Self::Checksum(_) => FIRST,
            Self::Codec(Codec::Zstd) => (4, 12),
            Self::Codec(Codec::ZstdNotFinal) => (4, 0),
            Self::Codec(_) => FIRST,
            Self::LevelDbZstd => return None,
            Self::Index(IndexKind::TwoLevel) => (5, 2),
            Self::Index(IndexKind::BinarySearchWithFirstKey) => (6, 4),
            Self::Index(_) => FIRST,
            Self::DataBlockHashIndex => (5, 16),
            Self::SeparatedKeyValues => (11, 0),
            Self::UniformIndexBlocks => (11, 1),
            Self::EmbeddedBlobs => (11, 6),
            Self::RangeTombstones => (5, 0),
            Self::Timestamps => (7, 0),
            Self::TimestampsCutOff => (8, 4),
            Self::Entry(kind) => match kind {
                EntryKind::SingleDeletion => (4, 1),
                EntryKind::RangeDeletion => (5, 0),
                EntryKind::BlobIndex => (6, 18),
                EntryKind::DeletionWithTimestamp => (6, 11),
                EntryKind::WideColumnEntity => (7, 9),
                EntryKind::ValuePreferredSeqno => (9, 1),
                _ => FIRST,
            },
        };
        Some(RocksDbVersion::new(major, minor))
    }

    /// The first version that reads it no more.
    pub fn dropped_in(self) -> Option<RocksDbVersion> {
        match self {
            Self::FormatVersion(FormatVersion::V0 | FormatVersion::V1) => {
                Some(RocksDbVersion::new(11, 0))
            }
            Self::Codec(Codec::ZstdNotFinal) => Some(RocksDbVersion::new(10, 0)),
            _ => None,
        }
    }

    /// Whether a version reads it.
    pub fn is_read_by(self, version: RocksDbVersion) -> bool {
        self.since().is_some_and(|since| since <= version)
            && self.dropped_in().is_none_or(|dropped| version < dropped)
    }
}

/// The first release of all.
const FIRST: (u32, u32) = (1, 5);

impl fmt::Display for TableFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FormatVersion(version) => write!(f, "format version {version}"),
            Self::Checksum(checksum) => write!(f, "checksum {checksum}"),
            Self::Codec(codec) => write!(f, "compression {codec}"),
            Self::LevelDbZstd => f.write_str("LevelDB's ZSTD"),
            Self::Index(kind) => write!(f, "index {kind}"),
            Self::DataBlockHashIndex => f.write_str("data block hash index"),
            Self::SeparatedKeyValues => f.write_str("separated keys and values in data blocks"),
            Self::UniformIndexBlocks => f.write_str("uniform index blocks"),
            Self::EmbeddedBlobs => f.write_str("embedded blobs"),
            Self::RangeTombstones => f.write_str("range tombstones"),
            Self::Timestamps => f.write_str("timestamps"),
            Self::TimestampsCutOff => f.write_str("stripped timestamps"),
            Self::Entry(kind) => write!(f, "{kind:?} entries"),
        }
    }
}

/// The versions of RocksDB that read all of some features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadableBy {
    /// The first version that does; `None` if none does.
    pub from: Option<RocksDbVersion>,
    /// The first version that does no more.
    pub before: Option<RocksDbVersion>,
    /// The feature that requires the first version.
    pub because: Option<TableFeature>,
}

impl ReadableBy {
    /// Of features, at least one.
    pub fn of(features: &[TableFeature]) -> Self {
        let because = features.iter().copied().reduce(|latest, feature| {
            // A feature that no version reads comes after all others.
            let rank = |feature: TableFeature| (feature.since().is_none(), feature.since());
            if rank(feature) > rank(latest) { feature } else { latest }
        });
        Self {
            from: because.and_then(TableFeature::since),
            before: features.iter().filter_map(|feature| feature.dropped_in()).min(),
            because,
        }
    }
}

impl Table {
    /// What in this table not every version of RocksDB reads, as far as its tail tells: footer,
    /// properties and index. Hash indexes in data blocks, and kinds of entries, are in its data.
    ///
    /// ```no_run
    /// use sstkit_table::{ReadableBy, Table};
    ///
    /// let readable = ReadableBy::of(&Table::open("users.sst")?.features());
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn features(&self) -> Vec<TableFeature> {
        let (footer, properties) = (self.footer(), self.properties());
        let number = |name: &str| properties.number(name).unwrap_or(0);
        let mut features = vec![
            TableFeature::FormatVersion(footer.version),
            TableFeature::Checksum(footer.checksum),
        ];
        let codec = properties.get(names::COMPRESSION).unwrap_or_default();
        features.extend(codecs(codec).into_iter().map(TableFeature::Codec));
        if let Some(kind) = properties.number(names::INDEX_TYPE).and_then(index_kind) {
            features.push(TableFeature::Index(kind));
        }
        let has_ranges = properties.num_range_deletions() > 0 || !self.range_deletions().is_empty();
        let timestamps = self.comparator().is_ok_and(|order| order.timestamp_size() > 0);
        let cut_off = !properties.has_persisted_timestamps();
        for (feature, present) in [
            (
                TableFeature::SeparatedKeyValues,
                number(names::SEPARATE_KEY_VALUE_IN_DATA_BLOCK) != 0,
            ),
            (TableFeature::UniformIndexBlocks, number(names::NUM_UNIFORM_BLOCKS) != 0),
            (TableFeature::EmbeddedBlobs, properties.embedded_blobs().is_some()),
            (TableFeature::RangeTombstones, has_ranges),
            (TableFeature::Timestamps, timestamps),
            (TableFeature::TimestampsCutOff, cut_off),
        ] {
            if present {
                features.push(feature);
            }
        }
        features
    }

    /// Whether LevelDB reads the table.
    pub fn is_read_by_leveldb(&self) -> bool {
        self.engine() == Engine::LevelDb
    }
}

fn index_kind(number: u64) -> Option<IndexKind> {
    let all = [
        IndexKind::BinarySearch,
        IndexKind::HashSearch,
        IndexKind::TwoLevel,
        IndexKind::BinarySearchWithFirstKey,
    ];
    all.into_iter().find(|&kind| u64::from(kind as u32) == number)
}

/// The codecs that a table says it has: one by name, or from format version 7 on those of its blocks
/// as hexadecimal digits, `manager;0407;`.
fn codecs(property: &[u8]) -> Vec<Codec> {
    let Ok(text) = std::str::from_utf8(property) else { return Vec::new() };
    let mut parts = text.split(';');
    match (parts.next(), parts.next()) {
        (_, Some(digits)) => {
            let pairs = digits.as_bytes().chunks_exact(2);
            pairs
                .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
                .filter_map(Codec::from_byte)
                .collect()
        }
        _ => Codec::from_name(text).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_and_ordered() {
        let parse = |text: &str| text.parse::<RocksDbVersion>();
        for text in ["rocksdb-9.8", "9.8", "RocksDB 9.8", "v9.8.4", "rocksdb9.8", " 9.8.0 "] {
            assert_eq!(parse(text).unwrap(), RocksDbVersion::new(9, 8), "{text}");
        }
        assert_eq!(parse("11").unwrap(), RocksDbVersion::new(11, 0));
        for text in ["", "rocksdb", "leveldb-1.23", "9.x", "9.8.4.1", "9.8.x", "-", "nine"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(RocksDbVersion::new(10, 4) > RocksDbVersion::new(9, 11));
    }

    #[test]
    fn the_latest_feature_decides() {
        let features = [
            TableFeature::FormatVersion(FormatVersion::V5),
            TableFeature::Checksum(ChecksumType::Xxh3),
            TableFeature::Index(IndexKind::TwoLevel),
        ];
        let readable = ReadableBy::of(&features);
        assert_eq!(readable.from, Some(RocksDbVersion::new(6, 27)));
        assert_eq!(readable.because, Some(features[1]));
        assert_eq!(readable.before, None);
        let old = ReadableBy::of(&[TableFeature::FormatVersion(FormatVersion::V0)]);
        assert_eq!(old.before, Some(RocksDbVersion::new(11, 0)));
        let never = ReadableBy::of(&[features[0], TableFeature::LevelDbZstd]);
        assert_eq!(never.from, None);
    }

    #[test]
    fn codecs_by_name_and_by_number() {
        assert_eq!(codecs(b"ZSTD"), [Codec::Zstd]);
        assert_eq!(codecs(b"BuiltinV2;0407;"), [Codec::Lz4, Codec::Zstd]);
        assert_eq!(codecs(b"\xff"), []);
    }
}
