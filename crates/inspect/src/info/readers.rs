//! Which engines read a table.

use serde::Serialize;
use sstkit_table::raw::{Codec, Engine};
use sstkit_table::{ReadableBy, RocksDbVersion, TableFeature};

use crate::filter_report::FilterReport;
use crate::table_file::TableFile;

/// The engines that read a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Readers {
    /// In words: `RocksDB 10.4 and later`.
    pub text: String,
    /// Whether LevelDB does.
    pub leveldb: bool,
    /// The versions of RocksDB that do; `None` if none does.
    pub rocksdb: Option<VersionRange>,
    /// What the first version is owed to, such as `format version 7`.
    pub because: Option<String>,
    /// The versions of RocksDB that use its filter, where others ignore it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_used_by: Option<VersionRange>,
}

/// Versions of RocksDB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VersionRange {
    /// The first.
    pub from: String,
    /// The first that does not any more.
    pub before: Option<String>,
}

impl VersionRange {
    fn new(from: RocksDbVersion, before: Option<RocksDbVersion>) -> Self {
        Self { from: from.to_string(), before: before.map(|version| version.to_string()) }
    }
}

impl Readers {
    /// Of a table, whose contents have some more features.
    pub(super) fn of(
        file: &TableFile,
        contents: &[TableFeature],
        filter: Option<&FilterReport>,
    ) -> Self {
        let table = file.table();
        let mut features = table.features();
        features.extend(contents);
        if table.engine() == Engine::LevelDb && has_zstd(file) {
            features.push(TableFeature::LevelDbZstd);
        }
        let readable = ReadableBy::of(&features);
        let leveldb = table.is_read_by_leveldb();
        let rocksdb = readable.from.map(|from| match (from, readable.before) {
            // From the first release on.
            (from, Some(before)) if from <= FIRST => format!("RocksDB before {before}"),
            (from, Some(before)) => format!("RocksDB from {from}, before {before}"),
            (from, None) => format!("RocksDB {from} and later"),
        });
        let names = [leveldb.then(|| "LevelDB".to_owned()), rocksdb];
        let names: Vec<String> = names.into_iter().flatten().collect();
        Self {
            text: if names.is_empty() { "none".into() } else { names.join(", ") },
            leveldb,
            rocksdb: readable.from.map(|from| VersionRange::new(from, readable.before)),
            because: readable.because.map(|feature| feature.to_string()),
            filter_used_by: filter.and_then(|filter| filter_users(filter.kind)),
        }
    }
}

/// The first release of RocksDB.
const FIRST: RocksDbVersion = RocksDbVersion::new(1, 5);

/// The versions that use a filter of this kind. LevelDB's has another name, which RocksDB ignores.
fn filter_users(kind: &str) -> Option<VersionRange> {
    let (from, before) = match kind {
        "block_based_bloom" => (FIRST, Some(RocksDbVersion::new(7, 4))),
        "fast_local_bloom" => (RocksDbVersion::new(6, 6), None),
        "ribbon128" => (RocksDbVersion::new(6, 15), None),
        _ => return None,
    };
    Some(VersionRange::new(from, before))
}

/// Whether the first data block of a table of LevelDB's is compressed with ZSTD.
fn has_zstd(file: &TableFile) -> bool {
    let first = || {
        let mut index = file.index().ok()?;
        index.advance().ok()?.then(|| index.handle())
    };
    let trailer = first().and_then(|handle| file.trailer(handle).ok().flatten());
    // The number that stands for zlib in RocksDB.
    trailer.is_some_and(|trailer| trailer.codec == Codec::Zlib as u8)
}
