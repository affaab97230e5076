//! Aligned columns. One of them, the one with keys, gives way when the terminal is narrow.
//!
//! ```text
//! level  file        size     range
//!     1  000042.sst  1.2 MiB  user00000/po…0004 .. user00132/po…0021
//! ```

use std::io::{self, Write as _};

use super::page::{HEADING, Page};

const GAP: &str = "  ";
/// A shortened cell keeps at least this.
const LEAST: usize = 4;

/// Which side of its column a cell stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
    /// For words and keys that may be shortened.
    Shorten,
}

/// Rows of cells.
pub(crate) struct Grid {
    headings: Vec<&'static str>,
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
    indent: usize,
}

impl Grid {
    /// A table with these columns. Without any heading there is no line for them.
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        let (headings, aligns) = columns.iter().copied().unzip();
        Self { headings, aligns, rows: Vec::new(), indent: 0 }
    }

    /// Names and values, without headings.
    pub(crate) fn pairs() -> Self {
        Self::new(&[("", Align::Shorten), ("", Align::Shorten)]).indent(2)
    }

    /// Moves the whole table to the right.
    pub(crate) fn indent(mut self, columns: usize) -> Self {
        self.indent = columns;
        self
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// Adds a name and a value.
    pub(crate) fn pair(&mut self, name: &str, value: impl Into<String>) {
        self.row([name.into(), value.into()]);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints it.
    pub(crate) fn print(&self, page: &mut Page) -> io::Result<()> {
        let widths = self.widths(page.width());
        if self.headings.iter().any(|heading| !heading.is_empty()) {
            let headings: Vec<String> = self.headings.iter().map(|&h| h.into()).collect();
            let line = page.paint(HEADING, self.line(&headings, &widths)).to_string();
            writeln!(page, "{line}")?;
        }
        for row in &self.rows {
            writeln!(page, "{}", self.line(row, &widths))?;
        }
        Ok(())
    }

    /// The widths of all columns; if together they are too wide, those that may be shortened share
    /// what the others leave.
    fn widths(&self, page: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|h| letters(h)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(letters(cell));
            }
        }
        let Some(page) = page else { return widths };
        let gaps = self.indent + GAP.len() * widths.len().saturating_sub(1);
        let total = |widths: &[usize]| widths.iter().sum::<usize>() + gaps;
        while total(&widths) > page {
            let may_shorten = (0..widths.len()).filter(|&i| self.aligns[i] == Align::Shorten);
            let Some(widest) = may_shorten.max_by_key(|&i| widths[i]) else { break };
            if widths[widest] <= LEAST {
                break;
            }
            widths[widest] -= 1;
        }
        widths
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = " ".repeat(self.indent);
        for (place, ((cell, &width), align)) in
            cells.iter().zip(widths).zip(&self.aligns).enumerate()
        {
            if place > 0 {
                line.push_str(GAP);
            }
            match align {
                Align::Left => line.push_str(&format!("{cell:<width$}")),
                Align::Right => line.push_str(&format!("{cell:>width$}")),
                Align::Shorten => line.push_str(&format!("{:<width$}", shorten(cell, width))),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// The text in at most `width` letters: both ends of it, since keys differ there.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let length = letters(text);
    if length <= width || width == 0 {
        return text.into();
    }
    let kept = width - 1;
    let tail = kept / 3;
    let head: String = text.chars().take(kept - tail).collect();
    let tail: String = text.chars().skip(length - tail).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_stay() {
        assert_eq!(shorten("user00000/post0004", 18), "user00000/post0004");
        assert_eq!(shorten("user00000/post0004", 10), "user00…004");
        assert_eq!(shorten("äöüäöüäöü", 4), "äö…ü");
        assert_eq!(shorten("long", 1), "…");
    }

    #[test]
    fn only_what_may_be_shortened_gives_way() {
        let mut grid =
            Grid::new(&[("name", Align::Left), ("n", Align::Right), ("key", Align::Shorten)]);
        grid.row(["a.sst".into(), "12345".into(), "abcdefghijklmnopqrst".into()]);
        assert_eq!(grid.widths(None), [5, 5, 20]);
        assert_eq!(grid.widths(Some(24)), [5, 5, 10]);
        assert_eq!(grid.widths(Some(10)), [5, 5, LEAST]);
        assert_eq!(grid.line(&grid.rows[0], &[5, 5, 10]), "a.sst  12345  abcdef…rst");
    }
}
