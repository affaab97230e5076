//! Progress bars: on standard error, only if that is a terminal, with rate and time left. Work that is
//! done in a moment shows none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::plain::plain;
use super::units;

const BYTES: &str =
    "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta} left";
const ITEMS: &str = "{msg} {wide_bar} {human_pos}/{human_len}  {rate}  {eta} left";
const BYTES_WITHOUT_END: &str = "{spinner} {msg} {binary_bytes}  {binary_bytes_per_sec}";
const ITEMS_WITHOUT_END: &str = "{spinner} {msg} {human_pos}  {rate}";
const BUSY: &str = "{spinner} {elapsed} {wide_msg}";
/// How often it is drawn.
const HERTZ: u8 = 8;
/// How long work may take without showing anything.
const PATIENCE: Duration = Duration::from_millis(300);

/// How far long work has come. Gone from the screen when dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
    is_shown: AtomicBool,
}

impl Progress {
    /// Of so many bytes, if that is known.
    pub(crate) fn bytes(what: &'static str, total: Option<u64>) -> Self {
        Self::new(what, total, if total.is_some() { BYTES } else { BYTES_WITHOUT_END })
    }

    /// Of so many things, if that is known.
    pub(crate) fn items(what: &'static str, total: Option<u64>) -> Self {
        Self::new(what, total, if total.is_some() { ITEMS } else { ITEMS_WITHOUT_END })
    }

    /// Of work that does not say how far it is: only how long it has taken.
    pub(crate) fn busy(what: String) -> Self {
        let progress = Self::new(what, None, BUSY);
        progress.show();
        progress.bar.enable_steady_tick(Duration::from_secs(1) / u32::from(HERTZ));
        progress
    }

    fn new(what: impl Into<String>, total: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        // The templates are ours and fixed; one that did not parse would show the default bar.
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            // Text takes everything.
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
        if !self.is_shown.load(Ordering::Relaxed) && self.start.elapsed() > PATIENCE {
            self.show();
        }
    }

    /// So far.
    pub(crate) fn set(&self, position: u64) {
        self.show_in_time();
        self.bar.set_position(position);
    }

    /// So much more.
    pub(crate) fn add(&self, more: u64) {
        self.show_in_time();
        self.bar.inc(more);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
