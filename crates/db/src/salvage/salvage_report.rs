//! What was saved of a database, what was lost, and what cannot be known.

use std::path::{Path, PathBuf};

use sstkit_table::raw::Engine;
use sstkit_table::{KeyExcerpt, Loss, SalvageReport, Uncertainty};

use super::table_examination::ExaminedTable;
use crate::file_kind::FileKind;
use crate::raw::FileName;

/// Keys without values that are kept; more are only counted.
pub(super) const MAX_LOST_VALUES: usize = 10_000;

/// What happens to a file of a damaged database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileOutcome {
    /// Nothing is wrong with it; it is used as it is.
    Sound,
    /// Parts of it are damaged; the rest is used.
    Salvaged,
    /// It does not exist any more, or nothing of it can be used.
    Lost,
    /// Another file says that it is not needed any more; it is not used.
    Obsolete,
    /// Nothing refers to it; it is not used.
    Orphaned,
    /// It is damaged or does not exist any more, and is rebuilt.
    Rebuilt,
}

impl FileOutcome {
    /// Its name in JSON and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Salvaged => "salvaged",
            Self::Lost => "lost",
            Self::Obsolete => "obsolete",
            Self::Orphaned => "orphaned",
            Self::Rebuilt => "rebuilt",
        }
    }
}

/// A part of a write-ahead log that is lost or not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLoss {
    /// Where it starts in the file.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Writes in it, if it is readable and only not used.
    pub writes: Option<u64>,
    /// These writes by column family, and between which keys they are.
    pub unused: Vec<UnusedWrites>,
    /// Why it is lost.
    pub reason: String,
}

/// Writes to a column family in a log that are readable, and not used.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedWrites {
    /// The name of the column family.
    pub column_family: String,
    /// The number of writes.
    pub writes: u64,
    /// The smallest and the largest user key, without timestamps; `None` if their order is not known.
    pub bounds: Option<(Vec<u8>, Vec<u8>)>,
}

sstkit_coding::debug_struct!(UnusedWrites { column_family, writes, bounds: bytes });

/// A file of a damaged database.
#[derive(Clone)]
#[non_exhaustive]
pub struct SalvagedFile {
    /// Its path.
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// What happens to it.
    pub outcome: FileOutcome,
    /// Its size in bytes; 0 if it does not exist.
    pub size: u64,
    /// The name of its column family, if it has one.
    pub column_family: Option<String>,
    /// The level of a table, if a MANIFEST says so.
    pub level: Option<u32>,
    /// The size that a lost table had, if a MANIFEST says so, and if it was larger than what exists.
    pub recorded_size: Option<u64>,
    /// The smallest and the largest user key of a table, if they are known.
    pub bounds: Option<(Vec<u8>, Vec<u8>)>,
    /// Entries, writes or values that are saved.
    pub entries: u64,
    /// Entries that are lost, if that is known.
    pub entries_lost: Option<u64>,
    /// Entries that are lost at least.
    pub entries_lost_at_least: u64,
    /// Bytes of the values of a blob file that are lost.
    pub value_bytes_lost: u64,
    /// What was found in a damaged table.
    pub table: Option<SalvageReport>,
    /// Parts of a log that are lost or not used.
    pub log_losses: Vec<LogLoss>,
    /// What else is to be said, as sentences.
    pub notes: Vec<String>,
}

sstkit_coding::debug_struct!(SalvagedFile {
    path,
    kind,
    outcome,
    size,
    column_family,
    level,
    recorded_size,
    bounds: bytes,
    entries,
    entries_lost,
    entries_lost_at_least,
    value_bytes_lost,
    table,
    log_losses,
    notes,
});

