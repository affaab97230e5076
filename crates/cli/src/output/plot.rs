//! Curves as text, with a logarithmic vertical axis.
//!
//! ```text
//! 1.0e0 |*
//!       | o
//! 1.0e-1|  *o
//!       |    * o o
//! 1.0e-2|      * * o
//!       '------------
//!        0 B      1.0 MiB
//! ```

use std::io;

use super::page::Page;

const WIDTH: usize = 64;
const ROWS: usize = 14;
/// Smaller numbers are shown as this share of the largest.
const LEAST: f64 = 1e-6;

/// A curve, or single points.
pub(crate) struct Curve {
    pub(crate) mark: char,
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Prints the curves, later ones over earlier ones.
pub(crate) fn print(
    page: &mut Page,
    curves: &[Curve],
    x_text: impl Fn(f64) -> String,
    y_text: impl Fn(f64) -> String,
) -> io::Result<()> {
    let Some(area) = Area::of(curves) else { return Ok(()) };
    let width = page.width().map_or(WIDTH, |width| width.saturating_sub(12).clamp(16, WIDTH));
    let mut cells = vec![vec![' '; width]; ROWS];
    for curve in curves {
        for &(x, y) in &curve.points {
            let (column, row) = (area.column(x, width), area.row(y));
            cells[row][column] = curve.mark;
        }
    }
    for (row, line) in cells.iter().enumerate() {
        let label = if row % 4 == 0 { y_text(area.value(row)) } else { String::new() };
        let line: String = line.iter().collect();
        writeln!(page, "  {label:>7} |{}", line.trim_end())?;
    }
    writeln!(page, "  {:>7} '{}", "", "-".repeat(width))?;
    let (first, last) = (x_text(0.0), x_text(area.most_x));
    let gap = width.saturating_sub(first.len() + last.len()).max(1);
    writeln!(page, "  {:>7}  {first}{}{last}", "", " ".repeat(gap))?;
    for curve in curves {
        writeln!(page, "  {:>7}  {} {}", "", curve.mark, curve.name)?;
    }
    Ok(())
}

/// What is shown: from 0, and from the smallest number above 0.
struct Area {
    most_x: f64,
    least_y: f64,
    most_y: f64,
}

impl Area {
    /// `None` if there is nothing to show.
    fn of(curves: &[Curve]) -> Option<Self> {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let most_x = points().map(|(x, _)| *x).fold(0.0, f64::max);
        let most_y = points().map(|(_, y)| *y).fold(0.0, f64::max);
        let above = points().map(|(_, y)| *y).filter(|y| *y > 0.0).fold(most_y, f64::min);
        let least_y = above.max(most_y * LEAST);
        (most_x > 0.0 && least_y > 0.0).then_some(Self { most_x, least_y, most_y })
    }

    fn column(&self, x: f64, width: usize) -> usize {
        ((x / self.most_x * (width - 1) as f64).round() as usize).min(width - 1)
    }

    /// Decades from the least to the most.
    fn span(&self) -> f64 {
        (self.most_y / self.least_y).ln().max(f64::MIN_POSITIVE)
    }

    fn row(&self, y: f64) -> usize {
        let share = (self.most_y / y.max(self.least_y)).ln() / self.span();
        ((share * (ROWS - 1) as f64).round() as usize).min(ROWS - 1)
    }

    /// The number of a row.
    fn value(&self, row: usize) -> f64 {
        self.most_y * (-self.span() * row as f64 / (ROWS - 1) as f64).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(points: &[(f64, f64)]) -> Option<Area> {
        Area::of(&[Curve { mark: '*', name: "", points: points.to_vec() }])
    }

    #[test]
    fn points_are_in_their_cells() {
        let area = area(&[(0.0, 1.0), (100.0, 0.01), (50.0, 0.1)]).unwrap();
        assert_eq!(
            (area.column(0.0, 11), area.column(50.0, 11), area.column(100.0, 11)),
            (0, 5, 10)
        );
        assert_eq!((area.row(1.0), area.row(0.01)), (0, ROWS - 1));
        assert!((area.value(0) - 1.0).abs() < 1e-12);
        assert!((area.value(ROWS - 1) - 0.01).abs() < 1e-12);
        // What is too small, and 0, are in the last row.
        assert_eq!(area.row(0.0), ROWS - 1);
    }

    #[test]
    fn nothing_is_not_shown() {
        assert!(area(&[]).is_none());
        assert!(area(&[(0.0, 1.0)]).is_none());
        assert!(area(&[(10.0, 0.0)]).is_none());
        // A horizontal line.
        let flat = area(&[(10.0, 2.0), (20.0, 2.0)]).unwrap();
        assert_eq!(flat.row(2.0), 0);
    }
}
