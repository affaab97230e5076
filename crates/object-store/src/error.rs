//! Errors of a store as errors of a source.

use std::io;

use object_store::Error as StoreError;
use sstkit_table::{Error, ErrorKind};

/// The error of a request.
pub(crate) fn io_error(error: StoreError) -> io::Error {
    let kind = match &error {
        StoreError::NotFound { .. } => io::ErrorKind::NotFound,
        StoreError::AlreadyExists { .. } => io::ErrorKind::AlreadyExists,
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            io::ErrorKind::Unsupported
        }
        StoreError::InvalidPath { .. } => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// The error of a request for a part of an object that has been read before.
pub(crate) fn read_error(error: StoreError) -> io::Error {
    match error {
        StoreError::Precondition { .. } | StoreError::NotFound { .. } => changed(),
        error => io_error(error),
    }
}

/// The object is not the one that was opened.
pub(crate) fn changed() -> io::Error {
    let what = "the object was replaced or deleted after it was opened";
    io::Error::other(Error::new(ErrorKind::Changed, what))
}
