//! How the paths of a command are opened.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use sstkit_db::DatabaseOptions;
use sstkit_table::TableReadOptions;

use super::{GivenOption, LogArgs, ReadArgs, reject_unused};

/// Options for opening tables and databases, for commands that take both.
#[derive(Args, Clone, Debug)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    log: LogArgs,
}

impl OpenArgs {
    /// Rejects these and `more` options that have no effect on any of the paths.
    pub(crate) fn check(
        &self,
        paths: &[PathBuf],
        more: impl IntoIterator<Item = GivenOption>,
    ) -> Result<()> {
        let given = self.read.given().into_iter().chain(self.log.given()).chain(more);
        reject_unused(paths.iter().map(PathBuf::as_path), given)
    }

    /// The memory limit for the contents of write-ahead logs, if it is given.
    pub(crate) fn max_log_memory(&self) -> Option<u64> {
        self.log.max_log_memory
    }

    /// The backup to read, if it is given.
    pub(crate) fn backup(&self) -> Option<u32> {
        self.log.backup
    }

    /// Whether the write-ahead logs are left out.
    pub(crate) fn ignores_log(&self) -> bool {
        self.log.ignore_log
    }

    pub(crate) fn table_options(&self) -> TableReadOptions {
        self.read.table_options()
    }

    pub(crate) fn database_options(&self) -> DatabaseOptions {
        self.read.database_options(&self.log)
    }
}
