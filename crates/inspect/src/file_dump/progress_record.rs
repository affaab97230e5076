//! How far a compaction has come, from a `COMPACTION_PROGRESS-` file.

use serde::Serialize;
use sstkit_db::raw::{FileMetaData, OutputLevelProgress, SubcompactionProgress};

use super::table_record::BoundRecord;
use crate::encoding::Encoding;

/// How far a compaction has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProgressRecord {
    /// The key from which it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_key: Option<BoundRecord>,
    /// The number of entries that it has read.
    pub input_records: u64,
    /// What it has written to its output level.
    pub output: OutputRecord,
    /// What it has written to the level above.
    pub proximal_output: OutputRecord,
}

/// What a compaction has written to a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutputRecord {
    /// The number of entries in all files so far.
    pub records: u64,
    /// The files that were finished since the edit before.
    pub new_files: Vec<OutputFileRecord>,
}

/// A finished file of a compaction. It is in no level yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutputFileRecord {
    /// The file number.
    pub number: u64,
    /// The size in bytes.
    pub size: u64,
    /// The smallest key.
    pub smallest: BoundRecord,
    /// The largest key.
    pub largest: BoundRecord,
}

impl ProgressRecord {
    pub(super) fn of(progress: &SubcompactionProgress, encoding: Encoding) -> Self {
        let level = |level: &OutputLevelProgress| OutputRecord {
            records: level.records,
            new_files: level
                .new_files
                .iter()
                .map(|it| OutputFileRecord::of(it, encoding))
                .collect(),
        };
        Self {
            next_key: progress.next_key.as_ref().map(|key| BoundRecord::of(key, encoding)),
            input_records: progress.input_records,
            output: level(&progress.output),
            proximal_output: level(&progress.proximal_output),
        }
    }
}

impl OutputFileRecord {
    fn of(file: &FileMetaData, encoding: Encoding) -> Self {
        Self {
            number: file.number,
            size: file.size,
            smallest: BoundRecord::of(&file.smallest, encoding),
            largest: BoundRecord::of(&file.largest, encoding),
        }
    }
}
