//! What users install: the wheel of the Python package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What builds wheels, from PyPI.
const MATURIN: &str = "maturin==1.16.0";

/// Builds the wheel of `python/` into `target/dist`, and returns a line for each file there.
///
/// # Errors
///
/// If python3, its module venv or PyPI are missing, or the build fails.
pub fn wheel(root: &Path) -> Result<String, String> {
    let (target, dist) = (root.join("target"), root.join("target/dist"));
    fs::create_dir_all(&dist).map_err(|error| format!("{}: {error}", dist.display()))?;
    run(Command::new(maturin(&target)?)
        .args(["build", "--release", "--locked", "--out"])
        .arg(&dist)
        .arg("--manifest-path")
        .arg(root.join("python/Cargo.toml")))?;
    let mut lines = Vec::new();
    for entry in fs::read_dir(&dist).map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let size = entry.metadata().map_err(|error| error.to_string())?.len();
        lines.push(format!("{size:>10} {}\n", entry.path().display()));
    }
    lines.sort();
    Ok(lines.concat())
}

/// Maturin, in a virtual environment below `target`.
fn maturin(target: &Path) -> Result<PathBuf, String> {
    let environment = target.join(MATURIN.replace("==", "-"));
    let program = environment.join("bin/maturin");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        run(Command::new(environment.join("bin/python")).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            MATURIN,
        ]))?;
    }
    Ok(program)
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}
