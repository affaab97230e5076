//! Arguments that several commands share.

pub(crate) mod names;
mod printing;
mod reading;
mod unused;
mod writing;

pub(crate) use self::printing::{EncodingArgs, FormatArgs, encodings};
pub(crate) use self::reading::{
    DatabaseArgs, KeyFormName, LimitArgs, LogArgs, MergeArgs, ReadArgs, merge_operator_named,
};
pub(crate) use self::unused::{GivenOption, PathKind, reject_unused};
pub(crate) use self::writing::{DuplicatesName, Profile, WriteArgs};
