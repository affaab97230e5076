//! Notes of changes, joined at a release.
//!
//! Each change has a small file, `changes/unreleased/KIND/NAME.md`, in the terms of a user. A release
//! makes a list item of each, below the heading of its kind, and removes the files.

use std::fs;
use std::path::{Path, PathBuf};

/// The directories of notes and their headings, in the order of the changelog.
pub const KINDS: [(&str, &str); 3] =
    [("added", "Added"), ("changed", "Changed"), ("fixed", "Fixed")];

/// The notes of a kind, sorted by name.
///
/// # Panics
///
/// If a note cannot be read.
pub fn notes(root: &Path, kind: &str) -> Vec<(PathBuf, String)> {
    let Ok(entries) = fs::read_dir(root.join("changes/unreleased").join(kind)) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// The section of a version.
fn section(root: &Path, version: &str) -> String {
    let mut out = format!("## {version}\n");
    for (kind, heading) in KINDS {
        let notes = notes(root, kind);
        if notes.is_empty() {
            continue;
        }
        out.push_str(&format!("\n### {heading}\n\n"));
        for (_, note) in notes {
            out.push_str(&item(&note));
        }
    }
    out
}

/// A note as a list item.
fn item(note: &str) -> String {
    let lines = note.trim().lines().enumerate();
    let indented = lines.map(|(number, line)| match (number, line.is_empty()) {
        (0, _) => format!("* {line}\n"),
        (_, true) => "\n".to_owned(),
        _ => format!("  {line}\n"),
    });
    indented.collect()
}

/// Puts the section of a version at the top of CHANGELOG.md and removes the notes.
///
/// # Errors
///
/// A file that cannot be read or written; no notes; a version that the changelog already has.
pub fn release(root: &Path, version: &str) -> Result<(), String> {
    let path = root.join("CHANGELOG.md");
    let old = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    if old.contains(&format!("\n## {version}\n")) {
        return Err(format!("CHANGELOG.md already has a section {version}"));
    }
    let all: Vec<_> = KINDS.iter().flat_map(|(kind, _)| notes(root, kind)).collect();
    if all.is_empty() {
        return Err("changes/unreleased has no notes".into());
    }
    let section = section(root, version);
    let new = match old.split_once("\n## ") {
        Some((head, rest)) => format!("{head}\n{section}\n## {rest}"),
        None => format!("{}\n\n{section}", old.trim_end()),
    };
    fs::write(&path, new).map_err(|error| error.to_string())?;
    for (path, _) in all {
        fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_become_list_items() {
        assert_eq!(item("One line,\nand another.\n"), "* One line,\n  and another.\n");
    }
}
