//! Lists of what is large, or makes scans slow.

use serde::Serialize;
use sstkit_db::{Analysis, Contents, EntryUse, FileAnalysis};

use crate::encoding::Encoding;

/// A large value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LargeValueReport {
    /// Bytes of the value; of one in a blob file, as stored there.
    pub size: u64,
    /// The key.
    pub key: String,
    /// The sequence number of the entry.
    pub seq: u64,
    /// `visible`, `older_version` or `covered`.
    pub state: &'static str,
    /// The level of its file; `None` in the write-ahead log or a table.
    pub level: Option<u32>,
    /// The number of its file; `None` in the write-ahead log or a table.
    pub number: Option<u64>,
}

/// A key with several entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VersionsReport {
    /// Entries of the key.
    pub versions: u64,
    /// The key.
    pub key: String,
}

/// Deletions of single keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TombstonesReport {
    /// The smallest sequence number of one; `None` if there is none, or in an estimate.
    pub oldest_seq: Option<u64>,
    /// The number of the file with that one.
    pub oldest_number: Option<u64>,
    /// When that file was written, in seconds since 1970: the tombstone is older than that.
    pub oldest_before: Option<u64>,
    /// Where a scan steps over most entries from one visible key to the next.
    pub skipped_ranges: Vec<SkippedRangeReport>,
    /// Where most entries are tombstones.
    pub dense_ranges: Vec<DenseRangeReport>,
}

/// Entries that a scan steps over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkippedRangeReport {
    /// The key of the first one.
    pub from: String,
    /// The next visible key; `None` if there is none.
    pub to: Option<String>,
    /// How many entries there are.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
}

/// A range of keys with many tombstones.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DenseRangeReport {
    /// The first key.
    pub from: String,
    /// The first key after the range; `None` for the last range.
    pub to: Option<String>,
    /// All entries.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// The fraction of entries that are tombstones.
    pub density: f64,
}

/// Deletions of ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RangeTombstonesReport {
    /// How many there are, as stored: each file has its own part of one.
    pub count: u64,
    /// The first ones, by start.
    pub listed: Vec<RangeTombstoneReport>,
}

/// A deletion of a range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RangeTombstoneReport {
    /// The first key that is deleted.
    pub from: String,
    /// The first key that is not.
    pub to: String,
    /// The sequence number.
    pub seq: u64,
    /// The level of its file; `None` in the write-ahead log or a table.
    pub level: Option<u32>,
    /// The number of its file; `None` in the write-ahead log or a table.
    pub number: Option<u64>,
}

impl RangeTombstonesReport {
    pub(super) fn of(analysis: &Analysis, encoding: Encoding) -> Self {
        let listed = analysis.range_tombstones.iter().map(|it| RangeTombstoneReport {
            from: encoding.encode(&it.start),
            to: encoding.encode(&it.end),
            seq: it.sequence,
            level: it.level,
            number: it.file,
        });
        Self { count: analysis.range_tombstone_count, listed: listed.collect() }
    }
}

/// Where entries are.
pub(super) struct Places<'a> {
    files: &'a [FileAnalysis],
}

impl<'a> Places<'a> {
    pub(super) fn new(files: &'a [FileAnalysis]) -> Self {
        Self { files }
    }

    pub(super) fn largest_values(
        &self,
        contents: Option<&Contents>,
        encoding: Encoding,
    ) -> Vec<LargeValueReport> {
        let values = contents.into_iter().flat_map(|it| &it.largest_values);
        let report = |value: &sstkit_db::LargeValue| {
            let file = self.files.get(value.file);
            LargeValueReport {
                size: value.size,
                key: encoding.encode(&value.key),
                seq: value.sequence,
                state: match value.entry_use {
                    EntryUse::Visible => "visible",
                    EntryUse::OlderVersion => "older_version",
                    EntryUse::Covered => "covered",
                    EntryUse::Tombstone => "tombstone",
                },
                level: file.and_then(|file| file.level),
                number: file.and_then(|file| file.number),
            }
        };
        values.map(report).collect()
    }

    pub(super) fn tombstones(
        &self,
        contents: Option<&Contents>,
        encoding: Encoding,
    ) -> TombstonesReport {
        let with_oldest = |file: &&FileAnalysis| file.counts.oldest_tombstone.is_some();
        let files = self.files.iter().filter(with_oldest);
        let oldest = files.min_by_key(|file| file.counts.oldest_tombstone);
        let skipped = contents.into_iter().flat_map(|it| &it.skipped_ranges);
        let dense = contents.into_iter().flat_map(|it| &it.dense_ranges);
        let key = |key: &Option<Vec<u8>>| key.as_ref().map(|key| encoding.encode(key));
        TombstonesReport {
            oldest_seq: oldest.and_then(|file| file.counts.oldest_tombstone),
            oldest_number: oldest.and_then(|file| file.number),
            oldest_before: oldest.and_then(|file| file.properties.created),
            skipped_ranges: skipped
                .map(|it| SkippedRangeReport {
                    from: encoding.encode(&it.from),
                    to: key(&it.to),
                    entries: it.entries(),
                    tombstones: it.tombstones,
                })
                .collect(),
            dense_ranges: dense
                .map(|it| DenseRangeReport {
                    from: encoding.encode(&it.from),
                    to: key(&it.to),
                    entries: it.entries,
                    tombstones: it.tombstones,
                    density: it.density(),
                })
                .collect(),
        }
    }
}

pub(super) fn most_versions(
    contents: Option<&Contents>,
    encoding: Encoding,
) -> Vec<VersionsReport> {
    let keys = contents.into_iter().flat_map(|it| &it.most_versions);
    let report = |it: &sstkit_db::VersionedKey| VersionsReport {
        versions: it.versions,
        key: encoding.encode(&it.key),
    };
    keys.map(report).collect()
}
