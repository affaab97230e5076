//! What the Rust toolchain can compile for.

use std::path::Path;
use std::process::Command;

use crate::process::output;

/// The target of this machine.
///
/// # Errors
///
/// If rustc does not say.
pub(crate) fn host() -> Result<String, String> {
    let text = output(Command::new("rustc").args(["--version", "--verbose"]))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not print its host".into())
}

/// Whether the standard library of a target is installed.
pub(crate) fn is_installed(target: &str) -> bool {
    let folder = output(Command::new("rustc").args(["--print=target-libdir", "--target", target]));
    folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}
