//! Arguments that several commands share.

mod compression_choice;
mod opening;
mod printing;
mod range;
mod reading;
mod snapshot;
mod unused;
mod writing;

pub(crate) use self::opening::OpenArgs;
pub(crate) use self::printing::{EncodingArgs, FormatArgs, PrintArgs};
pub(crate) use self::range::{RangeArgs, SelectedKeys};
pub(crate) use self::reading::{
    DatabaseArgs, KeyFormName, LimitArgs, LogArgs, MergeArgs, OrderArgs, OwnerArgs, ReadArgs,
    TableFolderArgs, merge_operator_named,
};
pub(crate) use self::snapshot::SnapshotArgs;
pub(crate) use self::unused::{GivenOption, PathKind, reject_unused};
pub(crate) use self::writing::{DuplicatesName, Profile, WriteArgs, leveldb_filter};
pub(crate) use sstkit_inspect::setting_names as names;

/// Options that arguments may set.
pub(crate) trait SetIfGiven: Sized {
    /// Calls `set` if there is a value; otherwise the default stays.
    fn set_if_given<T>(self, value: Option<T>, set: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => set(self, value),
            None => self,
        }
    }
}

impl<O> SetIfGiven for O {}
