//! Checks and chores of the project itself.
//!
//! | where | what |
//! |---|---|
//! | `main.rs` | the commands of `cargo xtask` |
//! | `changelog.rs` | joins the notes in `changes/unreleased` |
//! | `dist/` | builds what users install |
//! | `features.rs` | checks combinations of features |
//! | `lines.rs` | counts production code |
//! | `phrases.rs` | finds banned phrases; the list is `banned-phrases.txt` |
//! | `release.rs` | checks that the crates are ready to publish |
//! | `process.rs`, `toolchain.rs`, `tools.rs` | programs that these run |
//! | `tests/` | the checks: dependencies, documents, changes, phrases, names |

#![forbid(unsafe_code)]

pub mod changelog;
pub mod dist;
pub mod features;
pub mod lines;
pub mod phrases;
pub mod release;
pub mod tools;

mod process;
mod toolchain;

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

/// The files of the project that end in one of `endings`: those that git tracks, or without git all.
///
/// # Panics
///
/// If a directory cannot be read, or there are no such files.
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

/// All files below a directory, without hidden ones and the output of cargo.
fn walk(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the directory can be read");
    let paths = entries.map(|entry| entry.expect("the directory can be read").path());
    let own = paths.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name != "target" && !name.starts_with('.')
    });
    own.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
