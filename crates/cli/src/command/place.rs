//! Where new tables go: what can be told before any work is done, and what to do about it.

use std::path::Path;

use anyhow::{Result, bail};

/// Refuses a place that cannot be written to. Whoever writes looks again.
pub(super) fn check(output: &Path, max_file_size: Option<u64>, force: bool) -> Result<()> {
    let name = output.display();
    match (output.is_dir(), max_file_size) {
        (true, None) => bail!(
            "{name}: this is a folder: name a file, or say --max-file-size for a folder of tables"
        ),
        (false, Some(_)) if output.exists() => {
            bail!("{name}: this is a file, and --max-file-size wants a folder")
        }
        (false, None) if output.exists() && !force => {
            bail!("{name}: there already; say --force to replace it")
        }
        _ => {}
    }
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
        bail!("{}: there is no such folder; make it first", parent.display());
    }
    Ok(())
}
