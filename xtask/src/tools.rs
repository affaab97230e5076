//! Tools from crates.io, installed below `target/tools` when they are first used.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::run;

/// A crate with a program of the same name.
#[derive(Debug)]
pub struct Tool {
    name: &'static str,
    version: &'static str,
}

/// Makes Debian packages.
pub const CARGO_DEB: Tool = Tool { name: "cargo-deb", version: "3.8.0" };

/// Compares a public API with that of an earlier version.
pub const SEMVER_CHECKS: Tool = Tool { name: "cargo-semver-checks", version: "0.51.0" };

impl Tool {
    /// The path of the program, which is installed if it is missing.
    ///
    /// # Errors
    ///
    /// If it cannot be compiled.
    pub fn install(&self, root: &Path) -> Result<PathBuf, String> {
        let Self { name, version } = self;
        let folder = root.join(format!("target/tools/{name}-{version}"));
        let program = folder.join("bin").join(name);
        if !program.exists() {
            run(Command::new(env!("CARGO"))
                .args(["install", "--locked", "--version", version, name, "--root"])
                .arg(&folder)
                .arg("--target-dir")
                .arg(root.join("target/tools/build")))?;
        }
        Ok(program)
    }
}
