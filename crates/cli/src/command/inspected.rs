//! The tables and databases that `serve` and `report` show.

use crate::remote::readable_path;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sstkit_db::DatabaseOptions;
use sstkit_table::{BlockCache, TableReadOptions};
use sstkit_web::{InspectedSource, Inspector, Opened};

use crate::args::{MergeArgs, OpenArgs};
use crate::database;
use crate::output::print_message;
use crate::target::Target;

/// The block cache that all sources share.
const CACHE_SIZE: u64 = 64 << 20;

/// How to read what is shown.
#[derive(Debug, clap::Args)]
pub(super) struct InspectedArgs {
    /// Tables, databases or directories of tables
    #[arg(required = true, value_name = "PATH", value_parser = readable_path())]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    merge: MergeArgs,
}

impl InspectedArgs {
    /// Opens nothing yet. A path that does not exist is shown with the reason; if none exists, fails.
    pub(super) fn inspector(&self) -> Result<Inspector> {
        self.open.check(&self.paths, [])?;
        let cache = BlockCache::new(CACHE_SIZE);
        let table = self.merge.add_to_table(self.open.table_options().block_cache(&cache))?;
        let database = self.merge.add_to(self.open.database_options())?.block_cache(&cache);
        let mut sources: Vec<Result<InspectedSource>> =
            self.paths.iter().map(|path| source(path, &table, &database)).collect();
        if sources.iter().all(Result::is_err) {
            // There is nothing to show: the first reason ends the command.
            sources.truncate(1);
            return Ok(Inspector::new(sources.into_iter().collect::<Result<_>>()?));
        }
        let shown = sources.into_iter().zip(&self.paths).map(|(source, path)| {
            source.unwrap_or_else(|error| {
                let why = crate::status::message(&error);
                print_message(&why);
                let name = path.display().to_string();
                InspectedSource::new(name, move || Opened::Failed(why.clone()))
            })
        });
        Ok(Inspector::new(shown.collect()))
    }
}

fn source(
    path: &Path,
    table: &TableReadOptions,
    database: &DatabaseOptions,
) -> Result<InspectedSource> {
    let name = path.display().to_string();
    Ok(match Target::of(path)? {
        Target::Table(path) => {
            let options = table.clone();
            InspectedSource::new(name, move || Opened::table(&path, &options))
        }
        Target::Database(path) => {
            let options = database.clone();
            InspectedSource::new(name, move || match database::open_quietly(&path, &options) {
                Ok((database, error)) => Opened::Database(database, error),
                Err(error) => Opened::Failed(crate::status::message(&error)),
            })
        }
    })
}
