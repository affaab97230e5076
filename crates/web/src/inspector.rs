//! Answers addresses: pages, their JSON, and the files that the pages are made of.
//!
//! ```text
//! /                        the sources                        /index.json
//! /0/database?cf=default   a page of source 0                 /0/database.json?cf=default
//! /0/table?file=11                                            /0/table.json?file=11
//! /assets/app.js           what pages are made of
//! ```
//!
//! All pages are the same HTML, which requests the JSON of its own address. A client that prefers JSON
//! (`Accept: application/json`) gets it at the address of the page, too.

use std::io;

use crate::assets::{self, Asset};
use crate::block_lists::BlockLists;
use crate::error::{PageError, Result};
use crate::filter_levels::KnownFilterLevels;
use crate::pages::{self, FileTails, JsonPage};
use crate::query::{Address, Query};
use crate::source::{InspectedSource, Opened};
use crate::verification::Verifications;

/// Whether to continue with work that may take long: not if the client has gone.
pub type KeepGoing<'k> = &'k dyn Fn() -> bool;

/// The tables and databases that are inspected, and what is known about them.
pub struct Inspector {
    sources: Vec<InspectedSource>,
    pub(crate) block_lists: BlockLists,
    pub(crate) file_tails: FileTails,
    pub(crate) filter_levels: KnownFilterLevels,
    pub(crate) verifications: Verifications,
}

/// What an address leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The HTML of all pages.
    Shell,
    Asset(&'static Asset),
    /// The JSON of the list of sources.
    Index,
    /// The JSON of a page of a source.
    Json(usize, &'static JsonPage),
    /// The events of a verification of a source.
    Verify(usize),
}

/// What a page is made from.
pub(crate) struct Request<'r> {
    pub(crate) inspector: &'r Inspector,
    pub(crate) index: usize,
    /// The path of the source.
    pub(crate) name: &'r str,
    pub(crate) opened: &'r Opened,
    pub(crate) query: &'r Query,
    pub(crate) keep_going: KeepGoing<'r>,
    /// Whether the source has been opened again for this request: what is missing now stays missing.
    pub(crate) is_reopened: bool,
}

impl Inspector {
    /// Inspects these sources, in the order in which pages show them.
    pub fn new(sources: Vec<InspectedSource>) -> Self {
        Self {
            verifications: Verifications::new(sources.len()),
            sources,
            block_lists: BlockLists::default(),
            file_tails: FileTails::default(),
            filter_levels: KnownFilterLevels::default(),
        }
    }

    pub(crate) fn sources(&self) -> &[InspectedSource] {
        &self.sources
    }

    /// Finds what an address leads to.
    pub(crate) fn route(&self, path: &str, prefers_json: bool) -> Result<Route> {
        if let Some(name) = path.strip_prefix("/assets/") {
            let asset = assets::find(name);
            return asset.map(Route::Asset).ok_or_else(|| nothing(path));
        }
        let (page, is_json) = match path.strip_suffix(".json") {
            Some(page) => (page, true),
            None => (path, prefers_json),
        };
        if matches!(page, "/" | "/index") {
            return Ok(if is_json { Route::Index } else { Route::Shell });
        }
        let mut parts = page.strip_prefix('/').unwrap_or(page).split('/');
        let (Some(index), Some(name), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(nothing(path));
        };
        let index = index.parse().ok().filter(|&index: &usize| index < self.sources.len());
        let index = index.ok_or_else(|| nothing(path))?;
        if name == "verify.ndjson" {
            return Ok(Route::Verify(index));
        }
        let page = pages::find(name).ok_or_else(|| nothing(path))?;
        match (is_json, page.is_shown) {
            (true, _) => Ok(Route::Json(index, page)),
            (false, true) => Ok(Route::Shell),
            (false, false) => Err(nothing(path)),
        }
    }

