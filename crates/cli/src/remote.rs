//! Addresses of tables and databases in object stores: `s3://bucket/path`.
//!
//! An argument that takes one has [`readable_path`] as its parser. From then on it is a path like any other: all files are
//! read through [`sstkit_db::file_system`], which knows the store. Other arguments are local paths.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};

/// The schemes of addresses.
const SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "abfs", "abfss", "http", "https"];

/// Parses a path or an address of something that is read.
pub(crate) fn readable_path() -> impl TypedValueParser<Value = PathBuf> {
    ReadablePath
}

#[derive(Clone)]
struct ReadablePath;

impl TypedValueParser for ReadablePath {
    type Value = PathBuf;

    /// The message of an address that cannot be used does not repeat all of it, as those of clap do: it may contain a
    /// password.
    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        given: &OsStr,
    ) -> Result<PathBuf, Error> {
        let path = PathBuf::from(given);
        let Some(address) = address(&path) else { return Ok(path) };
        registered(address).map_err(|error| {
            let argument = argument.map_or_else(|| "a path".to_owned(), Arg::to_string);
            let message = format!("invalid value for '{argument}': {error}\n");
            Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

/// The address that a path is, unless there is such a file.
pub(crate) fn address(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    (SCHEMES.contains(&scheme) && !path.exists()).then_some(text)
}

/// Rejects an address where only local files are read or written.
pub(crate) fn require_local(path: &Path) -> anyhow::Result<()> {
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
