//! Programs that the chores run.

use std::process::Command;

/// Runs a program.
///
/// # Errors
///
/// If it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

/// What a program writes to its standard output.
///
/// # Errors
///
/// If it cannot be started or fails; with what it wrote to its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{reason}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{command:?}: the output is not UTF-8"))
}
