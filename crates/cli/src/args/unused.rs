//! Options that would have no effect: each is read by some kinds of path, and one that was given
//! although no path is of such a kind is an error.

use std::path::Path;

use anyhow::{Result, bail};
use sstkit_inspect::FileKind;

/// What a path names, as far as options differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    Table,
    /// Or a folder of tables.
    Database,
    /// A log, a MANIFEST or another file of a database.
    OtherFile,
}

impl PathKind {
    /// `None` if it cannot be told: whoever opens the path says why.
    fn of(path: &Path) -> Option<Self> {
        if path.is_dir() {
            return Some(Self::Database);
        }
        if !path.is_file() {
            return None;
        }
        match FileKind::of(path).ok()? {
            FileKind::Table => Some(Self::Table),
            FileKind::Unknown => None,
            _ => Some(Self::OtherFile),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Table => "a table",
            Self::Database => "a database",
            Self::OtherFile => "another file of a database",
        }
    }
}

/// An option: its name, whether it was given, and the kinds of path that are read by it.
pub(crate) type GivenOption = (&'static str, bool, &'static [PathKind]);

/// Refuses options that were given and by which none of the paths is read.
pub(crate) fn refuse_unused<'p>(
    paths: impl IntoIterator<Item = &'p Path>,
    options: impl IntoIterator<Item = GivenOption>,
) -> Result<()> {
    let given: Vec<GivenOption> = options.into_iter().filter(|&(_, given, _)| given).collect();
    if given.is_empty() {
        return Ok(());
    }
    let kinds: Vec<Option<PathKind>> = paths.into_iter().map(PathKind::of).collect();
    for (option, _, read_by) in given {
        let is_used = |kind: &Option<PathKind>| kind.is_none_or(|kind| read_by.contains(&kind));
        if !kinds.iter().any(is_used) {
            let names: Vec<&str> = read_by.iter().map(|kind| kind.name()).collect();
            bail!("{option} has no effect here: no PATH is {}", names.join(" or "));
        }
    }
    Ok(())
}
