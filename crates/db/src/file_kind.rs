//! The kind of a single database file: by its contents, or else by its name.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use sstkit_coding::named_enum;
use sstkit_table::raw::{Engine, TableKind};

use crate::file_system::{self, OpenedFile};
use crate::raw::{
    FileName, LogEvent, LogReader, TITAN_MAGIC, VersionEdit, WriteBatch, parse_current,
};
use crate::verify::log_number;

const COMPACTION_PROGRESS: &str = "COMPACTION_PROGRESS-";

const BLOB_FILE_MAGIC: [u8; 4] = [0x37, 0x8f, 0x24, 0x00];

/// The number of bytes to examine in a file whose name does not tell its kind.
const HEAD: u64 = 64 << 10;

/// The maximum size of the first record of a log that is examined.
const MAX_FIRST_RECORD: usize = 64 << 20;

named_enum! {
    /// What a file of a database is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum FileKind {
        /// A table.
        Table => "table",
        /// A write-ahead log.
        Log => "log",
        /// A MANIFEST: a log of version edits.
        Manifest => "manifest",
        /// `COMPACTION_PROGRESS-1700000000000000`: a log of version edits that say how far a
        /// compaction has come.
        CompactionProgress => "compaction-progress",
        /// `CURRENT`.
        Current => "current",
        /// `OPTIONS-000007`.
        Options => "options",
        /// `IDENTITY`.
        Identity => "identity",
        /// A blob file.
        BlobFile => "blob-file",
        /// `LOG`: messages for people. There is nothing to verify.
        InfoLog => "info-log",
        /// `LOCK`, or a temporary file.
        Other => "other",
        /// The meta file of a backup.
        BackupMeta => "backup",
        /// A database directory. No file is of this kind.
        Database => "database",
        /// Not a database file.
        Unknown => "unknown",
    }

    /// The name in JSON.
    fn name;
}

impl FileKind {
    /// Detects the kind of the file at `path` by its magic number, its text or its first record. If
    /// these do not tell, as in an empty or damaged file, the name decides.
    pub fn of(path: &Path) -> io::Result<Self> {
        let named = Self::of_name(path);
        match (named, Self::of_contents(path, named)) {
            // Nothing to recognise them by, and nothing else has their names.
            (Some(named @ (Self::InfoLog | Self::Other)), _) => Ok(named),
            // If it cannot be read, reading it as what it should be reports the reason.
            (Some(named), Err(_) | Ok(Self::Unknown)) => Ok(named),
            (_, found) => found,
        }
    }

    /// What a name that databases use says.
    fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Some(match FileName::parse(name) {
            FileName::Current => Self::Current,
            FileName::Manifest(_) => Self::Manifest,
            FileName::Log(_) => Self::Log,
            FileName::Table(_) => Self::Table,
            FileName::Blob(_) => Self::BlobFile,
            FileName::Options(_) => Self::Options,
            FileName::Identity => Self::Identity,
            FileName::InfoLog => Self::InfoLog,
            FileName::Lock | FileName::Temporary => Self::Other,
            FileName::Other if has_table_extension(path) => Self::Table,
            FileName::Other if name.starts_with(COMPACTION_PROGRESS) => Self::CompactionProgress,
            FileName::Other => return None,
        })
    }

    fn of_contents(path: &Path, named: Option<Self>) -> io::Result<Self> {
        let mut file = file_system::open(path)?;
        let size = file.size()?;
        // A log of tables as values may end as a table does.
        if matches!(named, Some(Self::Log | Self::Manifest | Self::CompactionProgress)) {
            if Self::of_first_record(path, file) == named {
                return Ok(named.unwrap_or(Self::Unknown));
            }
            file = file_system::open(path)?;
        }
        let mut magic = [0; TableKind::MAGIC_LENGTH];
        if size >= magic.len() as u64 {
            file.seek(SeekFrom::Start(size - magic.len() as u64))?;
            file.read_exact(&mut magic)?;
            if TableKind::from_magic(magic).is_some() {
                return Ok(Self::Table);
            }
        }
        file.rewind()?;
        let mut head = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut head)?;
        if head.starts_with(&BLOB_FILE_MAGIC) || head.starts_with(&TITAN_MAGIC) {
            return Ok(Self::BlobFile);
        }
        if head.len() as u64 == size && parse_current(&head).is_ok() {
            return Ok(Self::Current);
        }
        if head.split(|&byte| byte == b'\n').any(|line| line.trim_ascii() == b"[DBOptions]") {
            return Ok(Self::Options);
        }
        file.rewind()?;
        Ok(Self::of_first_record(path, file).unwrap_or(Self::Unknown))
    }

    fn of_first_record(path: &Path, file: OpenedFile) -> Option<Self> {
        let number = log_number(path).ok()?;
        let file = BufReader::new(file).take(MAX_FIRST_RECORD as u64);
        let mut log =
            LogReader::new(file, Engine::RocksDb, number).with_max_record_size(MAX_FIRST_RECORD);
        let Ok(Some(LogEvent::Record(record))) = log.next_record() else { return None };
        // A batch includes its number of writes, so hardly anything else is mistaken for one.
        if WriteBatch::decode_from(record.payload, Engine::RocksDb).is_ok() {
            return Some(Self::Log);
        }
        let edit = [Engine::RocksDb, Engine::LevelDb]
            .into_iter()
            .find_map(|engine| VersionEdit::decode_from(record.payload, engine).ok())?;
        Some(match edit.subcompaction_progress {
            Some(_) => Self::CompactionProgress,
            None => Self::Manifest,
        })
    }
}

/// Renamed tables usually keep their extension.
fn has_table_extension(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sst" || extension == "ldb")
}
