//! The table of goals: what was aimed at, and what was measured.

use std::fmt::Write as _;

use super::comparisons::{Comparisons, Interface, Ratio};

pub(super) fn table(comparisons: &Comparisons) -> String {
    let mut text = String::from("| work | goal | `Table` | `Database` |\n|---|--:|--:|--:|\n");
    for (work, goal) in comparisons.goals() {
        let [table, database] = [Interface::Table, Interface::Database]
            .map(|interface| comparisons.ratio(work, interface).map(|ratio| goal.shown(ratio)));
        // A goal is for tables, where they were measured.
        let judged = |ratio: Ratio| match goal.is_reached_by(ratio) {
            true => ratio.to_string(),
            false => format!("**{ratio}**"),
        };
        let (table, database) = match table {
            Some(table) => (judged(table), database.map_or_else(String::new, |it| it.to_string())),
            None => (String::new(), database.map_or_else(String::new, judged)),
        };
        let _ = writeln!(text, "| {work} | {goal} | {table} | {database} |");
    }
    text
}
