//! The page for `docs/benchmarks`.

use std::fmt::Write as _;

use super::numbers::{digits, rate, time};
use super::{Report, goals};
use crate::comparison::{Family, Outcome};

pub(super) fn page(report: &Report<'_>) -> String {
    let machine = report.machine;
    let mut text = format!(
        "# Compared with RocksDB, {}\n\n\
         Made by `crates/bench-compare`; not to be edited. What the numbers mean is in the \
         [README](README.md).\n\n",
        machine.date
    );
    for (name, value) in machine.lines() {
        let _ = writeln!(text, "* {name}: {value}");
    }
    let _ = writeln!(text, "* rounds: {}, by turns; medians count", report.runs);
    let _ = writeln!(text, "* command: `{}`", machine.command);
    text.push_str(&goals_table(report.outcomes));
    text.push_str(&lost_list(report.outcomes));
    if !report.notes.is_empty() {
        text.push_str("\n## Not measured\n\n");
        text.push_str(&list(report.notes));
    }
    text.push_str("\n## Everything\n\nThe ratio is the time divided by that of RocksDB's table reader, or for databases by that of a RocksDB database: the median over all rounds, and its range. Below 1 is faster.\n");
    let mut kind = "";
    for outcome in report.outcomes {
        let (this, rest) = outcome.name.split_once('/').unwrap_or((&outcome.name, ""));
        if this != kind {
            let _ = write!(text, "\n### {}\n", capitalised(this));
            kind = this;
        }
        text.push_str(&table(rest, outcome));
    }
    text
}

fn goals_table(outcomes: &[Outcome]) -> String {
    let judged = goals::judge(outcomes);
    let mut text =
        String::from("\n## Goals\n\n| work | goal | measured | |\n|---|--:|--:|---|\n");
    for goal in &judged {
        let verdict = |reached| if reached { "reached" } else { "**not reached**" };
        let (work, wanted, measured) = (&goal.work, &goal.wanted, &goal.measured);
        let _ = writeln!(text, "| {work} | {wanted} | {measured} | {} |", verdict(goal.reached));
    }
    let reached = judged.iter().filter(|goal| goal.reached).count();
    let _ = write!(text, "\n{reached} of {} reached.\n", judged.len());
    text
}

fn lost_list(outcomes: &[Outcome]) -> String {
    let lost = goals::lost(outcomes);
    let mut text = String::from("\n## Lost\n\n");
    if lost.is_empty() {
        text.push_str("In all of it sstkit was the fastest.\n");
    }
    text.push_str(&list(&lost));
    text
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("* {line}\n")).collect()
}

fn table(title: &str, outcome: &Outcome) -> String {
    let mut text = format!("\n| {title} | median | best | rate | ratio |\n|---|--:|--:|--:|--:|\n");
    for row in &outcome.rows {
        let ratio = match row.family {
            Family::Sstkit => outcome.ratio(),
            Family::SstkitDatabase => outcome.database_ratio(),
            _ => None,
        };
        let ratio = ratio.map_or(String::new(), |ratio| {
            let (low, high) = ratio.spread;
            format!("{} ({} to {})", digits(ratio.median), digits(low), digits(high))
        });
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {ratio} |",
            row.subject,
            time(row.median()),
            time(row.best()),
            rate(row.median())
        );
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}
