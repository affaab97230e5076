//! How tables and databases are read, where they do not say it themselves.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use sstkit_db::{DatabaseOptions, merge_operator};
use sstkit_filter::PrefixExtractor;
use sstkit_table::{Comparator, KeyForm, MergeOperator, TableReadOptions};

use super::{GivenOption, PathKind, names};
use crate::output::units;
use crate::suggest::hint;

/// The short names of those that are built in; RocksDB's own names are known, too.
const MERGE_OPERATORS: [&str; 6] =
    ["uint64add", "stringappend", "stringappendtest", "put", "max", "bytesxor"];

/// How tables are read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Where the file does not say it")]
pub(crate) struct ReadArgs {
    /// The order of the keys: leveldb.BytewiseComparator, rocksdb.ReverseBytewiseComparator, or
    /// either with .u64ts behind it
    #[arg(long, value_name = "NAME", value_parser = names::comparator)]
    pub(crate) comparator: Option<Comparator>,

    /// What part of a key is its prefix: fixed:N, capped:N or noop
    #[arg(long, value_name = "EXTRACTOR", value_parser = names::prefix_extractor)]
    pub(crate) prefix_extractor: Option<PrefixExtractor>,

    /// What the keys of a table are
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) key_form: KeyFormName,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// How values are put together.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Where the file does not say it")]
pub(crate) struct MergeArgs {
    /// What combines merge operands: put, uint64add, stringappend, max and others, by RocksDB's
    /// names
    #[arg(long, value_name = "NAME")]
    merge_operator: Option<String>,
}

impl MergeArgs {
    /// The one that is named.
    pub(crate) fn operator(&self) -> Result<Option<Arc<dyn MergeOperator>>> {
        self.merge_operator.as_deref().map(merge_operator_named).transpose()
    }

    /// `options` with the operator that is named, for column families that name none.
    pub(crate) fn add_to(&self, options: DatabaseOptions) -> Result<DatabaseOptions> {
        Ok(match self.operator()? {
            Some(operator) => options.default_merge_operator(operator),
            None => options,
        })
    }
}

/// How much memory a file may take.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LimitArgs {
    /// The most bytes that a block may decompress to; 16 times its stored size is always read
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = block_size)]
    pub(crate) max_block_size: usize,
}

fn block_size(text: &str) -> Result<usize, String> {
    let bytes = units::parse_size(text)?;
    usize::try_from(bytes).map_err(|_| format!("{text:?} is more than this machine can address"))
}

/// How the write-ahead logs of a database are read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Write-ahead logs of a database")]
pub(crate) struct LogArgs {
    /// Leave out the write-ahead logs: only what is in tables
    #[arg(long)]
    pub(crate) ignore_log: bool,

    /// Memory for the contents of the write-ahead logs [default: 512 MiB, or 16 times their size]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    pub(crate) max_log_memory: Option<u64>,
}

impl LogArgs {
    /// See [`refuse_unused`](super::refuse_unused).
    pub(crate) fn given(&self) -> [GivenOption; 2] {
        let database = &[PathKind::Database][..];
        [
            ("--ignore-log", self.ignore_log, database),
            (
                "--max-log-memory",
                self.max_log_memory.is_some(),
                &[PathKind::Database, PathKind::OtherFile][..],
            ),
        ]
    }
}

/// Which part of a database.
#[derive(Args, Clone, Debug)]
pub(crate) struct DatabaseArgs {
    #[arg(long, value_name = "NAME", help = "The column family of a database [default: default]")]
    column_family: Option<String>,
}

impl DatabaseArgs {
    /// The name of the column family.
    pub(crate) fn name(&self) -> &str {
        self.column_family.as_deref().unwrap_or("default")
    }

    /// See [`refuse_unused`](super::refuse_unused).
    pub(crate) fn given(&self) -> [GivenOption; 1] {
        [("--column-family", self.column_family.is_some(), &[PathKind::Database])]
    }
}

/// What the keys of a table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyFormName {
    /// As the file looks
    #[default]
    Auto,
    /// With sequence number and kind, as in databases
    Internal,
    /// Bare, as LevelDB's TableBuilder writes them when used by itself
    User,
}

impl From<KeyFormName> for KeyForm {
    fn from(name: KeyFormName) -> Self {
        match name {
            KeyFormName::Auto => Self::Auto,
            KeyFormName::Internal => Self::Internal,
            KeyFormName::User => Self::User,
        }
    }
}

impl ReadArgs {
    /// How one table is read.
    pub(crate) fn table_options(&self) -> TableReadOptions {
        let mut options = TableReadOptions::default()
            .key_form(self.key_form.into())
            .max_block_size(self.limits.max_block_size);
        if let Some(comparator) = &self.comparator {
            options = options.comparator(comparator.clone());
        }
        if let Some(extractor) = &self.prefix_extractor {
            options = options.prefix_extractor(extractor.clone());
        }
        options
    }

    /// How a database is read.
    pub(crate) fn database_options(&self, log: &LogArgs) -> DatabaseOptions {
        let mut options = DatabaseOptions::default()
            .max_block_size(self.limits.max_block_size)
            .replay_logs(!log.ignore_log);
        if let Some(bytes) = log.max_log_memory {
            options = options.max_log_memory(bytes);
        }
        if let Some(comparator) = &self.comparator {
            options = options.comparator(comparator.clone());
        }
        if let Some(extractor) = &self.prefix_extractor {
            options = options.prefix_extractor(extractor.clone());
        }
        options
    }

    /// See [`refuse_unused`](super::refuse_unused).
    pub(crate) fn given(&self) -> [GivenOption; 3] {
        let (table, both) = (&[PathKind::Table][..], &[PathKind::Table, PathKind::Database][..]);
        [
            ("--comparator", self.comparator.is_some(), both),
            ("--prefix-extractor", self.prefix_extractor.is_some(), both),
            ("--key-form", self.key_form != KeyFormName::Auto, table),
        ]
    }
}

/// One of the built-in merge operators.
pub(crate) fn merge_operator_named(name: &str) -> Result<Arc<dyn MergeOperator>> {
    merge_operator(name).ok_or_else(|| {
        let (list, hint) = (MERGE_OPERATORS.join(", "), hint(name, MERGE_OPERATORS));
        anyhow!("no merge operator is known as {name:?} (there are {list}){hint}")
    })
}
