//! How far a verification has got, and a way to stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The progress of a verification, seen from another thread. Clones share it.
///
/// ```
/// use sstkit_table::VerifyProgress;
///
/// let progress = VerifyProgress::default();
/// let seen = progress.clone(); // for the thread that shows it, or stops it
/// assert_eq!((seen.bytes(), seen.is_stopped()), (0, false));
/// ```
#[derive(Clone, Debug, Default)]
pub struct VerifyProgress(Arc<State>);

#[derive(Debug, Default)]
struct State {
    bytes: AtomicU64,
    is_stopped: AtomicBool,
}

impl VerifyProgress {
    /// Bytes of data blocks that have been verified.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Stops the verification after the current block. What it then returns is of no use.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::Relaxed)
    }

    /// Counts a block; false if the verification was stopped.
    pub(super) fn add(&self, bytes: u64) -> bool {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        !self.is_stopped()
    }
}
