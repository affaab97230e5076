//! Accessors for the options that matter to a reader.

use std::str::FromStr;

use super::{OptionValue, OptionsSection};
use crate::raw::RecoveryMode;

/// The section `[DBOptions]`.
#[derive(Clone, Copy, Debug)]
pub struct DbOptions<'a>(pub(super) Option<&'a OptionsSection>);

/// A section `[CFOptions "name"]`.
#[derive(Clone, Copy, Debug)]
pub struct ColumnFamilyOptions<'a>(pub(super) Option<&'a OptionsSection>);

/// A section `[TableOptions/BlockBasedTable "name"]`.
#[derive(Clone, Copy, Debug)]
pub struct TableFactoryOptions<'a>(pub(super) Option<&'a OptionsSection>);

fn value<'a>(section: Option<&'a OptionsSection>, name: &str) -> Option<&'a OptionValue> {
    section?.get(name)
}

fn name<'a>(section: Option<&'a OptionsSection>, option: &str) -> Option<&'a str> {
    value(section, option)?.as_name()
}

fn parsed<T: FromStr>(section: Option<&OptionsSection>, option: &str) -> Option<T> {
    value(section, option)?.as_text()?.parse().ok()
}

impl<'a> DbOptions<'a> {
    /// Where the write-ahead logs are, if not beside the MANIFEST.
    pub fn wal_dir(&self) -> Option<&'a str> {
        name(self.0, "wal_dir")
    }

    /// How much damage of a log is tolerated.
    pub fn wal_recovery_mode(&self) -> Option<RecoveryMode> {
        RecoveryMode::from_name(name(self.0, "wal_recovery_mode")?)
    }

    /// Whether transactions may be in the logs in two phases.
    pub fn allow_2pc(&self) -> Option<bool> {
        parsed(self.0, "allow_2pc")
    }

    /// Any other option.
    pub fn get(&self, option: &str) -> Option<&'a OptionValue> {
        value(self.0, option)
    }
}

impl<'a> ColumnFamilyOptions<'a> {
    /// The comparator's name.
    pub fn comparator(&self) -> Option<&'a str> {
        name(self.0, "comparator")
    }

    /// The merge operator's name, if there is one.
    pub fn merge_operator(&self) -> Option<&'a str> {
        name(self.0, "merge_operator")
    }

    /// The prefix extractor's name, if there is one, such as `rocksdb.FixedPrefix.9`.
    pub fn prefix_extractor(&self) -> Option<&'a str> {
        name(self.0, "prefix_extractor")
    }

    /// How many levels there are.
    pub fn num_levels(&self) -> Option<u32> {
        parsed(self.0, "num_levels")
    }

    /// Whether the last level has no filters.
    pub fn optimize_filters_for_hits(&self) -> Option<bool> {
        parsed(self.0, "optimize_filters_for_hits")
    }

    /// Any other option.
    pub fn get(&self, option: &str) -> Option<&'a OptionValue> {
        value(self.0, option)
    }
}

impl<'a> TableFactoryOptions<'a> {
    /// The filter policy's text, if there is one, such as `bloomfilter:10:false`.
    pub fn filter_policy(&self) -> Option<&'a str> {
        name(self.0, "filter_policy")
    }

    /// Whether whole keys are in the filters.
    pub fn whole_key_filtering(&self) -> Option<bool> {
        parsed(self.0, "whole_key_filtering")
    }

    /// Any other option.
    pub fn get(&self, option: &str) -> Option<&'a OptionValue> {
        value(self.0, option)
    }
}
