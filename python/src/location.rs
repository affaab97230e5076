//! Paths as arguments: of this machine, or in an object store.
//!
//! ```text
//! "users.sst", Path("db")      this machine
//! "s3://bucket/tables/"        an object store, whose settings are variables of the environment
//! ```

use std::io;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyString;
use sstkit_db::file_system;

use crate::errors::{Failure, Outcome};

/// The path of something that is read, or of a build in parts.
#[derive(Clone, Debug)]
pub(crate) struct Location(PathBuf);

impl Location {
    /// The path, which all readers of files understand.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The same as a path.
    pub(crate) fn into_path(self) -> PathBuf {
        self.0
    }

    /// The address, if it is in an object store.
    pub(crate) fn address(&self) -> Option<&str> {
        address(&self.0)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Location {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let path: PathBuf = object.extract()?;
        match given_address(&path) {
            Some(address) => {
                let registered = object.py().detach(|| registered(address));
                let registered =
                    registered.map_err(|error| Failure::from(sstkit_db::Error::from(error)));
                Ok(Self(registered?))
            }
            None => Ok(Self(path)),
        }
    }
}

/// The path of something that is written, or read, on this machine only.
#[derive(Debug)]
pub(crate) struct LocalPath(pub(crate) PathBuf);

impl<'a, 'py> FromPyObject<'a, 'py> for LocalPath {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let path: PathBuf = object.extract()?;
        match given_address(&path) {
            Some(address) => {
                let what = format!("{address}: this argument is a path of this machine");
                Err(Failure::invalid(what).into())
            }
            None => Ok(Self(path)),
        }
    }
}

/// A path as Python has it: addresses are text, since a `Path` would drop one of their slashes.
pub(crate) fn to_object<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    match address(path) {
        Some(address) => Ok(PyString::new(py, address).into_any()),
        None => Ok(path.into_pyobject(py)?.into_any()),
    }
}

/// Whether a directory is at this path.
#[pyfunction]
pub(crate) fn is_folder(py: Python<'_>, path: Location) -> bool {
    py.detach(|| file_system::is_folder(path.path()))
}

/// The address of a path that was registered.
pub(crate) fn address(path: &Path) -> Option<&str> {
    if file_system::is_remote(path) { path.to_str() } else { None }
}

/// The address that a path is, unless there is such a file.
fn given_address(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    (is_address(path) && !path.exists()).then_some(text)
}

#[cfg(feature = "remote")]
fn is_address(path: &Path) -> bool {
    sstkit_object_store::is_address(path)
}

#[cfg(not(feature = "remote"))]
fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://"))
}

#[cfg(feature = "remote")]
fn registered(address: &str) -> io::Result<PathBuf> {
    sstkit_object_store::register(address)
}

#[cfg(not(feature = "remote"))]
fn registered(address: &str) -> io::Result<PathBuf> {
    let what = format!("{address}: this build reads no object stores (feature \"remote\")");
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

/// A build in parts whose output is at an address.
#[cfg(feature = "remote")]
pub(crate) type RemoteBuild = sstkit_db::RemoteBuild<sstkit_object_store::StoreFolder>;

/// A build in parts whose output is at an address.
#[cfg(feature = "remote")]
pub(crate) fn remote_build(address: &str) -> Outcome<RemoteBuild> {
    Ok(sstkit_object_store::remote_build(address).map_err(sstkit_db::Error::from)?)
}
