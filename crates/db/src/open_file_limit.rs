//! The limit of open files of the process.

#[cfg(not(unix))]
/// Assumed where the system does not tell the limit: less than any system allows.
const ASSUMED: u64 = 256;

/// Raises the limit of open files of this process as far as the system allows, and returns it.
///
/// A [`Database`](crate::Database) holds its tables open, as far as the limit lets it, so that a
/// running engine may delete them meanwhile. Systems start processes with a low limit, because of
/// programs that use `select`; a program that does not can call this first.
pub fn raise_open_file_limit() -> u64 {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            limit.current = limit.maximum;
            // If that is refused, the limit stays as it was.
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
    open_file_limit()
}

pub(crate) fn open_file_limit() -> u64 {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
    }
    #[cfg(not(unix))]
    ASSUMED
}
