//! Where new tables go: what can be told before any work is done, what to do about it, and what was
//! written there.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use sstkit_db::{BulkManifest, MANIFEST_NAME};
use sstkit_inspect::Encoding;

use crate::output::page::HEADING;
use crate::output::{Align, Grid, Page, units};

/// Where new tables go.
#[derive(Debug, clap::Args)]
pub(super) struct PlaceArgs {
    /// The table to be; with --max-file-size, the folder
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: PathBuf,

    /// Begins a new file when one has so many bytes of data
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    pub(super) max_file_size: Option<u64>,

    /// Replace the file, or the tables that manifest.json names. Only regular files are ever
    /// replaced; a symbolic link to one stays, and what it leads to is replaced
    #[arg(long)]
    pub(super) force: bool,
}

impl PlaceArgs {
    /// Refuses a place that cannot be written to. Whoever writes looks again.
    pub(super) fn check(&self) -> Result<()> {
        let (output, name) = (&self.output, self.output.display());
        if output == Path::new("-") {
            bail!(
                "-: tables are not written to standard output: name a file (./- is one called -)"
            );
        }
        match (output.is_dir(), self.max_file_size) {
            (_, Some(0)) => bail!("--max-file-size must be 1 or more"),
            (true, None) => bail!(
                "{name}: this is a folder: name a file, or use --max-file-size for a folder of \
                 tables"
            ),
            (true, Some(_)) if output.join(MANIFEST_NAME).exists() && !self.force => {
                bail!("{name}: there are tables of an earlier run; use --force to replace them")
            }
            (false, Some(_)) if output.is_file() => {
                bail!("{name}: this is a file, and --max-file-size wants a folder")
            }
            (false, None) if output.is_file() && !self.force => {
                bail!("{name}: there already; use --force to replace it")
            }
            _ => {}
        }
        let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
        match parent {
            Some(parent) if !parent.exists() => {
                bail!("{}: there is no such folder; make it first", parent.display())
            }
            Some(parent) if !parent.is_dir() => bail!("{}: this is no folder", parent.display()),
            _ => Ok(()),
        }
    }

    /// The line that says what is there now.
    pub(super) fn print_done(
        &self,
        page: &mut Page,
        manifest: &BulkManifest,
        time: Duration,
    ) -> io::Result<()> {
        let title = page.paint(HEADING, self.output.display());
        let entries = units::counted(manifest.entries, "entry");
        let (bytes, time) = (units::size(manifest.bytes), units::time(time));
        writeln!(page, "{title}: {entries}, {bytes}, in {time}")
    }

    /// The files of a folder; nothing if it is none.
    pub(super) fn print_files(
        &self,
        page: &mut Page,
        manifest: &BulkManifest,
        encoding: Encoding,
    ) -> io::Result<()> {
        if self.max_file_size.is_none() {
            return Ok(());
        }
        let mut grid = Grid::new(&[
            ("file", Align::Left),
            ("size", Align::Right),
            ("entries", Align::Right),
            ("smallest key", Align::Shorten),
            ("largest key", Align::Shorten),
        ])
        .indent(2);
        for file in &manifest.files {
            grid.row([
                file.name.clone(),
                units::size(file.bytes),
                units::count(file.entries),
                encoding.encode(&file.smallest),
                encoding.encode(&file.largest),
            ]);
        }
        grid.print(page)
    }
}
