//! The table of goals: what was aimed at, and what was measured.

use std::fmt::Write as _;

use super::comparisons::{Comparisons, Interface};

pub(super) fn table(comparisons: &Comparisons) -> String {
    let mut text = String::from("| work | goal | `Table` | `Database` |\n|---|--:|--:|--:|\n");
    for (work, goal) in comparisons.goals() {
        let cell = |interface| match comparisons.ratio(work, interface) {
            Some(ratio) if goal.is_reached(ratio) => goal.shown(ratio).to_string(),
            Some(ratio) => format!("**{}**", goal.shown(ratio)),
            None => String::new(),
        };
        let (table, database) = (cell(Interface::Table), cell(Interface::Database));
        let _ = writeln!(text, "| {work} | {goal} | {table} | {database} |");
    }
    text
}
