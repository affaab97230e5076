//! What came out, for people and for programs.

pub(crate) mod goals;
mod json;
mod markdown;
mod numbers;
mod svg;
pub(crate) mod text;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::args::Args;
use crate::comparison::Outcome;
use crate::machine::Machine;
use crate::session::Session;

/// All there is to tell.
pub(crate) struct Report<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) outcomes: &'a [Outcome],
    pub(crate) notes: &'a [String],
    pub(crate) runs: usize,
}

/// Prints the goals, and writes the requested files.
pub(crate) fn write(session: &Session, machine: &Machine, args: &Args) -> Result<()> {
    let report = Report {
        machine,
        outcomes: &session.outcomes,
        notes: &session.notes,
        runs: session.plan.runs,
    };
    print!("{}", text::goals(&report));
    write_file(&args.json, &json::page(&report))?;
    fs::create_dir_all(&args.svg).with_context(|| args.svg.display().to_string())?;
    for (name, plot) in svg::plots(report.outcomes) {
        write_file(&args.svg.join(name), &plot)?;
    }
    if let Some(path) = &args.markdown {
        write_file(path, &markdown::page(&report))?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
