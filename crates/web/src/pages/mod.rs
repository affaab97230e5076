//! The JSON of each page: one function a page, which reads its parameters and describes.

mod database;
mod filter;
mod health;
mod lookup;
mod lookup_limits;
mod scan;
mod table;
mod text_limits;
mod what_if;

use serde::Serialize;

pub(crate) use self::database::FileTails;
use crate::error::Result;
use crate::inspector::{Inspector, Request};
use crate::source::Opened;

/// A page, or a part of one that is loaded on its own.
#[derive(Debug)]
pub(crate) struct JsonPage {
    pub(crate) name: &'static str,
    /// Whether people see it: the others have no HTML.
    pub(crate) is_shown: bool,
    pub(crate) json: fn(&Request<'_>) -> Result<Vec<u8>>,
}

impl PartialEq for JsonPage {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for JsonPage {}

/// All pages.
pub(crate) const PAGES: &[JsonPage] = &[
    JsonPage { name: "database", is_shown: true, json: database::map },
    JsonPage { name: "files", is_shown: false, json: database::files },
    JsonPage { name: "history", is_shown: false, json: database::history },
    JsonPage { name: "table", is_shown: true, json: table::table },
    JsonPage { name: "blocks", is_shown: false, json: table::blocks },
    JsonPage { name: "details", is_shown: false, json: table::details },
    JsonPage { name: "block", is_shown: false, json: table::block },
    JsonPage { name: "filter", is_shown: true, json: filter::filter },
    JsonPage { name: "probe", is_shown: false, json: filter::probe },
    JsonPage { name: "whatif", is_shown: false, json: what_if::what_if },
    JsonPage { name: "budget", is_shown: false, json: what_if::budget },
    JsonPage { name: "lookup", is_shown: true, json: lookup::lookup },
    JsonPage { name: "scan", is_shown: true, json: scan::scan },
    JsonPage { name: "versions", is_shown: false, json: scan::versions },
    JsonPage { name: "health", is_shown: true, json: health::health },
];

pub(crate) fn find(name: &str) -> Option<&'static JsonPage> {
    PAGES.iter().find(|page| page.name == name)
}

/// Serialises a description.
pub(crate) fn to_json(description: &impl Serialize) -> Result<Vec<u8>> {
    // Descriptions have no maps with keys other than text, so this cannot fail.
    Ok(serde_json::to_vec(description).unwrap_or_default())
}

/// Serialises a description whose texts may be long, and are then cut: `cut` says which.
pub(crate) fn to_short_json(description: &impl Serialize) -> Result<Vec<u8>> {
    let mut page = serde_json::to_value(description).unwrap_or_default();
    let cut = text_limits::shorten_texts(&mut page);
    if let Some(page) = page.as_object_mut() {
        page.insert("cut".into(), serde_json::to_value(cut).unwrap_or_default());
    }
    to_json(&page)
}

/// The list of sources.
#[derive(Serialize)]
struct Index<'i> {
    version: &'static str,
    sources: Vec<SourceInfo<'i>>,
}

#[derive(Serialize)]
struct SourceInfo<'i> {
    file: &'i str,
    /// `table`, `database` or `failed`.
    kind: &'static str,
    /// The size of the table, or of all tables, in bytes.
    size: Option<u64>,
    /// Why it could not be opened, or only in part.
    problem: Option<String>,
    /// The column families of a database.
    column_families: Vec<String>,
}

/// The sources. Opens each of them.
pub(crate) fn index(inspector: &Inspector) -> Result<Vec<u8>> {
    let opened: Vec<_> =
        inspector.sources().iter().map(|source| (source.name(), source.opened())).collect();
    let sources = opened.iter().map(|(file, opened)| match &**opened {
        Opened::Table(table) => SourceInfo {
            file,
            kind: "table",
            size: Some(table.table().size()),
            problem: None,
            column_families: Vec::new(),
        },
        Opened::Database(database, error) => SourceInfo {
            file,
            kind: "database",
            size: Some(database::table_bytes(database)),
            problem: error.as_ref().map(ToString::to_string),
            column_families: database.column_families().map(|it| it.name().to_owned()).collect(),
        },
        Opened::Failed(why) => SourceInfo {
            file,
            kind: "failed",
            size: None,
            problem: Some(why.clone()),
            column_families: Vec::new(),
        },
    });
    to_short_json(&Index { version: env!("CARGO_PKG_VERSION"), sources: sources.collect() })
}
