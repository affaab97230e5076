//! The output of `build` and `compact`: checked before any work is done, and reported afterwards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use serde::Serialize;
use sstkit_db::{BulkManifest, MANIFEST_NAME};
use sstkit_inspect::Encoding;
use sstkit_table::output::OutputPath;

use super::remote_output::RemoteOutput;
use crate::args::Profile;
use crate::output::page::HEADING;
use crate::output::{Align, Grid, Page, units};
use crate::remote;

/// The default size of files: RocksDB's `target_file_size_base`.
const ROCKSDB_FILE_SIZE: u64 = 64 << 20;

/// The default size of files of a LevelDB database: its `max_file_size`.
const LEVELDB_FILE_SIZE: u64 = 2 << 20;

/// Fails early if there is no directory for the output.
pub(super) fn check_parent(output: &Path) -> Result<()> {
    if output == Path::new("-") {
        bail!(
            "-: cannot write tables to standard output: pass a file name (./- for a file named -)"
        );
    }
    check_folder(output)
}

fn check_folder(output: &Path) -> Result<()> {
    remote::require_local(output)?;
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent {
        Some(parent) if !parent.exists() => {
            bail!("{}: no such directory; create it first", parent.display())
        }
        Some(parent) if !parent.is_dir() => bail!("{}: not a directory", parent.display()),
        _ => Ok(()),
    }
}

/// An output file that is not a table. Fails early if it cannot be written.
pub(super) fn file_target(path: &Path, replace: bool) -> Result<OutputPath> {
    let name = path.display();
    ensure!(!path.is_dir(), "{name}: is a directory: pass a file name");
    ensure!(!path.exists() || replace, "{name}: already exists; use --force to replace it");
    check_folder(path)?;
    OutputPath::new(path, replace).with_context(|| name.to_string())
}

/// Fails early if the output of one input cannot be written: a new directory, or a file that may be
/// replaced.
pub(super) fn check_new_output(
    input: &Path,
    output: &Path,
    is_directory: bool,
    force: bool,
) -> Result<()> {
    let name = output.display();
    check_parent(output)?;
    let is_same = output.exists() && output.canonicalize().ok() == input.canonicalize().ok();
    ensure!(!is_same, "{name}: is the input: pass another path");
    check_outside(input, output)?;
    match (is_directory, output.symlink_metadata()) {
        (true, Ok(_)) => bail!("{name}: already exists; pass a new path for the directory"),
        (false, Ok(found)) if found.is_dir() => {
            bail!("{name}: is a directory: pass a file name")
        }
        (false, Ok(_)) if !force => bail!("{name}: already exists; use --force to replace it"),
        _ => Ok(()),
    }
}

/// Refuses an output inside of an input directory, which is only read.
pub(super) fn check_outside(input: &Path, output: &Path) -> Result<()> {
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new(".")).canonicalize();
    let input = input.canonicalize().ok().filter(|input| input.is_dir());
    let is_inside = input.zip(parent.ok()).is_some_and(|(input, parent)| parent.starts_with(input));
    ensure!(!is_inside, "{}: is inside of the input: pass another path", output.display());
    Ok(())
}

/// The output file or directory.
#[derive(Debug, clap::Args)]
pub(super) struct OutputArgs {
    /// Output file, or output directory (see --as)
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    output: Option<PathBuf>,

    /// Kind of output [default: table; folder if files are split by size or at keys]
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<OutputKind>,

    /// Start a new file after SIZE bytes of data [default: 64MiB for folders and RocksDB databases,
    /// 2MiB for LevelDB databases]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_file_size: Option<u64>,

    /// Replace an existing output file, or the tables that manifest.json names. Only regular files
    /// are replaced; a symbolic link is kept, and its target replaced
    #[arg(long)]
    pub(super) force: bool,

    /// The output, if it is in an object store.
    #[arg(skip)]
    remote: Option<RemoteOutput>,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum OutputKind {
    /// One table file
    Table,
    /// A directory of non-overlapping tables with a manifest.json
    Folder,
    /// A new database directory, which RocksDB or LevelDB opens as its own
    Database,
}

impl OutputKind {
    /// Its name, as in JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Folder => "folder",
            Self::Database => "database",
        }
    }
}

