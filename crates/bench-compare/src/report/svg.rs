//! Plots: for each kind of work a picture of bars, the time of each subject beside that of the
//! fastest of RocksDB's.

use std::fmt::Write as _;

use super::numbers::time;
use crate::comparison::{Family, Outcome, Row};

const WIDTH: f64 = 860.0;
/// Where bars begin, and how long the longest is.
const LEFT: f64 = 330.0;
const LONGEST: f64 = 430.0;
const LINE: f64 = 18.0;
const BAR: f64 = 13.0;
/// Above the bars of a comparison.
const HEADING: f64 = 26.0;
const MARGIN: f64 = 14.0;

/// A file for each kind of work: what is before the first slash of the names.
pub(super) fn plots(outcomes: &[Outcome]) -> Vec<(String, String)> {
    let mut kinds: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !kinds.contains(&kind(outcome)) {
            kinds.push(kind(outcome));
        }
    }
    let of_kind = |wanted: &str| -> Vec<&Outcome> {
        outcomes.iter().filter(|outcome| kind(outcome) == wanted).collect()
    };
    kinds.iter().map(|kind| (file_name(kind), plot(kind, &of_kind(kind)))).collect()
}

fn kind(outcome: &Outcome) -> &str {
    outcome.name.split('/').next().unwrap_or_default()
}

fn file_name(kind: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let name: String = kind.chars().map(plain).collect();
    format!("{}.svg", name.replace("--", "-"))
}

/// One picture. Bars are as long as the time is, by comparison: the slowest fills the width.
fn plot(title: &str, outcomes: &[&Outcome]) -> String {
    let mut body = String::new();
    let mut y = MARGIN + 22.0;
    let _ = writeln!(
        body,
        r#"<text x="{MARGIN}" y="{MARGIN}" dy="8" class="title">{}</text>"#,
        escape(title)
    );
    for outcome in outcomes {
        let rest = outcome.name.split_once('/').map_or("", |(_, rest)| rest);
        y += HEADING;
        let _ = writeln!(
            body,
            r#"<text x="{MARGIN}" y="{:.0}" class="work">{}</text>"#,
            y - 8.0,
            escape(rest)
        );
        let slowest = outcome.rows.iter().map(Row::median).fold(0.0, f64::max);
        for row in &outcome.rows {
            bar(&mut body, row, slowest, y);
            y += LINE;
        }
    }
    let height = y + MARGIN;
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" font-family="sans-serif" font-size="12">
<style>.title{{font-size:16px;font-weight:bold}}.work{{font-weight:bold}}.sstkit{{fill:#2a7f3f}}.rocksdb{{fill:#8a93a0}}.other{{fill:#c9ced6}}</style>
<rect width="{WIDTH}" height="{height:.0}" fill="white"/>
{body}</svg>
"#
    )
}

fn bar(body: &mut String, row: &Row, slowest: f64, y: f64) {
    let class = match row.family {
        Family::Sstkit | Family::SstkitDatabase => "sstkit",
        Family::RocksDb | Family::RocksDbDatabase => "rocksdb",
        Family::Other => "other",
    };
    let width = (row.median() / slowest * LONGEST).max(1.0);
    let text = y + BAR - 3.0;
    let _ = writeln!(
        body,
        r#"<text x="{:.0}" y="{text:.0}" text-anchor="end">{}</text><rect x="{LEFT}" y="{y:.0}" width="{width:.1}" height="{BAR}" class="{class}"/><text x="{:.1}" y="{text:.0}">{}</text>"#,
        LEFT - 6.0,
        escape(&row.subject),
        LEFT + width + 5.0,
        time(row.median())
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, times: &[f64]) -> Outcome {
        let rows = times.iter().map(|&ns| Row {
            subject: format!("a < {ns}"),
            family: Family::RocksDb,
            ns: vec![ns],
        });
        Outcome { name: name.into(), operations: 1, rows: rows.collect() }
    }

    #[test]
    fn one_file_for_each_kind_of_work() {
        let outcomes = [
            outcome("scan/none", &[1.0]),
            outcome("command: dump/lz4", &[1.0]),
            outcome("scan/lz4", &[2.0]),
        ];
        let plots = plots(&outcomes);
        let names: Vec<&str> = plots.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["scan.svg", "command-dump.svg"]);
        assert!(plots[0].1.contains(">none<") && plots[0].1.contains(">lz4<"));
    }

    #[test]
    fn the_slowest_is_the_longest_and_text_is_escaped() {
        let plot = plot("scan", &[&outcome("scan/none", &[10.0, 5.0])]);
        assert!(plot.contains(r#"width="430.0""#) && plot.contains(r#"width="215.0""#));
        assert!(plot.contains("a &lt; 10") && !plot.contains("a < 10"));
    }
}
