//! Long work, without the interpreter's lock and open to Ctrl-C.
//!
//! ```text
//! caller's thread   release the lock, wait ---> every 50 ms: signals? ---> KeyboardInterrupt
//! a thread          the work ---------------> `Stop` is set: it ends, and cleans up
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sstkit_db::Progress;

use crate::errors::{Failure, Outcome};

/// Between two looks for signals.
const INTERVAL: Duration = Duration::from_millis(50);

/// Tells work to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn check(&self) -> Outcome<()> {
        if self.0.load(Ordering::Relaxed) { Err(Failure::Stopped) } else { Ok(()) }
    }

    /// A progress callback that stops the work.
    pub(crate) fn callback(&self) -> impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static {
        let stop = self.clone();
        move |_| match stop.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// Whether there is a signal such as Ctrl-C, for long work in the caller's thread that cannot pass on an exception.
/// The signal is raised again, for when the caller has returned. In other threads than the main one there is none.
pub(crate) fn is_interrupted() -> bool {
    let look = |py: Python<'_>| {
        let interrupted = py.check_signals().is_err();
        if interrupted {
            let again =
                py.import("_thread").and_then(|module| module.call_method0("interrupt_main"));
            drop(again);
        }
        interrupted
    };
    // The interpreter may be ending while a thread still reads.
    Python::try_attach(look).unwrap_or(true)
}

/// Runs work that only reads. After Ctrl-C nobody waits for it.
pub(crate) fn read<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Outcome<T> + Send + 'static,
) -> PyResult<T> {
    run(py, None, work)
}

/// Runs work that writes. After Ctrl-C its end is waited for, so that it can clean up.
pub(crate) fn write<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Outcome<T> + Send + 'static,
) -> PyResult<T> {
    write_until(py, Stop::default(), work)
}

/// The same for a writer that has been given a [`Stop`] before.
pub(crate) fn write_until<T: Send + 'static>(
    py: Python<'_>,
    stop: Stop,
    work: impl FnOnce(&Stop) -> Outcome<T> + Send + 'static,
) -> PyResult<T> {
    let given = stop.clone();
    run(py, Some(stop), move || work(&given))
}

/// Keys that are looked up between two looks for signals.
const LOOKUPS: usize = 4096;

/// Looks up many keys in the caller's thread, some at a time.
pub(crate) fn look_up<T: Send>(
    py: Python<'_>,
    keys: &[&[u8]],
    look_up: impl Fn(&[&[u8]]) -> Outcome<Vec<T>> + Sync,
) -> PyResult<Vec<T>> {
    let mut found = Vec::with_capacity(keys.len());
    for some in keys.chunks(LOOKUPS) {
        found.extend(py.detach(|| look_up(some))?);
        py.check_signals()?;
    }
    Ok(found)
}

fn run<T: Send + 'static>(
    py: Python<'_>,
    stop: Option<Stop>,
    work: impl FnOnce() -> Outcome<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = sync_channel(1);
    let send = move || {
        // The caller may be gone.
        let _ = sender.send(work());
    };
    thread::Builder::new().name("sstkit".into()).spawn(send)?;
    let mut interrupted = None;
    loop {
        let (returned, received) = py.detach(move || {
            let received = receiver.recv_timeout(INTERVAL);
            (receiver, received)
        });
        receiver = returned;
        match received {
            // What was complete before it noticed the signal is complete.
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(failure)) => return Err(interrupted.unwrap_or_else(|| failure.into())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("sstkit: internal error, see standard error"));
            }
        }
        if let Err(signal) = py.check_signals() {
            let Some(stop) = &stop else { return Err(signal) };
            stop.0.store(true, Ordering::Relaxed);
            interrupted.get_or_insert(signal);
        }
    }
}
