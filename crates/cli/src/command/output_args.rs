//! Output options of `build` and `compact`: checked before any work is done, and reported
//! afterwards.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use sstkit_db::{BulkManifest, MANIFEST_NAME};
use sstkit_inspect::Encoding;

use crate::output::page::HEADING;
use crate::output::{Align, Grid, Page, units};

/// The output file or directory.
#[derive(Debug, clap::Args)]
pub(super) struct OutputArgs {
    /// Output file; with --max-file-size, output directory
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    pub(super) path: PathBuf,

    /// Start a new file after SIZE bytes of data
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    pub(super) max_file_size: Option<u64>,

    /// Replace an existing output file, or the tables that manifest.json names. Only regular files
    /// are replaced; a symbolic link is kept, and its target replaced
    #[arg(long)]
    pub(super) force: bool,
}

impl OutputArgs {
    /// Fails early if the output cannot be written. The writer checks again.
    pub(super) fn check(&self) -> Result<()> {
        let (output, name) = (&self.path, self.path.display());
        if output == Path::new("-") {
            bail!(
                "-: cannot write tables to standard output: pass a file name (./- for a file \
                 named -)"
            );
        }
        match (output.is_dir(), self.max_file_size) {
            (_, Some(0)) => bail!("--max-file-size must be 1 or more"),
            (true, None) => bail!(
                "{name}: is a directory: pass a file name, or use --max-file-size for a directory \
                 of tables"
            ),
            (true, Some(_)) if output.join(MANIFEST_NAME).exists() && !self.force => {
                bail!("{name}: already contains tables; use --force to replace them")
            }
            (false, Some(_)) if output.is_file() => {
                bail!("{name}: is a file, but --max-file-size needs a directory")
            }
            (false, None) if output.is_file() && !self.force => {
                bail!("{name}: already exists; use --force to replace it")
            }
            _ => {}
        }
        let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
        match parent {
            Some(parent) if !parent.exists() => {
                bail!("{}: no such directory; create it first", parent.display())
            }
            Some(parent) if !parent.is_dir() => bail!("{}: not a directory", parent.display()),
            _ => Ok(()),
        }
    }

    /// Prints a summary of the output.
    pub(super) fn print_done(
        &self,
        page: &mut Page,
        manifest: &BulkManifest,
        time: Duration,
    ) -> io::Result<()> {
        let title = page.paint(HEADING, self.path.display());
        let entries = units::counted(manifest.entries, "entry");
        let (bytes, time) = (units::size(manifest.bytes), units::time(time));
        writeln!(page, "{title}: {entries}, {bytes}, in {time}")
    }

    /// Prints the files of an output directory; nothing for a single file.
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
