//! The command as a static binary, with its manual pages and shell completions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{output, run};
use crate::toolchain;

/// The files of the archive and of the Debian package, below `target`.
pub(super) struct Staged {
    /// `sst-VERSION-TARGET`, with everything in it.
    pub(super) folder: PathBuf,
}

/// Builds the command, and packs it into `dist`.
pub(super) fn build(root: &Path, dist: &Path) -> Result<Staged, String> {
    let (binary, target) = static_binary(root)?;
    let name = format!("sst-{}-{target}", env!("CARGO_PKG_VERSION"));
    let folder = root.join("target/dist-staging").join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    for part in ["man/man1", "completions"] {
        fs::create_dir_all(folder.join(part)).map_err(|error| error.to_string())?;
    }
    let copy = |from: PathBuf, to: &str| {
        let copied = fs::copy(&from, folder.join(to));
        copied.map(drop).map_err(|error| format!("{}: {error}", from.display()))
    };
    copy(binary, "sst")?;
    copy(root.join("crates/cli/README.md"), "README.md")?;
    copy(root.join("LICENSE-MIT"), "LICENSE-MIT")?;
    copy(root.join("LICENSE-APACHE"), "LICENSE-APACHE")?;
    let sst = folder.join("sst");
    run(Command::new(&sst).args(["man", "--directory"]).arg(folder.join("man/man1")))?;
    for (shell, file) in [("bash", "sst.bash"), ("zsh", "_sst"), ("fish", "sst.fish")] {
        let text = output(Command::new(&sst).args(["completions", shell]))?;
        fs::write(folder.join("completions").join(file), text)
            .map_err(|error| error.to_string())?;
    }
    // The same input gives the same archive: no names, times or orders of this machine.
    run(Command::new("tar")
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"])
        .args(["--use-compress-program=gzip --no-name --best", "--create", "--file"])
        .arg(dist.join(format!("{name}.tar.gz")))
        .arg("--directory")
        .arg(root.join("target/dist-staging"))
        .arg(&name))?;
    Ok(Staged { folder })
}

/// Builds the command without shared libraries: with musl, or with a static glibc where the target for
/// musl is not installed. Returns its path and its target.
fn static_binary(root: &Path) -> Result<(PathBuf, String), String> {
    let host = toolchain::host()?;
    let musl = host.replace("-gnu", "-musl");
    let target = match toolchain::is_installed(&musl) {
        true => musl,
        false => {
            println!("the target {musl} is not installed: linking glibc statically instead");
            host
        }
    };
    run(Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--package=sstkit-cli", "--target", &target])
        // Named in `--target`, so that build scripts and macros are not linked statically.
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .current_dir(root))?;
    let binary = root.join("target").join(&target).join("release/sst");
    let binary = if binary.exists() { binary } else { binary.with_extension("exe") };
    let needed = output(Command::new("readelf").arg("--dynamic").arg(&binary))?;
    match needed.lines().find(|line| line.contains("(NEEDED)")) {
        Some(line) => Err(format!("{} needs a shared library: {line}", binary.display())),
        None => Ok((binary, target)),
    }
}
