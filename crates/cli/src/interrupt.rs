//! Ctrl-C, SIGTERM or a closed terminal end the process with status 130, whatever it waits for.
//!
//! Work that would leave something behind says so: the first Ctrl-C then only sets a flag, which the
//! work looks at, stops and cleans up; the second ends the process at once, in case it does not look.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};

/// What shells report of a process that Ctrl-C has ended: 128 + SIGINT.
pub(crate) const ENDED_BY_INTERRUPT: u8 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether there is something to clean up.
static CLEANS_UP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C ends the process.
pub(crate) fn install() {
    let handled = ctrlc::set_handler(|| {
        let is_first = !INTERRUPTED.swap(true, Ordering::SeqCst);
        if !(is_first && CLEANS_UP.load(Ordering::SeqCst)) {
            process::exit(ENDED_BY_INTERRUPT.into());
        }
    });
    // Without it the system ends the process, which is nearly the same.
    drop(handled);
}

/// From now on Ctrl-C sets the flag.
pub(crate) fn listen() {
    CLEANS_UP.store(true, Ordering::SeqCst);
}

/// All is cleaned up, or in place: what is left is to say so, perhaps to nobody who reads.
pub(crate) fn done() {
    CLEANS_UP.store(false, Ordering::SeqCst);
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
