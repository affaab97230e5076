//! Progress of long operations, and cancellation.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// A phase of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Sorted runs are merged into fewer, since there are too many for the memory.
    Merging,
    /// Tables are written.
    Writing,
    /// Damaged files are read. Progress is in bytes.
    Reading,
    /// Data blocks are copied, while their keys are read. Progress is in bytes.
    Copying,
}

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The current phase.
    pub phase: Phase,
    /// Entries, or bytes, done in this phase.
    pub done: u64,
    /// Entries, or bytes, in this phase, if known.
    pub total: Option<u64>,
}

type Callback = dyn Fn(&Progress) -> ControlFlow<()> + Send + Sync;

/// Called regularly; `Break` stops the work with an error, and leaves nothing behind.
#[derive(Clone)]
pub(crate) struct ProgressCallback(Arc<Callback>);

impl ProgressCallback {
    pub(crate) fn new(
        callback: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(callback))
    }
}

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressCallback")
    }
}

/// Entries between two calls.
const STEP: u64 = 8192;
/// Bytes between two calls.
const BYTE_STEP: u64 = 1 << 20;

/// Reports one phase, from any number of threads.
#[derive(Debug)]
pub(crate) struct Reporter {
    callback: Option<ProgressCallback>,
    phase: Phase,
    done: AtomicU64,
    total: Option<u64>,
}

impl Reporter {
    pub(crate) fn new(
        callback: Option<ProgressCallback>,
        phase: Phase,
        total: Option<u64>,
    ) -> Self {
        Self { callback, phase, done: AtomicU64::new(0), total }
    }

    /// Counts one entry.
    #[inline]
    pub(crate) fn step(&self) -> Result<()> {
        if self.callback.is_none() {
            return Ok(());
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(STEP) { self.report() } else { Ok(()) }
    }

    /// Counts entries.
    pub(crate) fn steps(&self, entries: u64) -> Result<()> {
        self.advance(entries, STEP)
    }

    /// Counts bytes.
    pub(crate) fn add(&self, bytes: u64) -> Result<()> {
        self.advance(bytes, BYTE_STEP)
    }

    /// Calls the callback whenever a multiple of `step` is passed.
    fn advance(&self, more: u64, step: u64) -> Result<()> {
        if self.callback.is_none() {
            return Ok(());
        }
        let before = self.done.fetch_add(more, Ordering::Relaxed);
        let is_due = before / step != before.saturating_add(more) / step;
        if is_due { self.report() } else { Ok(()) }
    }

    /// Calls the callback.
    pub(crate) fn report(&self) -> Result<()> {
        let Some(ProgressCallback(callback)) = &self.callback else { return Ok(()) };
        let done = self.done.load(Ordering::Relaxed);
        match callback(&Progress { phase: self.phase, done, total: self.total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::cancelled()),
        }
    }
}
