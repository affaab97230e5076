//! Aligned columns. On a narrow terminal, columns of keys are shortened and some columns are left
//! out. An empty column is always left out.
//!
//! A cell has at most [`MAX_CELL`] letters, however wide the page is. Of a longer one both ends are
//! shown, with `…` between them (of a path, its end). JSON output is never shortened.
//!
//! ```text
//! level  file        size     range
//!     1  000042.sst  1.2 MiB  user00000/po…0004 .. user00132/po…0021
//! ```

use std::io;

use super::page::{HEADING, Page};
use super::plain::plain;

const GAP: &str = "  ";
/// The maximum width of a cell where the width of lines is unlimited. Other rows of its column are
/// padded to its width.
const MAX_CELL: usize = 1000;
/// The minimum width of a shortened cell.
const MIN_CELL: usize = 4;
/// Columns are left out before cells become narrower than this.
const MIN_LEGIBLE: usize = 10;

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
    /// For words and keys that may be shortened.
    Shorten,
    /// For paths, which keep their end.
    Path,
}

impl Align {
    fn may_shorten(self) -> bool {
        matches!(self, Self::Shorten | Self::Path)
    }
}

/// Rows of cells. All text is in one string: a large table has hundreds of thousands of blocks, each
/// a row.
pub(crate) struct Grid {
    headings: Vec<&'static str>,
    aligns: Vec<Align>,
    /// The cells of all rows.
    text: String,
    /// The bytes of each cell in the text.
    lengths: Vec<u16>,
    /// The widest cell of each column.
    widths: Vec<usize>,
    indent: usize,
    /// Headings of the columns to leave out if space is short, in this order.
    dispensable: &'static [&'static str],
}

