//! The files of a database directory, for tools that take a directory apart: the nouns of the
//! format documents as types.
//!
//! ```text
//! CURRENT            names the current MANIFEST                          parse_current
//! MANIFEST-000005    log of VersionEdits: which tables are alive    ManifestState, VersionEdit
//! 000029.log         log of WriteBatches: what is not in a table    LogReader, WriteBatch
//! 000031.sst, .ldb   tables                                         sstkit_table::raw
//! 000011.blob        large values                                   BlobFile
//! OPTIONS-000007     how the database was configured                OptionsFile
//! meta/1             the files of a backup                          BackupMeta
//! ```
//!
//! [`FileName`] distinguishes them by name.

mod backup_meta;
mod blob_file;
mod file_name;
mod log;
mod manifest;
mod options_file;
mod read_ahead;
mod write_batch;

pub use backup_meta::{BackupMeta, BackupMetaFile};
pub(crate) use blob_file::TITAN_MAGIC;
pub use blob_file::{BlobFile, BlobFileHeader, BlobRecord, BlobRecords, MAX_BLOB_SIZE};
pub use file_name::{FileName, parse_current};
pub use log::{
    DEFAULT_MAX_RECORD_SIZE, LogEvent, LogFragment, LogLimit, LogProblem, LogProblemKind,
    LogReader, LogRecord, LogWriter, MAX_KEPT_FRAGMENTS, PredecessorWal, Reaction, RecoveryMode,
};
pub(crate) use manifest::level_limit;
pub use manifest::{
    BlobFileGarbage, BlobFileMetaData, ColumnFamilyState, FileMetaData, ManifestState,
    OutputLevelProgress, SubcompactionProgress, VersionEdit, WalAddition,
};
pub use options_file::{
    ColumnFamilyOptions, DbOptions, OptionValue, OptionsFile, OptionsSection, TableFactoryOptions,
};
pub use write_batch::{WriteBatch, WriteOperation, WriteRecord, WriteRecords};
