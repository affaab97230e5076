//! Bars: the parts of a whole, and histograms.

use std::io;

use anstyle::{AnsiColor, Style};

use super::page::{FAINT, Page};
use super::plain::plain;

const WIDTH: usize = 60;
const HISTOGRAM_ROWS: usize = 8;

/// The fill of each part, distinguishable without colour, too.
const FILLS: [(char, AnsiColor); 6] = [
    ('█', AnsiColor::Blue),
    ('▓', AnsiColor::Green),
    ('▒', AnsiColor::Yellow),
    ('░', AnsiColor::Magenta),
    ('▞', AnsiColor::Cyan),
    ('·', AnsiColor::White),
];

pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) size: u64,
    /// Further text for the line.
    pub(crate) note: String,
}

/// Prints one bar of all parts, and a line for each.
///
/// ```text
/// ██████████████████████████████▓▓▓▓▒▒░
///   █ data       1.2 MiB   82.1 %  312 blocks
///   ▓ filter     120.5 KiB  8.1 %  1 block
/// ```
pub(crate) fn parts(page: &mut Page, parts: &[Part]) -> io::Result<()> {
    let total: u64 = parts.iter().map(|part| part.size).sum();
    let width = page.width().map_or(WIDTH, |width| width.min(WIDTH));
    let sizes: Vec<u64> = parts.iter().map(|part| part.size).collect();
    for (place, columns) in columns(&sizes, width).into_iter().enumerate() {
        let (fill, style) = fill(place);
        let cells: String = std::iter::repeat_n(fill, columns).collect();
        let cells = page.paint(style, cells);
        write!(page, "{cells}")?;
    }
    writeln!(page)?;
    let name_width = parts.iter().map(|part| part.name.chars().count()).max().unwrap_or(0);
    for (place, part) in parts.iter().enumerate() {
        let (fill, style) = fill(place);
        let share = if total == 0 { 0.0 } else { part.size as f64 / total as f64 };
        let fill = page.paint(style, fill);
        let size = super::units::size(part.size);
        let share = super::units::percent(share);
        write!(page, "  {fill} {:<name_width$}  {size:>10}  {share:>8}", plain(&part.name))?;
        if !part.note.is_empty() {
            let note = page.paint(FAINT, &part.note);
            write!(page, "  {note}")?;
        }
        writeln!(page)?;
    }
    Ok(())
}

fn fill(place: usize) -> (char, Style) {
    let (fill, colour) = FILLS[place.min(FILLS.len() - 1)];
    (fill, colour.on_default())
}

/// Divides `width` columns in proportion to the sizes, with at least one for each that is not 0.
fn columns(sizes: &[u64], width: usize) -> Vec<usize> {
    let total: u64 = sizes.iter().sum();
    let mut columns: Vec<usize> = sizes
        .iter()
        .map(|&size| match size {
            0 => 0,
            _ => ((size as f64 / total as f64 * width as f64).round() as usize).max(1),
        })
        .collect();
    // The largest part absorbs the rounding error.
    let sum: usize = columns.iter().sum();
    if let Some(largest) = columns.iter_mut().max() {
        *largest = (*largest + width).saturating_sub(sum).max(usize::from(total > 0));
    }
    columns
}

/// Prints a histogram with bins of equal width.
///
/// ```text
///    9.51 …  9.72 | ########################## 31
///    9.72 …  9.93 | ####                        5
/// ```
pub(crate) fn histogram(page: &mut Page, numbers: &[f64]) -> io::Result<()> {
    let Some(least) = numbers.iter().copied().reduce(f64::min) else { return Ok(()) };
    let most = numbers.iter().copied().fold(least, f64::max);
    let rows = if most > least { HISTOGRAM_ROWS.min(numbers.len()) } else { 1 };
    let step = (most - least) / rows as f64;
    let mut counts = vec![0u64; rows];
    for &number in numbers {
        let row = if step > 0.0 { ((number - least) / step) as usize } else { 0 };
        counts[row.min(rows - 1)] += 1;
    }
    let label = |row: usize| {
        let from = least + step * row as f64;
        format!("{from:>8.2} … {:>8.2}", from + step)
    };
    let bins: Vec<_> = counts.iter().enumerate().map(|(row, &count)| (label(row), count)).collect();
    self::bins(page, &bins)
}

/// Prints the bins of a histogram, each with its label.
pub(crate) fn bins(page: &mut Page, bins: &[(String, u64)]) -> io::Result<()> {
    let highest = bins.iter().map(|&(_, count)| count).max().unwrap_or(1).max(1);
    let labels = bins.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let width = page.width().map_or(40, |width| width.saturating_sub(labels + 17).clamp(8, 40));
    for (label, count) in bins {
        let length = (*count as f64 / highest as f64 * width as f64).ceil() as usize;
        let bar = page.paint(fill(0).1, "█".repeat(length));
        let pad = " ".repeat(width - length);
        writeln!(page, "  {label:>labels$}  {bar}{pad}  {}", super::units::count(*count))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_the_bar_and_every_part_has_one() {
        assert_eq!(columns(&[50, 50], 10), [5, 5]);
        assert_eq!(columns(&[1_000_000, 1, 0, 1], 10), [8, 1, 0, 1]);
        assert_eq!(columns(&[0, 0], 10), [0, 10]);
        assert_eq!(columns(&[], 10), Vec::<usize>::new());
    }
}
