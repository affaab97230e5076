//! Standard output, as a command sees it: buffered, with or without colour, of some width.
//!
//! There are four ways to it:
//!
//! | | escaped |
//! |---|---|
//! | `write!(page, …)`: text for people | always; only [`Page::paint`] adds colour |
//! | [`Page::json`] | always, as JSON has it |
//! | [`Page::line`], [`Page::part`]: keys and values | no: whoever calls them has encoded it |
//! | [`io::Write`]: a dump, a script | on a terminal |

use std::cell::Cell;
use std::env;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal as _, Stdout, Write};
use std::rc::Rc;

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use serde::Serialize;
use serde_json::Serializer;
use sstkit_table::BackgroundWriter;

use super::plain::{PlainJson, plain, plain_bytes, plain_lines};

const BUFFER: usize = 64 << 10;
/// Lines up to this length are handed over whole, or not at all.
const LONG_LINE: usize = 1 << 20;
/// Below this nothing sensible fits.
const MIN_WIDTH: usize = 20;

/// Headings of tables and sections.
pub(crate) const HEADING: Style = Style::new().bold();
/// What is there but seldom read.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Good news.
pub(crate) const GOOD: Style = anstyle::AnsiColor::Green.on_default();
/// Bad news.
pub(crate) const BAD: Style = anstyle::AnsiColor::Red.on_default().bold();

/// Standard output.
pub(crate) struct Page {
    out: BackgroundWriter<Stdout>,
    /// What was not handed over yet.
    buffer: Vec<u8>,
    colour: bool,
    is_terminal: bool,
    width: Option<usize>,
    /// Set while a style is written, by [`Painted`] alone: it is not part of the text, where a file
    /// could forge it.
    in_style: Rc<Cell<bool>>,
}

impl Page {
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        let colour = AutoStream::choice(&stdout) != ColorChoice::Never;
        let (is_terminal, out) = (stdout.is_terminal(), BackgroundWriter::new(stdout));
        Self {
            out,
            buffer: Vec::new(),
            colour,
            is_terminal,
            width: width(),
            in_style: Rc::default(),
        }
    }

    /// The columns there are; `None` where lines may be as long as they are (a file, a pipe).
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Text in a style, if there is colour at all; see [`plain`]. It has to be formatted onto this page:
    /// in a string of its own the style is text like any other, and escaped.
    pub(crate) fn paint<D: fmt::Display>(&self, style: Style, text: D) -> Painted<D> {
        let style = if self.colour { style } else { Style::new() };
        Painted { style, text, in_style: Rc::clone(&self.in_style) }
    }

    /// Text for people, in lines: what `write!` and `writeln!` call.
    pub(crate) fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        // Text takes everything; an error is one of what is formatted.
        Text(self).write_fmt(text).map_err(|_| io::Error::other("a value cannot be shown"))?;
        self.hand_over_if_full()
    }

    /// One JSON object on a line.
    pub(crate) fn json(&mut self, object: &impl Serialize) -> io::Result<()> {
        let start = self.buffer.len();
        let mut line = Line { page: self, is_whole: true };
        let written = object.serialize(&mut Serializer::with_formatter(&mut line, PlainJson));
        let is_whole = line.is_whole;
        if written.is_err() && is_whole {
            self.buffer.truncate(start);
        }
        written?;
        self.part(|line| line.push(b'\n'))
    }

    /// A line that `put` puts together. If that fails, nothing is left of it.
    pub(crate) fn line(
        &mut self,
        put: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        let start = self.buffer.len();
        if let Err(error) = put(&mut self.buffer) {
            self.buffer.truncate(start);
            return Err(error);
        }
        self.buffer.push(b'\n');
        self.hand_over_if_full()
    }

    /// A part of a line, of whatever length: what is put is handed over bit by bit.
    pub(crate) fn part(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        put(&mut self.buffer);
        self.hand_over_if_full()
    }

    fn hand_over_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() < BUFFER {
            return Ok(());
        }
        self.out.write(&mut self.buffer).map_err(named)
    }

    /// Writes what is still held back. Without it, a full disk would go unnoticed.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()
    }
}

/// Text on its way to the page: escaped, but for styles.
struct Text<'p>(&'p mut Page);

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let Self(page) = self;
        match page.in_style.get() {
            true => page.buffer.extend_from_slice(text.as_bytes()),
            false => page.buffer.extend_from_slice(plain_lines(text).as_bytes()),
        }
        Ok(())
    }
}

/// A line that is being composed. A very long one is written out in parts.
struct Line<'p> {
    page: &'p mut Page,
    is_whole: bool,
}

impl Write for Line<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let buffer = &mut self.page.buffer;
        buffer.extend_from_slice(bytes);
        if buffer.len() >= LONG_LINE {
            self.is_whole = false;
            self.page.hand_over_if_full()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `COLUMNS` has the first word, then the terminal.
fn width() -> Option<usize> {
    let said = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let width = match said {
        Some(columns) if columns > 0 => columns,
        _ if !io::stdout().is_terminal() => return None,
        _ => usize::from(terminal_size::terminal_size()?.0.0),
    };
    Some(width.max(MIN_WIDTH))
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.is_terminal {
            true => self.buffer.extend_from_slice(&plain_bytes(bytes)),
            false => self.buffer.extend_from_slice(bytes),
        }
        self.hand_over_if_full()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.out.write(&mut self.buffer).map_err(named)?;
        }
        self.out.finish().and_then(Write::flush).map_err(named)
    }
}

/// What was printed before a failure of something else is there to be read.
impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// The same error, saying what could not be written.
fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// Text in a style.
pub(crate) struct Painted<D> {
    style: Style,
    text: D,
    in_style: Rc<Cell<bool>>,
}

impl<D: fmt::Display> Painted<D> {
    /// As bytes for [`Page::line`] and [`Page::part`].
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let Self { style, text, .. } = self;
        format!("{style}{}{style:#}", plain(&text.to_string())).into_bytes()
    }

    fn put_style(&self, f: &mut fmt::Formatter<'_>, style: fmt::Arguments<'_>) -> fmt::Result {
        self.in_style.set(true);
        let put = f.write_fmt(style);
        self.in_style.set(false);
        put
    }
}

impl<D: fmt::Display> fmt::Display for Painted<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.to_string();
        self.put_style(f, format_args!("{}", self.style))?;
        f.write_str(&plain(&text))?;
        self.put_style(f, format_args!("{:#}", self.style))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paint_adds_colour() {
        let mut page = Page::stdout();
        page.colour = true;
        let forged = "\x1b[8m\u{9b}8m";
        let (painted, once) = (page.paint(BAD, forged), page.paint(GOOD, "good").to_string());
        writeln!(page, "{painted}{forged}{once}").unwrap();
        let text = String::from_utf8(std::mem::take(&mut page.buffer)).unwrap();
        assert_eq!(
            text,
            "\x1b[1m\x1b[31m\\x1b[8m\\u{9b}8m\x1b[0m\\x1b[8m\\u{9b}8m\\x1b[32mgood\\x1b[0m\n"
        );
        assert_eq!(page.paint(GOOD, "a\x1b").into_bytes(), b"\x1b[32ma\\x1b\x1b[0m");
    }
}