    /// The JSON of an address that leads to JSON.
    pub(crate) fn json(
        &self,
        route: Route,
        query: &Query,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<u8>> {
        match route {
            Route::Index => pages::index(self),
            Route::Json(index, page) => self.page(index, page, query, keep_going),
            _ => Err(PageError::not_found("this address has no JSON")),
        }
    }

    fn page(
        &self,
        index: usize,
        page: &JsonPage,
        query: &Query,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<u8>> {
        let source = &self.sources[index];
        let mut is_first = true;
        loop {
            let opened = source.opened();
            let request = Request {
                inspector: self,
                index,
                name: source.name(),
                opened: &opened,
                query,
                keep_going,
                is_reopened: !is_first,
            };
            match (page.json)(&request) {
                // A running engine has deleted files: its new state is read.
                Err(error) if error.is_changed && std::mem::take(&mut is_first) => {
                    source.reopen(&opened);
                    self.block_lists.forget(index);
                    self.file_tails.forget(index);
                    self.filter_levels.forget(index);
                }
                result => return result,
            }
        }
    }

    /// Verifies a source. Passes events as lines of JSON to `emit`, until it fails: then the
    /// verification is stopped.
    pub(crate) fn verify(
        &self,
        index: usize,
        emit: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<()> {
        let source = &self.sources[index];
        self.verifications.run(index, source.name(), &source.opened(), emit)
    }

    /// The JSON of an address, for a report.
    pub(crate) fn json_at(&self, address: &str) -> Result<Vec<u8>> {
        let Address { path, query } = Address::parse(address)?;
        self.json(self.route(&path, true)?, &query, &|| true)
    }
}

fn nothing(path: &str) -> PageError {
    let start: String = path.chars().take(100).collect();
    PageError::not_found(format!("nothing is at {start}"))
}

#[cfg(test)]
mod tests {
    use sstkit_db::{DatabaseWriter, DatabaseWriterOptions, FileSource};
    use sstkit_table::{TableOptions, TableWriter};

    use super::*;

    fn inspector() -> Inspector {
        let source = InspectedSource::new("missing.sst", || Opened::Failed("no such file".into()));
        Inspector::new(vec![source])
    }

    #[test]
    fn pages_have_a_twin() {
        let inspector = inspector();
        let route = |path: &str| inspector.route(path, false);
        assert_eq!(route("/").unwrap(), Route::Shell);
        assert_eq!(route("/index.json").unwrap(), Route::Index);
        for page in pages::PAGES.iter().filter(|page| page.is_shown) {
            assert_eq!(route(&format!("/0/{}", page.name)).unwrap(), Route::Shell);
            let twin = route(&format!("/0/{}.json", page.name)).unwrap();
            assert_eq!(twin, Route::Json(0, page));
            let preferred = inspector.route(&format!("/0/{}", page.name), true).unwrap();
            assert_eq!(preferred, twin);
        }
        assert!(matches!(route("/assets/app.js").unwrap(), Route::Asset(_)));
    }

    #[test]
    fn other_addresses_lead_nowhere() {
        let inspector = inspector();
        for path in [
            "/1/table",
            "/0/nothing",
            "/0",
            "/0/",
            "/0/table/1",
            "//0/table",
            "/assets/",
            "/assets/../Cargo.toml",
            "/assets/%2e%2e/lib.rs",
            "/../../etc/passwd",
            "/-1/table",
            "/0/blocks",
        ] {
            assert_eq!(inspector.route(path, false).unwrap_err().status, 404, "{path}");
        }
    }

    /// Pages that are not listed here end early with fewer rows, or read a bounded number of blocks.
    #[test]
    fn work_ends_when_its_client_has_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let mut writer = DatabaseWriter::create(&path, DatabaseWriterOptions::rocksdb()).unwrap();
        let table = writer.new_table_path();
        let mut entries = TableWriter::create(&table, &TableOptions::rocksdb()).unwrap();
        entries.put(b"alice", b"1").unwrap();
        entries.finish().unwrap();
        let file = writer.add_table(0, 6, &FileSource::Written(table), None).unwrap();
        writer.finish().unwrap();
        let name = path.to_string_lossy().into_owned();
        let source =
            InspectedSource::new(&name, move || Opened::database(&path, &Default::default()));
        let inspector = Inspector::new(vec![source]);
        for target in [
            &format!("/0/blocks.json?file={file}"),
            "/0/history.json",
            "/0/budget.json",
            "/0/lookup.json?key=alice",
            &format!("/0/lookup.json?key=alice&file={file}"),
            "/0/versions.json?key=alice",
            &format!("/0/probe.json?key=alice&file={file}"),
        ] {
            let Address { path, query } = Address::parse(target).unwrap();
            let route = inspector.route(&path, true).unwrap();
            let asked = std::cell::Cell::new(0);
            let answer = inspector.json(route, &query, &|| {
                asked.set(asked.get() + 1);
                false
            });
            assert_eq!((answer.unwrap_err().status, asked.get()), (503, 1), "{target}");
            // It was not the address.
            assert!(inspector.json(route, &query, &|| true).is_ok(), "{target}");
        }
    }

    #[test]
    fn a_source_that_cannot_be_opened_says_why() {
        let inspector = inspector();
        let error = inspector.json_at("/0/table.json").unwrap_err();
        assert_eq!((error.status, &error.error[..]), (404, "no such file"));
        let index = inspector.json_at("/index.json").unwrap();
        assert!(String::from_utf8(index).unwrap().contains("no such file"));
    }
}
