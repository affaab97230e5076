//! Prints all live files of a database.

use sstkit_db::file_system;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sstkit_db::raw::FileName;
use sstkit_inspect::{FileKind, raw_dump};

use super::Args;
use crate::database;
use crate::output::Page;
use crate::output::page::HEADING;
use crate::status::Status;

impl Args {
    /// Prints CURRENT, the MANIFEST, OPTIONS, the live logs, and all tables and blob files.
    pub(super) fn dump_database(&self, path: &Path, page: &mut Page) -> Result<Status> {
        let options = self.open.database_options();
        // The logs are listed, but not replayed.
        let options = options.list_logs(!self.open.ignores_log()).replay_logs(false);
        let (database, mut status) = database::open(path, &options)?;
        let folder = database.path();
        let manifest = database.manifest_number().map(FileName::Manifest);
        let named = manifest.map_or(Vec::new(), |manifest| vec![FileName::Current, manifest]);
        let options_file = newest_options(folder).map(|path| (path, FileKind::Options));
        let files = named.into_iter().map(|name| {
            let kind =
                if name == FileName::Current { FileKind::Current } else { FileKind::Manifest };
            (folder.join(name.to_string()), kind)
        });
        let logs = database.logs().iter().map(|log| (log.clone(), FileKind::Log));
        for (path, kind) in files.chain(options_file).chain(logs) {
            heading(&path, page)?;
            status.worsen(self.dump_file(&path, kind, page)?);
        }
        for family in database.column_families() {
            for file in family.levels().into_iter().flat_map(|level| level.files) {
                heading(file.path(), page)?;
                let table = sstkit_inspect::open_level_file(&file)?;
                status.worsen(Status::of(raw_dump(&table, page)? == 0));
            }
            for blob_file in family.blob_file_paths() {
                heading(&blob_file, page)?;
                status.worsen(self.dump_file(&blob_file, FileKind::BlobFile, page)?);
            }
        }
        Ok(status)
    }
}

/// The OPTIONS file with the largest number.
fn newest_options(folder: &Path) -> Option<PathBuf> {
    let names = file_system::list(folder).ok()?.into_iter().filter_map(|name| {
        let name = FileName::parse(name.to_str()?);
        matches!(name, FileName::Options(_)).then_some(name)
    });
    names.max().map(|name| folder.join(name.to_string()))
}

fn heading(path: &Path, page: &mut Page) -> Result<()> {
    writeln!(page)?;
    Ok(page.styled_line(HEADING, format!("==> {} <==", path.display()))?)
}
