//! What users install, built into `target/dist`:
//!
//! | file | what |
//! |---|---|
//! | `sst-VERSION-TARGET.tar.gz` | the command as a static binary, manual pages, shell completions, licences |
//! | `sst_VERSION-1_ARCHITECTURE.deb` | the same as a Debian package |
//! | `sstkit-VERSION-….whl` | the Python package |
//! | `SHA256SUMS` | checksums of the other files |

mod archive;
mod debian;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{output, run};

/// Builds everything, and returns a line for each file with its size.
///
/// # Errors
///
/// If a tool is missing or a build fails.
pub fn all(root: &Path) -> Result<String, String> {
    let dist = empty_dist(root)?;
    let staged = archive::build(root, &dist)?;
    debian::build(root, &dist, &staged)?;
    wheel::build(root, &dist)?;
    finish(&dist)
}

/// Builds only the wheel.
///
/// # Errors
///
/// If python3, its module venv or PyPI are missing, or the build fails.
pub fn only_wheel(root: &Path) -> Result<String, String> {
    let dist = empty_dist(root)?;
    wheel::build(root, &dist)?;
    finish(&dist)
}

/// Builds only the archive and the Debian package of the command.
///
/// # Errors
///
/// If a tool is missing or a build fails.
pub fn only_command(root: &Path) -> Result<String, String> {
    let dist = empty_dist(root)?;
    let staged = archive::build(root, &dist)?;
    debian::build(root, &dist, &staged)?;
    finish(&dist)
}

/// `target/dist`, without files of an earlier build, which the checksums would include.
fn empty_dist(root: &Path) -> Result<PathBuf, String> {
    let dist = root.join("target/dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(|error| format!("{}: {error}", dist.display()))?;
    }
    fs::create_dir_all(&dist).map_err(|error| format!("{}: {error}", dist.display()))?;
    Ok(dist)
}

/// Writes the checksums, and lists the files with their sizes.
fn finish(dist: &Path) -> Result<String, String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dist).map_err(|error| error.to_string())? {
        names.push(entry.map_err(|error| error.to_string())?.file_name());
    }
    names.sort();
    let sums = output(Command::new("sha256sum").args(&names).current_dir(dist))?;
    fs::write(dist.join("SHA256SUMS"), sums).map_err(|error| error.to_string())?;
    run(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(dist))?;
    let mut lines = String::new();
    for name in names {
        let path = dist.join(name);
        let size = fs::metadata(&path).map_err(|error| error.to_string())?.len();
        lines += &format!("{size:>10} {}\n", path.display());
    }
    Ok(lines)
}
