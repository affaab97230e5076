//! Ctrl-C: long work that would leave something behind looks at a flag, stops and cleans up.
//!
//! The first Ctrl-C (or SIGTERM, or a closed terminal) sets the flag; the second ends the process
//! at once, in case the work does not look. Commands that write nothing do not listen: the
//! system ends them.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};

/// What shells report of a process that Ctrl-C has ended: 128 + SIGINT.
const ENDED_BY_INTERRUPT: i32 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C sets the flag.
pub(crate) fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            process::exit(ENDED_BY_INTERRUPT);
        }
    })
    .context("cannot listen for Ctrl-C")
}

/// Whether to stop.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// An error once Ctrl-C was pressed.
pub(crate) fn check() -> Result<()> {
    if is_interrupted() {
        bail!("interrupted; nothing was written");
    }
    Ok(())
}

/// What came of work: whatever it says of being stopped, the reason is Ctrl-C. Work that was done
/// before it noticed is done.
pub(crate) fn outcome<T>(result: Result<T>) -> Result<T> {
    match result {
        Ok(done) => Ok(done),
        Err(error) => check().and(Err(error)),
    }
}
