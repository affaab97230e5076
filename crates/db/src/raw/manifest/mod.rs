//! The MANIFEST: a log whose records are [`VersionEdit`]s, and what they add up to.

mod encoder;
mod fields;
mod file_meta_data;
mod new_file;
mod replay;
mod state;
mod subcompaction_progress;
mod tag;
mod version_edit;

pub(crate) use fields::level_limit;
pub use file_meta_data::{BlobFileGarbage, BlobFileMetaData, FileMetaData, WalAddition};
pub use state::{ColumnFamilyState, ManifestState};
pub use subcompaction_progress::{OutputLevelProgress, SubcompactionProgress};
pub use version_edit::VersionEdit;
