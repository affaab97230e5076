//! Options for reading tables and databases, where the files do not determine them.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use sstkit_db::{DatabaseOptions, Ttl, merge_operator};
use sstkit_filter::PrefixExtractor;
use sstkit_inspect::JsonRecord;
use sstkit_table::{Comparator, KeyForm, MergeOperator, TableReadOptions};

use super::{GivenOption, PathKind, SetIfGiven as _, names};
use crate::output::units;
use sstkit_inspect::suggest::hint;

/// Short names of the built-in operators. RocksDB's own names are accepted, too.
const MERGE_OPERATORS: [&str; 6] =
    ["uint64add", "stringappend", "stringappendtest", "put", "max", "bytesxor"];

/// The order of the keys.
#[derive(Args, Clone, Debug)]
pub(crate) struct OrderArgs {
    /// Key order, where the file does not say it: bytewise, reverse, bytewise.u64ts, reverse.u64ts,
    /// shortlex, little-endian, ignore-case, idb_cmp1, or an engine's name. NAME=ORDER gives the order
    /// of a comparator that the file names; may be repeated
    #[arg(
        long,
        value_name = "[NAME=]ORDER",
        value_parser = names::comparator,
        help_heading = "Interpretation of the file"
    )]
    comparator: Vec<Comparator>,
}

impl OrderArgs {
    /// These comparators.
    pub(crate) fn of(comparators: impl IntoIterator<Item = Comparator>) -> Self {
        Self { comparator: comparators.into_iter().collect() }
    }

    pub(crate) fn add_to_table(&self, options: TableReadOptions) -> TableReadOptions {
        // One without a name of its own is that of the table, whatever that calls it.
        let is_plain = |it: &&Comparator| it.order().name() == it.name();
        let plain = self.comparator.iter().rfind(is_plain).cloned();
        let given = self.comparator.iter().cloned();
        let options = given.fold(options, TableReadOptions::comparator);
        options.set_if_given(plain, TableReadOptions::order_of_unknown)
    }

    pub(crate) fn add_to_database(&self, options: DatabaseOptions) -> DatabaseOptions {
        self.comparator.iter().cloned().fold(options, DatabaseOptions::comparator)
    }

    /// The one given last, if any.
    pub(crate) fn last(&self) -> Option<&Comparator> {
        self.comparator.last()
    }
}

/// Options for reading tables.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Interpretation of the file")]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(crate) order: OrderArgs,

    /// Prefix extractor of the keys: fixed:N, capped:N or noop
    #[arg(long, value_name = "EXTRACTOR", value_parser = names::prefix_extractor)]
    pub(crate) prefix_extractor: Option<PrefixExtractor>,

    /// Form of the keys in a table
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) key_form: KeyFormName,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Options for merge operands.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Interpretation of the file")]
pub(crate) struct MergeArgs {
    /// Merge operator: put, uint64add, stringappend, max and others, by RocksDB's names
    #[arg(long, value_name = "NAME")]
    merge_operator: Option<String>,
}

impl MergeArgs {
    fn operator(&self) -> Result<Option<Arc<dyn MergeOperator>>> {
        self.merge_operator.as_deref().map(merge_operator_named).transpose()
    }

    /// Adds the merge operator to the options of a table.
    pub(crate) fn add_to_table(&self, options: TableReadOptions) -> Result<TableReadOptions> {
        Ok(options.set_if_given(self.operator()?, TableReadOptions::merge_operator))
    }

    /// Adds the merge operator to `options`, for column families that name none.
    pub(crate) fn add_to(&self, options: DatabaseOptions) -> Result<DatabaseOptions> {
        Ok(options.set_if_given(self.operator()?, DatabaseOptions::default_merge_operator))
    }
}

/// Options for showing keys and values as the software shows them that wrote them.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Interpretation of the file")]
pub(crate) struct OwnerArgs {
    /// Whether values end with the time of their write, as in databases with a time to live
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", num_args = 0..=1,
          require_equals = true, default_missing_value = "on")]
    ttl: TtlName,

    /// Show in text what keys mean, where the comparator is idb_cmp1 (Chromium's IndexedDB)
    #[arg(long)]
    pub(crate) decode_keys: bool,
}

/// Whether values end with the time of their write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum TtlName {
    /// If the OPTIONS of the database say so
    #[default]
    Auto,
    /// Yes
    On,
    /// No
    Off,
}

impl OwnerArgs {
    /// Whether it is given that values end with the time of their write.
    pub(crate) fn has_ttl(self) -> bool {
        self.ttl == TtlName::On
    }

    pub(crate) fn add_to(self, options: DatabaseOptions) -> DatabaseOptions {
        match self.ttl {
            TtlName::Auto => options,
            given => options.ttl(given == TtlName::On),
        }
    }

    /// A record for text.
    pub(crate) fn shown(self, mut record: JsonRecord) -> JsonRecord {
        if let Some(decoded) = record.decoded_key.take().filter(|_| self.decode_keys) {
            record.key = decoded;
        }
        record
    }

    /// For a table, whose OPTIONS are not known.
    pub(crate) fn of_table(self) -> Option<Ttl> {
        (self.ttl == TtlName::On).then(Ttl::default)
    }
}

