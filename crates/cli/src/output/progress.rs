//! Progress bars on standard error, if that is a terminal, with rate and time left. Short work
//! shows none.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressDrawTarget, ProgressState, ProgressStyle};
use sstkit_db::{Phase, Progress};

use super::plain::plain;
use super::units;
use crate::interrupt;

const BYTES: &str =
    "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta} left";
const ITEMS: &str = "{msg} {wide_bar} {human_pos}/{human_len}  {rate}  {eta} left";
const BYTES_WITHOUT_END: &str = "{spinner} {msg} {binary_bytes}  {binary_bytes_per_sec}";
const ITEMS_WITHOUT_END: &str = "{spinner} {msg} {human_pos}  {rate}";
const BUSY: &str = "{spinner} {elapsed} {wide_msg}";
/// Redraws per second.
const HERTZ: u8 = 8;
/// How long work runs before the bar appears.
const DELAY: Duration = Duration::from_millis(300);
/// Time between looks at a count.
const WATCH_INTERVAL: Duration = Duration::from_millis(125);

/// The progress of long work. Removed from the screen when dropped.
pub(crate) struct ProgressBar {
    bar: indicatif::ProgressBar,
    start: Instant,
    is_shown: AtomicBool,
}

impl ProgressBar {
    /// Progress in bytes, with the total if it is known.
    pub(crate) fn bytes(what: &'static str, total: Option<u64>) -> Self {
        Self::new(what, total, if total.is_some() { BYTES } else { BYTES_WITHOUT_END })
    }

    /// Progress in items, with the total if it is known.
    pub(crate) fn items(what: &'static str, total: Option<u64>) -> Self {
        Self::new(what, total, if total.is_some() { ITEMS } else { ITEMS_WITHOUT_END })
    }

    /// A spinner with the elapsed time, for work of unknown length.
    pub(crate) fn busy(what: String) -> Self {
        let progress = Self::new(what, None, BUSY);
        progress.show();
        progress.bar.enable_steady_tick(Duration::from_secs(1) / u32::from(HERTZ));
        progress
    }

    fn new(what: impl Into<String>, total: Option<u64>, template: &str) -> Self {
        let bar = indicatif::ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        // The templates are constants; an invalid one would show the default bar.
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}/s", units::count(state.per_sec() as u64));
        };
        bar.set_style(style.with_key("rate", rate));
        bar.set_message(plain(&what.into()).into_owned());
        Self { bar, start: Instant::now(), is_shown: AtomicBool::new(false) }
    }

    fn show(&self) {
        if !self.is_shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(HERTZ));
        }
    }

    fn show_in_time(&self) {
        if !self.is_shown.load(Ordering::Relaxed) && self.start.elapsed() > DELAY {
            self.show();
        }
    }

    pub(crate) fn set(&self, position: u64) {
        self.show_in_time();
        self.bar.set_position(position);
    }

    /// Advances the position.
    pub(crate) fn add(&self, more: u64) {
        self.show_in_time();
        self.bar.inc(more);
    }
}

/// Shows the progress of each phase, and stops the work after a signal.
pub(crate) fn stop_or_show() -> impl Fn(&Progress) -> ControlFlow<()> + Send + Sync {
    let shown: Mutex<Option<(Phase, ProgressBar)>> = Mutex::new(None);
    move |progress| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.as_ref().is_none_or(|(phase, _)| *phase != progress.phase) {
            let bar = match progress.phase {
                Phase::Reading => ProgressBar::bytes("reading", progress.total),
                Phase::Copying => ProgressBar::bytes("copying", progress.total),
                _ => ProgressBar::items("writing", progress.total),
            };
            *shown = Some((progress.phase, bar));
        }
        if let Some((_, bar)) = &*shown {
            bar.set(progress.done);
        }
        if interrupt::is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The progress of work that only counts what it has done: a thread looks at the count.
pub(crate) struct WatchedProgress {
    /// Dropping it ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WatchedProgress {
    /// Progress in bytes; `done` is called again and again.
    pub(crate) fn bytes(
        what: &'static str,
        total: u64,
        done: impl Fn() -> u64 + Send + 'static,
    ) -> Self {
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let bar = ProgressBar::bytes(what, Some(total));
            while stopped.recv_timeout(WATCH_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                bar.set(done());
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

/// The bytes that are read from tables, for work that only reads.
#[derive(Clone, Default)]
pub(crate) struct ReadProgress(Arc<AtomicU64>);

impl ReadProgress {
    /// The counter, for the options of tables and databases.
    pub(crate) fn counter(&self) -> &Arc<AtomicU64> {
        &self.0
    }

    /// Shows how much of a total was read.
    pub(crate) fn show(&self, what: &'static str, total: u64) -> WatchedProgress {
        let counter = Arc::clone(&self.0);
        let start = counter.load(Ordering::Relaxed);
        // Some blocks are read more than once.
        let done = move || counter.load(Ordering::Relaxed).saturating_sub(start).min(total);
        WatchedProgress::bytes(what, total, done)
    }
}

impl Drop for WatchedProgress {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A bar that panicked is not shown any more.
            drop(thread.join());
        }
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
