//! Tables in the terminal.

use std::fmt::Write as _;

use super::Report;
use super::goals;
use super::numbers::{digits, rate, time};
use crate::contest::{Family, Outcome};

/// Prints what came of one contest.
pub(crate) fn print(outcome: &Outcome) {
    print!("{}", table(outcome));
}

/// A contest as a table: best time, operations in a second, and time as a part of RocksDB's.
pub(crate) fn table(outcome: &Outcome) -> String {
    let rocks = outcome.best(Family::RocksDb).map(|row| row.best());
    let mut text = format!("\n{}\n", outcome.name);
    let width = outcome.rows.iter().map(|row| row.subject.chars().count()).max().unwrap_or(0);
    for row in &outcome.rows {
        let ratio = rocks.map_or(String::new(), |rocks| digits(row.best() / rocks));
        let _ = writeln!(
            text,
            "  {:width$}  {:>9}  {:>9}  {ratio:>6}  (median {})",
            row.subject,
            time(row.best()),
            rate(row.best()),
            time(row.median())
        );
    }
    text
}

/// The goals as a table, and what was lost.
pub(crate) fn goals(report: &Report<'_>) -> String {
    let judged = goals::judge(report.outcomes);
    let mut text = String::from("\nGoals\n");
    for goal in &judged {
        let _ = writeln!(text, "  {goal}");
    }
    if judged.is_empty() {
        text.push_str("  none were measured\n");
    }
    text.push('\n');
    for line in goals::lost(report.outcomes) {
        let _ = writeln!(text, "{line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::Row;

    #[test]
    fn ratios_are_to_the_fastest_of_rocksdb() {
        let row = |subject: &str, family, ns: f64| Row {
            subject: subject.into(),
            family,
            ns: vec![2.0 * ns, ns],
        };
        let outcome = Outcome {
            name: "scan/none".into(),
            operations: 1,
            rows: vec![
                row("sstkit", Family::Sstkit, 50.0),
                row("RocksDB", Family::RocksDb, 200.0),
                row("RocksDB, other", Family::RocksDb, 400.0),
            ],
        };
        let expected = "
scan/none
  sstkit            50.0 ns   20.0 M/s    0.25  (median 100 ns)
  RocksDB            200 ns   5.00 M/s    1.00  (median 400 ns)
  RocksDB, other     400 ns   2.50 M/s    2.00  (median 800 ns)
";
        assert_eq!(table(&outcome), expected);
    }
}
