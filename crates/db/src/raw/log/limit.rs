//! How much logs may expand to.

use crate::error::Error;
use crate::{DEFAULT_MAX_LOG_EXPANSION, DEFAULT_MAX_LOG_MEMORY};

/// How many bytes the contents of logs may take: a given number, or else what the bytes that have
/// been read justify. One rule for replaying and for verifying logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogLimit {
    given: Option<u64>,
}

impl LogLimit {
    /// A limit in bytes; `None` for [`DEFAULT_MAX_LOG_MEMORY`], or
    /// [`DEFAULT_MAX_LOG_EXPANSION`] times the bytes read if that is more.
    pub fn new(given: Option<u64>) -> Self {
        Self { given }
    }

    /// The limit after this many bytes of logs have been read.
    pub fn after(self, bytes_read: u64) -> u64 {
        let justified = bytes_read.saturating_mul(DEFAULT_MAX_LOG_EXPANSION);
        self.given.unwrap_or(justified.max(DEFAULT_MAX_LOG_MEMORY))
    }

    /// The error of logs that take more.
    pub fn exceeded(self, bytes_read: u64) -> Error {
        Error::unsupported(format!(
            "the write-ahead logs decompress to more than {} bytes (raise max_log_memory or \
             --max-log-memory)",
            self.after(bytes_read)
        ))
    }
}
