//! `sst get`: prints the values of keys, or explains the lookups.

mod explain;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use serde::Serialize;
use sstkit_db::ColumnFamily;
use sstkit_inspect::{Explanation, GetRecord, InspectedTable, JsonRecord};
use sstkit_table::visibility::ReadView;
use sstkit_table::{TableReadOptions, Ticker, Tickers};

use crate::args::{
    DatabaseArgs, EncodingArgs, FormatArgs, LogArgs, MergeArgs, ReadArgs, SetIfGiven as _,
    reject_unused,
};
use crate::database;
use crate::output::{Page, print_message, records};
use crate::status::Status;
use crate::target::Target;

/// Print the values of keys; exit status 1 if any is not found
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst get 000011.sst user00042
  sst get /var/lib/mydb --column-family meta version
  sst get 000011.sst --encoding hex 7573657230 --format json
  sst get --explain /var/lib/mydb user00042")]
pub(crate) struct Args {
    /// Table or database
    path: PathBuf,

    /// Keys to look up
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<String>,

    /// Explain each lookup: files skipped by key range, result and probed bits of each filter,
    /// index entry, block, restart interval, entries
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    encoding: EncodingArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    merge: MergeArgs,

    #[command(flatten)]
    log: LogArgs,
}

enum Source {
    Table(InspectedTable, Arc<Tickers>),
    Database(ColumnFamily),
}

/// Tickers, by RocksDB's names.
type Statistics = BTreeMap<&'static str, u64>;

/// A lookup and its tickers.
#[derive(Serialize)]
struct Explained {
    #[serde(flatten)]
    explanation: Explanation,
    statistics: Statistics,
}

impl Source {
    fn statistics(&self) -> Statistics {
        let named = |(ticker, count): (Ticker, u64)| (ticker.name(), count);
        match self {
            Self::Table(_, tickers) => tickers.iter().map(named).collect(),
            Self::Database(family) => family.stats().tickers().iter().map(named).collect(),
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let given = self.read.given().into_iter().chain(self.log.given());
        reject_unused([self.path.as_path()], given.chain(self.database.given()))?;
        let keys: Vec<Vec<u8>> =
            self.keys.iter().map(|key| self.encoding.key(key)).collect::<Result<_>>()?;
        let mut status = Status::Fine;
        let source = match Target::of(&self.path)? {
            Target::Table(path) => {
                let tickers = Arc::new(Tickers::default());
                let options = self.read.table_options().tickers(&tickers);
                let operator = self.merge.operator()?;
                let options = options.set_if_given(operator, TableReadOptions::merge_operator);
                Source::Table(InspectedTable::open(&path, &options)?, tickers)
            }
            Target::Database(path) => {
                let options = self.merge.add_to(self.read.database_options(&self.log))?;
                let (database, opened) = database::open(&path, &options)?;
                status.worsen(opened);
                Source::Database(database::column_family(&database, self.database.name())?)
            }
        };
        let mut page = Page::stdout();
        let mut all_found = true;
        for key in &keys {
            all_found &= match self.explain {
                true => self.explain(&source, key, &mut page)?,
                false => self.get(&source, key, &mut page)?,
            };
        }
        page.finish()?;
        status.worsen(Status::of(all_found));
        Ok(status)
    }

    fn look_up(&self, source: &Source, key: &[u8]) -> Result<Option<JsonRecord>> {
        let encoding = self.encoding.encoding;
        let record = match source {
            Source::Table(file, _) => file.table().get_record(key, &ReadView::default())?,
            Source::Database(family) => family.get_record(key)?,
        };
        Ok(record.map(|record| JsonRecord::of_visible(&record, encoding)))
    }

    /// Prints the value; false if the key is not found.
    fn get(&self, source: &Source, key: &[u8], page: &mut Page) -> Result<bool> {
        let encoding = self.encoding.encoding;
        let record = self.look_up(source, key)?;
        let found = record.is_some();
        match record {
            record if self.format.is_json() => page.json(&GetRecord::new(key, record, encoding))?,
            // Scripts use the value alone, so it is not shortened.
            Some(record) if self.keys.len() == 1 => writeln!(page, "{}", records::value(&record))?,
            Some(record) => records::print(page, &record)?,
            None => print_message(&format!("{}: not found", encoding.encode(key))),
        }
        Ok(found)
    }

    /// Prints the steps of the lookup; false if the key is not found.
    fn explain(&self, source: &Source, key: &[u8], page: &mut Page) -> Result<bool> {
        let encoding = self.encoding.encoding;
        let before = source.statistics();
        let explanation = match source {
            Source::Table(file, _) => {
                let explanation = Explanation::in_table(file, key, encoding)?;
                // Explaining counts nothing. A value that cannot be resolved was explained.
                let _ = file.table().get(key);
                explanation
            }
            Source::Database(family) => Explanation::in_database(&family.explain(key)?, encoding),
        };
        let mut statistics = source.statistics();
        for (name, count) in &mut statistics {
            *count -= before.get(name).copied().unwrap_or(0);
        }
        statistics.retain(|_, count| *count > 0);
        let found = explanation.found;
        match self.format.is_json() {
            true => page.json(&Explained { explanation, statistics })?,
            false => explain::print(page, &explanation, &statistics)?,
        }
        Ok(found)
    }
}
