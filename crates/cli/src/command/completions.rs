//! `sst completions`: shell completions.

use std::io::Write as _;

use anyhow::Result;
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use crate::output::Page;
use crate::status::Status;

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst completions bash > ~/.local/share/bash-completion/completions/sst
  sst completions zsh > ~/.zfunc/_sst
  sst completions fish > ~/.config/fish/completions/sst.fish")]
pub(crate) struct Args {
    /// Shell to complete for
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        // Into memory first: the generator panics on write errors.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "sst", &mut script);
        let mut page = Page::stdout();
        page.write_all(&script)?;
        page.finish()?;
        Ok(Status::Fine)
    }
}
