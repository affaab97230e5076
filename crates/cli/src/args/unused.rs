//! Rejects options that would have no effect. Each option applies to some kinds of paths; giving
//! one without any path of such a kind is an error.

use sstkit_db::file_system;
use std::path::Path;

use anyhow::{Result, bail};
use sstkit_inspect::FileKind;

/// The kind of a path, if options depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    Table,
    /// A database, or a directory of tables.
    Database,
    /// A log, a MANIFEST or another database file.
    OtherFile,
}

impl PathKind {
    /// `None` if it cannot be determined. Opening the path then reports the reason.
    fn of(path: &Path) -> Option<Self> {
        if file_system::is_folder(path) {
            return Some(Self::Database);
        }
        if !file_system::is_file(path) {
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
            Self::OtherFile => "another database file",
        }
    }
}

/// An option: its name, whether it was given, and the kinds of paths it applies to.
pub(crate) type GivenOption = (&'static str, bool, &'static [PathKind]);

/// Rejects given options that apply to none of the paths.
pub(crate) fn reject_unused<'p>(
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
            bail!("{option} has no effect: no PATH is {}", names.join(" or "));
        }
    }
    Ok(())
}
