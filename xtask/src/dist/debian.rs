//! The command as a Debian package. What it contains is in `crates/cli/Cargo.toml`.

use std::path::Path;
use std::process::Command;

use super::archive::Staged;
use crate::process::run;
use crate::tools;

/// Packs the files of the archive into `dist`.
pub(super) fn build(root: &Path, dist: &Path, staged: &Staged) -> Result<(), String> {
    // The paths of the assets are the same for every version and target.
    let link = root.join("target/dist-staging/debian");
    drop(std::fs::remove_file(&link));
    std::os::unix::fs::symlink(&staged.folder, &link).map_err(|error| error.to_string())?;
    run(Command::new(tools::CARGO_DEB.install(root)?)
        .args(["deb", "--no-build", "--no-strip", "--package", "sstkit-cli", "--output"])
        .arg(dist)
        .env("CARGO", env!("CARGO"))
        .current_dir(root))
}
