//! Describes a single database file other than a table.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Read};
use std::path::Path;

use serde::Serialize;
use sstkit_db::raw::{
    BlobFile, FileName, LogEvent, LogReader, ManifestState, OptionsFile, WriteBatch, parse_current,
};
use sstkit_table::raw::{Engine, regular_file};

use crate::encoding::Encoding;
use crate::file_kind::FileKind;
use crate::names;
use crate::verify::Problem;
use crate::verify_file::{log_number, verify_file};

/// The maximum size of CURRENT and OPTIONS files to read.
const MAX_TEXT: u64 = 16 << 20;

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
    /// Describes a file of this kind; `None` for tables and unknown files. Reads logs and MANIFESTs
    /// completely, and the header and footer of blob files.
    pub fn of(path: &Path, kind: FileKind) -> Option<Self> {
        let mut info = Self {
            file: path.display().to_string(),
            kind: kind.name(),
            size: fs::metadata(path).map_or(0, |file| file.len()),
            ..Self::default()
        };
        let read = match kind {
            FileKind::Log => info.log(path),
            FileKind::Manifest => info.manifest(path),
            FileKind::Current => info.current(path),
            FileKind::Options => info.options(path),
            FileKind::Identity => info.identity(path),
            FileKind::BlobFile => info.blob_file(path),
            _ => return None,
        };
        if let Err(error) = read {
            info.problems.push(Problem::from(&error.in_file(path)));
        }
        Some(info)
    }

    /// Adds the results of verification.
    fn verified(&mut self, path: &Path, kind: FileKind) {
        let report = verify_file(path, kind, None);
        (self.entries, self.problems, self.notes) = (report.entries, report.problems, report.notes);
    }

    fn log(&mut self, path: &Path) -> sstkit_db::Result<()> {
        self.verified(path, FileKind::Log);
        let file = BufReader::new(regular_file::open(path)?.take(self.size));
        let mut reader = LogReader::new(file, Engine::RocksDb, log_number(path)?);
        while let Ok(Some(event)) = reader.next_record() {
            let LogEvent::Record(record) = event else { continue };
            let Ok(batch) = WriteBatch::decode_from(record.payload, Engine::RocksDb) else {
                continue;
            };
            let (first, count) = (batch.sequence(), u64::from(batch.count()));
            if count > 0 {
                let last = first.saturating_add(count - 1);
                self.smallest_seq = Some(self.smallest_seq.map_or(first, |it| it.min(first)));
                self.largest_seq = self.largest_seq.max(Some(last));
            }
        }
        Ok(())
    }

    fn manifest(&mut self, path: &Path) -> sstkit_db::Result<()> {
        self.verified(path, FileKind::Manifest);
        let replay = |engine| -> sstkit_db::Result<ManifestState> {
            ManifestState::replay(BufReader::new(regular_file::open(path)?.take(self.size)), engine)
        };
        // Damage was already reported.
        let Ok(state) = replay(Engine::RocksDb).or_else(|_| replay(Engine::LevelDb)) else {
            return Ok(());
        };
        let families = state.column_families.values();
        self.tables = Some(families.clone().map(|family| family.files().count() as u64).sum());
        let names = families.map(|family| Encoding::Escape.encode(family.name.as_bytes()));
        self.column_family_names = Some(names.collect());
        self.last_seq = Some(state.last_sequence);
        self.next_file_number = Some(state.next_file_number);
        self.db_id = state.db_id.map(|id| Encoding::Escape.encode(id.as_bytes()));
        Ok(())
    }

    fn current(&mut self, path: &Path) -> sstkit_db::Result<()> {
        self.verified(path, FileKind::Current);
        self.manifest = parse_current(&text(path)?).ok();
        Ok(())
    }

    fn options(&mut self, path: &Path) -> sstkit_db::Result<()> {
        self.verified(path, FileKind::Options);
        let Ok(options) = OptionsFile::parse(&String::from_utf8_lossy(&text(path)?)) else {
            return Ok(());
        };
        let names = options.sections().iter().filter(|section| section.kind() == "CFOptions");
        let names = names.filter_map(|section| section.name());
        self.column_family_names =
            Some(names.map(|name| Encoding::Escape.encode(name.as_bytes())).collect());
        let version = options.rocksdb_version();
        self.rocksdb_version = version.map(|text| Encoding::Escape.encode(text.as_bytes()));
        Ok(())
    }

    fn identity(&mut self, path: &Path) -> sstkit_db::Result<()> {
        self.verified(path, FileKind::Identity);
        self.db_id = Some(Encoding::Escape.encode(text(path)?.trim_ascii()));
        Ok(())
    }

    fn blob_file(&mut self, path: &Path) -> sstkit_db::Result<()> {
        let blobs = BlobFile::open_any(regular_file::open(path)?)?;
        let header = blobs.header();
        self.entries = blobs.blob_count().unwrap_or(0);
        self.column_family = Some(header.column_family);
        self.compression = Some(names::codec(Engine::RocksDb, header.codec));
        Ok(())
    }

    /// The name of the MANIFEST in CURRENT.
    pub fn manifest_name(&self) -> Option<String> {
        self.manifest.map(|number| FileName::Manifest(number).to_string())
    }
}

fn text(path: &Path) -> sstkit_db::Result<Vec<u8>> {
    let mut contents = Vec::new();
    regular_file::open(path)?.take(MAX_TEXT).read_to_end(&mut contents)?;
    Ok(contents)
}