impl SalvagedFile {
    pub(super) fn new(path: impl Into<PathBuf>, kind: FileKind, outcome: FileOutcome) -> Self {
        let path = path.into();
        Self {
            size: std::fs::metadata(&path).map_or(0, |it| it.len()),
            path,
            kind,
            outcome,
            column_family: None,
            level: None,
            recorded_size: None,
            bounds: None,
            entries: 0,
            entries_lost: Some(0),
            entries_lost_at_least: 0,
            value_bytes_lost: 0,
            table: None,
            log_losses: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Bytes that held entries and are lost, or not used.
    pub fn bytes_lost(&self) -> u64 {
        match (self.outcome, &self.table) {
            _ if self.kind == FileKind::BlobFile => self.value_bytes_lost,
            (FileOutcome::Lost, table) => {
                let found = table.as_ref().map_or(self.size, SalvageReport::bytes_lost);
                self.recorded_size.unwrap_or(found)
            }
            (_, Some(table)) => table.bytes_lost(),
            _ => self.log_losses.iter().map(|it| it.length).sum(),
        }
    }

    /// Whether entries of it are lost.
    pub fn has_losses(&self) -> bool {
        match (self.outcome, self.kind) {
            (FileOutcome::Lost, FileKind::Table | FileKind::Log | FileKind::BlobFile) => true,
            (FileOutcome::Salvaged, _) => {
                let table = self.table.as_ref();
                table.is_some_and(|it| it.losses.iter().any(Loss::has_entries))
                    || !self.log_losses.is_empty()
                    || self.entries_lost != Some(0)
            }
            _ => false,
        }
    }
}

/// A key whose value is lost with a blob file.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostValue {
    /// The name of the column family.
    pub column_family: String,
    /// The user key.
    pub key: Vec<u8>,
    /// The number of the blob file.
    pub blob_file: u64,
    /// Why it cannot be read.
    pub reason: String,
}

sstkit_coding::debug_struct!(LostValue { column_family, key: bytes, blob_file, reason });

/// A column family that is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedFamily {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The name of its comparator.
    pub comparator: String,
    /// Tables that are used.
    pub tables: u64,
    /// Entries that are saved: versions of keys and range tombstones, in tables and logs. Not those whose
    /// values are lost with a blob file.
    pub entries: u64,
}

/// What cannot be known about what is saved of a database.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatabaseUncertainty {
    /// Which tables were live is not recorded any more, for this reason.
    LiveTables(String),
    /// A table may be obsolete: another one may have been made from it.
    MaybeObsolete {
        /// The table.
        table: PathBuf,
        /// The other one.
        newer: PathBuf,
        /// The smallest and the largest key of the table.
        bounds: (Vec<u8>, Vec<u8>),
    },
    /// Entries between these keys (`None`: no bound) are lost, and older versions of them may be
    /// visible again.
    Deletions {
        /// The file that they are lost from.
        file: PathBuf,
        /// The name of the column family, if it is known.
        column_family: Option<String>,
        /// The last key before the loss; the smallest key of writes in a log that are not used.
        after: Option<Vec<u8>>,
        /// The first key after it; the largest key of such writes.
        before: Option<Vec<u8>>,
    },
    /// Merge operands of a log may be merged into values of tables already, and would then be merged
    /// twice.
    MergeOperands {
        /// The log.
        file: PathBuf,
        /// The name of the column family.
        column_family: String,
        /// The smallest key with such operands.
        after: Vec<u8>,
        /// The largest one.
        before: Vec<u8>,
    },
    /// Range tombstones of a table may apply to too many keys: its bounds are not recorded any more.
    RangeTombstones {
        /// The table.
        file: PathBuf,
        /// The name of the column family.
        column_family: String,
        /// The smallest start of a range tombstone.
        start: Vec<u8>,
        /// The largest end.
        end: Vec<u8>,
    },
    /// Something about the contents of a table.
    Table {
        /// The table.
        file: PathBuf,
        /// What it is.
        what: Uncertainty,
    },
    /// Something that was assumed, as a sentence.
    Assumed {
        /// What it is about.
        file: Option<PathBuf>,
        /// The smallest and the largest key that it concerns, if it concerns only some.
        bounds: Option<(Vec<u8>, Vec<u8>)>,
        /// The sentence.
        what: String,
    },
}

sstkit_coding::debug_enum!(DatabaseUncertainty {
    LiveTables(what),
    MaybeObsolete { table, newer, bounds: bytes },
    Deletions { file, column_family, after: bytes, before: bytes },
    MergeOperands { file, column_family, after: bytes, before: bytes },
    RangeTombstones { file, column_family, start: bytes, end: bytes },
    Table { file, what },
    Assumed { file, bounds: bytes, what },
});

impl DatabaseUncertainty {
    pub(super) fn assumed(file: impl Into<Option<PathBuf>>, what: impl Into<String>) -> Self {
        Self::Assumed { file: file.into(), bounds: None, what: what.into() }
    }

    /// The same about the keys of a table.
    pub(super) fn assumed_of_table(table: &ExaminedTable, what: impl Into<String>) -> Self {
        let (file, bounds) = (Some(table.path.clone()), table.bounds());
        Self::Assumed { file, bounds, what: what.into() }
    }

    /// The file that it is about, if it is one.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::LiveTables(_) => None,
            Self::MaybeObsolete { table, .. } => Some(table),
            Self::Deletions { file, .. }
            | Self::MergeOperands { file, .. }
            | Self::RangeTombstones { file, .. }
            | Self::Table { file, .. } => Some(file),
            Self::Assumed { file, .. } => file.as_ref(),
        }
    }
}

