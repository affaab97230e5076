//! The limit on open files of the process.

#[cfg(not(unix))]
/// Assumed if the system does not report a limit: less than any system allows.
const ASSUMED: u64 = 256;

/// Raises the limit on open files of this process as far as the system allows, and returns it.
///
/// A [`Database`](crate::Database) keeps its tables open, within the limit, so that they stay
/// readable if a running engine deletes them. Systems start processes with a low limit, because of
/// programs that use `select`; other programs can call this first.
pub fn raise_open_file_limit() -> u64 {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            limit.current = limit.maximum;
            // If raising it fails, the limit stays as it was.
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
