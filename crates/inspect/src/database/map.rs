//! The files of a column family over the key axis, from the MANIFEST alone.

use serde::Serialize;
use sstkit_db::{ColumnFamily, Database, Level, LevelFile};
use sstkit_table::raw::property_names;

use super::info::BlobFileInfo;
use crate::encoding::Encoding;
use crate::key_axis::KeyAxis;
use crate::names;

/// A column family as a drawing shows it: levels as rows, files over the key axis. Opens no table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DatabaseMap {
    /// The directory.
    pub file: String,
    /// `leveldb` or `rocksdb`.
    pub engine: &'static str,
    /// The number of the MANIFEST.
    pub manifest: Option<u64>,
    /// The sequence number of the last write; `None` without a MANIFEST.
    pub last_seq: Option<u64>,
    /// All column families.
    pub column_families: Vec<FamilySummary>,
    /// The column family that is drawn.
    pub column_family: FamilyOptions,
    /// The key axis.
    pub axis: KeyAxis,
    /// The levels that have files, top level first.
    pub levels: Vec<MapLevel>,
    /// Files that are not listed because there are too many.
    pub omitted_files: u64,
    /// The blob files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blob_files: Vec<BlobFileInfo>,
    /// What is missing or was assumed.
    pub caveats: Vec<String>,
}

/// A column family in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FamilySummary {
    /// The id.
    pub id: u32,
    /// The name.
    pub name: String,
    /// The number of tables.
    pub files: u64,
    /// Their size in bytes.
    pub size: u64,
    /// The number of writes that are only in the logs.
    pub memtable_entries: u64,
}

/// What is known about the keys of a column family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FamilyOptions {
    /// The name.
    pub name: String,
    /// The comparator, if it is known.
    pub comparator: Option<String>,
    /// The merge operator, if the database names one.
    pub merge_operator: Option<String>,
    /// The prefix extractor.
    pub prefix_extractor: Option<String>,
    /// The filter policy of new tables, as in OPTIONS.
    pub filter_policy: Option<String>,
}

/// A level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MapLevel {
    /// The number of the level.
    pub level: u32,
    /// The size of all files in bytes.
    pub size: u64,
    /// The files: newest first in level 0, by key in the others.
    pub files: Vec<MapFile>,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MapFile {
    /// The file number.
    pub number: u64,
    /// The size in bytes.
    pub size: u64,
    /// The first of its slots on the key axis: that of its smallest key.
    pub first: usize,
    /// The last of its slots: that of its largest key.
    pub last: usize,
    /// The smallest sequence number; not in a LevelDB MANIFEST.
    pub smallest_seq: Option<u64>,
    /// The largest sequence number.
    pub largest_seq: Option<u64>,
    /// When it was written, in seconds since 1970.
    pub created: Option<u64>,
}

impl DatabaseMap {
    /// The most files in a map.
    pub const MAX_FILES: usize = 20_000;

    /// Describes a column family. Reads no file; where OPTIONS names no merge operator, the tails of two
    /// tables, however many there are.
    pub fn of(
        name: impl Into<String>,
        database: &Database,
        family: &ColumnFamily,
        encoding: Encoding,
    ) -> Self {
        let levels = family.levels();
        let listed: Vec<(u32, &LevelFile)> = levels
            .iter()
            .flat_map(|level| level.files.iter().map(|file| (level.number, file)))
            .take(Self::MAX_FILES)
            .collect();
        let bounds: Vec<_> = listed
            .iter()
            .map(|(_, file)| (file.smallest(), file.largest(), file.metadata().size))
            .collect();
        let (axis, slots) = KeyAxis::of(&bounds, family.comparator().ok(), encoding);
        let mut boxes = listed.iter().zip(slots).map(|((level, file), slots)| {
            let meta = file.metadata();
            let file = MapFile {
                number: meta.number,
                size: meta.size,
                first: *slots.start(),
                last: *slots.end(),
                smallest_seq: meta.smallest_sequence,
                largest_seq: meta.largest_sequence,
                created: meta.file_creation_time.filter(|&time| time > 0),
            };
            (*level, file)
        });
        let mut drawn: Vec<MapLevel> = Vec::new();
        for level in &levels {
            let size = level.files.iter().map(|file| file.metadata().size).sum();
            let files = boxes.by_ref().take(level.files.len()).map(|(_, file)| file).collect();
            drawn.push(MapLevel { level: level.number, size, files });
        }
        let all: usize = levels.iter().map(|level| level.files.len()).sum();
        let manifest = database.manifest();
        let state = manifest.and_then(|it| it.column_families.get(&family.id()));
        Self {
            file: name.into(),
            engine: names::engine(database.engine()),
            manifest: database.manifest_number(),
            last_seq: manifest.map(|_| database.last_sequence()),
            column_families: database.column_families().map(|it| FamilySummary::of(&it)).collect(),
            column_family: FamilyOptions::of(family, &levels),
            axis,
            levels: drawn,
            omitted_files: (all - listed.len()) as u64,
            blob_files: state
                .into_iter()
                .flat_map(|it| it.blob_files.values().map(Into::into))
                .collect(),
            caveats: database.caveats().iter().map(ToString::to_string).collect(),
        }
    }
}

impl FamilySummary {
    fn of(family: &ColumnFamily) -> Self {
        let levels = family.levels();
        let files = levels.iter().flat_map(|level| &level.files);
        Self {
            id: family.id(),
            name: family.name().to_owned(),
            files: files.clone().count() as u64,
            size: files.map(|file| file.metadata().size).sum(),
            memtable_entries: family.memtable_entries() as u64,
        }
    }
}

impl FamilyOptions {
    fn of(family: &ColumnFamily, levels: &[Level]) -> Self {
        let merge_operator = family.known_merge_operator_name().map(str::to_owned);
        Self {
            name: family.name().to_owned(),
            comparator: family.comparator().ok().map(ToString::to_string),
            merge_operator: merge_operator.or_else(|| merge_operator_of_tables(levels)),
            prefix_extractor: family.prefix_extractor().map(|it| it.name().into_owned()),
            filter_policy: family.filter_policy().map(str::to_owned),
        }
    }
}

/// The merge operator that one of the first tables names. All of them would be known only after opening
/// each table, which takes seconds in a database of thousands.
fn merge_operator_of_tables(levels: &[Level]) -> Option<String> {
    const TABLES: usize = 2;
    levels.iter().flat_map(|level| &level.files).take(TABLES).find_map(|file| {
        let table = file.open().ok()?;
        let name = table.properties().get(property_names::MERGE_OPERATOR)?;
        (name != b"nullptr").then(|| String::from_utf8_lossy(name).into_owned())
    })
}
