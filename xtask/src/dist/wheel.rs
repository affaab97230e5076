//! The wheel of the Python package.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::run;

/// What builds wheels, from PyPI.
const MATURIN: &str = "maturin==1.16.0";

/// Builds the wheel of `python/` into `dist`.
pub(super) fn build(root: &Path, dist: &Path) -> Result<(), String> {
    run(Command::new(maturin(&root.join("target"))?)
        .args(["build", "--release", "--locked", "--out"])
        .arg(dist)
        .arg("--manifest-path")
        .arg(root.join("python/Cargo.toml")))
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
