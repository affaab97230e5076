//! Handling of Ctrl-C, SIGTERM and a closed terminal.
//!
//! A signal ends the process with the exit status that shells report for it: 128 plus the signal
//! number.
//!
//! Work that would leave files behind calls [`listen`] first. The first signal then only sets a
//! flag; the work polls it, stops and cleans up. The second signal ends the process at once.
//!
//! A signal that was ignored when the process started, as with `nohup`, stays ignored.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use anyhow::{Result, bail};
#[cfg(target_os = "linux")]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The handled signals. Only on Linux can we tell that SIGHUP is ignored; elsewhere it is left
/// alone.
const SIGNALS: &[i32] = &[
    SIGINT,
    SIGTERM,
    #[cfg(target_os = "linux")]
    SIGHUP,
];

/// Shells report 128 plus the number of the signal that ended a process.
const SIGNAL_STATUS_BASE: i32 = 128;

/// The exit status for the last signal; 0 if there was none.
static STATUS: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Whether the next signal ends the process: nothing needs cleaning up, or it is the second one.
static EXIT_IMMEDIATELY: LazyLock<Arc<AtomicBool>> =
    LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Installs the handlers. From now on a signal ends the process.
pub(crate) fn install() {
    let ignored = ignored_signals();
    for &signal in SIGNALS.iter().filter(|&&signal| ignored >> (signal - 1) & 1 == 0) {
        // Without a handler the system ends the process, which is nearly the same.
        drop(handle(signal));
    }
}

/// Registers the actions for a signal, in this order.
fn handle(signal: i32) -> io::Result<()> {
    let status = SIGNAL_STATUS_BASE + signal;
    flag::register_conditional_shutdown(signal, status, Arc::clone(&EXIT_IMMEDIATELY))?;
    flag::register_usize(signal, Arc::clone(&STATUS), status as usize)?;
    flag::register(signal, Arc::clone(&EXIT_IMMEDIATELY))?;
    Ok(())
}

/// The signals ignored at the start of the process; bit 0 is signal 1.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// From now on a signal only sets the flag.
pub(crate) fn listen() {
    EXIT_IMMEDIATELY.store(false, Ordering::SeqCst);
}

/// Everything is cleaned up or in place. From now on a signal ends the process again.
pub(crate) fn done() {
    EXIT_IMMEDIATELY.store(true, Ordering::SeqCst);
}

/// The exit status, if there was a signal.
pub(crate) fn status() -> Option<u8> {
    u8::try_from(STATUS.load(Ordering::Relaxed)).ok().filter(|&status| status != 0)
}

/// Whether there was a signal.
pub(crate) fn is_interrupted() -> bool {
    status().is_some()
}

/// Fails if there was a signal.
pub(crate) fn check() -> Result<()> {
    if is_interrupted() {
        bail!("interrupted; nothing was written");
    }
    Ok(())
}

/// The result of interruptible work. After a signal, its error is replaced by "interrupted". Work
/// that finished before it noticed the signal is a success.
pub(crate) fn outcome<T>(result: Result<T>) -> Result<T> {
    match result {
        Ok(done) => Ok(done),
        Err(error) => check().and(Err(error)),
    }
}