/// Memory limits for reading.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LimitArgs {
    /// Limit for the decompressed size of a block; 16 times its stored size is always allowed
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = block_size)]
    pub(crate) max_block_size: usize,
}

fn block_size(text: &str) -> Result<usize, String> {
    let bytes = units::parse_size(text)?;
    usize::try_from(bytes).map_err(|_| format!("{text:?} is too large for this machine"))
}

/// Options for finding the tables of a database.
#[derive(Args, Clone, Debug)]
pub(crate) struct TableFolderArgs {
    /// Directory of tables (db_paths, cf_paths); repeat in the order of the database's options
    /// [default: the database, or directories beside it]
    #[arg(long, value_name = "DIR", help_heading = "Interpretation of the file")]
    pub(crate) db_path: Vec<PathBuf>,
}

impl TableFolderArgs {
    /// See [`reject_unused`](super::reject_unused).
    pub(crate) fn given(&self) -> GivenOption {
        ("--db-path", !self.db_path.is_empty(), &[PathKind::Database])
    }
}

/// Options for reading the write-ahead logs of a database.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Write-ahead logs")]
pub(crate) struct LogArgs {
    /// Ignore the write-ahead logs: read only the tables
    #[arg(long)]
    pub(crate) ignore_log: bool,

    /// Memory limit for the contents of the write-ahead logs [default: 512MiB, or 16 times their
    /// size]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    pub(crate) max_log_memory: Option<u64>,

    /// Directory of the write-ahead logs [default: from OPTIONS, or beside the database]
    #[arg(long, value_name = "DIR", conflicts_with = "ignore_log")]
    pub(crate) wal_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) tables: TableFolderArgs,

    /// Backup to read, of a folder of RocksDB's BackupEngine [default: the newest]
    #[arg(long, value_name = "ID", help_heading = "Interpretation of the file")]
    pub(crate) backup: Option<u32>,
}

impl LogArgs {
    /// See [`reject_unused`](super::reject_unused).
    pub(crate) fn given(&self) -> [GivenOption; 5] {
        let database = &[PathKind::Database][..];
        [
            ("--ignore-log", self.ignore_log, database),
            ("--wal-dir", self.wal_dir.is_some(), database),
            self.tables.given(),
            ("--backup", self.backup.is_some(), database),
            (
                "--max-log-memory",
                self.max_log_memory.is_some(),
                &[PathKind::Database, PathKind::OtherFile][..],
            ),
        ]
    }
}

/// Options for selecting a part of a database.
#[derive(Args, Clone, Debug)]
pub(crate) struct DatabaseArgs {
    #[arg(
        short,
        long,
        value_name = "NAME",
        help = "Column family of a database [default: default]"
    )]
    column_family: Option<String>,
}

impl DatabaseArgs {
    /// The name of the column family.
    pub(crate) fn name(&self) -> &str {
        self.column_family.as_deref().unwrap_or("default")
    }

    /// The name of the column family, if one was given.
    pub(crate) fn given_name(&self) -> Option<&str> {
        self.column_family.as_deref()
    }

    /// See [`reject_unused`](super::reject_unused).
    pub(crate) fn given(&self) -> [GivenOption; 1] {
        [("--column-family", self.column_family.is_some(), &[PathKind::Database])]
    }
}

/// The form of the keys in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyFormName {
    /// Detect from the file
    #[default]
    Auto,
    /// Internal keys: user key, sequence number and type, as in databases
    Internal,
    /// User keys only, as LevelDB's TableBuilder writes them when used on its own
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
    pub(crate) fn table_options(&self) -> TableReadOptions {
        let options = TableReadOptions::default()
            .key_form(self.key_form.into())
            .max_block_size(self.limits.max_block_size);
        self.order
            .add_to_table(options)
            .set_if_given(self.prefix_extractor.clone(), TableReadOptions::prefix_extractor)
    }

    /// Options for reading a database.
    pub(crate) fn database_options(&self, log: &LogArgs) -> DatabaseOptions {
        let options = DatabaseOptions::default()
            .max_block_size(self.limits.max_block_size)
            .replay_logs(!log.ignore_log)
            .table_folders(&log.tables.db_path)
            .set_if_given(log.backup, DatabaseOptions::backup)
            .set_if_given(log.max_log_memory, DatabaseOptions::max_log_memory)
            .set_if_given(log.wal_dir.as_ref(), DatabaseOptions::log_folder);
        self.order
            .add_to_database(options)
            .set_if_given(self.prefix_extractor.clone(), DatabaseOptions::prefix_extractor)
    }

    /// See [`reject_unused`](super::reject_unused).
    pub(crate) fn given(&self) -> [GivenOption; 3] {
        let (table, both) = (&[PathKind::Table][..], &[PathKind::Table, PathKind::Database][..]);
        [
            ("--comparator", self.order.last().is_some(), both),
            ("--prefix-extractor", self.prefix_extractor.is_some(), both),
            ("--key-form", self.key_form != KeyFormName::Auto, table),
        ]
    }
}

pub(crate) fn merge_operator_named(name: &str) -> Result<Arc<dyn MergeOperator>> {
    merge_operator(name).ok_or_else(|| {
        let (list, hint) = (MERGE_OPERATORS.join(", "), hint(name, MERGE_OPERATORS));
        anyhow!("unknown merge operator {name:?} (expected {list}){hint}")
    })
}