impl Grid {
    /// A grid with these columns. Without any heading there is no heading line.
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        let (headings, aligns): (Vec<_>, _) = columns.iter().copied().unzip();
        Self {
            widths: vec![0; headings.len()],
            headings,
            aligns,
            text: String::new(),
            lengths: Vec::new(),
            indent: 0,
            dispensable: &[],
        }
    }

    /// Names and values, without headings.
    pub(crate) fn pairs() -> Self {
        Self::new(&[("", Align::Shorten), ("", Align::Shorten)]).indent(2)
    }

    /// Indents the whole grid.
    pub(crate) fn indent(mut self, columns: usize) -> Self {
        self.indent = columns;
        self
    }

    /// Columns to leave out if space is short, in this order.
    pub(crate) fn dispensable(mut self, headings: &'static [&'static str]) -> Self {
        self.dispensable = headings;
        self
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        for ((cell, align), width) in cells.iter().zip(&self.aligns).zip(&mut self.widths) {
            let cell = match align {
                Align::Path => shorten_path(&plain(cell), MAX_CELL),
                _ => shorten(&plain(cell), MAX_CELL),
            };
            *width = letters(&cell).max(*width);
            self.text.push_str(&cell);
            // At most four bytes for each of MAX_CELL letters.
            self.lengths.push(cell.len() as u16);
        }
    }

    pub(crate) fn pair(&mut self, name: &str, value: impl Into<String>) {
        self.row([name.into(), value.into()]);
    }

    pub(crate) fn pair_if(&mut self, name: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.pair(name, value);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    pub(crate) fn print(&self, page: &mut Page) -> io::Result<()> {
        let columns = self.columns(page.width());
        if self.headings.iter().any(|heading| !heading.is_empty()) {
            page.styled_line(HEADING, self.line(&self.headings, &columns))?;
        }
        for row in self.rows() {
            writeln!(page, "{}", self.line(&row, &columns))?;
        }
        Ok(())
    }

    /// The cells of each row.
    fn rows(&self) -> impl Iterator<Item = Vec<&str>> {
        let mut rest = self.text.as_str();
        self.lengths.chunks(self.headings.len()).map(move |lengths| {
            let cells = lengths.iter().map(|&length| {
                let (cell, after) = rest.split_at(usize::from(length));
                rest = after;
                cell
            });
            cells.collect()
        })
    }

    /// The columns to show, with their widths.
    fn columns(&self, page: Option<usize>) -> Vec<(usize, usize)> {
        let mut columns: Vec<(usize, usize)> = (0..self.headings.len())
            .filter(|&column| self.widths[column] > 0)
            .map(|column| (column, self.widths[column].max(letters(self.headings[column]))))
            .collect();
        let Some(page) = page else { return columns };
        for heading in self.dispensable {
            let legible = |&(column, width): &(usize, usize)| match self.aligns[column] {
                align if align.may_shorten() => width.min(MIN_LEGIBLE),
                _ => width,
            };
            if self.total(columns.iter().map(legible)) > page {
                columns.retain(|&(column, _)| self.headings[column] != *heading);
            }
        }
        while self.total(columns.iter().map(|&(_, width)| width)) > page {
            let may_shorten = columns.iter_mut().filter(|it| self.aligns[it.0].may_shorten());
            match may_shorten.max_by_key(|&&mut (_, width)| width) {
                Some((_, width)) if *width > MIN_CELL => *width -= 1,
                _ => break,
            }
        }
        columns
    }

    /// The total width of columns of these widths.
    fn total(&self, widths: impl ExactSizeIterator<Item = usize>) -> usize {
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        self.indent + gaps + widths.sum::<usize>()
    }

    fn line(&self, cells: &[&str], columns: &[(usize, usize)]) -> String {
        let mut line = " ".repeat(self.indent);
        for (place, &(column, width)) in columns.iter().enumerate() {
            if place > 0 {
                line.push_str(GAP);
            }
            let cell = cells[column];
            line.push_str(&match self.aligns[column] {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
                Align::Shorten => format!("{:<width$}", shorten(cell, width)),
                Align::Path => format!("{:<width$}", shorten_path(cell, width)),
            });
        }
        line.truncate(line.trim_end().len());
        line
    }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// Shortens the text to at most `width` letters. Keeps both ends, since keys differ there.
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

/// Shortens the text to at most `width` letters. Keeps the end.
fn shorten_path(text: &str, width: usize) -> String {
    let length = letters(text);
    if length <= width || width == 0 {
        return text.into();
    }
    let tail: String = text.chars().skip(length - (width - 1)).collect();
    format!("…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_keeps_both_ends() {
        assert_eq!(shorten("user00000/post0004", 18), "user00000/post0004");
        assert_eq!(shorten("user00000/post0004", 10), "user00…004");
        assert_eq!(shorten("äöüäöüäöü", 4), "äö…ü");
        assert_eq!(shorten("long", 1), "…");
    }

    #[test]
    fn paths_keep_their_end() {
        assert_eq!(shorten_path("db/000046.sst", 13), "db/000046.sst");
        assert_eq!(shorten_path("db/000046.sst", 11), "…000046.sst");
        assert_eq!(shorten_path("db/000046.sst", 1), "…");
    }

    #[test]
    fn no_cell_is_wider_than_the_limit() {
        let mut grid = Grid::new(&[
            ("words", Align::Left),
            ("numbers", Align::Right),
            ("keys", Align::Shorten),
            ("paths", Align::Path),
        ]);
        grid.row([(); 4].map(|()| "x".repeat(70_000)));
        for width in [None, Some(70_000), Some(80)] {
            let columns = grid.columns(width);
            assert!(columns.iter().all(|&(_, width)| width <= MAX_CELL), "{columns:?}");
            let row = grid.rows().next().unwrap();
            assert!(letters(&grid.line(&row, &columns)) <= 4 * MAX_CELL + 6);
        }
    }

    #[test]
    fn only_some_columns_are_shortened() {
        let mut grid =
            Grid::new(&[("name", Align::Left), ("n", Align::Right), ("key", Align::Shorten)]);
        grid.row(["a.sst".into(), "12345".into(), "abcdefghijklmnopqrst".into()]);
        let columns = |width| grid.columns(width);
        assert_eq!(columns(None), [(0, 5), (1, 5), (2, 20)]);
        assert_eq!(columns(Some(24)), [(0, 5), (1, 5), (2, 10)]);
        assert_eq!(columns(Some(10)), [(0, 5), (1, 5), (2, MIN_CELL)]);
        let row = grid.rows().next().unwrap();
        assert_eq!(grid.line(&row, &columns(Some(24))), "a.sst  12345  abcdef…rst");
    }

    #[test]
    fn empty_and_dispensable_columns_are_left_out() {
        let mut grid = Grid::new(&[
            ("empty", Align::Left),
            ("most", Align::Left),
            ("less", Align::Left),
            ("key", Align::Shorten),
        ])
        .dispensable(&["less", "most"]);
        grid.row([String::new(), "12345".into(), "12345".into(), "abcdefghijklmno".into()]);
        let shown = |width| grid.columns(width).into_iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(shown(None), [1, 2, 3]);
        assert_eq!(shown(Some(24)), [1, 2, 3]);
        assert_eq!(shown(Some(23)), [1, 3]);
        assert_eq!(shown(Some(16)), [3]);
    }
}
