//! Progress bars: on standard error, only if that is a terminal, with rate and time left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const BYTES: &str =
    "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta} left";
const ITEMS: &str = "{msg} {wide_bar} {human_pos}/{human_len}  {per_sec}  {eta} left";
const OPEN_END: &str = "{spinner} {msg} {human_pos}  {per_sec}";
/// How often it is drawn.
const HERTZ: u8 = 8;

/// How far long work has come. Gone from the screen when dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Of `total` bytes.
    pub(crate) fn bytes(what: &'static str, total: u64) -> Self {
        Self::new(what, Some(total), BYTES)
    }

    /// Of `total` things.
    pub(crate) fn items(what: &'static str, total: u64) -> Self {
        Self::new(what, Some(total), ITEMS)
    }

    /// Of nobody knows how many things.
    pub(crate) fn open_end(what: &'static str) -> Self {
        Self::new(what, None, OPEN_END)
    }

    fn new(what: &'static str, total: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(HERTZ));
        // The templates are ours and fixed; one that did not parse would show the default bar.
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_message(what);
        Self(bar)
    }

    /// So far.
    pub(crate) fn set(&self, position: u64) {
        self.0.set_position(position);
    }

    /// So much more.
    pub(crate) fn add(&self, more: u64) {
        self.0.inc(more);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
