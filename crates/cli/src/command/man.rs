//! `sst man`: manual pages.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use super::Cli;
use crate::output::Page;
use crate::status::Status;

/// Print the manual page, or write those of all commands to a directory
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst man | man -l -
  sst man --directory ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Write sst.1, sst-scan.1 and so on to this directory
    #[arg(long, value_name = "FOLDER")]
    directory: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let mut command = Cli::command();
        command.build();
        match &self.directory {
            None => {
                let mut page = Page::stdout();
                page.write_all(&rendered(&command)?)?;
                page.finish()?;
            }
            Some(folder) => write_pages(&command, "sst", folder)?,
        }
        Ok(Status::Fine)
    }
}

fn write_pages(command: &Command, name: &str, folder: &Path) -> Result<()> {
    let path = folder.join(format!("{name}.1"));
    fs::write(&path, rendered(command)?).with_context(|| path.display().to_string())?;
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        write_pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}

fn rendered(command: &Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
