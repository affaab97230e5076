//! Addresses of tables and databases in object stores: `s3://bucket/path`.
//!
//! An argument that takes one has [`readable_path`] as its parser. From then on it is a path like any other: all files are
//! read through [`sstkit_db::file_system`], which knows the store. Other arguments are local paths.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};

/// The schemes of addresses.
const SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "abfs", "abfss", "http", "https"];

/// Parses a path or an address of something that is read.
pub(crate) fn readable_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(resolved)
}

fn resolved(given: OsString) -> std::io::Result<PathBuf> {
    let path = PathBuf::from(given);
    match address(&path) {
        Some(address) => registered(address),
        None => Ok(path),
    }
}

/// The address that a path is, unless there is such a file.
pub(crate) fn address(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    (SCHEMES.contains(&scheme) && !path.exists()).then_some(text)
}

/// Rejects an address where only local files are read or written.
pub(crate) fn require_local(path: &Path) -> Result<()> {
    match address(path) {
        Some(address) => bail!("{address}: this command takes only local files here"),
        None => Ok(()),
    }
}

/// Makes an address readable, and returns its path.
#[cfg(feature = "remote")]
pub(crate) fn registered(address: &str) -> std::io::Result<PathBuf> {
    sstkit_object_store::register(address)
}

#[cfg(not(feature = "remote"))]
pub(crate) fn registered(_: &str) -> std::io::Result<PathBuf> {
    Err(std::io::Error::new(
        std::io::ErrorKind::Unsupported,
        "this build of sst reads no object stores; install it with `cargo install sstkit-cli`, whose feature \
         \"remote\" is a default",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for text in
            ["s3://bucket/a.sst", "gs://bucket/db/", "az://container/db", "https://host/a.sst"]
        {
            assert_eq!(address(Path::new(text)), Some(text));
            assert!(require_local(Path::new(text)).is_err());
        }
        for text in ["a.sst", "s3:/bucket", "/s3://bucket", "nosuch://bucket/db"] {
            assert_eq!(address(Path::new(text)), None);
        }
    }
}
