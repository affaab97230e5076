//! One run of the tool: its plan, its directory and its results.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::args::{Args, Plan};
use crate::comparison::{Comparison, Outcome};

pub(crate) struct Session {
    pub(crate) plan: Plan,
    pub(crate) outcomes: Vec<Outcome>,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
    folder: TempDir,
}

impl Session {
    pub(crate) fn new(args: &Args) -> Result<Self> {
        let parent = args.dir.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::Builder::new()
            .prefix("bench-compare-")
            .tempdir_in(&parent)
            .with_context(|| parent.display().to_string())?;
        Ok(Self { plan: Plan::new(args), outcomes: Vec::new(), notes: Vec::new(), folder })
    }

    /// Where files go.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// A new folder in it.
    pub(crate) fn subfolder(&self) -> Result<TempDir> {
        Ok(TempDir::new_in(self.folder())?)
    }

    /// Runs a comparison, if it is wanted, and prints the result.
    pub(crate) fn run(&mut self, comparison: Comparison<'_>) -> Result<()> {
        if self.plan.wants(comparison.name()) {
            let outcome = comparison.run(self.plan.runs)?;
            crate::report::text::print(&outcome);
            self.outcomes.push(outcome);
        }
        Ok(())
    }

    /// Records that something could not be measured.
    pub(crate) fn note(&mut self, text: String) {
        eprintln!("{text}");
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}
