//! Describes a single database file other than a table.

use sstkit_db::file_system::{self, FileStatus};
use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use sstkit_db::raw::{BlobFile, FileName, ManifestState, OptionsFile};
use sstkit_db::{FileContents, FileKind};
use sstkit_table::raw::Engine;

use crate::encoding::Encoding;
use crate::log_info::LogInfo;
use crate::names;
use crate::verify::Problem;

/// A log, MANIFEST, CURRENT, OPTIONS, IDENTITY or blob file. Fields that do not apply are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SingleFileInfo {
    /// The file.
    pub file: String,
    /// `log`, `manifest`, `current`, `options`, `identity` or `blob-file`.
    pub kind: &'static str,
    /// The size in bytes.
    pub size: u64,
    /// Only for tables.
    pub format_version: Option<u32>,
    /// Only for tables.
    pub checksum: Option<&'static str>,
    /// The number of writes in a log, edits in a MANIFEST, values in a blob file; otherwise 0.
    pub entries: u64,
    /// The smallest sequence number of a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_seq: Option<u64>,
    /// The largest sequence number of a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_seq: Option<u64>,
    /// What a log contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogInfo>,
    /// The last sequence number in a MANIFEST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// The number of the next file, in a MANIFEST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_file_number: Option<u64>,
    /// The number of tables in a MANIFEST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<u64>,
    /// The names of column families, in a MANIFEST or OPTIONS file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_family_names: Option<Vec<String>>,
    /// The MANIFEST that CURRENT names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<u64>,
    /// The RocksDB version that wrote an OPTIONS file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rocksdb_version: Option<String>,
    /// The id of the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db_id: Option<String>,
    /// The id of the column family of a blob file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_family: Option<u32>,
    /// The codec of a blob file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<String>,
    /// Only for tables.
    pub filter: Option<&'static str>,
    /// Only for tables.
    pub properties: BTreeMap<String, String>,
    /// Problems: damage and read errors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Notes that are not damage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl SingleFileInfo {
    /// Describes a file of this kind; `None` for tables and unknown files, and for the metadata of backups. Reads logs and MANIFESTs
    /// completely, and the header and footer of blob files.
    pub fn of(path: &Path, kind: FileKind) -> Option<Self> {
        let mut info = Self {
            file: path.display().to_string(),
            kind: kind.name(),
            size: file_system::status(path).map_or(0, FileStatus::size),
            ..Self::default()
        };
        match kind {
            FileKind::BlobFile => {
                if let Err(error) = info.add_blob_file(path) {
                    info.problems.push(Problem::from(&error.in_file(path)));
                }
            }
            FileKind::Log
            | FileKind::Manifest
            | FileKind::CompactionProgress
            | FileKind::Current
            | FileKind::Options
            | FileKind::Identity => info.add_verification(path, kind),
            FileKind::InfoLog => info.notes.push("messages of the engine for people".into()),
            FileKind::Other => info.notes.push("a file of the engine without contents".into()),
            _ => return None,
        }
        Some(info)
    }

    /// Adds the results of verification. Fields whose contents cannot be read stay empty.
    fn add_verification(&mut self, path: &Path, kind: FileKind) {
        let (found, contents) = sstkit_db::verify_file(path, kind, None);
        self.entries = found.entries;
        self.problems = found.problems.into_iter().map(Problem::from).collect();
        self.notes = found.notes;
        match contents {
            Some(FileContents::Log(contents)) => {
                (self.smallest_seq, self.largest_seq) = contents.sequences.unzip();
                self.log = Some(LogInfo::from(&*contents));
            }
            Some(FileContents::Manifest(state)) => self.add_manifest(*state),
            Some(FileContents::Current(manifest)) => self.manifest = Some(manifest),
            Some(FileContents::Options(options)) => self.add_options(&options),
            Some(FileContents::Identity(id)) => self.db_id = Some(Encoding::Escape.encode(&id)),
            _ => {}
        }
    }

    fn add_manifest(&mut self, state: ManifestState) {
        let families = state.column_families.values();
        self.tables = Some(families.clone().map(|family| family.files().count() as u64).sum());
        let names = families.map(|family| Encoding::Escape.encode(family.name.as_bytes()));
        self.column_family_names = Some(names.collect());
        self.last_seq = Some(state.last_sequence);
        self.next_file_number = Some(state.next_file_number);
        self.db_id = state.db_id.map(|id| Encoding::Escape.encode(id.as_bytes()));
    }

    fn add_options(&mut self, options: &OptionsFile) {
        let names = options.sections().iter().filter(|section| section.kind() == "CFOptions");
        let names = names.filter_map(|section| section.name());
        self.column_family_names =
            Some(names.map(|name| Encoding::Escape.encode(name.as_bytes())).collect());
        let version = options.rocksdb_version();
        self.rocksdb_version = version.map(|text| Encoding::Escape.encode(text.as_bytes()));
    }

    fn add_blob_file(&mut self, path: &Path) -> sstkit_db::Result<()> {
        let blobs = BlobFile::open_any(file_system::open(path)?.into_source())?;
        let header = blobs.header();
        self.entries = blobs.blob_count().unwrap_or(0);
        self.column_family = Some(header.column_family);
        self.compression = Some(names::codec(Engine::RocksDb, header.codec));
        Ok(())
    }

    /// The name of the MANIFEST that CURRENT names.
    pub fn manifest_name(&self) -> Option<String> {
        self.manifest.map(|number| FileName::Manifest(number).to_string())
    }
}
