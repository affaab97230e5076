//! The engines that can read a table.

use serde::Serialize;
use sstkit_table::raw::{Codec, Engine};
use sstkit_table::{ReadableBy, RocksDbVersion, TableFeature};

use crate::filter_report::FilterReport;
use crate::inspected_table::InspectedTable;

/// The engines that can read a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Readers {
    /// As text: `RocksDB 10.4 and later`.
    pub text: String,
    /// Whether LevelDB can.
    pub leveldb: bool,
    /// The RocksDB versions that can; `None` if none can.
    pub rocksdb: Option<VersionRange>,
    /// The feature that requires the first version, such as `format version 7`.
    pub because: Option<String>,
    /// The RocksDB versions that use its filter, if others ignore it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_used_by: Option<VersionRange>,
}

/// A range of RocksDB versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VersionRange {
    /// The first.
    pub from: String,
    /// The first version that no longer does.
    pub before: Option<String>,
}

impl VersionRange {
    fn new(from: RocksDbVersion, before: Option<RocksDbVersion>) -> Self {
        Self { from: from.to_string(), before: before.map(|version| version.to_string()) }
    }
}

impl Readers {
    /// Determines the readers of a table whose contents have these additional features.
    pub(super) fn of(
        file: &InspectedTable,
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
            // Since the first release.
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

/// The versions that use a filter of this kind. LevelDB's filter has another name, which RocksDB
/// ignores.
fn filter_users(kind: &str) -> Option<VersionRange> {
    let (from, before) = match kind {
        "block_based_bloom" => (FIRST, Some(RocksDbVersion::new(7, 4))),
        "fast_local_bloom" => (RocksDbVersion::new(6, 6), None),
        "ribbon128" => (RocksDbVersion::new(6, 15), None),
        _ => return None,
    };
    Some(VersionRange::new(from, before))
}

/// Whether the first data block of a LevelDB table is compressed with ZSTD.
fn has_zstd(file: &InspectedTable) -> bool {
    let first = || {
        let mut index = file.index().ok()?;
        index.advance().ok()?.then(|| index.handle())
    };
    let trailer = first().and_then(|handle| file.trailer(handle).ok().flatten());
    // The codec that RocksDB uses for zlib.
    trailer.is_some_and(|trailer| trailer.codec == Codec::Zlib as u8)
}
