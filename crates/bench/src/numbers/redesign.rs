//! The runs just before and just after the read path became one, side by side.

use std::fmt::Write as _;

use super::comparisons::{Comparisons, Interface};

pub(super) fn table([before, after]: &[Comparisons; 2]) -> String {
    let mut text = String::from(
        "| work | `Table`, before | after | `Database`, before | after |\n|---|--:|--:|--:|--:|\n",
    );
    for work in after.names() {
        let cell = |runs: &Comparisons, interface| {
            runs.ratio(work, interface).map_or_else(String::new, |it| it.speedup().to_string())
        };
        let cells = [Interface::Table, Interface::Database]
            .map(|interface| [cell(before, interface), cell(after, interface)])
            .concat();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(text, "| {work} | {} |", cells.join(" | "));
        }
    }
    text
}
