//! The tags of a version edit. Stored; the numbers never change.

pub(super) const COMPARATOR: u32 = 1;
pub(super) const LOG_NUMBER: u32 = 2;
pub(super) const NEXT_FILE_NUMBER: u32 = 3;
pub(super) const LAST_SEQUENCE: u32 = 4;
pub(super) const COMPACT_CURSOR: u32 = 5;
pub(super) const DELETED_FILE: u32 = 6;
pub(super) const NEW_FILE: u32 = 7;
pub(super) const PREV_LOG_NUMBER: u32 = 9;
pub(super) const MIN_LOG_NUMBER_TO_KEEP: u32 = 10;
pub(super) const NEW_FILE2: u32 = 100;
pub(super) const NEW_FILE3: u32 = 102;
pub(super) const NEW_FILE4: u32 = 103;
pub(super) const COLUMN_FAMILY: u32 = 200;
pub(super) const COLUMN_FAMILY_ADD: u32 = 201;
pub(super) const COLUMN_FAMILY_DROP: u32 = 202;
pub(super) const MAX_COLUMN_FAMILY: u32 = 203;
pub(super) const IN_ATOMIC_GROUP: u32 = 300;
pub(super) const BLOB_FILE_ADDITION: u32 = 400;
pub(super) const BLOB_FILE_GARBAGE: u32 = 401;
/// A tag with this bit has a length behind it, except for the four old ones.
pub(super) const SAFE_TO_IGNORE: u32 = 1 << 13;
pub(super) const DB_ID: u32 = SAFE_TO_IGNORE + 1;
pub(super) const OLD_BLOB_FILE_ADDITION: u32 = SAFE_TO_IGNORE + 2;
pub(super) const OLD_BLOB_FILE_GARBAGE: u32 = SAFE_TO_IGNORE + 3;
pub(super) const OLD_WAL_ADDITION: u32 = SAFE_TO_IGNORE + 4;
pub(super) const OLD_WAL_DELETION: u32 = SAFE_TO_IGNORE + 5;
pub(super) const FULL_HISTORY_TS_LOW: u32 = SAFE_TO_IGNORE + 6;
pub(super) const WAL_ADDITION: u32 = SAFE_TO_IGNORE + 7;
pub(super) const WAL_DELETION: u32 = SAFE_TO_IGNORE + 8;
pub(super) const PERSIST_TIMESTAMPS: u32 = SAFE_TO_IGNORE + 9;
pub(super) const SUBCOMPACTION_PROGRESS: u32 = SAFE_TO_IGNORE + 10;
