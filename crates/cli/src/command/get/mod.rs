//! `sst get`: prints the values of keys, or explains the lookups.

mod explain;

use crate::remote::readable_path;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use sstkit_db::ColumnFamily;
use sstkit_inspect::{ExplainedLookup, GetRecord, InspectedTable, JsonRecord, OwnerView};
use sstkit_table::visibility::ReadView;
use sstkit_table::{Comparator, ReadOptions, Record, Tickers};

use crate::args::{DatabaseArgs, MergeArgs, OpenArgs, OwnerArgs, PrintArgs, SnapshotArgs};
use crate::database;
use crate::input;
use crate::output::{Page, merge_operands, print_message, records};
use crate::status::Status;
use crate::table_order;
use crate::target::Target;

/// Print the values of keys; exit status 1 if any is not found
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst get 000011.sst user00042
  sst get /var/lib/mydb --column-family meta version
  sst get 000011.sst --encoding hex 7573657230 --format json
  sst scan a.sst --keys-only | sst get /var/lib/mydb --keys-from -
  sst get --explain /var/lib/mydb user00042")]
pub(crate) struct Args {
    /// Table or database
    #[arg(value_parser = readable_path())]
    path: PathBuf,

    /// Keys to look up
    #[arg(required_unless_present = "keys_from", value_name = "KEY")]
    keys: Vec<String>,

    /// Look up the keys in FILE, too: one per line, in the given --encoding; an empty line is the empty
    /// key. - is standard input
    #[arg(long, value_name = "FILE")]
    keys_from: Option<PathBuf>,

    #[command(flatten)]
    snapshot: SnapshotArgs,

    /// Explain each lookup: files skipped by key range, result and probed bits of each filter,
    /// index entry, block, restart interval, entries
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    merge: MergeArgs,

    #[command(flatten)]
    owner: OwnerArgs,
}

enum Source {
    Table(InspectedTable, Arc<Tickers>, ReadView),
    Database(ColumnFamily),
}

impl Source {
    /// Finds out the order of a table, if it was only assumed: then a key may be in the table that was
    /// not found. Whether the order is another one.
    fn detect_order(&mut self, path: &Path) -> Result<bool> {
        let Self::Table(file, ..) = self else { return Ok(false) };
        if !file.has_assumed_order() {
            return Ok(false);
        }
        *file = table_order::detect(file, path)?;
        Ok(!file.table().comparator().is_ok_and(|order| *order == Comparator::Bytewise))
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        self.open.check(slice::from_ref(&self.path), self.database.given())?;
        let keys: Vec<Vec<u8>> =
            self.keys.iter().map(|key| self.print.encoding.key(key)).collect::<Result<_>>()?;
        let mut status = Status::Fine;
        let mut source = match Target::table_or_database(&self.path)? {
            Target::Table(path) => {
                let tickers = Arc::new(Tickers::default());
                let options = self.open.table_options().tickers(&tickers);
                let options = self.merge.add_to_table(options)?;
                ensure!(
                    !self.explain || !self.snapshot.is_given(),
                    "--explain shows the lookup of the newest state of a table: omit --at and \
                     --timestamp"
                );
                let file = InspectedTable::open(&path, &options)?;
                let order = file.table().comparator().ok();
                let view = self.snapshot.view(self.print.encoding, order)?;
                Source::Table(file, tickers, view)
            }
            Target::Database(path) => {
                let options = self.merge.add_to(self.open.database_options())?;
                let (database, opened) = database::open(&path, &self.owner.add_to(options))?;
                status.worsen(opened);
                let family = database::column_family(&database, self.database.name())?;
                Source::Database(self.snapshot.family(&family, self.print.encoding)?)
            }
        };
        let mut page = Page::stdout();
        let mut all_found = true;
        let mut process = |key: &[u8], page: &mut Page| -> Result<()> {
            all_found &= match self.explain {
                true => self.explain(&mut source, key, page)?,
                false => self.get(&mut source, key, page)?,
            };
            Ok(())
        };
        for key in &keys {
            process(key, &mut page)?;
        }
        if let Some(path) = &self.keys_from {
            let mut lines = input::open_lines(path)?;
            while lines.advance_to_any()? {
                let key = std::str::from_utf8(lines.text()).context("not UTF-8");
                let key = key.and_then(|key| self.print.encoding.key(key));
                process(&key.with_context(|| lines.location())?, &mut page)?;
            }
        }
        page.finish()?;
        status.worsen(Status::of(all_found));
        Ok(status)
    }

    fn look_up(&self, source: &Source, key: &[u8]) -> Result<Option<JsonRecord>> {
        let (record, view) = match source {
            Source::Table(file, _, read) => {
                let record = match file.table().comparator() {
                    Ok(_) => file.table().get_record_with(key, &ReadOptions::default().at(read))?,
                    Err(_) => file.find_by_scan(key, read)?,
                };
                (record, OwnerView::of_table(file, self.owner.of_table()))
            }
            Source::Database(family) => (family.get_record(key)?, OwnerView::of_family(family)),
        };
        if let Some(Record { value, .. }) = &record {
            merge_operands::warn_if_stale(&self.path, value);
        }
        Ok(record.map(|record| view.visible(&record, self.print.encoding())))
    }

    /// Prints the value; false if the key is not found.
    fn get(&self, source: &mut Source, key: &[u8], page: &mut Page) -> Result<bool> {
        let encoding = self.print.encoding();
        let mut record = self.look_up(source, key)?;
        if record.is_none() && source.detect_order(&self.path)? {
            record = self.look_up(source, key)?;
        }
        let found = record.is_some();
        match record {
            record if self.print.format.is_json() => {
                page.json(&GetRecord::new(key, record, encoding))?;
            }
            // Scripts use the value alone, so it is not shortened.
            Some(record) if self.keys.len() == 1 && self.keys_from.is_none() => {
                writeln!(page, "{}", records::value(&record))?;
            }
            Some(record) => records::print(page, &self.owner.shown(record))?,
            None if key.is_empty() => print_message("the empty key: not found"),
            None => print_message(&format!("{}: not found", encoding.encode(key))),
        }
        Ok(found)
    }

    /// Prints the steps of the lookup; false if the key is not found.
    fn explain(&self, source: &mut Source, key: &[u8], page: &mut Page) -> Result<bool> {
        let mut explained = self.explained(source, key)?;
        if !explained.explanation.found && source.detect_order(&self.path)? {
            explained = self.explained(source, key)?;
        }
        let ExplainedLookup { explanation, statistics, .. } = &explained;
        match self.print.format.is_json() {
            true => page.json(&explained)?,
            false => explain::print(page, explanation, statistics)?,
        }
        Ok(explanation.found)
    }

    fn explained(&self, source: &Source, key: &[u8]) -> Result<ExplainedLookup> {
        let encoding = self.print.encoding();
        Ok(match source {
            Source::Table(file, tickers, _) => {
                ExplainedLookup::in_table(file, tickers, key, encoding)?
            }
            Source::Database(family) => ExplainedLookup::in_database(family, key, encoding)?,
        })
    }
}
