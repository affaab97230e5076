//! Tables in the terminal.

use std::fmt::Write as _;

use super::Report;
use super::goals;
use super::numbers::{digits, rate, time};
use crate::comparison::{Family, Outcome, Row};

/// Prints the result of one comparison.
pub(crate) fn print(outcome: &Outcome) {
    print!("{}", table(outcome));
}

/// A comparison as a table: median time, operations per second, and time divided by that of RocksDB's
/// table reader.
pub(crate) fn table(outcome: &Outcome) -> String {
    let rocks = outcome.fastest(Family::RocksDb).map(Row::median);
    let mut text = format!("\n{}\n", outcome.name);
    let width = outcome.rows.iter().map(|row| row.subject.chars().count()).max().unwrap_or(0);
    for row in &outcome.rows {
        let ratio = rocks.map_or(String::new(), |rocks| digits(row.median() / rocks));
        let _ = writeln!(
            text,
            "  {:width$}  {:>9}  {:>9}  {ratio:>6}  (best {})",
            row.subject,
            time(row.median()),
            rate(row.median()),
            time(row.best())
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
  sstkit             100 ns   10.0 M/s    0.25  (best 50.0 ns)
  RocksDB            400 ns   2.50 M/s    1.00  (best 200 ns)
  RocksDB, other     800 ns   1.25 M/s    2.00  (best 400 ns)
";
        assert_eq!(table(&outcome), expected);
    }
}
