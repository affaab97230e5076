//! Output of `build` in an object store: written to a temporary directory, then uploaded.

#[cfg(not(feature = "remote"))]
use std::{io, path::PathBuf};

use crate::errors::Outcome;
use crate::location::Location;

#[cfg(feature = "remote")]
pub(crate) use sstkit_object_store::StagedOutput;

/// What does not exist in this build: without object stores there are no addresses.
#[cfg(not(feature = "remote"))]
pub(crate) enum StagedOutput {}

#[cfg(not(feature = "remote"))]
impl StagedOutput {
    pub(crate) fn path(&self) -> PathBuf {
        match *self {}
    }

    pub(crate) fn upload(&self, _: &(dyn Fn() -> bool + Sync)) -> io::Result<()> {
        match *self {}
    }
}

/// Where the output is written first, if it is for an object store.
pub(crate) fn staged(
    out: &Location,
    is_folder: bool,
    replace: bool,
) -> Outcome<Option<StagedOutput>> {
    #[cfg(feature = "remote")]
    if let Some(address) = out.address() {
        let staged = match is_folder {
            true => StagedOutput::folder(address, sstkit_db::MANIFEST_NAME),
            false => StagedOutput::table(address, replace),
        };
        return Ok(Some(staged.map_err(sstkit_db::Error::from)?));
    }
    let _ = (out, is_folder, replace);
    Ok(None)
}
