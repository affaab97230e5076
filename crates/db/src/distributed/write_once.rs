//! Files that are created once, complete, and never replaced.

use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sstkit_table::output::{self, OutputFile, OutputPath};

use crate::error::{Error, Result};
use crate::regular_file;

/// Creates a file of JSON; false if another process has created one of this name.
pub(super) fn write_once(path: &Path, contents: &impl Serialize) -> Result<bool> {
    let text = serde_json::to_string_pretty(contents)
        .map_err(|error| Error::invalid_input(error.to_string()))?;
    create(path, text + "\n").map_err(|error| Error::from(error).in_file(path))
}

fn create(path: &Path, text: String) -> io::Result<bool> {
    let folder = output::parent(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut file = OutputFile::create_in(folder, &name)?;
    file.write(&mut text.into_bytes())?;
    let created = file.finish()?.rename(&OutputPath::unresolved(path, false));
    match created {
        Ok(()) => output::sync_renamed_in(folder).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a file of JSON; `None` if there is none.
pub(super) fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<Option<T>> {
    let file = match regular_file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::from(error).in_file(path)),
    };
    let contents = serde_json::from_reader(io::BufReader::new(file))
        .map_err(|error| Error::corrupt(format!("not {what}")).with_source(error).in_file(path))?;
    Ok(Some(contents))
}