impl OutputArgs {
    /// Whether there is to be any output.
    pub(super) fn is_given(&self) -> bool {
        self.output.is_some()
    }

    /// Where the output is written, which is known after the [check](Self::check).
    pub(super) fn path(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new(""))
    }

    /// The output, as it was given.
    pub(super) fn name(&self) -> &Path {
        self.remote.as_ref().map_or(self.path(), RemoteOutput::address)
    }

    /// Writes an output in an object store to a temporary directory first.
    pub(super) fn stage(&mut self, is_split: bool) -> Result<()> {
        let kind = self.kind(is_split);
        if let Some(address) = self.output.as_deref().and_then(remote::address) {
            let remote = RemoteOutput::new(address, kind, self.force)?;
            self.output = Some(remote.path());
            self.remote = Some(remote);
        }
        Ok(())
    }

    /// Uploads what was written, if the output is in an object store.
    pub(super) fn publish(&self) -> Result<()> {
        self.remote.as_ref().map_or(Ok(()), RemoteOutput::upload)
    }

    /// What is written. If the output is split at keys, it has several files.
    pub(super) fn kind(&self, is_split: bool) -> OutputKind {
        match self.max_file_size.is_some() || is_split {
            true => self.kind.unwrap_or(OutputKind::Folder),
            false => self.kind.unwrap_or(OutputKind::Table),
        }
    }

    /// After how many bytes a new file starts. Without a size, files that are split at keys are not
    /// split further.
    pub(super) fn max_file_size(&self, profile: Profile, is_split: bool) -> Option<u64> {
        let default = match self.kind(is_split) {
            OutputKind::Table => None,
            _ if is_split => None,
            OutputKind::Database if profile == Profile::Leveldb => Some(LEVELDB_FILE_SIZE),
            OutputKind::Folder | OutputKind::Database => Some(ROCKSDB_FILE_SIZE),
        };
        self.max_file_size.or(default)
    }

    /// Fails early if the output cannot be written. The writer checks again.
    pub(super) fn check(&self, is_split: bool) -> Result<()> {
        ensure!(self.is_given(), "no output: use -o OUT");
        let (output, name) = (self.path(), self.path().display());
        ensure!(self.max_file_size != Some(0), "--max-file-size must be 1 or more");
        match self.kind(is_split) {
            OutputKind::Table => {
                ensure!(
                    self.max_file_size.is_none() && !is_split,
                    "a table is one file: use --as folder or --as database for several"
                );
                ensure!(
                    !output.is_dir(),
                    "{name}: is a directory: pass a file name, or use --as folder for a directory \
                     of tables"
                );
                ensure!(
                    !output.is_file() || self.force,
                    "{name}: already exists; use --force to replace it"
                );
            }
            OutputKind::Folder => {
                ensure!(
                    !output.is_file(),
                    "{name}: is a file, but several tables need a directory"
                );
                ensure!(
                    !output.join(MANIFEST_NAME).exists() || self.force,
                    "{name}: already contains tables; use --force to replace them"
                );
            }
            OutputKind::Database => {
                ensure!(
                    fs::symlink_metadata(output).is_err(),
                    "{name}: already exists; a database is only written to a new path"
                );
                ensure!(!self.force, "--force has no effect: a database is never replaced");
            }
        }
        check_parent(output)
    }

    /// Prints a summary of the output.
    pub(super) fn print_done(
        &self,
        page: &mut Page,
        (entries, bytes): (u64, u64),
        time: Duration,
    ) -> io::Result<()> {
        let title = page.paint(HEADING, self.name().display());
        let entries = units::counted(entries, "entry");
        let (bytes, time) = (units::size(bytes), units::time(time));
        writeln!(page, "{title}: {entries}, {bytes}, in {time}")
    }

    /// Prints the files of an output directory; nothing for a single file.
    pub(super) fn print_files(
        &self,
        page: &mut Page,
        manifest: &BulkManifest,
        encoding: Encoding,
        is_split: bool,
    ) -> io::Result<()> {
        if self.kind(is_split) == OutputKind::Table {
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
