//! Ctrl-C, SIGTERM or a closed terminal end the process, whatever it waits for, with the status that
//! shells report of such an end: 128 and the number of the signal.
//!
//! Work that would leave something behind says so: the first signal then only sets a flag, which the
//! work looks at, stops and cleans up; the second ends the process at once, in case it does not look.
//!
//! A signal that the process was started to ignore, as `nohup` does, stays ignored.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use anyhow::{Result, bail};
#[cfg(target_os = "linux")]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Those that end work. That SIGHUP is ignored can be told on Linux only; elsewhere it is left alone.
const SIGNALS: &[i32] = &[
    SIGINT,
    SIGTERM,
    #[cfg(target_os = "linux")]
    SIGHUP,
];

/// What a shell adds to the number of the signal that ended a process.
const ENDED_BY_SIGNAL: i32 = 128;

/// The exit status that the signal which came last calls for; 0 if none came.
static STATUS: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Whether the next signal ends the process: there is nothing to clean up, or it is the second one.
static ENDS_AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// From now on a signal ends the process.
pub(crate) fn install() {
    let ignored = ignored_signals();
    for &signal in SIGNALS.iter().filter(|&&signal| ignored >> (signal - 1) & 1 == 0) {
        // Without it the system ends the process, which is nearly the same.
        drop(handle(signal));
    }
}

/// What a signal does, in this order.
fn handle(signal: i32) -> io::Result<()> {
    let status = ENDED_BY_SIGNAL + signal;
    flag::register_conditional_shutdown(signal, status, Arc::clone(&ENDS_AT_ONCE))?;
    flag::register_usize(signal, Arc::clone(&STATUS), status as usize)?;
    flag::register(signal, Arc::clone(&ENDS_AT_ONCE))?;
    Ok(())
}

/// The signals that the process was started to ignore: signal 1 is the lowest bit.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// From now on a signal sets the flag.
pub(crate) fn listen() {
    ENDS_AT_ONCE.store(false, Ordering::SeqCst);
}

/// All is cleaned up, or in place: what is left is to say so, perhaps to nobody who reads.
pub(crate) fn done() {
    ENDS_AT_ONCE.store(true, Ordering::SeqCst);
}

/// The exit status, if a signal came.
pub(crate) fn status() -> Option<u8> {
    u8::try_from(STATUS.load(Ordering::Relaxed)).ok().filter(|&status| status != 0)
}

/// Whether to stop.
pub(crate) fn is_interrupted() -> bool {
    status().is_some()
}

/// An error once a signal came.
pub(crate) fn check() -> Result<()> {
    if is_interrupted() {
        bail!("interrupted; nothing was written");
    }
    Ok(())
}

/// What came of work: whatever it says of being stopped, the reason is the signal. Work that was done
/// before it noticed is done.
pub(crate) fn outcome<T>(result: Result<T>) -> Result<T> {
    match result {
        Ok(done) => Ok(done),
        Err(error) => check().and(Err(error)),
    }
}
