//! Checks of the project itself, all of them tests: what it is built from, and what it says.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the project.
///
/// # Panics
///
/// If this crate is not in a directory of it.
pub fn root() -> PathBuf {
    let this = Path::new(env!("CARGO_MANIFEST_DIR"));
    this.parent().expect("one directory below the root").to_path_buf()
}

/// The files that belong to the project and end in one of `endings`, as git knows them; without git,
/// as they lie there.
///
/// # Panics
///
/// If the folder cannot be read.
pub fn files(endings: &[&str]) -> Vec<PathBuf> {
    let root = root();
    let listed = Command::new("git").arg("-C").arg(&root).arg("ls-files").output();
    let mut files: Vec<PathBuf> = match listed {
        Ok(output) if output.status.success() => {
            let names = String::from_utf8_lossy(&output.stdout).into_owned();
            names.lines().map(|name| root.join(name)).filter(|path| path.is_file()).collect()
        }
        _ => walk(&root),
    };
    files.retain(|path| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)));
    assert!(!files.is_empty(), "no files end in {endings:?}");
    files
}

/// All files below `folder` but those that cargo makes and hidden ones.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let own = paths.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name != "target" && !name.starts_with('.')
    });
    own.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
