//! Standard output, or a file: buffered, with or without colour, of a known or unlimited width.
//!
//! A file appears when the page is [finished](Page::finish), whole or not at all.
//!
//! There are four ways to write to it:
//!
//! | | escaped |
//! |---|---|
//! | `write!(page, …)`: text for people | always; only [`Page::paint`] adds colour |
//! | [`Page::json`] | always, as in JSON |
//! | [`Page::line`], [`Page::part`]: keys and values | no: the caller has encoded them |
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
use sstkit_table::output::{BackgroundWriter, OutputPath};

use super::file_sink::{FileCompression, FileSink};
use super::plain::{PlainJson, plain, plain_bytes, plain_lines};

const BUFFER: usize = 64 << 10;
/// Lines up to this length are written whole or not at all.
const LONG_LINE: usize = 1 << 20;
/// Nothing useful fits below this width.
const MIN_WIDTH: usize = 20;

/// Headings of tables and sections.
pub(crate) const HEADING: Style = Style::new().bold();
/// For secondary details.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// For success.
pub(crate) const GOOD: Style = anstyle::AnsiColor::Green.on_default();
/// For what is no longer there.
pub(crate) const REMOVED: Style = anstyle::AnsiColor::Red.on_default();
/// For what is new.
pub(crate) const ADDED: Style = anstyle::AnsiColor::Green.on_default();
/// For what is different.
pub(crate) const CHANGED: Style = anstyle::AnsiColor::Yellow.on_default();
/// For problems.
pub(crate) const BAD: Style = anstyle::AnsiColor::Red.on_default().bold();

/// Where a page goes.
enum Destination {
    Stdout(BackgroundWriter<Stdout>),
    /// The file is `None` once it is complete.
    File(OutputPath, Option<Box<FileSink>>),
}

impl Destination {
    /// Writes what is in the buffer, and leaves an empty one.
    fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.write(buffer).map_err(named),
            Self::File(_, Some(file)) => file.write(buffer),
            Self::File(_, None) => Ok(()),
        }
    }

    /// Waits until everything is written; a file then appears under its name.
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.finish().and_then(Write::flush).map_err(named),
            Self::File(target, file) => match file.take() {
                Some(file) => target.commit(file.finish()?),
                None => Ok(()),
            },
        }
    }
}

/// Standard output, or a file.
pub(crate) struct Page {
    out: Destination,
    /// Text that was not written yet.
    buffer: Vec<u8>,
    colour: bool,
    is_terminal: bool,
    width: Option<usize>,
    /// Set by [`Painted`] while it writes a style. The style is not part of the text, where a file
    /// could forge it.
    in_style: Rc<Cell<bool>>,
}

impl Page {
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        let colour = AutoStream::choice(&stdout) != ColorChoice::Never;
        let is_terminal = stdout.is_terminal();
        let out = Destination::Stdout(BackgroundWriter::new(stdout));
        Self {
            out,
            buffer: Vec::new(),
            colour,
            is_terminal,
            width: width(),
            in_style: Rc::default(),
        }
    }

    /// A page that becomes a file, compressed or not.
    pub(crate) fn file(
        target: OutputPath,
        compression: Option<FileCompression>,
    ) -> io::Result<Self> {
        let file = FileSink::new(target.create()?, compression)?;
        Ok(Self {
            out: Destination::File(target, Some(Box::new(file))),
            buffer: Vec::new(),
            colour: false,
            is_terminal: false,
            width: None,
            in_style: Rc::default(),
        })
    }

    /// The width in columns; `None` if unlimited (a file, a pipe).
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Text in a style, if colour is enabled; see [`plain`]. It must be formatted directly onto
    /// this page: formatted into a string first, the style is text like any other, and escaped.
    pub(crate) fn paint<D: fmt::Display>(&self, style: Style, text: D) -> Painted<D> {
        let style = if self.colour { style } else { Style::new() };
        Painted { style, text, in_style: Rc::clone(&self.in_style) }
    }

    pub(crate) fn styled_line(&mut self, style: Style, text: impl fmt::Display) -> io::Result<()> {
        let text = self.paint(style, text);
        writeln!(self, "{text}")
    }

    /// Prints text. Called by `write!` and `writeln!`.
    pub(crate) fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        // Writing to memory cannot fail; an error comes from the formatted value.
        Text(self).write_fmt(text).map_err(|_| io::Error::other("a value cannot be formatted"))?;
        self.hand_over_if_full()
    }

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

    /// Prints a line composed by `put`. If `put` fails, nothing of it is printed.
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

    /// Prints a part of a line of any length, without keeping the whole line.
    pub(crate) fn part(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        put(&mut self.buffer);
        self.hand_over_if_full()
    }

    fn hand_over_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() < BUFFER {
            return Ok(());
        }
        self.out.write(&mut self.buffer)
    }

    /// Writes the rest of the buffer. Without this call, a full disk would go unnoticed, and a file
    /// would not appear.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()
    }
}

/// Text for the page: escaped, except for styles.
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

/// A line being composed. A very long one is written in parts.
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

/// The width from `COLUMNS`, or else from the terminal.
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
            self.out.write(&mut self.buffer)?;
        }
        self.out.finish()
    }
}

/// Writes what was printed before a failure. An unfinished file is removed.
impl Drop for Page {
    fn drop(&mut self) {
        if matches!(self.out, Destination::Stdout(_)) {
            let _ = self.flush();
        }
    }
}

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
    /// The bytes for [`Page::line`] and [`Page::part`].
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