/// Whether it is a write-ahead log, by its name.
fn is_log(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    matches!(FileName::parse(&name), FileName::Log(_))
}

/// A sentence, which does not name the file.
impl std::fmt::Display for DatabaseUncertainty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LiveTables(reason) => write!(
                f,
                "which tables were in use is not recorded any more ({reason}): tables that had been \
                 replaced, but not deleted yet, are used, too"
            ),
            Self::MaybeObsolete { newer, bounds, .. } => {
                let newer = newer.file_name().unwrap_or_default().to_string_lossy();
                let (first, last) = (KeyExcerpt(&bounds.0), KeyExcerpt(&bounds.1));
                write!(
                    f,
                    "may be obsolete, since {newer} may have been made from it: then deleted keys \
                     between {first} and {last} may be back, and overwritten ones may have old values"
                )
            }
            Self::Deletions { file, after: None, before: None, .. } if is_log(file) => f.write_str(
                "deleted keys may be back, overwritten ones may have old values: what the log had is \
                 not known",
            ),
            Self::Deletions { file, column_family: Some(family), after, before }
                if is_log(file) && family != "default" =>
            {
                let (after, before) = (after.clone(), before.clone());
                let what = Uncertainty::Deletions { after, before };
                write!(f, "column family {family:?}: {what}")
            }
            Self::Deletions { after, before, .. } => {
                let (after, before) = (after.clone(), before.clone());
                Uncertainty::Deletions { after, before }.fmt(f)
            }
            Self::MergeOperands { column_family, after, before, .. } => write!(
                f,
                "operands of keys between {} and {} of column family {column_family:?} may be merged \
                 twice: whether the log was flushed is not recorded any more",
                KeyExcerpt(after),
                KeyExcerpt(before)
            ),
            Self::RangeTombstones { start, end, .. } => write!(
                f,
                "keys between {} and {} may be missing: up to which key the range tombstones apply is \
                 not recorded any more",
                KeyExcerpt(start),
                KeyExcerpt(end)
            ),
            Self::Table { what, .. } => what.fmt(f),
            Self::Assumed { bounds: Some((first, last)), what, .. } => {
                write!(f, "{what} (keys {} to {})", KeyExcerpt(first), KeyExcerpt(last))
            }
            Self::Assumed { what, .. } => f.write_str(what),
        }
    }
}

/// What is saved of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DatabaseSalvageReport {
    /// The directory, or a single table.
    pub path: PathBuf,
    /// It has tables, and nothing that only a database has.
    pub is_folder: bool,
    /// The engine that wrote the database.
    pub engine: Engine,
    /// The column families, by id.
    pub column_families: Vec<SalvagedFamily>,
    /// The files: CURRENT, MANIFEST, OPTIONS, tables, blob files and logs, also those that are lost.
    pub files: Vec<SalvagedFile>,
    /// Keys whose values are lost with a blob file; at most 10,000.
    pub lost_values: Vec<LostValue>,
    /// The number of keys whose values are lost, including those that are not listed.
    pub lost_value_count: u64,
    /// What cannot be known.
    pub uncertain: Vec<DatabaseUncertainty>,
}

impl DatabaseSalvageReport {
    /// Entries that are saved: versions of keys and range tombstones, in tables and logs.
    pub fn entries(&self) -> u64 {
        self.column_families.iter().map(|family| family.entries).sum()
    }

    /// Entries that are lost, if that is known.
    pub fn entries_lost(&self) -> Option<u64> {
        let of_files: Option<u64> = self
            .files
            .iter()
            .filter(|file| !matches!(file.kind, FileKind::BlobFile))
            .map(|file| file.entries_lost)
            .sum();
        of_files.map(|lost| lost + self.lost_value_count)
    }

    /// Entries that are lost at least, where it is not known how many are.
    pub fn entries_lost_at_least(&self) -> u64 {
        let of_entries = self.files.iter().filter(|file| file.kind != FileKind::BlobFile);
        let known = of_entries.map(|it| it.entries_lost.unwrap_or(0).max(it.entries_lost_at_least));
        known.sum::<u64>() + self.lost_value_count
    }

    /// Bytes that held entries and are lost, or not used.
    pub fn bytes_lost(&self) -> u64 {
        self.files.iter().map(SalvagedFile::bytes_lost).sum()
    }

    /// Whether entries are lost.
    pub fn has_losses(&self) -> bool {
        self.lost_value_count > 0 || self.files.iter().any(SalvagedFile::has_losses)
    }

    /// Whether nothing is lost and nothing is uncertain.
    pub fn is_complete(&self) -> bool {
        !self.has_losses() && self.uncertain.is_empty()
    }
}
