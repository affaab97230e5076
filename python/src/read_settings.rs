//! How tables and databases are opened, from keyword arguments.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sstkit_db::{DatabaseOptions, merge_operator};
use sstkit_inspect::setting_names as names;
use sstkit_table::{BlockCache, Comparator, KeyForm, MergeOperator, TableReadOptions, Tickers};

use crate::errors::Failure;
use crate::settings::{Settings, one_of};

const KEY_FORMS: [(&str, KeyForm); 3] =
    [("auto", KeyForm::Auto), ("internal", KeyForm::Internal), ("user", KeyForm::User)];

/// The options of a table, which counts in `tickers`.
pub(crate) fn table_options(
    given: Option<&Bound<'_, PyDict>>,
    tickers: &Arc<Tickers>,
) -> PyResult<TableReadOptions> {
    let mut from = Settings::new(given);
    let mut options = TableReadOptions::default().tickers(tickers);
    for comparator in comparators(&mut from)? {
        options = options.comparator(comparator);
    }
    if let Some(operator) = operator(&mut from)? {
        options = options.merge_operator(operator);
    }
    if let Some(extractor) = from.parse("prefix_extractor", names::prefix_extractor)? {
        options = options.prefix_extractor(extractor);
    }
    if let Some(form) = from.parse("key_form", |text| one_of("key form", text, &KEY_FORMS))? {
        options = options.key_form(form);
    }
    if let Some(bytes) = from.take("max_block_size")? {
        options = options.max_block_size(bytes);
    }
    if let Some(on) = from.take("verify_checksums")? {
        options = options.verify_checksums(on);
    }
    match from.take::<u64>("cache_size")? {
        Some(0) => options = options.no_block_cache(),
        Some(bytes) => options = options.block_cache(&BlockCache::new(bytes)),
        None => {}
    }
    from.finish()?;
    Ok(options)
}

/// The options of a database, and whether its tables alone are read.
pub(crate) fn database_options(
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<(DatabaseOptions, bool)> {
    let mut from = Settings::new(given);
    let mut options = DatabaseOptions::default();
    for comparator in comparators(&mut from)? {
        options = options.comparator(comparator);
    }
    if let Some(operator) = operator(&mut from)? {
        options = options.default_merge_operator(operator);
    }
    if let Some(extractor) = from.parse("prefix_extractor", names::prefix_extractor)? {
        options = options.prefix_extractor(extractor);
    }
    if let Some(bytes) = from.take("max_block_size")? {
        options = options.max_block_size(bytes);
    }
    if let Some(on) = from.take("verify_checksums")? {
        options = options.verify_checksums(on);
    }
    if let Some(bytes) = from.take("cache_size")? {
        options = options.block_cache_size(bytes);
    }
    if let Some(on) = from.take("replay_logs")? {
        options = options.replay_logs(on);
    }
    if let Some(bytes) = from.take("max_log_memory")? {
        options = options.max_log_memory(bytes);
    }
    if let Some(folder) = from.take::<PathBuf>("log_folder")? {
        options = options.log_folder(folder);
    }
    if let Some(folders) = from.take::<Vec<PathBuf>>("table_folders")? {
        options = options.table_folders(folders);
    }
    if let Some(id) = from.take("backup")? {
        options = options.backup(id);
    }
    if let Some(on) = from.take("ttl")? {
        options = options.ttl(on);
    }
    let tables_only = from.take("tables_only")?.unwrap_or(false);
    from.finish()?;
    Ok((options, tables_only))
}

/// One order, or several: `NAME=ORDER` gives the order of a comparator that files name.
fn comparators(from: &mut Settings<'_>) -> PyResult<Vec<Comparator>> {
    let texts = from.take("comparator")?.map(OneOrMany::into_names).unwrap_or_default();
    let parsed = texts.iter().map(|text| names::comparator(text));
    Ok(parsed.collect::<Result<_, _>>().map_err(Failure::Invalid)?)
}

/// A text or several.
#[derive(FromPyObject)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    /// All of them.
    pub(crate) fn into_names(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Many(names) => names,
        }
    }
}

fn operator(from: &mut Settings<'_>) -> PyResult<Option<Arc<dyn MergeOperator>>> {
    from.parse("merge_operator", |name| {
        merge_operator(name).ok_or_else(|| format!("unknown merge operator {name:?}"))
    })
}
